// What Python sees of noise-aware Platt scaling.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "kernels.hpp"
#include "noise_grid.hpp"
#include "noise_rows.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace rboost {
namespace {

using Anything = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;
using Array = nb::ndarray<nb::numpy, double>;
using Numbers = Vector<double>;
using Table = Matrix<double>;

Array array_of(double*& data, std::initializer_list<size_t> shape) {
    size_t size = 1;
    for (size_t n : shape) size *= n;
    data = new double[size > 0 ? size : 1];
    return Array(data, shape, nb::capsule(data, [](void* p) noexcept { delete[] static_cast<double*>(p); }));
}

LabelCounts counts_of(const Numbers& scores, const Table& observed, const Table& trusted) {
    const size_t n = scores.shape(0);
    for (const Table* counts : {&observed, &trusted})
        require(counts->shape(0) == 2 && counts->shape(1) == n, "There must be two counts for each score.");
    const double *o = observed.data(), *t = trusted.data();
    const bool any_trusted = std::any_of(t, t + 2 * n, [](double count) { return count != 0; });
    return {n, scores.data(), {o, o + n}, {t, t + n}, any_trusted};
}

LinePrior line_prior(const nb::tuple& prior) {
    require(prior.size() == 5, "A prior of lines has five numbers.");
    return {nb::cast<double>(prior[0]), nb::cast<double>(prior[1]), nb::cast<double>(prior[2]),
            nb::cast<int>(prior[3]), nb::cast<double>(prior[4])};
}

nb::tuple fit_lines(Numbers scores, Table observed, Table trusted, Table rates, Table start,
                    nb::tuple prior) {
    const LabelCounts counts = counts_of(scores, observed, trusted);
    const size_t n = rates.shape(0);
    require(rates.shape(1) == 2 && start.shape(0) == n && start.shape(1) == 2,
            "There must be two rates and one line to start from for each noise matrix.");
    const LinePrior line = line_prior(prior);
    double *lines, *evidence;
    Array found = array_of(lines, {n, 2}), likely = array_of(evidence, {n});
    {
        nb::gil_scoped_release unlocked;
        std::copy(start.data(), start.data() + 2 * n, lines);
        kernels().noise_platt->fit_lines(counts, line, rates.data(), n, 0, INFINITY, lines, evidence);
    }
    return nb::make_tuple(found, likely);
}

std::vector<NoiseKind> kinds_of(const Numbers& masses, const Matrix<int64_t>& kinds) {
    require(kinds.shape(0) == masses.shape(0) && kinds.shape(1) == 3,
            "Each kind of noise has a name and two numbers of points.");
    std::vector<NoiseKind> result;
    for (size_t i = 0; i < masses.shape(0); ++i) {
        const int64_t *row = kinds.data() + 3 * i, name = row[0];
        require(name >= 0 && name <= int64_t(KindName::any), "No such kind of noise.");
        for (int k : {1, 2}) require(row[k] >= 1 && row[k] <= 4096, "Between 1 and 4096 points.");
        result.push_back({KindName(name), masses.data()[i], {int(row[1]), int(row[2])}});
    }
    return result;
}

nb::tuple explore_noise(Numbers scores, Table observed, Table trusted, Numbers masses,
                        Matrix<int64_t> kinds, double largest_sum, double rare, double negligible,
                        nb::tuple prior) {
    const LabelCounts counts = counts_of(scores, observed, trusted);
    const std::vector<NoiseKind> all_kinds = kinds_of(masses, kinds);
    const NoisePrior noise_prior = {largest_sum, rare, negligible, line_prior(prior)};
    std::vector<GridPoint> points;
    {
        nb::gil_scoped_release unlocked;
        points = explore(counts, all_kinds, noise_prior);
    }
    const size_t n = points.size();
    double *rates, *lowest, *highest, *lines, *log_weights;
    Array a = array_of(rates, {n, 2}), b = array_of(lowest, {n, 2}), c = array_of(highest, {n, 2}),
          d = array_of(lines, {n, 2}), e = array_of(log_weights, {n});
    for (size_t i = 0; i < n; ++i) {
        const GridPoint& point = points[i];
        rates[2 * i] = point.rates.into_1, rates[2 * i + 1] = point.rates.into_0;
        lowest[2 * i] = point.lowest.into_1, lowest[2 * i + 1] = point.lowest.into_0;
        highest[2 * i] = point.highest.into_1, highest[2 * i + 1] = point.highest.into_0;
        lines[2 * i] = point.slope, lines[2 * i + 1] = point.offset;
        log_weights[i] = point.log_weight;
    }
    return nb::make_tuple(a, b, c, d, e);
}

Column column_of(const Anything& values) {
    using Type = Column::Type;
    Column column;
    column.data = static_cast<const char*>(values.data());
    const nb::dlpack::dtype type = values.dtype();
    column.stride = ptrdiff_t(values.stride(0)) * (type.bits / 8);
    if (type == nb::dtype<double>()) column.type = Type::f64;
    else if (type == nb::dtype<float>()) column.type = Type::f32;
    else if (type == nb::dtype<int64_t>()) column.type = Type::i64;
    else if (type == nb::dtype<int32_t>()) column.type = Type::i32;
    else if (type == nb::dtype<int8_t>()) column.type = Type::i8;
    else if (type == nb::dtype<uint8_t>() || type == nb::dtype<bool>()) column.type = Type::u8;
    else throw std::invalid_argument("Numbers of this type cannot be read.");
    return column;
}

nb::tuple count_labels_of(Anything scores, Anything labels, std::optional<Anything> weights,
                        std::optional<Anything> trusted, Numbers edges, double middle, double half_range,
                        double far) {
    const size_t n = scores.shape(0), n_edges = edges.shape(0);
    require(labels.shape(0) == n && (!weights || weights->shape(0) == n) &&
                (!trusted || trusted->shape(0) == n),
            "There must be one entry a row.");
    require(n_edges <= MAX_EDGES && half_range > 0, "At most 4095 edges, and a range above 0.");
    Column weight, trust;
    weight.constant = 1;
    if (weights) weight = column_of(*weights);
    if (trusted) trust = column_of(*trusted);
    const Column score = column_of(scores), label = column_of(labels);
    double *totals, *moments;
    Array a = array_of(totals, {n_edges + 1, 5}), b = array_of(moments, {3});
    Refusal refusal;
    {
        nb::gil_scoped_release unlocked;
        std::fill(totals, totals + 5 * (n_edges + 1), 0.0);
        std::fill(moments, moments + 3, 0.0);
        refusal = count_labels({score, label, weight, trust, n},
                               {edges.data(), n_edges, middle, half_range, far},
                               reinterpret_cast<double(*)[5]>(totals), moments);
    }
    return nb::make_tuple(int(refusal), a, b);
}

Mixture mixture_of(const Numbers& slopes, const Numbers& offsets, const Numbers& weights) {
    const size_t n = weights.shape(0);
    require(slopes.shape(0) == n && offsets.shape(0) == n, "There must be one weight for each line.");
    return {n, slopes.data(), offsets.data(), weights.data()};
}

Array evaluate(Numbers scores, Numbers slopes, Numbers offsets, Numbers weights, Of what) {
    const Mixture mixture = mixture_of(slopes, offsets, weights);
    double* out;
    Array result = array_of(out, {scores.shape(0)});
    nb::gil_scoped_release unlocked;
    kernels().noise_platt->evaluate(mixture, what, scores.data(), scores.shape(0), out);
    return result;
}

// p(true class differs | score, label): for either label a mixture of sigmoids of its own, because
// wrong / (wrong + right) = sigmoid(log wrong - log right), and that is linear in the score.
Array issue_probability(Numbers scores, Vector<bool> labels, Table rates, Numbers slopes, Numbers offsets,
                        Numbers weights) {
    const Mixture mixture = mixture_of(slopes, offsets, weights);
    const size_t n_rows = scores.shape(0), n = mixture.n_points;
    require(labels.shape(0) == n_rows, "There must be one label a row.");
    require(rates.shape(0) == n && rates.shape(1) == 2, "There must be two rates for each line.");
    double* out;
    Array result = array_of(out, {n_rows});
    nb::gil_scoped_release unlocked;
    std::vector<double> offset_of[2], weight_of[2];
    for (const bool label : {false, true}) {
        offset_of[label].resize(n), weight_of[label].resize(n);
        for (size_t k = 0; k < n; ++k) {
            const double into = rates.data()[2 * k + !label], other = rates.data()[2 * k + label];
            const double margin = label ? -mixture.offsets[k] : mixture.offsets[k];
            // Where labels never flip into this class none is wrong.
            weight_of[label][k] = into > 0 ? mixture.weights[k] : 0;
            offset_of[label][k] = into > 0 ? margin + std::log(into) - std::log(1 - other) : 0;
        }
    }
    const Mixture wrong[2] = {{n, mixture.slopes, offset_of[0].data(), weight_of[0].data()},
                              {n, mixture.slopes, offset_of[1].data(), weight_of[1].data()}};
    kernels().noise_platt->evaluate_by_label(wrong, scores.data(), labels.data(), n_rows, out);
    return result;
}

double threshold(Numbers slopes, Numbers offsets, Numbers weights, double lowest, double highest) {
    return kernels().noise_platt->threshold(mixture_of(slopes, offsets, weights), lowest, highest);
}

}  // namespace

