// The rounds of a linear learner, for Python. Arguments are checked here; the rounds trust them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "arrays.hpp"
#include "bindings.hpp"
#include "linear_rounds.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace rboost {
namespace {

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

// Lets Python handle signals now and then, so that a long fit can be interrupted.
std::function<void()> hear_interrupts() {
    using Clock = std::chrono::steady_clock;
    return [last = Clock::now()]() mutable {
        if (Clock::now() - last < std::chrono::milliseconds(100)) return;
        last = Clock::now();
        nb::gil_scoped_acquire locked;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    };
}

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
                                 samples ? samples->shape(1) : 0, starts.data(), starts.shape(1),
                                 hear_interrupts());
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
                          int(found.ending), found.n_unconverged);
}

template <class T>
void bind_rounds_of(nb::module_& m, const char* name) {
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
                 self.rounds->resume(total_step, useless);
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

}  // namespace

void bind_rounds(nb::module_& m) {
    bind_rounds_of<float>(m, "FloatRounds");
    bind_rounds_of<double>(m, "DoubleRounds");
}

}  // namespace rboost
