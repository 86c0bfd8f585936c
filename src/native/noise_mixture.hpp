// A mixture of sigmoids at single scores, and where it is 1/2. Part of noise_platt.cpp.
#pragma once
#include <math.h>

#include "noise_platt.hpp"
#include "simd.hpp"

namespace {

using rboost::Mixture;
using rboost::Of;

// Sums over a mixture at HALF scores: of w*sigmoid(m), of w*sigmoid(-m), and of their slope.
struct MixtureSums {
    Doubles positive{}, negative{}, slope{};
};

INLINE MixtureSums sums_at(const Mixture& mixture, Doubles scores) {
    MixtureSums sums;
    for (size_t k = 0; k < mixture.n_points; ++k) {
        const double weight = mixture.weights[k], slope = mixture.slopes[k];
        const Doubles margin = scores * slope + mixture.offsets[k];
        const Doubles small = exponential(-magnitude(margin));
        const Doubles inverse = 1.0 / (1.0 + small);
        const Doubles share = weight * inverse, rest = small * share;
        const auto below = margin < doubles(0);
        sums.positive += below ? rest : share;
        sums.negative += below ? share : rest;
        sums.slope += slope * (rest * inverse);
    }
    return sums;
}

// log of the sum of w * sigmoid(sign * m) where every term underflows.
double log_sum(const Mixture& mixture, double score, double sign) {
    double largest = -INFINITY, total = 0;
    for (int pass = 0; pass < 2; ++pass)
        for (size_t k = 0; k < mixture.n_points; ++k) {
            if (!(mixture.weights[k] > 0)) continue;
            const double margin = sign * (mixture.slopes[k] * score + mixture.offsets[k]);
            const double term = log(mixture.weights[k]) + (margin < 0 ? margin : 0) -
                                log1p(exp(margin < 0 ? margin : -margin));
            if (pass == 0)
                largest = term > largest ? term : largest;
            else
                total += exp(term - largest);
        }
    return largest + log(total);
}

// Sums below this are taken by their logarithms.
constexpr double TINY = 1e-290;

INLINE Doubles log_odds_of(const Mixture& mixture, const MixtureSums& sums, Doubles scores) {
    Doubles result = logarithm(larger(sums.positive, doubles(TINY))) -
                     logarithm(larger(sums.negative, doubles(TINY)));
    for (int l = 0; l < HALF; ++l) {
        if (sums.positive[l] >= TINY && sums.negative[l] >= TINY) continue;
        const double positive =
            sums.positive[l] < TINY ? log_sum(mixture, scores[l], 1) : log(sums.positive[l]);
        const double negative =
            sums.negative[l] < TINY ? log_sum(mixture, scores[l], -1) : log(sums.negative[l]);
        result[l] = positive - negative;
    }
    return result;
}

INLINE Doubles load_some(const double* from, size_t n) {
    Doubles v = doubles(from[0]);
    for (size_t l = 0; l < n; ++l) v[l] = from[l];
    return v;
}

void evaluate_each(const Mixture& mixture, Of what, const double* scores, size_t n_rows, double* out) {
    for (size_t i = 0; i < n_rows; i += HALF) {
        const size_t n = n_rows - i < HALF ? n_rows - i : HALF;
        const Doubles score = n < HALF ? load_some(scores + i, n) : load<Doubles>(scores + i);
        const MixtureSums sums = sums_at(mixture, score);
        const Doubles found = what == Of::log_odds ? log_odds_of(mixture, sums, score)
                                                   : smaller(sums.positive, doubles(1));
        for (size_t l = 0; l < n; ++l) out[i + l] = found[l];
    }
}

double threshold(const Mixture& mixture, double lowest, double highest) {
    const auto tilt_at = [&](double score, double& slope) {
        const MixtureSums sums = sums_at(mixture, doubles(score));
        slope = 2 * sums.slope[0];
        return sums.positive[0] - sums.negative[0];
    };
    double slope, low = lowest, high = highest;
    if (tilt_at(lowest, slope) >= 0) return lowest;
    if (tilt_at(highest, slope) <= 0) return highest;
    double score = low / 2 + high / 2;
    for (int steps = 0; steps < 200; ++steps) {  // Newton, and halving where it leaves the interval
        const double tilt = tilt_at(score, slope);
        if (tilt == 0) break;
        (tilt < 0 ? low : high) = score;
        double next = score - tilt / slope;
        if (!(next > low && next < high) || steps % 8 == 7) next = low / 2 + high / 2;
        const double moved = fabs(next - score);
        score = next;
        if (moved <= 1e-15 * (fabs(score) + 1e-300) || !(score > low && score < high)) break;
    }
    return score < lowest ? lowest : score > highest ? highest : score;
}

}  // namespace
