#include "columns.hpp"

#include <algorithm>
#include <cmath>

namespace rboost {

namespace {

// Rows that the correlation of the columns is taken from, and columns beyond which it costs more
// than it saves.
constexpr size_t CORRELATION_ROWS = 1024, MAX_CORRELATED = 512;

// Lower Cholesky factor in place; false when the matrix is not positive definite.
bool cholesky(std::vector<double>& a, size_t n) {
    for (size_t j = 0; j < n; ++j) {
        const double pivot = a[j * n + j] - dot(&a[j * n], &a[j * n], j);
        if (!(pivot > 0)) return false;
        a[j * n + j] = std::sqrt(pivot);
        for (size_t i = j + 1; i < n; ++i)
            a[i * n + j] = (a[i * n + j] - dot(&a[i * n], &a[j * n], j)) / a[j * n + j];
    }
    return true;
}

}  // namespace

template <class T>
Columns::Columns(const T* rows, size_t n_rows, size_t n_features, bool centred,
                 const double* weight)
    : n_features(n_features),
      center(n_features, 0.0),
      mean(n_features, 0.0),
      scale(n_features, 1.0),
      is_constant(n_features, false) {
    const size_t m = n_features, stride = std::max<size_t>(1, n_rows / CORRELATION_ROWS);
    std::vector<double> square(m, 0.0);
    const auto weight_of = [&](size_t i) { return weight == nullptr ? 1 : weight[i]; };
    double total = 0;
    for (size_t i = 0; i < n_rows; i += stride) {
        total += weight_of(i);
        for (size_t f = 0; f < m; ++f) mean[f] += weight_of(i) * double(rows[i * m + f]);
    }
    for (size_t f = 0; f < m; ++f) mean[f] /= total;
    for (size_t i = 0; i < n_rows; i += stride)
        for (size_t f = 0; f < m; ++f) {
            const double deviation = double(rows[i * m + f]) - mean[f];
            square[f] += weight_of(i) * deviation * deviation;
        }
    for (size_t f = 0; f < m; ++f) {
        const double variance = square[f] / total;
        if (centred) center[f] = mean[f];
        const bool varies = variance > 1e-12 * mean[f] * mean[f] && std::isfinite(variance);
        scale[f] = varies ? std::sqrt(variance) : 1;
        is_constant[f] = square[f] == 0;
        if (!(scale[f] > SMALLEST_SCALE && scale[f] < LARGEST_SCALE)) scale[f] = 1;
    }
    correlate(rows, n_rows, weight);
}

template <class T>
Columns::Columns(const T* rows, size_t n_rows, size_t n_features, const double* center_,
                 const double* scale_, const double* weight)
    : n_features(n_features),
      center(center_, center_ + n_features),
      mean(center_, center_ + n_features),
      scale(scale_, scale_ + n_features),
      is_constant(n_features, false) {
    correlate(rows, n_rows, weight);
}

template <class T>
void Columns::correlate(const T* rows, size_t n_rows, const double* weight) {
    const size_t m = n_features;
    inverse_scale.resize(m);
    float_center_.assign(padded(m), 0.0f);
    double_center_.assign(padded(m), 0.0);
    float_mean_.assign(padded(m), 0.0f);
    double_mean_.assign(padded(m), 0.0);
    float_inverse_scale_.assign(padded(m), 0.0f);
    for (size_t f = 0; f < m; ++f) {
        center[f] = double(T(center[f]));
        mean[f] = double(T(mean[f]));
        float_mean_[f] = float(mean[f]);
        double_mean_[f] = mean[f];
        float_center_[f] = float(center[f]);
        double_center_[f] = center[f];
        float_inverse_scale_[f] = float(1 / scale[f]);
        inverse_scale[f] = float_inverse_scale_[f];
    }
    if (m > MAX_CORRELATED) return;
    correlation_.assign(m * m, 0);
    const size_t stride = std::max<size_t>(1, n_rows / CORRELATION_ROWS);
    std::vector<double> z(m);
    double total = 0;
    for (size_t i = 0; i < n_rows; i += stride) {
        const double w = weight == nullptr ? 1 : weight[i];
        total += w;
        for (size_t f = 0; f < m; ++f)
            z[f] = (double(rows[i * m + f]) - center[f]) * inverse_scale[f];
        for (size_t f = 0; f < m; ++f) {
            double* row = &correlation_[f * m];
            for (size_t g = 0; g <= f; ++g) row[g] += w * z[f] * z[g];
        }
    }
    if (!(total > 0)) total = 1;  // none of these rows counts
    for (double& value : correlation_) value /= total;
}
template <>
const float* Columns::padded_center<float>() const { return float_center_.data(); }
template <>
const double* Columns::padded_center<double>() const { return double_center_.data(); }
template <>
const float* Columns::padded_mean<float>() const { return float_mean_.data(); }
template <>
const double* Columns::padded_mean<double>() const { return double_mean_.data(); }
template Columns::Columns(const float*, size_t, size_t, bool, const double*);
template Columns::Columns(const double*, size_t, size_t, bool, const double*);
template Columns::Columns(const float*, size_t, size_t, const double*, const double*,
                          const double*);
template Columns::Columns(const double*, size_t, size_t, const double*, const double*,
                          const double*);

void Columns::prepare(double curvature, double ridge) {
    // It need not be exact: samples of rows with weights have a slightly different ridge each.
    if (curvature == curvature_ && std::abs(ridge - ridge_) <= 0.1 * ridge_) return;
    curvature_ = curvature;
    ridge_ = ridge;
    const size_t m = n_features;
    inverse_.clear();
    if (correlation_.empty()) return;
    std::vector<double> factor = correlation_;
    for (double& value : factor) value *= curvature;
    for (size_t f = 0; f < m; ++f)
        // A little more, for columns that are constant or repeat others.
        factor[f * m + f] += ridge * inverse_scale[f] * inverse_scale[f] + 1e-3 * curvature;
    if (!cholesky(factor, m)) return;
    // The inverse itself: many small products with it are faster than substitutions.
    inverse_.assign(m * m, 0.0);
    for (size_t k = 0; k < m; ++k) {
        double* x = &inverse_[k * m];
        x[k] = 1;
        for (size_t i = k; i < m; ++i) x[i] = (x[i] - dot(&factor[i * m], x, i)) / factor[i * m + i];
        for (size_t i = m; i-- > 0;) {
            x[i] /= factor[i * m + i];
            for (size_t j = 0; j < i; ++j) x[j] -= factor[i * m + j] * x[i];
        }
    }
}

void Columns::solve(double* b, double* scratch) const {
    const size_t m = n_features;
    if (inverse_.empty()) {
        for (size_t f = 0; f < m; ++f)
            b[f] /= curvature_ + ridge_ * inverse_scale[f] * inverse_scale[f];
        return;
    }
    std::fill(scratch, scratch + m, 0.0);
    for (size_t f = 0; f < m; ++f) {
        const double factor = b[f];
        const double* row = &inverse_[f * m];
        for (size_t g = 0; g < m; ++g) scratch[g] += factor * row[g];
    }
    std::copy(scratch, scratch + m, b);
}

template <class R>
void SampleRows<R>::resize(size_t n_rows, size_t n_features) {
    constexpr size_t UNIT = 64;  // four of the widest vectors
    const size_t n_padded = (n_rows + UNIT - 1) / UNIT * UNIT;
    if (n_padded != n_padded_ || n_features != n_features_) {
        n_padded_ = n_padded;
        n_features_ = n_features;
        stride_ = n_padded + UNIT / 4;  // columns a power of two apart would share cache lines
        values_.assign(stride_ * n_features_, R(0));
    }
    share_.assign(n_padded_, R(0));
    sign_.assign(n_padded_, R(1));
    for (size_t f = 0; f < n_features; ++f)
        std::fill(&values_[f * stride_] + n_rows, &values_[f * stride_] + n_padded_, R(0));
}

template <class R>
template <class T>
void SampleRows<R>::set_rows(const T* values, const int64_t* rows, size_t n_rows,
                             const Columns& columns) {
    kernels().gather(Gather<T, R>{values, n_features_, rows, n_rows, columns.padded_center<T>(),
                                  columns.padded_inverse_scale(), values_.data(), stride_});
}
template void SampleRows<float>::set_rows(const float*, const int64_t*, size_t, const Columns&);
template void SampleRows<float>::set_rows(const double*, const int64_t*, size_t, const Columns&);
template void SampleRows<double>::set_rows(const float*, const int64_t*, size_t, const Columns&);
template void SampleRows<double>::set_rows(const double*, const int64_t*, size_t, const Columns&);
template class SampleRows<float>;
template class SampleRows<double>;

}  // namespace rboost
