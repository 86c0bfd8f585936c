// Prediction of a linear ensemble. Part of kernels.cpp.
#pragma once
#include "kernels.hpp"
#include "simd.hpp"

namespace {

using rboost::LinearEnsemble;

// 2p - 1 for p = 1 / (1 + e^-margin), or the sign.
INLINE Floats vote_of(Floats margin, bool probability) {
    if (probability) return 1.0f - 2.0f / (1.0f + exponential(margin));
    return margin > floats(0.0f) ? floats(1.0f) : floats(-1.0f);
}

template <class T>
INLINE void predict(const LinearEnsemble<T>& ensemble, const T* rows, size_t n_rows,
                    double* scores) {
    constexpr int VECTORS = 4, BLOCK = VECTORS * LANES;
    const size_t m = ensemble.n_features;
    float* columns = new float[m * BLOCK];
    for (size_t begin = 0; begin < n_rows; begin += BLOCK) {
        const size_t n = n_rows - begin < size_t(BLOCK) ? n_rows - begin : BLOCK;
        for (size_t r = 0; r < n; ++r)
            for (size_t f = 0; f < m; ++f)
                columns[f * BLOCK + r] = float(rows[(begin + r) * m + f] - ensemble.center[f]);
        for (size_t r = n; r < size_t(BLOCK); ++r)
            for (size_t f = 0; f < m; ++f) columns[f * BLOCK + r] = 0;
        // Steps and votes are added up in float32 for a few learners at a time only.
        Doubles low[VECTORS] = {}, high[VECTORS] = {};
        constexpr size_t FEW = 16;
        for (size_t first = 0; first < ensemble.n_learners; first += FEW) {
            const size_t last =
                first + FEW < ensemble.n_learners ? first + FEW : ensemble.n_learners;
            Floats few[VECTORS] = {};
            for (size_t k = first; k < last; ++k) {
                const float* coef = ensemble.coefs + k * m;
                Floats margin[VECTORS];
                for (int v = 0; v < VECTORS; ++v) margin[v] = floats(ensemble.intercepts[k]);
                for (size_t f = 0; f < m; ++f) {
                    const float factor = coef[f];
                    for (int v = 0; v < VECTORS; ++v)
                        margin[v] += factor * load<Floats>(columns + f * BLOCK + v * LANES);
                }
                for (int v = 0; v < VECTORS; ++v)
                    few[v] += ensemble.steps[k] * vote_of(margin[v], ensemble.probability);
            }
            for (int v = 0; v < VECTORS; ++v) {
                low[v] += low_doubles(few[v]);
                high[v] += high_doubles(few[v]);
            }
        }
        double tile[BLOCK];
        for (int v = 0; v < VECTORS; ++v) {
            store(tile + v * LANES, low[v]);
            store(tile + v * LANES + HALF, high[v]);
        }
        std::memcpy(scores + begin, tile, n * sizeof(double));
    }
    delete[] columns;
}

void predict_float(const LinearEnsemble<float>& ensemble, const float* rows, size_t n_rows,
                   double* scores) {
    predict(ensemble, rows, n_rows, scores);
}
void predict_double(const LinearEnsemble<double>& ensemble, const double* rows, size_t n_rows,
                    double* scores) {
    predict(ensemble, rows, n_rows, scores);
}

}  // namespace
