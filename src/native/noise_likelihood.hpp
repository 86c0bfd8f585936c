// Log-likelihoods of many sigmoids at once, each seen through its own noise. Part of noise_platt.cpp.
#pragma once
#include "noise_platt.hpp"
#include "simd.hpp"

namespace {

using rboost::LabelCounts;

// Numbers of either precision. A row that the model rules out costs -log(floor) nats, not
// infinitely many. `ROUNDING` is what a logarithm may be off, times a few.
template <class T>
struct Precision;
template <>
struct Precision<double> {
    typedef Doubles Vector;
    static constexpr int LANES_USED = HALF;
    static constexpr double FLOOR = 1e-300, ROUNDING = 1e-15;
};
template <>
struct Precision<float> {
    typedef Floats Vector;
    static constexpr int LANES_USED = LANES;
    static constexpr double FLOOR = 1e-30, ROUNDING = 5e-8;
};

// Sums of log-likelihoods, in float64 whatever the terms have: the terms are small, the sum is not.
template <class V>
struct Total;
template <>
struct Total<Doubles> {
    Doubles sum{};
    INLINE void add(Doubles term) { sum += term; }
    INLINE double lane(int l) const { return sum[l]; }
};
template <>
struct Total<Floats> {
    Doubles low{}, high{};
    INLINE void add(Floats term) { low += low_doubles(term), high += high_doubles(term); }
    INLINE double lane(int l) const { return l < HALF ? low[l] : high[l - HALF]; }
};

// Log-likelihood of one line a lane, its first derivatives, and its expected (fisher) and observed
// (newton) curvature: of the slope, of both, of the offset.
template <class V>
struct Likelihood {
    Total<V> value;
    V by_slope{}, by_offset{};
    V fisher[3] = {}, newton[3] = {};
};

// Each lane has a noise matrix and a line of its own.
template <class V>
struct NoisyLines {
    V into_1, into_0, slope, offset;
};

// Some bins: where they begin, and what is known of them so far.
template <class V>
struct BlockOfBins {
    static constexpr size_t SIZE = 32;
    size_t n;
    const double *scores, *observed[2], *trusted[2];
    V small[SIZE];      // e^-|margin|
    V label[2][SIZE];   // p(observed label)
    V clean[SIZE];      // of trusted labels, the part of the log-likelihood without a logarithm

    BlockOfBins(const LabelCounts& counts, size_t begin)
        : n(counts.n_bins - begin < SIZE ? counts.n_bins - begin : SIZE), scores(counts.scores + begin),
          observed{counts.observed[0] + begin, counts.observed[1] + begin},
          trusted{counts.trusted[0] + begin, counts.trusted[1] + begin} {}
};

// Add what one bin contributes to the derivatives in slope and offset, given those in the margin.
template <class T, class V>
INLINE void add_derivatives(Likelihood<V>& sums, T score, V gradient, V expected, V seen) {
    sums.by_slope += gradient * score;
    sums.by_offset += gradient;
    const V e = expected * score, s = seen * score;
    sums.fisher[0] += e * score;
    sums.fisher[1] += e;
    sums.fisher[2] += expected;
    sums.newton[0] += s * score;
    sums.newton[1] += s;
    sums.newton[2] += seen;
}

template <class T, bool ANY_TRUSTED, class V>
INLINE void differentiate(BlockOfBins<V>& bins, const NoisyLines<V>& lines, Likelihood<V>& sums) {
    const V informative = T(1) - lines.into_1 - lines.into_0;
    const V one = V{} + T(1), floor = V{} + T(Precision<T>::FLOOR);
    for (size_t k = 0; k < bins.n; ++k) {
        const T score = T(bins.scores[k]), n_0 = T(bins.observed[0][k]), n_1 = T(bins.observed[1][k]);
        const V margin = lines.slope * score + lines.offset, small = bins.small[k];
        const auto negative = margin < V{};
        const V above = negative ? small : one, below = negative ? one : small;
        const V both = T(1) + small;
        // p(label 1) = a / both, p(label 0) = b / both: one division serves all that follows.
        const V a = larger(lines.into_1 * both + informative * above, floor);
        const V b = larger(lines.into_0 * both + informative * below, floor);
        const V ab = a * b;
        const V inverse = T(1) / (ab * both);
        const V t = informative * small * inverse;
        const V share = ab * inverse;        // 1 / both
        const V by_1 = t * b, by_0 = t * a;  // of log p(label) in the margin
        bins.label[1][k] = larger(a * share, floor);
        bins.label[0][k] = larger(b * share, floor);
        V gradient = n_1 * by_1 - n_0 * by_0;
        const V difference = (below - above) * share;  // p(y = 0) - p(y = 1)
        V expected = (n_0 + n_1) * by_1 * by_0;
        V seen = n_1 * by_1 * by_1 + n_0 * by_0 * by_0 - difference * gradient;
        if (ANY_TRUSTED) {
            const T t_0 = T(bins.trusted[0][k]), t_1 = T(bins.trusted[1][k]);
            bins.clean[k] = t_1 * smaller(margin, V{}) - t_0 * larger(margin, V{});
            const V positive = above * share, other = below * share;
            gradient += t_1 * other - t_0 * positive;
            const V spread = (t_0 + t_1) * (positive * other);
            expected += spread;
            seen += spread;
        }
        add_derivatives(sums, score, gradient, expected, seen);
    }
}

template <class T, bool ANY_TRUSTED, class V = typename Precision<T>::Vector>
INLINE Likelihood<V> likelihood(const LabelCounts& counts, const NoisyLines<V>& lines) {
    Likelihood<V> sums;
    const V floor = V{} + T(Precision<T>::FLOOR);
    for (size_t begin = 0; begin < counts.n_bins; begin += BlockOfBins<V>::SIZE) {
        BlockOfBins<V> bins(counts, begin);
        // Three short loops: a processor works on several bins at once only if one does not take long.
        for (size_t k = 0; k < bins.n; ++k) {
            const V margin = lines.slope * T(bins.scores[k]) + lines.offset;
            bins.small[k] = larger(exponential(-magnitude(margin)), floor);
        }
        differentiate<T, ANY_TRUSTED>(bins, lines, sums);
        for (size_t k = 0; k < bins.n; ++k) {
            V value = T(bins.observed[1][k]) * logarithm(bins.label[1][k]) +
                      T(bins.observed[0][k]) * logarithm(bins.label[0][k]);
            if (ANY_TRUSTED)
                value += bins.clean[k] -
                         T(bins.trusted[0][k] + bins.trusted[1][k]) * logarithm(T(1) + bins.small[k]);
            sums.value.add(value);
        }
    }
    return sums;
}

}  // namespace
