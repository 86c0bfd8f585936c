// Vectors of the width that the instruction set has, and the functions the kernels need on them.
//
// Each translation unit that includes this is compiled once per instruction set; everything here has
// internal linkage, so that no function compiled for one processor is ever used on another.
#pragma once
#include <cstdint>
#include <cstring>
#include <utility>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int BYTES = 64;
#elif defined(__AVX2__)
constexpr int BYTES = 32;
#else
constexpr int BYTES = 16;
#endif
constexpr int LANES = BYTES / 4;  // float32 numbers in a vector
constexpr int HALF = LANES / 2;   // float64 numbers in a vector

typedef float Floats __attribute__((vector_size(BYTES)));
typedef double Doubles __attribute__((vector_size(BYTES)));
typedef int32_t Ints __attribute__((vector_size(BYTES)));
typedef int64_t Longs __attribute__((vector_size(BYTES)));
typedef float HalfFloats __attribute__((vector_size(BYTES / 2)));

#define INLINE inline __attribute__((always_inline))

template <class Vector, class T>
INLINE Vector load(const T* from) {
    Vector v;
    std::memcpy(&v, from, sizeof v);
    return v;
}
template <class Vector, class T>
INLINE void store(T* to, Vector v) {
    std::memcpy(to, &v, sizeof v);
}
INLINE Floats floats(float x) { return Floats{} + x; }
INLINE Doubles doubles(double x) { return Doubles{} + x; }

template <int FIRST, int... I>
INLINE HalfFloats half_from(Floats v, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(v, v, (FIRST + I)...);
}
INLINE Doubles low_doubles(Floats v) {
    return __builtin_convertvector(half_from<0>(v, std::make_integer_sequence<int, HALF>{}), Doubles);
}
INLINE Doubles high_doubles(Floats v) {
    return __builtin_convertvector(half_from<HALF>(v, std::make_integer_sequence<int, HALF>{}),
                                   Doubles);
}
template <int... I>
INLINE Floats join_halves(HalfFloats low, HalfFloats high, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(low, high, I...);
}
INLINE Floats join(Doubles low, Doubles high) {
    return join_halves(__builtin_convertvector(low, HalfFloats),
                       __builtin_convertvector(high, HalfFloats),
                       std::make_integer_sequence<int, LANES>{});
}

// The second where the numbers do not compare. Compilers do not find these instructions themselves,
// nor those that widen bytes.
#if defined(__AVX512F__)
INLINE Floats smaller(Floats a, Floats b) { return _mm512_min_ps(a, b); }
INLINE Floats larger(Floats a, Floats b) { return _mm512_max_ps(a, b); }
INLINE Doubles smaller(Doubles a, Doubles b) { return _mm512_min_pd(a, b); }
INLINE Doubles larger(Doubles a, Doubles b) { return _mm512_max_pd(a, b); }
INLINE Ints widened(const uint8_t* bytes) {
    return (Ints)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)bytes));
}
#elif defined(__AVX2__)
INLINE Floats smaller(Floats a, Floats b) { return _mm256_min_ps(a, b); }
INLINE Floats larger(Floats a, Floats b) { return _mm256_max_ps(a, b); }
INLINE Doubles smaller(Doubles a, Doubles b) { return _mm256_min_pd(a, b); }
INLINE Doubles larger(Doubles a, Doubles b) { return _mm256_max_pd(a, b); }
INLINE Ints widened(const uint8_t* bytes) {
    return (Ints)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)bytes));
}
#else
template <class V>
INLINE V smaller(V a, V b) { return a < b ? a : b; }
template <class V>
INLINE V larger(V a, V b) { return a > b ? a : b; }
INLINE Ints widened(const uint8_t* bytes) { return Ints{bytes[0], bytes[1], bytes[2], bytes[3]}; }
#endif
INLINE Doubles magnitude(Doubles v) { return v < Doubles{} ? -v : v; }
INLINE Floats magnitude(Floats v) {
    Ints bits;
    std::memcpy(&bits, &v, sizeof bits);
    bits &= 0x7fffffff;
    std::memcpy(&v, &bits, sizeof v);
    return v;
}

