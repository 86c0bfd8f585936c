#include "noise_grid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels.hpp"

namespace rboost {

Rates rates_of(Kind kind, double first, double second, const NoisePrior& prior) {
    const double sum = prior.largest_sum, rare = prior.rare;
    switch (kind) {
        case Kind::hardly_any:
            return {sum * (rare * (first * first * first)), sum * (rare * (second * second * second))};
        case Kind::alike:
            return {sum * (first * 0.5), sum * (first * 0.5)};
        case Kind::into_1:
            return {sum * first, sum * std::min(rare * (second * second * second), 1 - first)};
        case Kind::into_0:
            return {sum * std::min(rare * (second * second * second), 1 - first), sum * first};
        default: {
            const double total = std::sqrt(first);
            return {sum * (total * second), sum * (total * (1 - second))};
        }
    }
}

namespace {

// Lines at the centres of n[0] * n[1] cells of the rectangle from low to low + 2 * half * n; the
// first number runs fastest.
struct Lattice {
    double low[2], half[2];
    int n[2];
    std::vector<double> rates, lines, evidence;

    void resize() {
        const size_t n_points = size_t(n[0]) * n[1];
        rates.resize(2 * n_points);
        lines.resize(2 * n_points);
        evidence.resize(n_points);
    }
    double at(int axis, int i) const { return low[axis] + half[axis] * (2 * i + 1); }

