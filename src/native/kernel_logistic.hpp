// The noisy logistic loss of a sample, and how rows become one. Part of kernels.cpp.
#pragma once
#include "kernels.hpp"
#include "simd.hpp"

namespace {

using rboost::Gather;
using rboost::LogisticSums;
using rboost::Sample;

void exponentials(double* values, size_t n) {
    size_t i = 0;
    for (; i + HALF <= n; i += HALF) store(values + i, exponential(load<Doubles>(values + i)));
    for (; i < n; ++i) values[i] = exponential(doubles(values[i]))[0];
}

// Four values of a row, centred in their own type and scaled in that of the sample.
template <class R>
struct QuadOf;
template <>
struct QuadOf<float> {
    typedef Quad type;
};
template <>
struct QuadOf<double> {
    typedef QuadDoubles type;
};
template <class R, class T>
INLINE typename QuadOf<R>::type standardised(const T* x, const T* center,
                                             const float* inverse_scale) {
    typedef typename QuadOf<R>::type Result;
    typedef typename QuadOf<T>::type Given;
    return __builtin_convertvector(load<Given>(x) - load<Given>(center), Result) *
           __builtin_convertvector(load<Quad>(inverse_scale), Result);
}

// Four rows and four columns at a time, transposed on the way.
template <class T, class R>
void gather(const Gather<T, R>& g) {
    typedef typename QuadOf<R>::type Values;
    const size_t m = g.n_features, whole = m / 4 * 4;
    const auto row = [&](size_t r) {
        return g.values + (g.rows == nullptr ? r : size_t(g.rows[r])) * m;
    };
    size_t r = 0;
    for (; r + 4 <= g.n_rows; r += 4) {
        const T* x[4] = {row(r), row(r + 1), row(r + 2), row(r + 3)};
        for (size_t f = 0; f < whole; f += 4) {
            Values q[4];
            for (int k = 0; k < 4; ++k)
                q[k] = standardised<R>(x[k] + f, g.center + f, g.inverse_scale + f);
            const Values a = __builtin_shufflevector(q[0], q[1], 0, 4, 1, 5);
            const Values b = __builtin_shufflevector(q[2], q[3], 0, 4, 1, 5);
            const Values c = __builtin_shufflevector(q[0], q[1], 2, 6, 3, 7);
            const Values d = __builtin_shufflevector(q[2], q[3], 2, 6, 3, 7);
            R* to = g.columns + f * g.stride + r;
            store(to, __builtin_shufflevector(a, b, 0, 1, 4, 5));
            store(to + g.stride, __builtin_shufflevector(a, b, 2, 3, 6, 7));
            store(to + 2 * g.stride, __builtin_shufflevector(c, d, 0, 1, 4, 5));
            store(to + 3 * g.stride, __builtin_shufflevector(c, d, 2, 3, 6, 7));
        }
        for (size_t f = whole; f < m; ++f)
            for (int k = 0; k < 4; ++k)
                g.columns[f * g.stride + r + k] = R(x[k][f] - g.center[f]) * R(g.inverse_scale[f]);
    }
    for (; r < g.n_rows; ++r)
        for (size_t f = 0; f < m; ++f)
            g.columns[f * g.stride + r] = R(row(r)[f] - g.center[f]) * R(g.inverse_scale[f]);
}

// A margin this far on the wrong side costs more only linearly; its exponential is still finite.
template <class R>
constexpr R FARTHEST = sizeof(R) == 4 ? R(80) : R(600);
// Less than any probability at such a margin, and a number that has a logarithm.
template <class R>
constexpr R LEAST_PROBABILITY = sizeof(R) == 4 ? R(1e-37) : R(1e-300);

template <class R>
INLINE double total(typename VectorOf<R>::type v) {
    double result = 0;
    for (int l = 0; l < VectorOf<R>::lanes; ++l) result += v[l];
    return result;
}

// Sums over the rows of a block, one a lane.
template <class R>
struct BlockSums {
    typename VectorOf<R>::type value{}, by_level{}, by_rate[2] = {};

