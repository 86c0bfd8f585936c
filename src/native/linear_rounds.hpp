// Algorithm 1 with a linear base learner: what rboost.boosting.rounds does, in one pass over the
// rows a round. Tested against it, round by round.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kernels.hpp"
#include "logistic.hpp"
#include "parallel.hpp"
#include "platt.hpp"

namespace rboost {

struct RoundOptions {
    LogisticOptions learner;
    bool probability;     // votes are 2p - 1, not -1 and +1
    bool flip_negative;   // a negative weight asks for the opposite label
    bool update_noise;    // steps 5 and 6 of Algorithm 1 after each round
    bool paper_mixing;    // eq. (10) as printed
    double learning_rate;
    double max_step, min_step;
    int useless_learners;  // this many in a row end the boosting
    int n_threads;
};

enum class Ending { none, at_minimum, useless, perfect };

// What the rounds of one run found, one entry for each round run; a step of 0 is of no use.
struct Found {
    std::vector<double> coefs, intercepts, steps, errors, noise;
    std::vector<double> rates, losses, iterations;  // of the learners' own fits
    int n_rounds = 0, n_unconverged = 0;
    Ending ending = Ending::none;
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

// What changes from round to round, one entry a row; as in rboost.boosting.rounds.State. The arrays
// are the caller's, who starts them at 0 and reads them after `settle`.
struct RowState {
    double* votes;     // sum of step times vote, of learners that count for the row
    double* missed;    // sum of the steps of learners that saw it; null without out_of_bag
    float* last_vote;  // what `votes` still lacks, up to the step
};

class LinearRounds {
   public:
    virtual ~LinearRounds() = default;
    // `samples` holds n_drawn rows for each round; null means all rows. `starts` holds n_starts
    // packed parameters for each round.
    // `between_rounds` is called before each round, and may throw to end them.
    virtual Found run(int n_rounds, const int64_t* samples, size_t n_drawn, const double* starts,
                      size_t n_starts, const std::function<void()>& between_rounds) = 0;
    // Add the votes that are still to be added.
    virtual void settle() = 0;
    // For benchmarks: the pass over all rows alone, the same without computing, and its bytes.
    virtual void pass_only() = 0;
    virtual double stream_only() = 0;
    virtual double bytes_per_pass() const = 0;
    virtual const std::vector<double>& center() const = 0;

    // Take up rounds that were run before, whose votes are in the state.
    virtual void resume(double total, int n_useless) = 0;

    double total_step = 0;
    double noise[2][2] = {{1, 0}, {0, 1}};
    int useless = 0;
};

template <class T>
std::unique_ptr<LinearRounds> linear_rounds(const Table<T>& table, const RowState& state,
                                            const RoundOptions& options);

}  // namespace rboost
