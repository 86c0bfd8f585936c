// What Python sees of the native core. Arguments are checked here, once; the kernels trust them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "arrays.hpp"
#include "kernels.hpp"
#include "linear_rounds.hpp"
#include "logistic.hpp"
#include "parallel.hpp"
#include "noise_platt_bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace rboost {
namespace {

LogisticOptions logistic_options(std::optional<double> C, bool fit_intercept, bool estimate_noise,
                                 double into_1, double into_0, int max_iter, double tol) {
    require(into_1 >= 0 && into_0 >= 0 && into_1 + into_0 < 1, "Flip rates must sum to less than 1.");
    return {C.value_or(INFINITY), fit_intercept, estimate_noise, {into_1, into_0}, max_iter, tol};
}

void require_weight(const Vector<double>& weight) {
    double total = 0;
    for (size_t i = 0; i < weight.shape(0); ++i) total += weight.data()[i];
    require(total > 0, "The weights must sum to more than 0.");
}

template <class T>
using State = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The rounds with the arrays that they read, which must live as long.
template <class T>
struct HeldRounds {
    Matrix<T> X;
    Vector<double> labels;
    std::optional<Vector<double>> sample_weight;
    std::optional<Vector<bool>> trusted;
    State<double> votes;
    std::optional<State<double>> missed;
    State<float> last_vote;
    size_t n_parameters;
    std::unique_ptr<LinearRounds> rounds;
};

template <class T>
nb::tuple run(HeldRounds<T>& held, int n_rounds, std::optional<Matrix<int64_t>> samples,
              nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu> starts) {
    const size_t n_rows = held.X.shape(0), m = held.X.shape(1);
    require(n_rounds >= 0 && starts.shape(0) == size_t(n_rounds) && starts.shape(1) > 0,
            "starts must hold at least one start for each round.");
    require(starts.shape(2) == held.n_parameters, "starts must hold packed parameters.");
    if (samples) {
        require(samples->shape(0) == size_t(n_rounds) && samples->shape(1) > 0,
                "samples must hold at least one row for each round.");
        for (size_t i = 0; i < samples->size(); ++i)
            require(samples->data()[i] >= 0 && size_t(samples->data()[i]) < n_rows,
                    "samples must hold numbers of rows.");
    }
    Found found;
    {
        nb::gil_scoped_release unlocked;
        found = held.rounds->run(n_rounds, samples ? samples->data() : nullptr,
                                 samples ? samples->shape(1) : 0, starts.data(), starts.shape(1));
    }
    const size_t n = size_t(found.n_rounds);
    return nb::make_tuple(to_numpy<OutMatrix>(std::move(found.coefs), {n, m}),
                          to_numpy<OutVector>(std::move(found.intercepts), {n}),
                          to_numpy<OutVector>(std::move(found.steps), {n}),
                          to_numpy<OutVector>(std::move(found.errors), {n}),
                          to_numpy<OutMatrix>(std::move(found.rates), {n, 2}),
                          to_numpy<OutVector>(std::move(found.losses), {n}),
                          to_numpy<OutVector>(std::move(found.iterations), {n}),
                          to_numpy<OutMatrix>(std::move(found.noise), {n, 4}),
                          int(found.ending));
}

template <class T>
void bind_rounds(nb::module_& m, const char* name) {
    using Held = HeldRounds<T>;
    nb::class_<Held>(m, name)
        .def(
            "__init__",
            [](Held* self, Matrix<T> X, Vector<double> labels,
               std::optional<Vector<double>> sample_weight, std::optional<Vector<bool>> trusted,
               State<double> votes, std::optional<State<double>> missed, State<float> last_vote,
               std::optional<double> C, bool fit_intercept, bool estimate_noise, double into_1, double into_0, int max_iter,
               double tol, bool probability, bool flip_negative, bool update_noise,
               bool paper_mixing, double learning_rate, double max_step, double min_step,
               int useless_learners, int n_threads) {
                const size_t n = X.shape(0), width = X.shape(1);
                require(n > 0 && width > 0, "X must have rows and columns.");
                require(labels.shape(0) == n && (!sample_weight || sample_weight->shape(0) == n) &&
                            (!trusted || trusted->shape(0) == n),
                        "labels, sample_weight and trusted must have one entry a row.");
                require(votes.shape(0) == n && last_vote.shape(0) == n &&
                            (!missed || missed->shape(0) == n),
                        "votes, missed and last_vote must have one entry a row.");
                require(!(update_noise && missed),
                        "The noise is updated every round without out-of-bag scores only.");
                const Table<T> table{X.data(),      n, width, labels.data(), or_null(sample_weight),
                                     or_null(trusted)};
                const RoundOptions options{
                    logistic_options(C, fit_intercept, estimate_noise, into_1, into_0, max_iter, tol),
                    probability,
                    flip_negative,
                    update_noise,
                    paper_mixing,
                    learning_rate,
                    max_step,
                    min_step,
                    useless_learners,
                    std::max(1, n_threads)};
                const RowState state{votes.data(), missed ? missed->data() : nullptr,
                                     last_vote.data()};
                new (self) Held{X,
                                labels,
                                sample_weight,
                                trusted,
                                votes,
                                missed,
                                last_vote,
                                options.learner.n_parameters(width),
                                linear_rounds<T>(table, state, options)};
            },
            // What is changed in place must not be a copy.
            "X"_a, "labels"_a, "sample_weight"_a.none(), "trusted"_a.none(), "votes"_a.noconvert(),
            "missed"_a.none().noconvert(), "last_vote"_a.noconvert(), nb::kw_only(), "C"_a.none(),
            "fit_intercept"_a, "estimate_noise"_a, "into_1"_a, "into_0"_a, "max_iter"_a, "tol"_a,
            "probability"_a, "flip_negative"_a,
            "update_noise"_a, "paper_mixing"_a, "learning_rate"_a, "max_step"_a, "min_step"_a,
            "useless_learners"_a, "n_threads"_a)
        .def("run", &run<T>, "n_rounds"_a, "samples"_a.none(), "starts"_a)
        .def("set_noise",
             [](Held& self, Matrix<double> noise) {
                 require(noise.shape(0) == 2 && noise.shape(1) == 2, "The noise matrix is 2 by 2.");
                 for (size_t k = 0; k < 4; ++k) self.rounds->noise[k / 2][k % 2] = noise.data()[k];
             })
        .def("resume",
             [](Held& self, double total_step, int useless) {
                 self.rounds->total_step = total_step;
                 self.rounds->useless = useless;
             },
             "total_step"_a, "useless"_a)
        .def("settle", [](Held& self) { self.rounds->settle(); })
        .def_prop_ro("total_step", [](Held& self) { return self.rounds->total_step; })
        .def_prop_ro("useless", [](Held& self) { return self.rounds->useless; })
        .def_prop_ro("center",
                     [](Held& self) {
                         std::vector<double> center = self.rounds->center();
                         const size_t m = center.size();
                         return to_numpy<OutVector>(std::move(center), {m});
                     },
                     nb::rv_policy::move)
        .def_prop_ro("bytes_per_pass", [](Held& self) { return self.rounds->bytes_per_pass(); })
        .def("stream_only",
             [](Held& self) {
                 nb::gil_scoped_release unlocked;
                 return self.rounds->stream_only();
             })
        .def("pass_only", [](Held& self) {
            nb::gil_scoped_release unlocked;
            self.rounds->pass_only();
        });
}

template <class R, class T>
LogisticFit fit_table(const T* X, const double* observed, const double* weight, size_t n, Columns& columns,
                      const LogisticOptions& options, const double* starts, size_t n_starts) {
    SampleRows<R> rows;
    rows.resize(n, columns.n_features);
    double total = 0;
    for (size_t i = 0; i < n; ++i) total += weight[i];
    rows.set_rows(X, nullptr, n, columns);
    for (size_t i = 0; i < n; ++i) rows.set_label(i, observed[i] > 0.5, weight[i] / total);
    LogisticFit best;
    LogisticSolver solver;
    for (size_t s = 0; s < n_starts; ++s) {
        LogisticFit fit = solver.fit(rows, columns, options, total,
                                     starts + s * options.n_parameters(columns.n_features));
        if (s == 0 || fit.loss < best.loss) best = std::move(fit);
    }
    return best;
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

template <class T>
void bind_table_functions(nb::module_& m) {
    m.def(
        "is_moderate",
        [](Matrix<T> X) {
            nb::gil_scoped_release unlocked;
            return is_moderate(X.data(), X.size());
        },
        "X"_a);
    m.def(
        "fit_logistic",
        [](Matrix<T> X, Vector<double> observed, Vector<double> weight, Vector<double> center,
           Vector<double> scale, Matrix<double> starts, std::optional<double> C, bool fit_intercept,
           bool estimate_noise, double into_1, double into_0, int max_iter, double tol) {
            const size_t n = X.shape(0), width = X.shape(1);
            require(n > 0 && observed.shape(0) == n && weight.shape(0) == n,
                    "observed and weight must have one entry a row.");
            require(center.shape(0) == width && scale.shape(0) == width,
                    "center and scale must have one entry a column.");
            for (size_t f = 0; f < width; ++f)
                require(scale.data()[f] >= SMALLEST_SCALE && scale.data()[f] <= LARGEST_SCALE,
                        "scale must lie between 1e-30 and 1e30, which float32 can divide by.");
            require_weight(weight);
            const auto options = logistic_options(C, fit_intercept, estimate_noise, into_1, into_0,
                                                  max_iter, tol);
            require(starts.shape(0) > 0 && starts.shape(1) == options.n_parameters(width),
                    "starts must hold packed parameters.");
            LogisticFit best;
            {
                nb::gil_scoped_release unlocked;
                Columns columns(X.data(), n, width, center.data(), scale.data(), weight.data());
                best = (tol >= FINEST_FLOAT_TOL ? fit_table<float, T> : fit_table<double, T>)(
                    X.data(), observed.data(), weight.data(), n, columns, options, starts.data(),
                    starts.shape(0));
                // The core rounds centre and scale; what it found is for those that were given.
                double level = 0;
                for (size_t f = 0; f < width; ++f) {
                    const double coef = best.parameters[f] * columns.inverse_scale[f];
                    best.parameters[f] = coef * scale.data()[f];
                    level += coef * (center.data()[f] - columns.center[f]);
                }
                if (fit_intercept) best.parameters[width] += level;
            }
            const size_t n_parameters = best.parameters.size();
            return nb::make_tuple(to_numpy<OutVector>(std::move(best.parameters), {n_parameters}),
                                  best.loss, best.n_iter, best.converged);
        },
        "X"_a, "observed"_a, "weight"_a, "center"_a, "scale"_a, "starts"_a, nb::kw_only(),
        "C"_a.none(), "fit_intercept"_a, "estimate_noise"_a, "into_1"_a, "into_0"_a, "max_iter"_a,
        "tol"_a);
    m.def(
        "linear_scores",
        [](Matrix<T> X, Matrix<double> coefs, Vector<double> intercepts, Vector<double> steps,
           Vector<double> center, bool probability, int n_threads) {
            const size_t n = X.shape(0), width = X.shape(1), n_learners = coefs.shape(0);
            require((n_learners == 0 || coefs.shape(1) == width) && center.shape(0) == width &&
                        intercepts.shape(0) == n_learners && steps.shape(0) == n_learners,
                    "coefs, intercepts, steps and center must fit together.");
            std::vector<double> scores(n);
            {
                nb::gil_scoped_release unlocked;
                std::vector<float> coef(n_learners * width), intercept(n_learners), step(n_learners);
                std::vector<T> middle(center.data(), center.data() + width);
                for (size_t k = 0; k < n_learners; ++k) {
                    double level = intercepts.data()[k];
                    for (size_t f = 0; f < width; ++f) {
                        coef[k * width + f] = float(coefs.data()[k * width + f]);
                        level += coefs.data()[k * width + f] * double(middle[f]);
                    }
                    intercept[k] = float(level);
                    step[k] = float(steps.data()[k]);
                }
                const LinearEnsemble<T> ensemble{coef.data(), intercept.data(), step.data(),
                                                 n_learners,  width,            middle.data(),
                                                 probability};
                Team team(size_t(std::max(1, n_threads)), n);
                team.for_each_chunk(n, [&](size_t, size_t begin, size_t end) {
                                   kernels().predict(ensemble, X.data() + begin * width, end - begin,
                                                     scores.data() + begin);
                               });
            }
            return to_numpy<OutVector>(std::move(scores), {n});
        },
        "X"_a, "coefs"_a, "intercepts"_a, "steps"_a, "center"_a, "probability"_a, "n_threads"_a);
}

}  // namespace
}  // namespace rboost