INLINE double sum(Doubles v) {
    double total = 0;
    for (int l = 0; l < HALF; ++l) total += v[l];
    return total;
}

// e^x with a relative error below 2e-16 times a few; 0 below -708, e^709 above 709.
INLINE Doubles exponential(Doubles x) {
    const Doubles clipped = smaller(larger(x, doubles(-708.0)), doubles(709.0));
    const Doubles shifter = doubles(6755399441055744.0);  // 1.5 * 2^52: adding it rounds to integers
    const Doubles shifted = clipped * 1.4426950408889634074 + shifter;
    const Doubles n = shifted - shifter;
    const Doubles r = (clipped - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    Doubles p = doubles(2.08767569878681e-09);  // 1/12!
    p = p * r + 2.505210838544172e-08;
    p = p * r + 2.755731922398589e-07;
    p = p * r + 2.755731922398589e-06;
    p = p * r + 2.480158730158730e-05;
    p = p * r + 1.984126984126984e-04;
    p = p * r + 1.388888888888889e-03;
    p = p * r + 8.333333333333333e-03;
    p = p * r + 4.166666666666666e-02;
    p = p * r + 1.666666666666667e-01;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    Longs bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;  // the low bits of the shifted number are the integer n
    Doubles scale;
    std::memcpy(&scale, &bits, sizeof scale);
    const Doubles result = p * scale;
    return x < doubles(-708.0) ? doubles(0.0) : result;
}

INLINE Floats exponential(Floats x) {
    const Floats clipped = smaller(larger(x, floats(-87.0f)), floats(88.0f));
    const Floats shifter = floats(12582912.0f);  // 1.5 * 2^23
    const Floats shifted = clipped * 1.44269504f + shifter;
    const Floats n = shifted - shifter;
    const Floats r = (clipped - n * 0.693359375f) - n * -2.12194440e-4f;
    Floats p = floats(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    Ints bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127) << 23;
    Floats scale;
    std::memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

// log x for normal positive x, error below 1e-15 relative to max(1, |log x|).
INLINE Doubles logarithm(Doubles x) {
    Longs bits;
    std::memcpy(&bits, &x, sizeof bits);
    // Split x = m * 2^e with m in [sqrt(1/2), sqrt(2)).
    const Longs shifted = bits - 0x3fe6a09e667f3bcdLL;
    const Longs exponent = shifted >> 52;
    const Longs mantissa = bits - (exponent << 52);
    Doubles m;
    std::memcpy(&m, &mantissa, sizeof m);
    const Doubles e = __builtin_convertvector(exponent, Doubles);
    // log m = 2 artanh s with s = (m - 1) / (m + 1), |s| < 0.1716
    const Doubles s = (m - 1.0) / (m + 1.0);
    const Doubles z = s * s;
    Doubles p = doubles(1.0 / 21);
    p = p * z + 1.0 / 19;
    p = p * z + 1.0 / 17;
    p = p * z + 1.0 / 15;
    p = p * z + 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    const Doubles log_m = 2.0 * s + 2.0 * s * z * p;
    return e * 6.93147180369123816490e-01 + (log_m + e * 1.90821492927058770002e-10);
}

// The same in float32, with the polynomial of Cephes.
INLINE Floats logarithm(Floats x) {
    Ints bits;
    std::memcpy(&bits, &x, sizeof bits);
    const Ints exponent = (bits - 0x3f3504f3) >> 23;  // x = m * 2^e with m in [sqrt(1/2), sqrt(2))
    const Ints mantissa = bits - (exponent << 23);
    Floats m;
    std::memcpy(&m, &mantissa, sizeof m);
    const Floats e = __builtin_convertvector(exponent, Floats);
    const Floats r = m - 1.0f, z = r * r;
    Floats p = floats(7.0376836292e-2f);
    p = p * r - 1.1514610310e-1f;
    p = p * r + 1.1676998740e-1f;
    p = p * r - 1.2420140846e-1f;
    p = p * r + 1.4249322787e-1f;
    p = p * r - 1.6668057665e-1f;
    p = p * r + 2.0000714765e-1f;
    p = p * r - 2.4999993993e-1f;
    p = p * r + 3.3333331174e-1f;
    return e * 0.693359375f + (r + (r * z * p - 0.5f * z - e * 2.12194440e-4f));
}

// Vectors of both kinds by the type of their numbers.
template <class R>
struct VectorOf;
template <>
struct VectorOf<float> {
    typedef Floats type;
    static constexpr int lanes = LANES;
};
template <>
struct VectorOf<double> {
    typedef Doubles type;
    static constexpr int lanes = HALF;
};

// ---- sums across lanes, by quads (four neighbouring lanes) ------------------------------------

constexpr int QUADS = LANES / 4;
typedef float Quad __attribute__((vector_size(16)));
typedef double QuadDoubles __attribute__((vector_size(32)));

#if defined(__AVX512F__)
INLINE Floats quads(const Quad* q) {
    typedef float Two __attribute__((vector_size(32)));
    const Two low = __builtin_shufflevector(q[0], q[1], 0, 1, 2, 3, 4, 5, 6, 7);
    const Two high = __builtin_shufflevector(q[2], q[3], 0, 1, 2, 3, 4, 5, 6, 7);
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
// The same quad everywhere.
INLINE Floats repeated(const float* quad) { return _mm512_broadcast_f32x4(_mm_loadu_ps(quad)); }
// Quad k of the result is the sum of the quads of vector k.
INLINE Floats sum_quads(const Floats* v) {
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23)
#define HIGH(a, b) \
    __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31)
    const Floats first = LOW(v[0], v[1]) + HIGH(v[0], v[1]);
    const Floats last = LOW(v[2], v[3]) + HIGH(v[2], v[3]);
#undef LOW
#undef HIGH
    return __builtin_shufflevector(first, last, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26,
                                   27) +
           __builtin_shufflevector(first, last, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29,
                                   30, 31);
}
#elif defined(__AVX2__)
INLINE Floats quads(const Quad* q) {
    return __builtin_shufflevector(q[0], q[1], 0, 1, 2, 3, 4, 5, 6, 7);
}
INLINE Floats repeated(const float* quad) { return _mm256_broadcast_ps((const __m128*)quad); }
INLINE Floats sum_quads(const Floats* v) {
    return __builtin_shufflevector(v[0], v[1], 0, 1, 2, 3, 8, 9, 10, 11) +
           __builtin_shufflevector(v[0], v[1], 4, 5, 6, 7, 12, 13, 14, 15);
}
#else
INLINE Floats quads(const Quad* q) { return q[0]; }
INLINE Floats repeated(const float* quad) { return load<Floats>(quad); }
INLINE Floats sum_quads(const Floats* v) { return v[0]; }
#endif

// Lane 4k + j of a shuffle whose quads do alike: lane `from[j]` of a, or of b from 4 on.
template <int A, int B, int C, int D, int... I>
INLINE Floats shuffle_quads(Floats a, Floats b, std::integer_sequence<int, I...>) {
    constexpr int from[4] = {A, B, C, D};
    return __builtin_shufflevector(
        a, b, (I / 4 * 4 + from[I % 4] % 4 + (from[I % 4] >= 4 ? LANES : 0))...);
}
template <int A, int B, int C, int D>
INLINE Floats shuffle_quads(Floats a, Floats b) {
    return shuffle_quads<A, B, C, D>(a, b, std::make_integer_sequence<int, LANES>{});
}
// Lane 4k + j of the result is the sum of quad k of vector j.
INLINE Floats sum_within_quads(const Floats* v) {
    const Floats first = shuffle_quads<0, 4, 1, 5>(v[0], v[1]) + shuffle_quads<2, 6, 3, 7>(v[0], v[1]);
    const Floats last = shuffle_quads<0, 4, 1, 5>(v[2], v[3]) + shuffle_quads<2, 6, 3, 7>(v[2], v[3]);
    return shuffle_quads<0, 1, 4, 5>(first, last) + shuffle_quads<2, 3, 6, 7>(first, last);
}

}  // namespace
