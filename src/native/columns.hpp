// How the columns of X lie and vary, and samples of its rows laid out by columns.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels.hpp"

namespace rboost {

// In four sums that do not wait for each other.
inline double dot(const double* a, const double* b, size_t n) {
    double sums[4] = {0, 0, 0, 0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; ++k) sums[k] += a[i + k] * b[i + k];
    for (; i < n; ++i) sums[0] += a[i] * b[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Numbers that float32 can divide by, and hold when divided.
constexpr double SMALLEST_SCALE = 1e-30, LARGEST_SCALE = 1e30;

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
    // Centre and mean are numbers of the type of X; the centre is 0 where there is no intercept.
    std::vector<double> center, mean, scale, inverse_scale;

    std::vector<bool> is_constant;

    template <class T>
    const T* padded_center() const;
    template <class T>
    const T* padded_mean() const;
    const float* padded_inverse_scale() const { return float_inverse_scale_.data(); }

   private:
    template <class T>
    void correlate(const T* rows, size_t n_rows, const double* weight);
    std::vector<float> float_center_, float_inverse_scale_;
    std::vector<float> float_mean_;
    std::vector<double> double_center_, double_mean_;
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

}  // namespace rboost
