// The rounds of a linear learner, for Python. Arguments are checked here; the rounds trust them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
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
    size_t n_parameters = 0;
    std::unique_ptr<LinearRounds> rounds;

    void check() const {
        const size_t n = X.shape(0);
        require(n > 0 && X.shape(1) > 0, "X must have rows and columns.");
        require(labels.shape(0) == n && (!sample_weight || sample_weight->shape(0) == n) &&
                    (!trusted || trusted->shape(0) == n),
                "labels, sample_weight and trusted must have one entry a row.");
        require(votes.shape(0) == n && last_vote.shape(0) == n &&
                    (!missed || missed->shape(0) == n),
                "votes, missed and last_vote must have one entry a row.");
    }

    void begin(const RoundOptions& options, double total_step) {
        check();
        const Table<T> table{X.data(),      X.shape(0),
                             X.shape(1),    labels.data(),
                             or_null(sample_weight), or_null(trusted)};
        const RowState state{votes.data(), missed ? missed->data() : nullptr, last_vote.data()};
        n_parameters = options.learner.n_parameters(X.shape(1));
        rounds = linear_rounds<T>(table, state, options, total_step);
    }
};

template <class T>
bool fit_learner(HeldRounds<T>& held, Matrix<double> coefficients,
                      std::optional<Vector<int64_t>> sample, Matrix<double> starts) {
    require(coefficients.shape(0) == 2 && coefficients.shape(1) == 2,
            "The coefficients are 2 by 2.");
    require(starts.shape(0) > 0 && starts.shape(1) == held.n_parameters,
            "starts must hold packed parameters, at least once.");
    const size_t n_drawn = sample ? sample->shape(0) : 0;
    require(!sample || n_drawn > 0, "sample must hold at least one row.");
    for (size_t i = 0; i < n_drawn; ++i)
        require(sample->data()[i] >= 0 && size_t(sample->data()[i]) < held.X.shape(0),
                "sample must hold numbers of rows.");
    const double* c = coefficients.data();
    const Mixing mixing{{c[0], c[3]}, {c[1], c[2]}};
    nb::gil_scoped_release unlocked;
    return held.rounds->fit_learner(mixing, sample ? sample->data() : nullptr, n_drawn,
                                    starts.data(), starts.shape(0));
}

// The learners that were kept: coefficients; intercept, both flip rates, loss and iterations.
template <class T>
nb::tuple kept(HeldRounds<T>& held) {
    const std::vector<LinearLearner>& learners = held.rounds->kept;
    const size_t n = learners.size(), m = held.X.shape(1);
    std::vector<double> coefs, numbers;
    coefs.reserve(n * m);
    numbers.reserve(n * 5);
    for (const LinearLearner& learner : learners) {
        coefs.insert(coefs.end(), learner.coef.begin(), learner.coef.end());
        numbers.insert(numbers.end(), {learner.intercept, learner.rates[0], learner.rates[1],
                                       learner.loss, double(learner.n_iter)});
    }
    return nb::make_tuple(to_numpy<OutMatrix>(std::move(coefs), {n, m}),
                          to_numpy<OutMatrix>(std::move(numbers), {n, 5}));
}

template <class T>
nb::tuple judge(HeldRounds<T>& held) {
    PassSums sums;
    {
        nb::gil_scoped_release unlocked;
        sums = held.rounds->judge();
    }
    return nb::make_tuple(sums.falling, sums.rising, sums.all, sums.net, sums.least_agreement);
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
               std::optional<double> C, bool fit_intercept, bool estimate_noise, double into_1,
               double into_0, int max_iter, double tol, bool probability, bool flip_negative,
               double total_step, int n_threads) {
                const RoundOptions options{logistic_options(C, fit_intercept, estimate_noise,
                                                            into_1, into_0, max_iter, tol),
                                           probability, flip_negative, std::max(1, n_threads)};
                auto held = std::make_unique<Held>(Held{X, labels, sample_weight, trusted, votes,
                                                        missed, last_vote, 0, nullptr});
                held->begin(options, total_step);
                new (self) Held(std::move(*held));
            },
            // What is changed in place must not be a copy.
            "X"_a, "labels"_a, "sample_weight"_a.none(), "trusted"_a.none(), "votes"_a.noconvert(),
            "missed"_a.none().noconvert(), "last_vote"_a.noconvert(), nb::kw_only(), "C"_a.none(),
            "fit_intercept"_a, "estimate_noise"_a, "into_1"_a, "into_0"_a, "max_iter"_a, "tol"_a,
            "probability"_a, "flip_negative"_a, "total_step"_a, "n_threads"_a)
        .def("fit_learner", &fit_learner<T>, "coefficients"_a, "sample"_a.none(), "starts"_a)
        .def("judge", &judge<T>)
        .def("move", [](Held& self, double step) { self.rounds->move(step); }, "step"_a)
        .def("kept", &kept<T>)
        .def("settle", [](Held& self) { self.rounds->settle(); })
        .def_prop_ro("total_step", [](Held& self) { return self.rounds->total_step; });
}

}  // namespace

void bind_rounds(nb::module_& m) {
    bind_rounds_of<float>(m, "FloatRounds");
    bind_rounds_of<double>(m, "DoubleRounds");
}

}  // namespace rboost