NB_MODULE(_native, m) {
    using namespace rboost;
    m.def("instruction_set", [] { return kernels().name; });
    m.def(
        "choose_instruction_set",
        [](const char* name) {
            if (!choose_instruction_set(name))
                throw std::invalid_argument(
                    std::string("This processor cannot run the kernels for ") + name + ".");
        },
        "name"_a);
    m.def(
        "stream_sum",
        [](Vector<float> values) {
            nb::gil_scoped_release unlocked;
            return kernels().stream_sum(values.data(), values.shape(0));
        },
        "values"_a);
    m.def(
        "fit_platt",
        [](Vector<double> scores, Vector<bool> positive, Vector<double> weight) {
            const size_t n = scores.shape(0);
            require(n > 0 && positive.shape(0) == n && weight.shape(0) == n,
                    "scores, positive and weight must have one entry a row.");
            require_weight(weight);
            PlattState state;
            {
                nb::gil_scoped_release unlocked;
                std::vector<uint8_t> flags(n);
                for (size_t i = 0; i < n; ++i) flags[i] = positive.data()[i] ? POSITIVE : 0;
                const double no_noise[2][2] = {{1, 0}, {0, 1}};
                Team alone(1, n);
                fit_platt({scores.data(), flags.data(), weight.data(), n}, alone, no_noise, state);
            }
            return nb::make_tuple(state.slope, state.offset);
        },
        "scores"_a, "positive"_a, "weight"_a);
    bind_rounds<float>(m, "FloatRounds");
    bind_rounds<double>(m, "DoubleRounds");
    // The first that fits is taken: arrays that must be copied become float64, which loses nothing.
    bind_table_functions<double>(m);
    bind_table_functions<float>(m);
    bind_noise_platt(m);
}
