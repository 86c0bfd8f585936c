#include "platt.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace rboost {

namespace {

// Weight of a Gaussian prior on the slope for scores of unit variance, and on the offset; as in
// rboost.calibration.
constexpr double SLOPE_PENALTY = 2.0 / 900, OFFSET_PENALTY = 1e-10;

struct Moments {
    double weight = 0, score = 0, positive = 0;
};
struct Squares {
    double sum = 0;
};

template <class Sums, class Work>
Sums sum_chunks(size_t n_rows, Team& team, const Work& work) {
    std::vector<Sums> chunks(n_chunks(n_rows));
    team.for_each_chunk(n_rows, [&](size_t chunk, size_t begin, size_t end) {
        work(begin, end, chunks[chunk]);
    });
    Sums total;
    double* to = reinterpret_cast<double*>(&total);
    for (const Sums& sums : chunks) {
        const double* from = reinterpret_cast<const double*>(&sums);
        for (size_t k = 0; k < sizeof(Sums) / sizeof(double); ++k) to[k] += from[k];
    }
    return total;
}

}  // namespace

PlattSums fit_platt(const PlattRows& rows, Team& team, const double noise[2][2],
                    PlattState& state) {
    const auto weight_of = [&](size_t i) { return rows.weight == nullptr ? 1 : rows.weight[i]; };
    const Moments moments =
        sum_chunks<Moments>(rows.n_rows, team, [&](size_t begin, size_t end, Moments& sums) {
            for (size_t i = begin; i < end; ++i) {
                const double w = weight_of(i), s = rows.scores[i];
                sums.weight += w;
                sums.score += w * s;
                sums.positive += (rows.flags[i] & POSITIVE) ? w : 0;
            }
        });
    const double center = moments.score / moments.weight;
    const Squares squares =
        sum_chunks<Squares>(rows.n_rows, team, [&](size_t begin, size_t end, Squares& sums) {
            for (size_t i = begin; i < end; ++i) {
                const double deviation = rows.scores[i] - center;
                sums.sum += weight_of(i) * deviation * deviation;
            }
        });
    double spread = std::sqrt(squares.sum / moments.weight);
    const bool constant = !(spread > 1e-12 * std::max(1.0, std::abs(center)));
    if (constant) spread = 1;

    PlattPoint point;
    point.center = center;
    point.spread = spread;
    point.target[1] = (moments.positive + 1) / (moments.positive + 2);
    point.target[0] = 1 / (moments.weight - moments.positive + 2);
    std::memcpy(point.noise, noise, sizeof point.noise);

    // Newton's method for slope and offset of (score - center) / spread, from the last ones or the
    // class frequency, where no score is so far out that the loss has lost its curvature.
    const double share = (moments.positive * point.target[1] +
                          (moments.weight - moments.positive) * point.target[0]) /
                         moments.weight;
    const double frequency = std::log(share / (1 - share));
    double slope = state.fitted ? state.slope * spread : 0;
    double offset = state.fitted ? state.offset + state.slope * center : frequency;
    if (constant) slope = 0;  // only the offset means anything
    PlattSums sums;
    const auto evaluate = [&](double a, double b, double gradient[2], double hessian[3]) {
        point.slope = a;
        point.offset = b;
        sums = sum_chunks<PlattSums>(
            rows.n_rows, team, [&](size_t begin, size_t end, PlattSums& chunk) {
                kernels().platt_sums(rows, point, begin, end, chunk);
            });
        const double* c = sums.curvature;
        gradient[0] = sums.by_slope + SLOPE_PENALTY * a;
        gradient[1] = sums.by_offset + OFFSET_PENALTY * b;
        hessian[0] = c[2] + SLOPE_PENALTY;
        hessian[1] = c[1];
        hessian[2] = c[0] + OFFSET_PENALTY;
        if (constant) gradient[0] = hessian[1] = 0;
    };
    double gradient[2], hessian[3];
    evaluate(slope, offset, gradient, hessian);
    for (int iteration = 0; iteration < 100; ++iteration) {
        const double determinant = hessian[0] * hessian[2] - hessian[1] * hessian[1];
        double by_slope = (hessian[2] * gradient[0] - hessian[1] * gradient[1]) / determinant;
        double by_offset = (hessian[0] * gradient[1] - hessian[1] * gradient[0]) / determinant;
        const double decrement = by_slope * gradient[0] + by_offset * gradient[1];
        if (!(decrement > 1e-12 * moments.weight)) break;
        const double largest = std::max(std::abs(by_slope), std::abs(by_offset));
        double scale = std::min(1.0, 10 / largest), new_gradient[2];
        // The loss is convex: a step is good when its slope has not grown on the other side.
        for (;; scale /= 2) {
            evaluate(slope - scale * by_slope, offset - scale * by_offset, new_gradient, hessian);
            const double end = by_slope * new_gradient[0] + by_offset * new_gradient[1];
            if (std::abs(end) <= decrement || scale < 1e-10) break;
        }
        slope -= scale * by_slope;
        offset -= scale * by_offset;
        std::memcpy(gradient, new_gradient, sizeof gradient);
    }
    if (slope < 0) {  // the scores contradict the labels: keep the class frequency
        slope = 0;
        offset = frequency;
        evaluate(slope, offset, gradient, hessian);
    }
    state = {slope / spread, offset - slope * center / spread, true};
    return sums;
}

void update_noise(const PlattRows& rows, Team& team, PlattState& state, double noise[2][2]) {
    const PlattSums sums = fit_platt(rows, team, noise, state);
    for (int j = 0; j < 2; ++j) {  // eq. (20)-(22)
        const double g[2] = {noise[j][0] * sums.responsibility[j][0],
                             noise[j][1] * sums.responsibility[j][1]};
        if (g[0] + g[1] > 0)
            for (int k = 0; k < 2; ++k) noise[j][k] = g[k] / (g[0] + g[1]);
    }
    constexpr double LARGEST_SUM = 0.99;  // rboost.noise.matrix.keep_informative
    const double total = noise[0][1] + noise[1][0];
    if (total > LARGEST_SUM)
        for (int j = 0; j < 2; ++j) {
            noise[j][1 - j] *= LARGEST_SUM / total;
            noise[j][j] = 1 - noise[j][1 - j];
        }
}

}  // namespace rboost
