// Sums of Platt scaling and of the multiplicative update of the noise matrix. Part of kernels.cpp.
#pragma once
#include "kernels.hpp"
#include "simd.hpp"

namespace {

using rboost::PlattPoint;
using rboost::PlattRows;
using rboost::PlattSums;

void platt_sums(const PlattRows& rows, const PlattPoint& point, size_t begin, size_t end,
                PlattSums& result) {
    const Floats zero = floats(0.0f), one = floats(1.0f);
    const auto noise = [&](int j, int k) { return floats(float(point.noise[j][k])); };
    const Doubles slope = doubles(point.slope), offset = doubles(point.offset);
    const Doubles center = doubles(point.center), inverse_spread = doubles(1 / point.spread);
    Doubles by_offset{}, by_slope{}, curvature[3] = {}, g[2][2] = {};
    const auto add = [](Doubles& to, Floats from) { to += low_doubles(from) + high_doubles(from); };
    for (size_t i = begin; i < end; i += LANES) {
        double scores[LANES], weights[LANES] = {};
        uint8_t flags[LANES] = {};
        const double* score_at = rows.scores + i;
        const uint8_t* flags_at = rows.flags + i;
        const double* weight_at = rows.weight == nullptr ? nullptr : rows.weight + i;
        if (i + LANES > end) {  // the last rows, with others of weight 0
            for (double& score : scores) score = point.center;
            for (size_t l = 0; i + l < end; ++l) {
                scores[l] = rows.scores[i + l];
                weights[l] = rows.weight == nullptr ? 1 : rows.weight[i + l];
                flags[l] = rows.flags[i + l];
            }
            score_at = scores;
            flags_at = flags;
            weight_at = weights;
        }
        // Scores far from 0 lose no digits when they are centred first.
        const Doubles low = (load<Doubles>(score_at) - center) * inverse_spread;
        const Doubles high = (load<Doubles>(score_at + HALF) - center) * inverse_spread;
        const Floats score = join(low, high);
        const Floats margin = join(slope * low + offset, slope * high + offset);
        const Floats weight = weight_at == nullptr ? one
                                                   : join(load<Doubles>(weight_at),
                                                          load<Doubles>(weight_at + HALF));
        const Ints positive = (widened(flags_at) & rboost::POSITIVE) != 0;
        // The smaller probability must not be lost to rounding.
        const Floats e = exponential(-magnitude(margin));
        const Floats likelier = one / (one + e), other = e * likelier;
        const Ints above = margin > zero;
        const Floats p1 = above ? likelier : other, p0 = above ? other : likelier;
        const Floats target = positive ? floats(float(1 - point.target[1]))
                                       : floats(float(point.target[0]));
        // p1 - target, from the side on which nothing cancels
        const Floats residual = weight * (positive ? target - p0 : p1 - target);
        const Floats spread = weight * p0 * p1;
        add(by_offset, residual);
        add(by_slope, residual * score);
        add(curvature[0], spread);
        add(curvature[1], spread * score);
        add(curvature[2], spread * score * score);
        const Floats mixture = positive ? p0 * noise(0, 1) + p1 * noise(1, 1)
                                        : p0 * noise(0, 0) + p1 * noise(1, 0);
        const Floats share = weight / larger(mixture, floats(1e-37f));
        add(g[0][0], positive ? zero : share * p0);
        add(g[0][1], positive ? share * p0 : zero);
        add(g[1][0], positive ? zero : share * p1);
        add(g[1][1], positive ? share * p1 : zero);
    }
    result.by_offset = sum(by_offset);
    result.by_slope = sum(by_slope);
    for (int k = 0; k < 3; ++k) result.curvature[k] = sum(curvature[k]);
    for (int j = 0; j < 2; ++j)
        for (int k = 0; k < 2; ++k) result.responsibility[j][k] = sum(g[j][k]);
}

}  // namespace
