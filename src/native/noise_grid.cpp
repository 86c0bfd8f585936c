#include "noise_grid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels.hpp"
#include "noise_lattice.hpp"

namespace rboost {

Rates rates_of(KindName kind, double first, double second, const NoisePrior& prior) {
    const double sum = prior.largest_sum, rare = prior.rare;
    switch (kind) {
        case KindName::hardly_any:
            return {sum * (rare * (first * first * first)), sum * (rare * (second * second * second))};
        case KindName::alike:
            return {sum * (first * 0.5), sum * (first * 0.5)};
        case KindName::into_1: {
            const double rate = 1 - std::sqrt(1 - first);
            return {sum * rate, sum * std::min(rare * (second * second * second), 1 - rate)};
        }
        case KindName::into_0: {
            const double rate = 1 - std::sqrt(1 - first);
            return {sum * std::min(rare * (second * second * second), 1 - rate), sum * rate};
        }
        default: {
            const double total = std::sqrt(first);
            return {sum * (total * second), sum * (total * (1 - second))};
        }
    }
}

namespace {

void set_rates(Lattice& lattice, size_t point, Rates rates) {
    lattice.rates[2 * point] = rates.into_1;
    lattice.rates[2 * point + 1] = rates.into_0;
}

// Lines for the sum of both rates, as a share of the largest, and the share of the first in it:
// where the search of every kind of noise begins.
Lattice rough_lines(const LabelCounts& counts, const NoisePrior& prior) {
    Lattice coarse(Rectangle{}, 4, 2), fine(Rectangle{}, 8, 4);
    LinePrior hasty = prior.line;  // where to begin need not be exact
    for (Lattice* lattice : {&coarse, &fine}) {
        const bool first = lattice == &coarse;
        for (size_t point = 0; point < lattice->size(); ++point) {
            const double total = lattice->number(0, point), share = lattice->number(1, point);
            set_rates(*lattice, point, {prior.largest_sum * total * share,
                                        prior.largest_sum * total * (1 - share)});
            double* line = &lattice->lines[2 * point];
            line[0] = 1, line[1] = 0;
            if (!first) coarse.interpolate(total, share, line);
        }
        hasty.max_steps = first ? 8 : 3;
        kernels().noise_platt->fit_lines(counts, hasty, lattice->rates.data(), lattice->size(), 0,
                                         1e300,  // none is given up
                                         lattice->lines.data(), lattice->evidence.data());
    }
    return fine;
}

// Grids of one kind of noise, finer and finer where it is likely.
class KindSearch {
public:
    KindSearch(const NoiseKind& kind, const LabelCounts& counts, const NoisePrior& prior)
        : kind(kind), counts(counts), prior(prior), n_axes(kind.n_points[1] > 1 ? 2 : 1) {}

    void run(const Lattice& rough, std::vector<GridPoint>& found) const {
        Rectangle region;
        Lattice grid(region, kind.n_points[0], kind.n_points[1]);
        for (size_t point = 0; point < grid.size(); ++point) {
            const Rates rates = rates_at(grid, point);
            const double total = rates.into_1 + rates.into_0;
            set_rates(grid, point, rates);
            rough.interpolate(total / prior.largest_sum, total > 0 ? rates.into_1 / total : 0.5,
                              &grid.lines[2 * point]);
        }
        fit(grid, 0);
        while (true) {
            const Rectangle likely = likely_part(grid);
            if (likely.area() > 0.5 * region.area() || !(likely.area() > 0)) break;
            region = likely;
            grid = refined(grid, region);
        }
        keep_likely(grid, region.area(), found);
    }

private:
    Rates rates_at(const Lattice& grid, size_t point) const {
        return rates_of(kind.name, grid.number(0, point), grid.number(1, point), prior);
    }

    void fit(Lattice& grid, size_t first) const {
        kernels().noise_platt->fit_lines(counts, prior.line, grid.rates.data(), grid.size(), first,
                                         prior.negligible, grid.lines.data(), grid.evidence.data());
    }

    Lattice refined(const Lattice& before, const Rectangle& region) const {
        Lattice grid(region, kind.n_points[0], kind.n_points[1]);
        for (size_t point = 0; point < grid.size(); ++point) {
            set_rates(grid, point, rates_at(grid, point));
            before.interpolate(grid.number(0, point), grid.number(1, point), &grid.lines[2 * point]);
        }
        // Begin where it was likeliest: what is hopeless is then known soon.
        const size_t best = std::max_element(before.evidence.begin(), before.evidence.end()) -
                            before.evidence.begin();
        fit(grid, grid.point_near(before.number(0, best), before.number(1, best)));
        return grid;
    }

    // What is not negligible, with two cells more on each side: a peak between two points must not
    // be left out.
    Rectangle likely_part(const Lattice& grid) const {
        const double best = grid.best();
        double least[2] = {1, 1}, most[2] = {0, 0};
        for (size_t point = 0; point < grid.size(); ++point) {
            if (!(grid.evidence[point] > best - prior.negligible)) continue;
            for (int axis = 0; axis < n_axes; ++axis) {
                least[axis] = std::min(least[axis], grid.number(axis, point));
                most[axis] = std::max(most[axis], grid.number(axis, point));
            }
        }
        Rectangle likely;
        for (int axis = 0; axis < n_axes; ++axis) {
            likely.low[axis] = std::max(least[axis] - 5 * grid.half[axis], 0.0);
            likely.high[axis] = std::min(most[axis] + 5 * grid.half[axis], 1.0);
        }
        return likely;
    }

    void keep_likely(const Lattice& grid, double area, std::vector<GridPoint>& found) const {
        const double best = grid.best();
        const double log_prior = std::log(kind.mass * (area / double(grid.size())));
        for (size_t point = 0; point < grid.size(); ++point) {
            if (!(grid.evidence[point] > best - prior.negligible)) continue;
            GridPoint kept;
            kept.rates = {grid.rates[2 * point], grid.rates[2 * point + 1]};
            set_cell(kept, grid, point);
            kept.slope = grid.lines[2 * point];
            kept.offset = grid.lines[2 * point + 1];
            kept.log_weight = grid.evidence[point] + log_prior;
            found.push_back(kept);
        }
    }

    // The lowest and highest rates at the corners of a point's cell.
    void set_cell(GridPoint& kept, const Lattice& grid, size_t point) const {
        kept.lowest = {1, 1}, kept.highest = {0, 0};
        for (int corner = 0; corner < 4; ++corner) {
            const Rates at = rates_of(
                kind.name,
                std::clamp(grid.number(0, point) + (corner & 1 ? 1 : -1) * grid.half[0], 0.0, 1.0),
                std::clamp(grid.number(1, point) + (corner & 2 ? 1 : -1) * grid.half[1], 0.0, 1.0), prior);
            kept.lowest = {std::min(kept.lowest.into_1, at.into_1),
                           std::min(kept.lowest.into_0, at.into_0)};
            kept.highest = {std::max(kept.highest.into_1, at.into_1),
                            std::max(kept.highest.into_0, at.into_0)};
        }
    }

    const NoiseKind& kind;
    const LabelCounts& counts;
    const NoisePrior& prior;
    const int n_axes;
};

}  // namespace

std::vector<GridPoint> explore(const LabelCounts& counts, const std::vector<NoiseKind>& kinds,
                               const NoisePrior& prior) {
    const Lattice rough = rough_lines(counts, prior);
    std::vector<GridPoint> found;
    found.reserve(512);
    for (const NoiseKind& kind : kinds) KindSearch(kind, counts, prior).run(rough, found);
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
