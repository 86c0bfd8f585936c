// Weighted logistic regression that models label flips, on a sample of rows.
//
// The packed parameters are those of rboost.linear.objective: coefficients of scaled columns, the
// margin at their centre (with an intercept), then the logits of the flip rates (when estimated).
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

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

// Where the columns lie and how they vary together.
class Columns {
   public:
    // Centre (unless there is no intercept to move along) and scale by some of the rows; `weight`
    // may be null.
    template <class T>
    Columns(const T* rows, size_t n_rows, size_t n_features, bool centred, const double* weight);
    template <class T>
    Columns(const T* rows, size_t n_rows, size_t n_features, const double* center,
            const double* scale, const double* weight);
    // Solve (curvature * correlation + ridge / scale^2) x = b in place; the level goes by itself.
    void prepare(double curvature, double ridge);
    void solve(double* b, double* scratch) const;

    size_t n_features;
    std::vector<double> center, scale, inverse_scale;  // center as numbers of the type of X

    std::vector<bool> is_constant;

    template <class T>
    const T* padded_center() const;
    const float* padded_inverse_scale() const { return float_inverse_scale_.data(); }

   private:
    template <class T>
    void correlate(const T* rows, size_t n_rows, const double* weight);
    std::vector<float> float_center_, float_inverse_scale_;
    std::vector<double> double_center_;
    std::vector<double> correlation_, inverse_;
    double curvature_ = 0, ridge_ = -1;
};

// A sample of rows, feature by feature, as the kernels want it.
template <class R>
class SampleRows {
   public:
    void resize(size_t n_rows, size_t n_features);
    // Take the first n_rows rows, or those that `rows` names.
    template <class T>
    void set_rows(const T* values, const int64_t* rows, size_t n_rows, const Columns& columns);
    void set_label(size_t position, bool positive, double share) {
        sign_[position] = positive ? R(1) : R(-1);
        share_[position] = R(share);
    }
    Sample<R> view() const {
        return {values_.data(), n_padded_, n_features_, stride_, share_.data(), sign_.data()};
    }

   private:
    size_t n_padded_ = 0, n_features_ = 0, stride_ = 0;
    std::vector<R> values_, share_, sign_;
};

struct LogisticFit {
    std::vector<double> parameters;
    double loss = 0;
    int n_iter = 0;
    bool converged = false;
};

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

   private:
    class Memory;
    std::unique_ptr<Memory> memory_;
    std::vector<double> gradient_, direction_, moved_, new_gradient_, step_, change_, scratch_;
};

// The flip rates (u, v) of their logits: softmax(u, v, 0) without its last entry.
void flip_rates(const double* logits, double* rates);

// Numbers that float32 can divide by, and hold when divided.
constexpr double SMALLEST_SCALE = 1e-30, LARGEST_SCALE = 1e30;

// float32 sums cannot tell smaller gradients from 0.
constexpr double FINEST_FLOAT_TOL = 1e-4;

}  // namespace rboost
