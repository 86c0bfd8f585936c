// Margins of rows: products of their values with a learner's coefficients. Part of kernels.cpp.
#pragma once
#include "kernels.hpp"
#include "simd.hpp"

namespace {

INLINE Floats centred(const float* x, const float* center) {
    return center == nullptr ? load<Floats>(x) : load<Floats>(x) - load<Floats>(center);
}
INLINE Floats centred(const double* x, const double* center) {
    Doubles low = load<Doubles>(x), high = load<Doubles>(x + HALF);
    if (center != nullptr) {
        low -= load<Doubles>(center);
        high -= load<Doubles>(center + HALF);
    }
    return join(low, high);
}
INLINE Quad centred_quad(const float* x, const float* center) {
    return center == nullptr ? load<Quad>(x) : load<Quad>(x) - load<Quad>(center);
}
INLINE Quad centred_quad(const double* x, const double* center) {
    QuadDoubles quad = load<QuadDoubles>(x);
    if (center != nullptr) quad -= load<QuadDoubles>(center);
    return __builtin_convertvector(quad, Quad);
}

// How far beyond the end of a row its margin reads, in values: to the end of a quad or vector.
INLINE size_t values_read(size_t n_features) {
    const size_t full = n_features / LANES * LANES, rest = n_features - full;
    return rest > LANES - 4 ? full + LANES : full + (rest + 3) / 4 * 4;
}

// Margins of LANES rows, without the intercept. What is read beyond a row meets coefficients of 0.
template <class T>
INLINE Floats margins_of(const T* rows, size_t stride, const T* center, const float* coef,
                         size_t n_read) {
    const size_t full = n_read / LANES * LANES;
    Floats sums[4];
    for (int g = 0; g < 4; ++g) {
        // Rows g, 4 + g, ... so that all end up in order.
        const T* row[QUADS];
        for (int k = 0; k < QUADS; ++k) row[k] = rows + (g + 4 * k) * stride;
        sums[g] = Floats{};
        if (full > 0) {
            Floats products[QUADS];
            for (int k = 0; k < QUADS; ++k)
                products[k] = centred(row[k], center) * load<Floats>(coef);
            for (size_t c = LANES; c < full; c += LANES)
                for (int k = 0; k < QUADS; ++k)
                    products[k] += centred(row[k] + c, center == nullptr ? center : center + c) *
                                   load<Floats>(coef + c);
            sums[g] = sum_quads(products);
        }
        for (size_t c = full; c < n_read; c += 4) {
            Quad values[QUADS];
            for (int k = 0; k < QUADS; ++k)
                values[k] = centred_quad(row[k] + c, center == nullptr ? center : center + c);
            sums[g] += quads(values) * repeated(coef + c);
        }
    }
    return sum_within_quads(sums);
}

}  // namespace
