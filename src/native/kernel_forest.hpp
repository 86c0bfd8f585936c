// Scores of a forest. Part of kernels.cpp.
#pragma once
#include "forest.hpp"
#include "kernels.hpp"
#include "simd.hpp"

namespace {

using rboost::PackedForest;
using rboost::Split;
using rboost::Word;

// Rows at a time: what remains of a tree for them stays in registers.
constexpr int FOREST_VECTORS = 8, FOREST_ROWS = FOREST_VECTORS * HALF;

// Categories go left whose bit is set; NaN, negative and unknown ones right. No set is without words.
INLINE bool is_in_set(const PackedForest& a, int32_t set, double value) {
    const uint32_t* words = a.bitset + a.set_starts[set];
    const double n_categories = 32.0 * (a.set_starts[set + 1] - a.set_starts[set]);
    const bool is_known = (value > -1) & (value < n_categories);
    const int64_t category = is_known ? int64_t(value) : 0;
    return is_known & (words[category / 32] >> category % 32);
}

// The leaves of a word that remain to some rows, given by columns.
INLINE void remaining_leaves(const PackedForest& forest, const Word& word,
                             const double* columns, uint64_t* remaining) {
    Longs left[FOREST_VECTORS];
    for (int v = 0; v < FOREST_VECTORS; ++v) left[v] = ~Longs{};
    const Split* splits = forest.splits;
    for (const Split* s = splits + word.splits; s < splits + word.nan_left; ++s) {
        const double* column = columns + s->feature * FOREST_ROWS;
        const Doubles threshold = doubles(s->threshold);
        const Longs kept = Longs{} + int64_t(s->kept);
        for (int v = 0; v < FOREST_VECTORS; ++v)
            left[v] = load<Doubles>(column + v * HALF) <= threshold ? left[v] : left[v] & kept;
    }
    for (const Split* s = splits + word.nan_left; s < splits + word.categories; ++s) {
        const double* column = columns + s->feature * FOREST_ROWS;
        const Doubles threshold = doubles(s->threshold);
        const Longs kept = Longs{} + int64_t(s->kept);
        for (int v = 0; v < FOREST_VECTORS; ++v)
            left[v] = load<Doubles>(column + v * HALF) > threshold ? left[v] & kept : left[v];
    }
    for (int v = 0; v < FOREST_VECTORS; ++v) store(remaining + v * HALF, left[v]);
    for (const Split* s = splits + word.categories; s < splits + word.end; ++s) {
        const double* column = columns + s->feature * FOREST_ROWS;
        for (int r = 0; r < FOREST_ROWS; ++r)
            remaining[r] &= s->kept | -uint64_t(is_in_set(forest, s->category_set, column[r]));
    }
}

INLINE void add_word(const PackedForest& forest, const Word& word, const double* columns,
                     uint64_t* open, double* scores) {
    uint64_t remaining[FOREST_ROWS];
    remaining_leaves(forest, word, columns, remaining);
    const double* values = forest.leaf_values + word.leaves;
    if (word.is_whole) {
        for (int r = 0; r < FOREST_ROWS; ++r) scores[r] += values[__builtin_ctzll(remaining[r])];
        return;
    }
    for (int r = 0; r < FOREST_ROWS; ++r) {
        if (word.is_first) open[r] = ~uint64_t(0);
        const uint64_t found = remaining[r] & open[r];
        scores[r] += found ? values[__builtin_ctzll(found)] : 0.0;
        open[r] = found ? 0 : open[r];
    }
}

template <class T>
INLINE void forest_scores(const PackedForest& forest, const T* rows, size_t n_rows, double* scores) {
    const size_t m = forest.n_features, n_outputs = forest.n_outputs;
    double* columns = new double[m * FOREST_ROWS]();
    uint64_t open[FOREST_ROWS];  // all bits until the leaf of a row is found
    double* tile = new double[n_outputs * FOREST_ROWS];
    for (size_t begin = 0; begin < n_rows; begin += FOREST_ROWS) {
        const size_t n = n_rows - begin < size_t(FOREST_ROWS) ? n_rows - begin : FOREST_ROWS;
        for (size_t r = 0; r < n; ++r)
            for (size_t f = 0; f < m; ++f)
                columns[f * FOREST_ROWS + r] = double(rows[(begin + r) * m + f]);
        for (size_t i = 0; i < n_outputs * FOREST_ROWS; ++i) tile[i] = 0;
        for (const Word* word = forest.words; word < forest.words + forest.n_words; ++word)
            add_word(forest, *word, columns, open, tile + word->output * FOREST_ROWS);
        for (size_t r = 0; r < n; ++r)
            for (size_t k = 0; k < n_outputs; ++k)
                scores[(begin + r) * n_outputs + k] = tile[k * FOREST_ROWS + r];
    }
    delete[] tile;
    delete[] columns;
}

void forest_float(const PackedForest& forest, const float* rows, size_t n_rows, double* scores) {
    forest_scores(forest, rows, n_rows, scores);
}
void forest_double(const PackedForest& forest, const double* rows, size_t n_rows, double* scores) {
    forest_scores(forest, rows, n_rows, scores);
}

}  // namespace
