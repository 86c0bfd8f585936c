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

constexpr int PREDICT_VECTORS = 4, PREDICT_ROWS = PREDICT_VECTORS * LANES;

// Some rows as columns, centred; rows that are missing are 0.
template <class T>
INLINE void to_columns(const LinearEnsemble<T>& ensemble, const T* rows, size_t n, float* columns) {
    const size_t m = ensemble.n_features;
    for (size_t r = 0; r < n; ++r)
        for (size_t f = 0; f < m; ++f)
            columns[f * PREDICT_ROWS + r] = float(rows[r * m + f] - ensemble.center[f]);
    for (size_t r = n; r < size_t(PREDICT_ROWS); ++r)
        for (size_t f = 0; f < m; ++f) columns[f * PREDICT_ROWS + r] = 0;
}

// Add the votes of learner k, times its step.
template <class T>
INLINE void add_votes(const LinearEnsemble<T>& ensemble, size_t k, const float* columns, Floats* votes) {
    const float* coef = ensemble.coefs + k * ensemble.n_features;
    Floats margin[PREDICT_VECTORS];
    for (int v = 0; v < PREDICT_VECTORS; ++v) margin[v] = floats(ensemble.intercepts[k]);
    for (size_t f = 0; f < ensemble.n_features; ++f) {
        const float factor = coef[f];
        for (int v = 0; v < PREDICT_VECTORS; ++v)
            margin[v] += factor * load<Floats>(columns + f * PREDICT_ROWS + v * LANES);
    }
    for (int v = 0; v < PREDICT_VECTORS; ++v)
        votes[v] += ensemble.steps[k] * vote_of(margin[v], ensemble.probability);
}

template <class T>
INLINE void predict(const LinearEnsemble<T>& ensemble, const T* rows, size_t n_rows,
                    double* scores) {
    // Steps and votes are added up in float32 for a few learners at a time only.
    constexpr size_t FEW_LEARNERS = 16;
    const size_t m = ensemble.n_features, n_learners = ensemble.n_learners;
    float* columns = new float[m * PREDICT_ROWS];
    for (size_t begin = 0; begin < n_rows; begin += PREDICT_ROWS) {
        const size_t n = n_rows - begin < size_t(PREDICT_ROWS) ? n_rows - begin : PREDICT_ROWS;
        to_columns(ensemble, rows + begin * m, n, columns);
        Doubles low[PREDICT_VECTORS] = {}, high[PREDICT_VECTORS] = {};
        for (size_t first = 0; first < n_learners; first += FEW_LEARNERS) {
            const size_t last = first + FEW_LEARNERS < n_learners ? first + FEW_LEARNERS : n_learners;
            Floats few[PREDICT_VECTORS] = {};
            for (size_t k = first; k < last; ++k) add_votes(ensemble, k, columns, few);
            for (int v = 0; v < PREDICT_VECTORS; ++v) {
                low[v] += low_doubles(few[v]);
                high[v] += high_doubles(few[v]);
            }
        }
        double tile[PREDICT_ROWS];
        for (int v = 0; v < PREDICT_VECTORS; ++v) {
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