    // Between the four points around, or beyond the outermost two.
    void interpolate(double first, double second, double* line) const {
        const double position[2] = {first, second};
        int cell[2];
        double share[2];
        for (int axis = 0; axis < 2; ++axis) {
            cell[axis] = 0;
            share[axis] = 0;
            if (n[axis] == 1) continue;
            const double place = (position[axis] - at(axis, 0)) / (2 * half[axis]);
            cell[axis] = int(std::clamp(place, 0.0, n[axis] - 2.0));
            share[axis] = std::clamp(place - cell[axis], -0.5, 1.5);
        }
        const int right = n[0] > 1, up = n[1] > 1 ? n[0] : 0;
        const double* corner = &lines[2 * (size_t(cell[1]) * n[0] + cell[0])];
        for (int k = 0; k < 2; ++k) {
            const double bottom = corner[k] + share[0] * (corner[2 * right + k] - corner[k]);
            const double* above = corner + 2 * up;
            const double top = above[k] + share[0] * (above[2 * right + k] - above[k]);
            line[k] = bottom + share[1] * (top - bottom);
        }
    }
};

// Lines for the sum of both rates, as a share of the largest, and the share of the first in it:
// where the search of every structure begins.
Lattice seed(const LabelCounts& counts, const NoisePrior& prior) {
    Lattice coarse, fine;
    LinePrior hasty = prior.line;  // where to begin need not be exact
    for (Lattice* lattice : {&coarse, &fine}) {
        const bool first = lattice == &coarse;
        lattice->n[0] = first ? 4 : 8;
        lattice->n[1] = first ? 2 : 4;
        for (int axis = 0; axis < 2; ++axis) {
            lattice->low[axis] = 0;
            lattice->half[axis] = 0.5 / lattice->n[axis];
        }
        lattice->resize();
        size_t point = 0;
        for (int j = 0; j < lattice->n[1]; ++j)
            for (int i = 0; i < lattice->n[0]; ++i, ++point) {
                const double total = lattice->at(0, i), share = lattice->at(1, j);
                lattice->rates[2 * point] = prior.largest_sum * total * share;
                lattice->rates[2 * point + 1] = prior.largest_sum * total * (1 - share);
                double* line = &lattice->lines[2 * point];
                line[0] = 1, line[1] = 0;
                if (!first) coarse.interpolate(total, share, line);
            }
        hasty.max_steps = first ? 8 : 3;
        kernels().noise_platt->fit_lines(counts, hasty, lattice->rates.data(), point, 0,
                                         1e300,  // none is given up
                                         lattice->lines.data(), lattice->evidence.data());
    }
    return fine;
}

void grid_of(const Structure& structure, const LabelCounts& counts, const NoisePrior& prior,
             const Lattice& seeds, std::vector<GridPoint>& found) {
    const int n_axes = structure.n_points[1] > 1 ? 2 : 1;
    Lattice now, before;
    double low[2] = {0, 0}, high[2] = {1, 1};
    for (int level = 0;; ++level) {
        for (int axis = 0; axis < 2; ++axis) {
            now.n[axis] = structure.n_points[axis];
            now.low[axis] = low[axis];
            now.half[axis] = (high[axis] - low[axis]) / now.n[axis] / 2;
        }
        now.resize();
        size_t point = 0;
        for (int j = 0; j < now.n[1]; ++j)
            for (int i = 0; i < now.n[0]; ++i, ++point) {
                const double first = now.at(0, i), second = now.at(1, j);
                const Rates rates = rates_of(structure.kind, first, second, prior);
                now.rates[2 * point] = rates.into_1;
                now.rates[2 * point + 1] = rates.into_0;
                double* line = &now.lines[2 * point];
                if (level > 0) {
                    before.interpolate(first, second, line);
                } else {
                    const double total = rates.into_1 + rates.into_0;
                    seeds.interpolate(total / prior.largest_sum,
                                      total > 0 ? rates.into_1 / total : 0.5, line);
                }
            }
        // Begin where it was likeliest: what is hopeless is then known soon.
        size_t start = 0;
        if (level > 0) {
            const size_t best = std::max_element(before.evidence.begin(), before.evidence.end()) -
                                before.evidence.begin();
            const double places[2] = {before.at(0, int(best % before.n[0])),
                                      before.at(1, int(best / before.n[0]))};
            int nearest[2];
            for (int axis = 0; axis < 2; ++axis)
                nearest[axis] = int(std::clamp((places[axis] - low[axis]) / (2 * now.half[axis]), 0.0,
                                               now.n[axis] - 1.0));
            start = size_t(nearest[1]) * now.n[0] + nearest[0];
        }
        kernels().noise_platt->fit_lines(counts, prior.line, now.rates.data(), point, start,
                                         prior.negligible, now.lines.data(), now.evidence.data());

        const double best = *std::max_element(now.evidence.begin(), now.evidence.end());
        double least[2] = {1, 1}, most[2] = {0, 0};
        for (size_t k = 0; k < point; ++k) {
            if (!(now.evidence[k] > best - prior.negligible)) continue;
            const double free[2] = {now.at(0, int(k % now.n[0])), now.at(1, int(k / now.n[0]))};
            for (int axis = 0; axis < n_axes; ++axis) {
                least[axis] = std::min(least[axis], free[axis]);
                most[axis] = std::max(most[axis], free[axis]);
            }
        }
        // Two cells more on each side: a peak between two points must not be left out.
        double volume = 1, new_volume = 1, new_low[2] = {0, 0}, new_high[2] = {1, 1};
        for (int axis = 0; axis < n_axes; ++axis) {
            new_low[axis] = std::max(least[axis] - 5 * now.half[axis], 0.0);
            new_high[axis] = std::min(most[axis] + 5 * now.half[axis], 1.0);
            volume *= high[axis] - low[axis];
            new_volume *= new_high[axis] - new_low[axis];
        }
        if (new_volume > 0.5 * volume || !(new_volume > 0)) {
            const double log_prior = std::log(structure.mass * (volume / double(point)));
            for (size_t k = 0; k < point; ++k) {
                if (!(now.evidence[k] > best - prior.negligible)) continue;
                const double free[2] = {now.at(0, int(k % now.n[0])), now.at(1, int(k / now.n[0]))};
                GridPoint one;
                one.rates = {now.rates[2 * k], now.rates[2 * k + 1]};
                one.lowest = {1, 1}, one.highest = {0, 0};
                for (int corner = 0; corner < 4; ++corner) {
                    const Rates at = rates_of(
                        structure.kind,
                        std::clamp(free[0] + (corner & 1 ? 1 : -1) * now.half[0], 0.0, 1.0),
                        std::clamp(free[1] + (corner & 2 ? 1 : -1) * now.half[1], 0.0, 1.0), prior);
                    one.lowest = {std::min(one.lowest.into_1, at.into_1),
                                  std::min(one.lowest.into_0, at.into_0)};
                    one.highest = {std::max(one.highest.into_1, at.into_1),
                                   std::max(one.highest.into_0, at.into_0)};
                }
                one.slope = now.lines[2 * k];
                one.offset = now.lines[2 * k + 1];
                one.log_weight = now.evidence[k] + log_prior;
                found.push_back(one);
            }
            return;
        }
        for (int axis = 0; axis < n_axes; ++axis) low[axis] = new_low[axis], high[axis] = new_high[axis];
        std::swap(now, before);
    }
}

}  // namespace

std::vector<GridPoint> explore(const LabelCounts& counts, const std::vector<Structure>& structures,
                               const NoisePrior& prior) {
    const Lattice seeds = seed(counts, prior);
    std::vector<GridPoint> found;
    found.reserve(512);
    for (const Structure& structure : structures) grid_of(structure, counts, prior, seeds, found);
    double best = -std::numeric_limits<double>::infinity();
    for (const GridPoint& point : found) best = std::max(best, point.log_weight);
    found.erase(std::remove_if(found.begin(), found.end(),
                               [&](const GridPoint& point) {
                                   return !(point.log_weight > best - prior.negligible);
                               }),
                found.end());
    return found;
}

}  // namespace rboost