void bind_noise_platt(nb::module_& m) {
    m.def("fit_lines", fit_lines, "scores"_a, "observed"_a, "trusted"_a, "rates"_a, "start"_a, "prior"_a);
    m.def("explore_noise", explore_noise, "scores"_a, "observed"_a, "trusted"_a, "masses"_a, "kinds"_a,
          "largest_sum"_a, "rare"_a, "negligible"_a, "prior"_a);
    m.def("count_labels", count_labels_of, "scores"_a, "labels"_a, "weights"_a.none(), "trusted"_a.none(),
          "edges"_a, "middle"_a, "half_range"_a, "far"_a);
    m.def("mixture_probability",
          [](Numbers scores, Numbers slopes, Numbers offsets, Numbers weights) {
              return evaluate(scores, slopes, offsets, weights, Of::probability);
          },
          "scores"_a, "slopes"_a, "offsets"_a, "weights"_a);
    m.def("mixture_log_odds",
          [](Numbers scores, Numbers slopes, Numbers offsets, Numbers weights) {
              return evaluate(scores, slopes, offsets, weights, Of::log_odds);
          },
          "scores"_a, "slopes"_a, "offsets"_a, "weights"_a);
    m.def("issue_probability", issue_probability, "scores"_a, "labels"_a, "rates"_a, "slopes"_a,
          "offsets"_a, "weights"_a);
    m.def("mixture_threshold", threshold, "slopes"_a, "offsets"_a, "weights"_a, "lowest"_a, "highest"_a);
}

}  // namespace rboost
