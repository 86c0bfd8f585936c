// Noise-aware Platt scaling: what rboost/noise/platt.py specifies, but fast.
#pragma once
#include <cstddef>

namespace rboost {

// Rows that share a score, up to binning: how many of each observed and each trusted label.
struct LabelCounts {
    size_t n_bins;
    const double* scores;
    const double* observed[2];
    const double* trusted[2];
    bool any_trusted;
};

// The prior of a line and what Fisher scoring needs to know, from platt.py.
struct LinePrior {
    double slope_scale;
    double offset_scale;
    double smallest_slope;
    int max_steps;
    double enough;  // a line is fitted when the next step would gain fewer nats; it is still taken
};

// p(y = 1 | score) = sum of weights * sigmoid(slope * score + offset).
struct Mixture {
    size_t n_points;
    const double* slopes;
    const double* offsets;
    const double* weights;
};

// What is wanted of a mixture.
enum class Of { probability, log_odds };

struct NoisePlattKernels {
    // Slope and offset of each of n noise matrices (into class 1, into class 0), and the log-evidence
    // for it. The lines hold where to start. The search begins with point `first` and goes round;
    // points that fall this far behind the best one so far are given up.
    void (*fit_lines)(const LabelCounts&, const LinePrior&, const double* rates, size_t n_points,
                      size_t first, double negligible, double* lines, double* evidence);
    // A mixture of sigmoids at n scores.
    void (*evaluate)(const Mixture&, Of, const double* scores, size_t n_rows, double* out);
    // One mixture at the scores of label 0, another at minus the scores of label 1.
    void (*evaluate_by_label)(const Mixture mixtures[2], const double* scores, const bool* labels,
                              size_t n_rows, double* out);
    // The score in [lowest, highest] where the mixture is 1/2, else the nearer end.
    double (*threshold)(const Mixture&, double lowest, double highest);
};

}  // namespace rboost
