// Sums of Platt scaling and of the multiplicative update of the noise matrix. Part of kernels.cpp.
#pragma once
#include "kernels.hpp"
#include "simd.hpp"

namespace {

using rboost::PlattPoint;
using rboost::PlattRows;
using rboost::PlattSums;

// Some rows, one a lane: scores with the centre taken away, divided by the spread.
struct PlattLanes {
    Doubles low, high;
    Floats weight;
    Ints positive;
};

INLINE PlattLanes load_lanes(const PlattRows& rows, const PlattPoint& point, size_t i, size_t end) {
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
    const Doubles center = doubles(point.center), inverse_spread = doubles(1 / point.spread);
    const Floats weight = weight_at == nullptr ? floats(1.0f)
                                               : join(load<Doubles>(weight_at),
                                                      load<Doubles>(weight_at + HALF));
    return {(load<Doubles>(score_at) - center) * inverse_spread,
            (load<Doubles>(score_at + HALF) - center) * inverse_spread, weight,
            (widened(flags_at) & rboost::POSITIVE) != 0};
}

// Sums of as many rows as there are lanes.
struct PlattTotals {
    Doubles by_offset{}, by_slope{}, curvature[3] = {}, responsibility[2][2] = {};

    static INLINE void add(Doubles& to, Floats from) { to += low_doubles(from) + high_doubles(from); }

    // Gradient and Hessian of Platt's loss.
    INLINE void add_loss(const PlattLanes& rows, const PlattPoint& point, Floats p0, Floats p1) {
        const Floats score = join(rows.low, rows.high);
        const Floats target = rows.positive ? floats(float(1 - point.target[1]))
                                            : floats(float(point.target[0]));
        // p1 - target, from the side on which nothing cancels
        const Floats residual = rows.weight * (rows.positive ? target - p0 : p1 - target);
        const Floats spread = rows.weight * p0 * p1;
        add(by_offset, residual);
        add(by_slope, residual * score);
        add(curvature[0], spread);
        add(curvature[1], spread * score);
        add(curvature[2], spread * score * score);
    }

    // What the multiplicative update of the noise matrix sums.
    INLINE void add_noise(const PlattLanes& rows, const PlattPoint& point, Floats p0, Floats p1) {
        const Floats zero = floats(0.0f);
        const auto noise = [&](int j, int k) { return floats(float(point.noise[j][k])); };
        const Floats mixture = rows.positive ? p0 * noise(0, 1) + p1 * noise(1, 1)
                                             : p0 * noise(0, 0) + p1 * noise(1, 0);
        const Floats share = rows.weight / larger(mixture, floats(1e-37f));
        add(responsibility[0][0], rows.positive ? zero : share * p0);
        add(responsibility[0][1], rows.positive ? share * p0 : zero);
        add(responsibility[1][0], rows.positive ? zero : share * p1);
        add(responsibility[1][1], rows.positive ? share * p1 : zero);
    }
};

void platt_sums(const PlattRows& rows, const PlattPoint& point, size_t begin, size_t end,
                PlattSums& result) {
    const Floats zero = floats(0.0f), one = floats(1.0f);
    const Doubles slope = doubles(point.slope), offset = doubles(point.offset);
    PlattTotals totals;
    for (size_t i = begin; i < end; i += LANES) {
        const PlattLanes lanes = load_lanes(rows, point, i, end);
        const Floats margin = join(slope * lanes.low + offset, slope * lanes.high + offset);
        // The smaller probability must not be lost to rounding.
        const Floats e = exponential(-magnitude(margin));
        const Floats likelier = one / (one + e), other = e * likelier;
        const Ints above = margin > zero;
        const Floats p1 = above ? likelier : other, p0 = above ? other : likelier;
        totals.add_loss(lanes, point, p0, p1);
        totals.add_noise(lanes, point, p0, p1);
    }
    result.by_offset = sum(totals.by_offset);
    result.by_slope = sum(totals.by_slope);
    for (int k = 0; k < 3; ++k) result.curvature[k] = sum(totals.curvature[k]);
    for (int j = 0; j < 2; ++j)
        for (int k = 0; k < 2; ++k) result.responsibility[j][k] = sum(totals.responsibility[j][k]);
}

}  // namespace
