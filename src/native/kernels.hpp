// The kernels that are compiled once per instruction set, as a table of functions.
//
// Rows of X are contiguous, float32 or float64. Margins are computed in float32 from columns that
// are centred first, in the type of X, where they lie far from 0: that loses nothing that a column
// varies by. Scores are float64, and so are all sums but those of a few hundred rows.
#pragma once
#include <cstddef>
#include <cstdint>

#include "forest.hpp"
#include "noise_platt.hpp"

namespace rboost {

// Arrays that belong to columns are padded with zeros to a multiple of this, the widest vector.
constexpr size_t PADDING = 16;
inline constexpr size_t padded(size_t n) { return (n + PADDING - 1) / PADDING * PADDING; }

// What is known of a row, as bits.
// SEEN: the new learner was fitted to it; SEEN_BEFORE: the previous one.
constexpr int POSITIVE = 1, TRUSTED = 2, SEEN = 4, SEEN_BEFORE = 8;

// A fixed pair of mixing coefficients by observed class; a trusted row has (1, 0).
struct Mixing {
    double right[2];
    double wrong[2];
};

template <class T>
struct Rows {
    const T* values;
    size_t n_rows, n_features;
    const T* center;  // padded; null when the columns lie close enough to 0
};

// One round's pass over the rows: add what the previous learner voted, then judge the new one.
struct Pass {
    const float* coef;  // padded
    float intercept;    // of margins of rows as they are read, centred or not
    bool probability;   // whether a vote is 2p - 1 or the sign of the margin
    double* votes;      // per row, sum of step times vote
    // Per row, sum of the steps of learners that saw it. Null when they count for it nevertheless:
    // else a row is scored, and a learner judged, only by who did not meet.
    const double* missed;
    float* last_vote;      // per row, the vote of the previous learner; replaced by that of the new one
    const uint8_t* flags;
    bool any_trusted;
    const double* weight;  // null when all are 1
    double last_step, total_step;
    Mixing mixing;
    double log_scale;  // exponentials are divided by e^log_scale
};

struct PassSums {
    double falling = 0, rising = 0;  // a step a costs falling * e^-a + rising * e^a
    double all = 0;                  // both exponentials of all rows
    double net = 0;                  // absolute difference of both
    double least_agreement = 1, largest_score = 0;
};

// Rows of a sample whose residuals are kept at a time.
constexpr size_t SAMPLE_BLOCK = 512;

// The noisy logistic loss of a sample, feature by feature.
template <class R>
struct Sample {
    const R* columns;  // [feature][row]; a column begins every `stride` values
    size_t n_padded, n_features, stride;
    const R* share;     // of the total weight; 0 for padding
    const R* sign;      // +1 or -1; anything for padding
};
struct LogisticSums {
    double value = 0, by_level = 0;
    double by_rate[2] = {0, 0};
};

// Rows of X to be standardised and laid out by columns. All arrays of columns are padded.
template <class T, class R>
struct Gather {
    const T* values;
    size_t n_features;
    const int64_t* rows;  // null for the first n_rows
    size_t n_rows;
    const T* center;
    const float* inverse_scale;
    R* columns;
    size_t stride;  // as of a Sample
};

struct Kernels {
    const char* name;
    void (*judge_float)(const Rows<float>&, const Pass&, size_t begin, size_t end, PassSums&);
    void (*judge_double)(const Rows<double>&, const Pass&, size_t begin, size_t end, PassSums&);
    void (*exponentials)(double* values, size_t n);  // in place
    void (*gather_ff)(const Gather<float, float>&);
    void (*gather_fd)(const Gather<float, double>&);
    void (*gather_df)(const Gather<double, float>&);
    void (*gather_dd)(const Gather<double, double>&);
    void (*logistic_float)(const Sample<float>&, const double* direction, double level,
                           const double* rates, float* scratch, LogisticSums&, double* by_direction);
    void (*logistic_double)(const Sample<double>&, const double* direction, double level,
                            const double* rates, double* scratch, LogisticSums&,
                            double* by_direction);
    void (*forest_float)(const PackedForest&, const float* rows, size_t n_rows, double* scores);
    void (*forest_double)(const PackedForest&, const double* rows, size_t n_rows, double* scores);
    const NoisePlattKernels* noise_platt;

    template <class T>
    void judge(const Rows<T>& rows, const Pass& pass, size_t b, size_t e, PassSums& s) const {
        if constexpr (sizeof(T) == 4) judge_float(rows, pass, b, e, s);
        else judge_double(rows, pass, b, e, s);
    }
    void gather(const Gather<float, float>& g) const { gather_ff(g); }
    void gather(const Gather<float, double>& g) const { gather_fd(g); }
    void gather(const Gather<double, float>& g) const { gather_df(g); }
    void gather(const Gather<double, double>& g) const { gather_dd(g); }
    void logistic(const Sample<float>& sample, const double* direction, double level,
                  const double* rates, float* scratch, LogisticSums& sums, double* by) const {
        logistic_float(sample, direction, level, rates, scratch, sums, by);
    }
    void logistic(const Sample<double>& sample, const double* direction, double level,
                  const double* rates, double* scratch, LogisticSums& sums, double* by) const {
        logistic_double(sample, direction, level, rates, scratch, sums, by);
    }
    void forest(const PackedForest& f, const float* x, size_t n, double* s) const {
        forest_float(f, x, n, s);
    }
    void forest(const PackedForest& f, const double* x, size_t n, double* s) const {
        forest_double(f, x, n, s);
    }
};

// The table for the best instruction set of this processor, unless another was chosen.
const Kernels& kernels();
// Choose by name; false when this processor has no such instruction set.
bool choose_instruction_set(const char* name);

}  // namespace rboost
