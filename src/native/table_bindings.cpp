// Functions of rows and of scores, for Python. Arguments are checked here; the kernels trust them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "arrays.hpp"
#include "bindings.hpp"
#include "kernels.hpp"
#include "logistic.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace rboost {
namespace {

template <class R, class T>
LogisticFit fit_table(const T* X, const double* observed, const double* weight, size_t n, Columns& columns,
                      const LogisticOptions& options, const double* starts, size_t n_starts) {
    SampleRows<R> rows;
    rows.resize(n, columns.n_features);
    double total = 0;
    for (size_t i = 0; i < n; ++i) total += weight[i];
    rows.set_rows(X, nullptr, n, columns);
    for (size_t i = 0; i < n; ++i) rows.set_label(i, observed[i] > 0.5, weight[i] / total);
    return LogisticSolver().best_fit(rows, columns, options, total, starts, n_starts);
}

// Whether float32 can hold all values and the squares of their differences.
template <class T>
bool is_moderate(const T* values, size_t n) {
    constexpr size_t LANES = 16;  // maxima that do not wait for each other
    T largest[LANES] = {};
    const auto see = [&](size_t i, size_t lane) {
        const T size = std::abs(values[i]);
        largest[lane] = size > largest[lane] ? size : largest[lane];
    };
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t lane = 0; lane < LANES; ++lane) see(i + lane, lane);
    for (; i < n; ++i) see(i, 0);
    return *std::max_element(largest, largest + LANES) <= T(1e15);
}

// Parameters are for the centre and scale that were given; the core rounds both.
class GivenUnits {
   public:
    GivenUnits(const Columns& columns, const double* center, const double* scale, bool intercept)
        : columns_(columns), center_(center), scale_(scale), intercept_(intercept) {}
    void into_core(double* parameters) const { convert(parameters, true); }
    void from_core(double* parameters) const { convert(parameters, false); }

   private:
    void convert(double* parameters, bool into_core) const {
        const size_t width = columns_.n_features;
        double level = 0;
        for (size_t f = 0; f < width; ++f) {
            const double factor = columns_.inverse_scale[f] * scale_[f];
            const double given = parameters[f] * (into_core ? 1 : factor);
            level += given / scale_[f] * (center_[f] - columns_.center[f]);
            parameters[f] = into_core ? given / factor : given;
        }
        if (intercept_) parameters[width] += into_core ? -level : level;
    }
    const Columns& columns_;
    const double *center_, *scale_;
    const bool intercept_;
};

// A fit to a whole table, in float32 where that is fine enough.
template <class T>
LogisticFit fit_units(Matrix<T> X, const double* observed, Vector<double> weight, const double* center,
                      const double* scale, Matrix<double> starts, const LogisticOptions& options) {
    const size_t n = X.shape(0), width = X.shape(1), n_starts = starts.shape(0);
    Columns columns(X.data(), n, width, center, scale, weight.data());
    const GivenUnits units(columns, center, scale, options.fit_intercept);
    std::vector<double> begin(starts.data(), starts.data() + starts.size());
    for (size_t s = 0; s < n_starts; ++s)
        units.into_core(&begin[s * options.n_parameters(width)]);
    const bool is_coarse = options.tol >= FINEST_FLOAT_TOL;
    LogisticFit best = (is_coarse ? fit_table<float, T> : fit_table<double, T>)(
        X.data(), observed, weight.data(), n, columns, options, begin.data(), n_starts);
    if (is_coarse && !(best.gradient <= options.tol)) {  // float32 was too coarse for these rows
        const std::vector<double> reached = best.parameters;
        best = fit_table<double, T>(X.data(), observed, weight.data(), n, columns, options,
                                    reached.data(), 1);
    }
    units.from_core(best.parameters.data());
    return best;
}

template <class T>
nb::tuple fit_logistic(Matrix<T> X, Vector<double> observed, Vector<double> weight,
                       Vector<double> center, Vector<double> scale, Matrix<double> starts,
                       std::optional<double> C, bool fit_intercept, bool estimate_noise,
                       double into_1, double into_0, int max_iter, double tol) {
    const size_t n = X.shape(0), width = X.shape(1);
    require(n > 0 && observed.shape(0) == n && weight.shape(0) == n,
            "observed and weight must have one entry a row.");
    require(center.shape(0) == width && scale.shape(0) == width,
            "center and scale must have one entry a column.");
    for (size_t f = 0; f < width; ++f)
        require(scale.data()[f] >= SMALLEST_SCALE && scale.data()[f] <= LARGEST_SCALE,
                "scale must lie between 1e-30 and 1e30, which float32 can divide by.");
    require_weight(weight);
    const auto options =
        logistic_options(C, fit_intercept, estimate_noise, into_1, into_0, max_iter, tol);
    require(starts.shape(0) > 0 && starts.shape(1) == options.n_parameters(width),
            "starts must hold packed parameters.");
    LogisticFit best;
    {
        nb::gil_scoped_release unlocked;
        best = fit_units(X, observed.data(), weight, center.data(), scale.data(), starts, options);
    }
    const size_t n_parameters = best.parameters.size();
    return nb::make_tuple(to_numpy<OutVector>(std::move(best.parameters), {n_parameters}),
                          best.loss, best.n_iter, best.converged);
}

template <class T>
void bind_tables_of(nb::module_& m) {
    m.def(
        "is_moderate",
        [](Matrix<T> X) {
            nb::gil_scoped_release unlocked;
            return is_moderate(X.data(), X.size());
        },
        "X"_a);
    m.def("fit_logistic", &fit_logistic<T>, "X"_a, "observed"_a, "weight"_a, "center"_a, "scale"_a,
          "starts"_a, nb::kw_only(), "C"_a.none(), "fit_intercept"_a, "estimate_noise"_a,
          "into_1"_a, "into_0"_a, "max_iter"_a, "tol"_a);
}

}  // namespace

void bind_tables(nb::module_& m) {
    // The first that fits is taken: arrays that must be copied become float64, which loses nothing.
    bind_tables_of<double>(m);
    bind_tables_of<float>(m);
}

}  // namespace rboost
