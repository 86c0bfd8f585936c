// A table of the log-odds of a mixture of sigmoids, for many scores. They are nearly straight, so it has
// nodes that are equidistant where the sigmoids bend and ever farther apart beyond. Part of
// noise_platt.cpp.
#pragma once
#include <math.h>

#include "noise_mixture.hpp"

namespace {

constexpr int MAX_NODES = 2048;
constexpr int FEWEST_NODES = 32;
// How far the probability between two nodes may be off for the nodes to be doubled only once more,
// which divides it by about 16. Few rows are not worth a finer table.
constexpr double TABLE_ERROR = 1e-8, TABLE_ERROR_OF_FEW = 8e-7;
constexpr size_t FEW = 4096;

struct Table {
    // Node i is at center + scale * sinh(first + i * step), the last at center + scale * sinh(last).
    double center, scale, first, last, step;
    double inverse_scale, inverse_step;
    int n_nodes;
    double total;  // of the weights
    double score[MAX_NODES + 1], log_odds[MAX_NODES + 1], slope[MAX_NODES + 1];
};

INLINE double node(const Table& table, double i) {
    return table.center + table.scale * sinh(table.first + i * table.step);
}

// Cubic through both values with both slopes, at a share of the way between two nodes.
INLINE double hermite(double x_0, double x_1, double y_0, double y_1, double d_0, double d_1, double x) {
    const double h = x_1 - x_0, t = (x - x_0) / h, u = 1 - t;
    return y_0 * u + y_1 * t + t * u * (u * (d_0 * h - (y_1 - y_0)) - t * (d_1 * h - (y_1 - y_0)));
}

double sigmoid(double x) {
    const double small = exp(x < 0 ? x : -x);
    return (x < 0 ? small : 1.0) / (1 + small);
}

// The derivative of the log-odds far out, where p(y) or 1 - p(y) underflows: the mean slope.
double slope_far_out(const Mixture& mixture, double score, double log_odds) {
    double steepness = 0, mass = 0;
    const double sign = log_odds < 0 ? 1 : -1;
    const double all = log_sum(mixture, score, sign);
    for (size_t k = 0; k < mixture.n_points; ++k) {
        const double m = mixture.slopes[k] * score + mixture.offsets[k];
        const double w = mixture.weights[k] > 0 ? exp(log(mixture.weights[k]) + sign * m - all) : 0;
        steepness += w * mixture.slopes[k];
        mass += w;
    }
    return mass > 0 ? steepness / mass : 0;
}

// Fill every other node from `begin`.
void fill(Table& table, const Mixture& mixture, int begin) {
    double scores[HALF] = {};
    int nodes[HALF], n = 0;
    for (int i = begin; i < table.n_nodes; i += 2) {
        scores[n] = table.score[i] = node(table, i);
        nodes[n++] = i;
        if (n < HALF && i + 2 < table.n_nodes) continue;
        const Doubles at = load_some(scores, n);
        const MixtureSums sums = sums_at(mixture, at);
        const Doubles log_odds = log_odds_of(mixture, sums, at);
        for (int l = 0; l < n; ++l) {
            // d log(p / (1 - p)) = p' / p + p' / (1 - p)
            const double p = sums.positive[l], q = sums.negative[l];
            table.log_odds[nodes[l]] = log_odds[l];
            table.slope[nodes[l]] = p < TINY || q < TINY ? slope_far_out(mixture, scores[l], log_odds[l])
                                                         : sums.slope[l] / p + sums.slope[l] / q;
        }
        n = 0;
    }
}

// Where the nodes are to lie for scores from lowest to highest. False when there is nothing to gain.
bool choose_axis(Table& table, const Mixture& mixture, double lowest, double highest) {
    double steepest = 0, place = 0, mass = 0;
    table.total = 0;
    for (size_t k = 0; k < mixture.n_points; ++k) {
        const double slope = mixture.slopes[k], weight = mixture.weights[k];
        table.total += weight;
        if (!(slope > 0) || !(weight > 0)) continue;
        double middle = -mixture.offsets[k] / slope;
        middle = middle < lowest ? lowest : middle > highest ? highest : middle;
        place += weight * middle;
        mass += weight;
        steepest = slope > steepest ? slope : steepest;
    }
    if (!(mass > 0) || !(highest > lowest)) return false;
    table.center = place / mass;
    table.scale = 4 / steepest;
    if (!(table.scale < 1e300) || !(highest - lowest < 1e300) || !(table.scale > 1e-300)) return false;
    table.first = asinh((lowest - table.center) / table.scale);
    table.last = asinh((highest - table.center) / table.scale);
    return table.last - table.first > 1e-6;
}

// What was every node becomes every other.
void spread_nodes(Table& table, int n) {
    for (int i = n; i > 0; --i) {
        table.score[2 * i] = table.score[i];
        table.log_odds[2 * i] = table.log_odds[i];
        table.slope[2 * i] = table.slope[i];
    }
}

// How far off every other node would be if only its neighbours were known.
double largest_error(const Table& table) {
    double worst = 0;
    for (int i = 1; i < table.n_nodes; i += 2) {
        const double guess = hermite(table.score[i - 1], table.score[i + 1], table.log_odds[i - 1],
                                     table.log_odds[i + 1], table.slope[i - 1], table.slope[i + 1],
                                     table.score[i]);
        const double p = sigmoid(table.log_odds[i]);
        const double error = fabs(guess - table.log_odds[i]) * p * (1 - p);
        // Relative to the log-odds, for those who want them.
        const double relative = fabs(guess - table.log_odds[i]) / (1 + fabs(table.log_odds[i])) / 100;
        worst = fmax(worst, fmax(error, relative));
    }
    return worst;
}

// Double the nodes until they are dense enough. False when each score by itself is less work.
bool tabulate(Table& table, const Mixture& mixture, double lowest, double highest, size_t n_rows) {
    if (!choose_axis(table, mixture, lowest, highest)) return false;
    for (int n = FEWEST_NODES; n <= MAX_NODES / 2 && 4 * size_t(n) <= n_rows; n *= 2) {
        table.n_nodes = 2 * n + 1;
        table.step = (table.last - table.first) / (2 * n);
        table.inverse_step = 1 / table.step, table.inverse_scale = 1 / table.scale;
        if (n == FEWEST_NODES)
            fill(table, mixture, 0);
        else
            spread_nodes(table, n);
        fill(table, mixture, 1);
        if (largest_error(table) < (n_rows < FEW ? TABLE_ERROR_OF_FEW : TABLE_ERROR)) return true;
    }
    return false;
}

void range_of(const double* scores, size_t n_rows, double& lowest, double& highest) {
    lowest = highest = scores[0];
    for (size_t i = 0; i < n_rows; ++i) {
        lowest = scores[i] < lowest ? scores[i] : lowest;
        highest = scores[i] > highest ? scores[i] : highest;
    }
}

// What a lane has to know of its table to find the nodes around a score.
struct Axis {
    Doubles center, inverse_scale, first, inverse_step;
};

INLINE Axis axis_of(const Table& table) {
    return {doubles(table.center), doubles(table.inverse_scale), doubles(table.first),
            doubles(table.inverse_step)};
}

// Log-odds of HALF scores, each from the table that is chosen for its lane.
template <class Choose>
INLINE Doubles look_up(Doubles scores, const Axis& axis, const Choose& table_of) {
    const Doubles x = (scores - axis.center) * axis.inverse_scale, size = magnitude(x);
    Doubles root;
    for (int l = 0; l < HALF; ++l) root[l] = __builtin_sqrt(size[l] * size[l] + 1.0);
    const Doubles arc = logarithm(size + root);  // asinh; one interval off does no harm
    const Doubles place = ((x < doubles(0) ? -arc : arc) - axis.first) * axis.inverse_step;
    Doubles x_0, x_1, y_0, y_1, d_0, d_1;
    for (int l = 0; l < HALF; ++l) {
        const Table& table = table_of(l);
        const double last = table.n_nodes - 2;
        const int k = place[l] > 0 ? int(place[l] < last ? place[l] : last) : 0;
        x_0[l] = table.score[k], x_1[l] = table.score[k + 1];
        y_0[l] = table.log_odds[k], y_1[l] = table.log_odds[k + 1];
        d_0[l] = table.slope[k], d_1[l] = table.slope[k + 1];
    }
    const Doubles h = x_1 - x_0, t = (scores - x_0) / h, u = 1.0 - t, rise = y_1 - y_0;
    return y_0 + t * rise + t * u * (u * (d_0 * h - rise) - t * (d_1 * h - rise));
}

INLINE Doubles sigmoid(Doubles x) {
    const Doubles small = exponential(-magnitude(x));
    return (x < doubles(0) ? small : doubles(1)) / (1.0 + small);
}

}  // namespace
