// How much of the probability that is spread over cells lies below given ends. Part of noise_platt.cpp.
#pragma once
#include "noise_mixture.hpp"

namespace {

void cumulate(const double* low, const double* high, const double* weights, size_t n_cells,
              const double* ends, size_t n_ends, double* before, double* up_to) {
    for (size_t i = 0; i < n_ends; i += HALF) {
        const size_t n = n_ends - i < HALF ? n_ends - i : HALF;
        const Doubles end = n < HALF ? load_some(ends + i, n) : load<Doubles>(ends + i);
        Doubles sum{}, with_atoms{};
        for (size_t k = 0; k < n_cells; ++k) {
            const double width = high[k] - low[k];
            const Doubles share = (end - low[k]) / (width > 1e-12 ? width : 1e-12);
            const Doubles atom = share + (width > 0 ? 0.0 : 1.0);
            sum += weights[k] * smaller(larger(share, doubles(0)), doubles(1));
            with_atoms += weights[k] * smaller(larger(atom, doubles(0)), doubles(1));
        }
        for (size_t l = 0; l < n; ++l) before[i + l] = sum[l], up_to[i + l] = with_atoms[l];
    }
}

}  // namespace
