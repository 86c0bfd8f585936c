// Weighted logistic regression that models label flips, on a sample of rows.
//
// The packed parameters are those of rboost.learners.logistic_objective for one score:
// coefficients of scaled columns, the margin at their centre (with an intercept), then the logits
// of the flip rates (when estimated).
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "columns.hpp"
#include "kernels.hpp"

namespace rboost {

struct LogisticOptions {
    double C;  // infinite for no penalty
    bool fit_intercept;
    bool estimate_noise;
    double rates[2];  // the known flip rates, or where their estimation starts
    int max_iter;
    double tol;

    size_t n_parameters(size_t n_features) const {
        return n_features + fit_intercept + 2 * estimate_noise;
    }
};

struct LogisticFit {
    std::vector<double> parameters;
    double loss = 0;
    int n_iter = 0;
    bool converged = false;
    double gradient = 0;  // its largest component; above `tol` where rounding ended the search
};

struct LogisticWorkspace;

// Minimises by L-BFGS, preconditioned by the columns' correlation. Kept from fit to fit, it saves
// asking for memory each time.
class LogisticSolver {
   public:
    LogisticSolver();
    ~LogisticSolver();
    // `weight_sum` is the total weight behind the shares, which the penalty is relative to.
    template <class R>
    LogisticFit fit(const SampleRows<R>& rows, Columns& columns, const LogisticOptions& options,
                    double weight_sum, const double* start);

    // The best of several starts; a loss that is no number is the worst.
    template <class R>
    LogisticFit best_fit(const SampleRows<R>& rows, Columns& columns, const LogisticOptions& options,
                         double weight_sum, const double* starts, size_t n_starts) {
        const size_t n = options.n_parameters(columns.n_features);
        LogisticFit best = fit(rows, columns, options, weight_sum, starts);
        for (size_t s = 1; s < n_starts; ++s) {
            LogisticFit other = fit(rows, columns, options, weight_sum, starts + s * n);
            if (other.loss < best.loss || best.loss != best.loss) best = std::move(other);
        }
        return best;
    }

   private:
    std::unique_ptr<LogisticWorkspace> work_;
};

// The flip rates (u, v) of their logits: softmax(u, v, 0) without its last entry.
void flip_rates(const double* logits, double* rates);

// float32 sums cannot tell smaller gradients from 0.
constexpr double FINEST_FLOAT_TOL = 1e-4;

}  // namespace rboost
