// A mixture of sigmoids at many scores, through a table where it pays. Part of noise_platt.cpp.
#pragma once
#include "noise_mixture_table.hpp"

namespace {

void evaluate(const Mixture& mixture, Of what, const double* scores, size_t n_rows, double* out) {
    Table table;
    double lowest, highest;
    bool tabulated = false;
    if (n_rows > 4 * FEWEST_NODES) {
        range_of(scores, n_rows, lowest, highest);
        tabulated = tabulate(table, mixture, lowest, highest, n_rows);
    }
    if (!tabulated) {
        evaluate_each(mixture, what, scores, n_rows, out);
        return;
    }
    const Axis axis = axis_of(table);
    for (size_t i = 0; i < n_rows; i += HALF) {
        const size_t n = n_rows - i < HALF ? n_rows - i : HALF;
        const Doubles score = n < HALF ? load_some(scores + i, n) : load<Doubles>(scores + i);
        Doubles found = look_up(score, axis, [&](int) -> const Table& { return table; });
        if (what == Of::probability) found = smaller(sigmoid(found) * table.total, doubles(1));
        for (size_t l = 0; l < n; ++l) out[i + l] = found[l];
    }
}

// Mixture 0 at the scores of label 0, mixture 1 at minus the scores of label 1.
void evaluate_by_label(const Mixture mixtures[2], const double* scores, const bool* labels,
                       size_t n_rows, double* out) {
    Table tables[2];
    double lowest, highest;
    bool tabulated = false;
    if (n_rows > 4 * FEWEST_NODES) {
        range_of(scores, n_rows, lowest, highest);
        tabulated = tabulate(tables[0], mixtures[0], lowest, highest, n_rows) &&
                    tabulate(tables[1], mixtures[1], -highest, -lowest, n_rows);
    }
    Axis axes[2] = {};
    if (tabulated)
        for (int k = 0; k < 2; ++k) axes[k] = axis_of(tables[k]);
    for (size_t i = 0; i < n_rows; i += HALF) {
        const size_t n = n_rows - i < HALF ? n_rows - i : HALF;
        const Doubles score = n < HALF ? load_some(scores + i, n) : load<Doubles>(scores + i);
        Longs label{};
        for (size_t l = 0; l < n; ++l) label[l] = labels[i + l];
        const auto one = label > Longs{};
        Doubles found;
        if (tabulated) {
            const Axis axis = {one ? axes[1].center : axes[0].center,
                               one ? axes[1].inverse_scale : axes[0].inverse_scale,
                               one ? axes[1].first : axes[0].first,
                               one ? axes[1].inverse_step : axes[0].inverse_step};
            found = look_up(one ? -score : score, axis,
                            [&](int l) -> const Table& { return tables[label[l]]; });
            found = sigmoid(found) * (one ? doubles(tables[1].total) : doubles(tables[0].total));
        } else {
            found = one ? sums_at(mixtures[1], -score).positive : sums_at(mixtures[0], score).positive;
        }
        found = smaller(found, doubles(1));
        for (size_t l = 0; l < n; ++l) out[i + l] = found[l];
    }
}

}  // namespace
