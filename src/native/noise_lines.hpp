// The lines of many noise matrices: each lane of a vector searches for one of them. Part of
// noise_platt.cpp.
#pragma once
#include "noise_likelihood.hpp"
#include "noise_line_search.hpp"

namespace {

// A noise matrix is given up when even four times the gain that is predicted leaves it this many
// nats beyond what is negligible.
constexpr double MARGIN = 3.0;
// Up to this many rows the rounding of float32 costs less than 1e-3 nats.
constexpr double FEW_ROWS = 20000;
// Rounding may keep float32 from ever coming to rest, so it takes no more steps than this.
constexpr int FLOAT_STEPS = 50;
// Counts of more rows than float32 can square are left to float64.
constexpr double MOST_ROWS_OF_FLOATS = 1e12;

// What fit_lines was asked, with a line and its log-evidence for each point.
struct Task {
    const LabelCounts& counts;
    LinePrior prior;
    const double* rates;
    size_t n_points, first;
    double n_rows, negligible;
    double *lines, *evidence;
};

template <class T, bool ANY_TRUSTED>
class LaneSearches {
    typedef typename Precision<T>::Vector V;
    static constexpr int N = Precision<T>::LANES_USED;

public:
    LaneSearches(const Task& task, double skip)
        : task(task), skip(skip), rounding(task.n_rows * Precision<T>::ROUNDING),
          by_slope(1 / (task.prior.slope_scale * task.prior.slope_scale)),
          by_offset(1 / (task.prior.offset_scale * task.prior.offset_scale)) {}

    void run() {
        while (occupy_lanes()) {
            const Likelihood<V> found = likelihood<T, ANY_TRUSTED>(
                task.counts,
                NoisyLines<V>{load<V>(into_1), load<V>(into_0), load<V>(slope), load<V>(offset)});
            for (int l = 0; l < N; ++l)
                if (searches[l].busy) take_in(searches[l], line_in(l, found));
        }
    }

private:
    // Let idle lanes begin with the next points, if there are any. False when all are done.
    INLINE bool occupy_lanes() {
        bool any = false;
        for (int l = 0; l < N; ++l) {
            Search& search = searches[l];
            while (!search.busy && n_begun < task.n_points) {
                size_t point = task.first + n_begun++;
                if (point >= task.n_points) point -= task.n_points;
                if (task.evidence[point] < skip) continue;
                search.begin(point, task.lines + 2 * point);
                into_1[l] = T(task.rates[2 * point]);
                into_0[l] = T(task.rates[2 * point + 1]);
            }
            if (!search.busy) continue;
            any = true;
            slope[l] = T(search.try_slope);
            offset[l] = T(search.try_offset);
        }
        return any;
    }

    // The likelihood with the prior.
    INLINE Line line_in(int l, const Likelihood<V>& found) const {
        const double a = slope[l], b = offset[l], p = by_slope, q = by_offset;
        return {a, b, found.value.lane(l) - (p * a * a + q * b * b) / 2,
                found.by_slope[l] - p * a, found.by_offset[l] - q * b,
                {found.fisher[0][l] + p, found.fisher[1][l], found.fisher[2][l] + q},
                {found.newton[0][l] + p, found.newton[1][l], found.newton[2][l] + q}};
    }

    INLINE void take_in(Search& search, const Line& tried) {
        const double hopeless = best - task.negligible - MARGIN - 4 * rounding;
        if (search.proceed(tried, task.prior, rounding, hopeless)) return;
        search.busy = false;
        task.lines[2 * search.point] = search.line.slope;
        task.lines[2 * search.point + 1] = search.line.offset;
        task.evidence[search.point] = search.evidence;
        if (search.evidence > best) best = search.evidence;
    }

    const Task& task;
    const double skip;  // points of less evidence keep the line and the evidence they have
    const double rounding, by_slope, by_offset;
    T into_1[N] = {}, into_0[N] = {}, slope[N] = {}, offset[N] = {};
    Search searches[N];
    size_t n_begun = 0;
    double best = -INFINITY;
};

template <bool ANY_TRUSTED>
void fit_with(const Task& task) {
    double skip = -INFINITY;
    for (size_t i = 0; i < task.n_points; ++i) task.evidence[i] = 0;
    // float32 is faster. Where it is not exact enough it still tells where to search.
    if (task.negligible < INFINITY && task.n_rows < MOST_ROWS_OF_FLOATS) {
        Task hasty = task;
        if (hasty.prior.max_steps > FLOAT_STEPS) hasty.prior.max_steps = FLOAT_STEPS;
        LaneSearches<float, ANY_TRUSTED>(hasty, skip).run();
        if (task.n_rows <= FEW_ROWS) return;
        double best = -INFINITY;
        for (size_t i = 0; i < task.n_points; ++i)
            best = task.evidence[i] > best ? task.evidence[i] : best;
        skip = best - task.negligible - MARGIN - 8 * task.n_rows * Precision<float>::ROUNDING;
    }
    LaneSearches<double, ANY_TRUSTED>(task, skip).run();
}

void fit_lines(const LabelCounts& counts, const LinePrior& prior, const double* rates,
               size_t n_points, size_t first, double negligible, double* lines, double* evidence) {
    double n_rows = 0;
    for (size_t k = 0; k < counts.n_bins; ++k)
        n_rows += counts.observed[0][k] + counts.observed[1][k] + counts.trusted[0][k] + counts.trusted[1][k];
    const Task task = {counts, prior, rates, n_points, first, n_rows, negligible, lines, evidence};
    if (counts.any_trusted)
        fit_with<true>(task);
    else
        fit_with<false>(task);
}

}  // namespace
