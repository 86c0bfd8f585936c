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

double weight_of(const PlattRows& rows, size_t i) { return rows.weight == nullptr ? 1 : rows.weight[i]; }

double squares_around(double center, const PlattRows& rows, Team& team) {
    return sum_chunks<Squares>(rows.n_rows, team, [&](size_t begin, size_t end, Squares& sums) {
               for (size_t i = begin; i < end; ++i) {
                   const double deviation = rows.scores[i] - center;
                   sums.sum += weight_of(rows, i) * deviation * deviation;
               }
           }).sum;
}

// Newton's method for slope and offset of (score - center) / spread.
class PlattFit {
public:
    PlattSums sums;
    double slope, offset;

    PlattFit(const PlattRows& rows, Team& team, const double noise[2][2])
        : rows(rows), team(team), moments(moments_of(rows, team)) {
        point.center = moments.score / moments.weight;
        point.spread = std::sqrt(squares_around(point.center, rows, team) / moments.weight);
        constant = !(point.spread > 1e-12 * std::max(1.0, std::abs(point.center)));
        if (constant) point.spread = 1;  // only the offset means anything
        point.target[1] = (moments.positive + 1) / (moments.positive + 2);
        point.target[0] = 1 / (moments.weight - moments.positive + 2);
        std::memcpy(point.noise, noise, sizeof point.noise);
    }

    // From the last slope and offset, or from the class frequency, where no score is so far out that
    // the loss has lost its curvature.
    void begin(const PlattState& state) {
        slope = state.fitted && !constant ? state.slope * point.spread : 0;
        offset = state.fitted ? state.offset + state.slope * point.center : frequency();
        evaluate(slope, offset);
    }

    void minimise() {
        for (int iteration = 0; iteration < 100; ++iteration) {
            const double determinant = hessian[0] * hessian[2] - hessian[1] * hessian[1];
            const double by_slope = (hessian[2] * gradient[0] - hessian[1] * gradient[1]) / determinant;
            const double by_offset = (hessian[0] * gradient[1] - hessian[1] * gradient[0]) / determinant;
            const double decrement = by_slope * gradient[0] + by_offset * gradient[1];
            if (!(decrement > 1e-12 * moments.weight)) break;
            const double largest = std::max(std::abs(by_slope), std::abs(by_offset));
            // The loss is convex: a step is good when its slope has not grown on the other side.
            double scale = std::min(1.0, 10 / largest);
            for (;; scale /= 2) {
                evaluate(slope - scale * by_slope, offset - scale * by_offset);
                const double end = by_slope * gradient[0] + by_offset * gradient[1];
                if (std::abs(end) <= decrement || scale < 1e-10) break;
            }
            slope -= scale * by_slope;
            offset -= scale * by_offset;
        }
    }

    // Where the scores contradict the labels, keep the class frequency.
    void refuse_negative_slopes() {
        if (!(slope < 0)) return;
        slope = 0;
        offset = frequency();
        evaluate(slope, offset);
    }

    PlattState state() const {
        return {slope / point.spread, offset - slope * point.center / point.spread, true};
    }

private:
    static Moments moments_of(const PlattRows& rows, Team& team) {
        return sum_chunks<Moments>(rows.n_rows, team, [&](size_t begin, size_t end, Moments& sums) {
            for (size_t i = begin; i < end; ++i) {
                const double w = weight_of(rows, i), s = rows.scores[i];
                sums.weight += w;
                sums.score += w * s;
                sums.positive += (rows.flags[i] & POSITIVE) ? w : 0;
            }
        });
    }

    // The log-odds of class 1 by its smoothed frequency.
    double frequency() const {
        const double share = (moments.positive * point.target[1] +
                              (moments.weight - moments.positive) * point.target[0]) /
                             moments.weight;
        return std::log(share / (1 - share));
    }

    void evaluate(double at_slope, double at_offset) {
        point.slope = at_slope;
        point.offset = at_offset;
        sums = sum_chunks<PlattSums>(
            rows.n_rows, team, [&](size_t begin, size_t end, PlattSums& chunk) {
                kernels().platt_sums(rows, point, begin, end, chunk);
            });
        const double* c = sums.curvature;
        gradient[0] = sums.by_slope + SLOPE_PENALTY * at_slope;
        gradient[1] = sums.by_offset + OFFSET_PENALTY * at_offset;
        hessian[0] = c[2] + SLOPE_PENALTY;
        hessian[1] = c[1];
        hessian[2] = c[0] + OFFSET_PENALTY;
        if (constant) gradient[0] = hessian[1] = 0;
    }

    const PlattRows& rows;
    Team& team;
    const Moments moments;
    PlattPoint point;
    bool constant;
    double gradient[2], hessian[3];
};

}  // namespace

PlattSums fit_platt(const PlattRows& rows, Team& team, const double noise[2][2],
                    PlattState& state) {
    PlattFit fit(rows, team, noise);
    fit.begin(state);
    fit.minimise();
    fit.refuse_negative_slopes();
    state = fit.state();
    return fit.sums;
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