    void add_to(LogisticSums& sums) const {
        sums.value += total<R>(value);
        sums.by_level += total<R>(by_level);
        for (int k = 0; k < 2; ++k) sums.by_rate[k] += total<R>(by_rate[k]);
    }
};

// The derivative of the loss of some rows by their margins; adds up the loss and what else it needs.
template <class R>
INLINE typename VectorOf<R>::type residuals_of(typename VectorOf<R>::type margin,
                                               typename VectorOf<R>::type sign,
                                               typename VectorOf<R>::type share,
                                               const double* rates, BlockSums<R>& sums) {
    typedef typename VectorOf<R>::type Vector;
    const R informative = R(1 - rates[0] - rates[1]);
    const Vector zero = Vector{}, one = zero + R(1), far = zero + FARTHEST<R>;
    const auto positive = sign > zero;
    // With q = 1 / (1 + e) the probability of the true class that the label names,
    // p(label) = rate + informative * q = d / (1 + e).
    const Vector rate = positive ? zero + R(rates[0]) : zero + R(rates[1]);
    const Vector against = -sign * margin;
    const Vector e = exponential(smaller(against, far));
    const Vector d = rate * (one + e) + informative;
    const Vector inverse = share / d, q = one / (one + e);
    const Vector ratio = larger(d * q, zero + LEAST_PROBABILITY<R>);
    // A label that cannot be wrong costs on beyond the farthest margin.
    const Vector beyond = rate > zero ? zero : larger(against - far, zero);
    sums.value += share * (beyond - logarithm(ratio));
    const Vector residual = -sign * informative * e * q * inverse;
    sums.by_level += residual;
    // By the rate of flips into this label and out of it.
    const Vector into = -e * inverse, out_of = inverse;
    sums.by_rate[0] += positive ? into : out_of;
    sums.by_rate[1] += positive ? out_of : into;
    return residual;
}

// Add the products of the residuals of a block with each column, four columns at a time.
template <class R>
INLINE void add_products(const Sample<R>& sample, size_t begin, size_t end, const R* residuals,
                         double* by_direction) {
    typedef typename VectorOf<R>::type Vector;
    constexpr int lanes = VectorOf<R>::lanes;
    size_t f = 0;
    for (; f + 4 <= sample.n_features; f += 4) {
        Vector products[4] = {};
        const R* column = sample.columns + f * sample.stride + begin;
        for (size_t i = 0; i < end - begin; i += lanes) {
            const Vector residual = load<Vector>(residuals + i);
            for (int k = 0; k < 4; ++k)
                products[k] += residual * load<Vector>(column + k * sample.stride + i);
        }
        for (int k = 0; k < 4; ++k) by_direction[f + k] += total<R>(products[k]);
    }
    for (; f < sample.n_features; ++f) {
        Vector products{};
        const R* column = sample.columns + f * sample.stride + begin;
        for (size_t i = 0; i < end - begin; i += lanes)
            products += load<Vector>(residuals + i) * load<Vector>(column + i);
        by_direction[f] += total<R>(products);
    }
}

template <class R>
INLINE void logistic(const Sample<R>& sample, const double* direction, double level,
                     const double* rates, R* residuals, LogisticSums& sums, double* by_direction) {
    typedef typename VectorOf<R>::type Vector;
    constexpr int lanes = VectorOf<R>::lanes;
    sums = LogisticSums{};
    for (size_t f = 0; f < sample.n_features; ++f) by_direction[f] = 0;

    // A block is read twice, the second time from the first cache where it fits.
    size_t block = rboost::SAMPLE_BLOCK;
    while (block > 64 && block * sample.n_features * sizeof(R) > 24576) block /= 2;
    for (size_t begin = 0; begin < sample.n_padded; begin += block) {
        const size_t end = begin + block < sample.n_padded ? begin + block : sample.n_padded;
        BlockSums<R> block_sums;
        for (size_t i = begin; i < end; i += 4 * lanes) {
            Vector margin[4];
            for (int k = 0; k < 4; ++k) margin[k] = Vector{} + R(level);
            for (size_t f = 0; f < sample.n_features; ++f) {
                const R* column = sample.columns + f * sample.stride + i;
                const R factor = R(direction[f]);
                for (int k = 0; k < 4; ++k) margin[k] += factor * load<Vector>(column + k * lanes);
            }
            for (int k = 0; k < 4; ++k) {
                const Vector sign = load<Vector>(sample.sign + i + k * lanes);
                const Vector share = load<Vector>(sample.share + i + k * lanes);
                store(residuals + (i - begin) + k * lanes,
                      residuals_of<R>(margin[k], sign, share, rates, block_sums));
            }
        }
        block_sums.add_to(sums);
        add_products(sample, begin, end, residuals, by_direction);
    }
}

void logistic_float(const Sample<float>& sample, const double* direction, double level,
                    const double* rates, float* scratch, LogisticSums& sums, double* by) {
    logistic(sample, direction, level, rates, scratch, sums, by);
}
void logistic_double(const Sample<double>& sample, const double* direction, double level,
                     const double* rates, double* scratch, LogisticSums& sums, double* by) {
    logistic(sample, direction, level, rates, scratch, sums, by);
}

}  // namespace
