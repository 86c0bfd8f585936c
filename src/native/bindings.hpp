// Each file that binds functions for Python registers them with one of these.
#pragma once
#include <nanobind/nanobind.h>

#include <cmath>
#include <optional>

#include "arrays.hpp"
#include "logistic.hpp"

namespace rboost {

void bind_rounds(nanobind::module_& m);
void bind_tables(nanobind::module_& m);
void bind_forest(nanobind::module_& m);
void bind_noise_platt(nanobind::module_& m);

inline LogisticOptions logistic_options(std::optional<double> C, bool fit_intercept, bool estimate_noise,
                                 double into_1, double into_0, int max_iter, double tol) {
    require(into_1 >= 0 && into_0 >= 0 && into_1 + into_0 < 1, "Flip rates must sum to less than 1.");
    return {C.value_or(INFINITY), fit_intercept, estimate_noise, {into_1, into_0}, max_iter, tol};
}

inline void require_weight(const Vector<double>& weight) {
    double total = 0;
    for (size_t i = 0; i < weight.shape(0); ++i) total += weight.data()[i];
    require(total > 0, "The weights must sum to more than 0.");
}

}  // namespace rboost
