// The rows of a fit with a linear base learner: what rboost.engines.learners does, in one
// pass over the rows a round. Tested against it, round by round.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels.hpp"
#include "logistic.hpp"
#include "parallel.hpp"

namespace rboost {

struct RoundOptions {
    LogisticOptions learner;
    bool probability;    // votes are 2p - 1, not -1 and +1
    bool flip_negative;  // a negative weight asks for the opposite label
    int n_threads;
};

// A fitted base learner in the units of X.
struct LinearLearner {
    std::vector<double> coef;
    double intercept = 0;
    double rates[2] = {0, 0};  // the flip rates that its own fit found
    double loss = 0;
    int n_iter = 0;
};

// The rows, checked: contiguous values, labels and weights of one length.
template <class T>
struct Table {
    const T* values;
    size_t n_rows, n_features;
    const double* labels;         // -1 or +1
    const double* sample_weight;  // null when all are 1
    const bool* trusted;          // null when none is
};

// What changes from round to round, one entry a row; as in rboost.engines.rounds.RowVotes. The
// arrays are the caller's, who reads them after `settle`.
struct RowState {
    double* votes;     // sum of step times vote, of learners that count for the row
    double* missed;    // sum of the steps of learners that saw it; null without out_of_bag
    float* last_vote;  // what `votes` still lacks, up to the step
};

// A round calls fit_learner, judge and, where the learner is of use, move.
class LinearRounds {
   public:
    virtual ~LinearRounds() = default;
    // Fit a learner to n_drawn rows; a null sample means all rows. `starts` holds n_starts packed
    // parameters. Returns whether the fit converged.
    virtual bool fit_learner(const Mixing& mixing, const int64_t* sample, size_t n_drawn,
                             const double* starts, size_t n_starts) = 0;
    // Add the votes of the previous learner and sum up how good the new one is, in one pass.
    virtual PassSums judge() = 0;
    // Keep the new learner and count its votes, which are added with the next pass.
    virtual void move(double step) = 0;
    // Add the votes that are still to be added.
    virtual void settle() = 0;

    double total_step = 0;
    std::vector<LinearLearner> kept;
};

// `total_step` is the sum of the steps of earlier rounds, whose votes are in the state.
template <class T>
std::unique_ptr<LinearRounds> linear_rounds(const Table<T>& table, const RowState& state,
                                            const RoundOptions& options, double total_step);

}  // namespace rboost
