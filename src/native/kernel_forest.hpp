// Scores of a forest. Part of kernels.cpp.
#pragma once
#include "forest.hpp"
#include "kernels.hpp"
#include "simd.hpp"

namespace {

using rboost::ForestArrays;
using rboost::PackedForest;
using rboost::PackedTree;
using rboost::Split;

// Rows at a time: what remains of a tree for them stays in registers.
constexpr int FOREST_VECTORS = 8, FOREST_ROWS = FOREST_VECTORS * HALF;

// Categories go left whose bit is set; NaN, negative and unknown ones right. No set is without words.
INLINE bool is_in_set(const ForestArrays& a, int32_t set, double value) {
    const uint32_t* words = a.bitset + a.set_starts[set];
    const int32_t n_categories = 32 * (a.set_starts[set + 1] - a.set_starts[set]);
    const bool is_known = (value > -1) & (value < n_categories);
    const int32_t category = is_known ? int32_t(value) : 0;
    return is_known & (words[category / 32] >> category % 32);
}

// The leaves that remain to some rows, given by columns.
INLINE void remaining_leaves(const PackedForest& forest, const PackedTree& tree,
                             const double* columns, uint64_t* remaining) {
    Longs left[FOREST_VECTORS];
    for (int v = 0; v < FOREST_VECTORS; ++v) left[v] = ~Longs{};
    const Split* splits = forest.splits;
    for (const Split* s = splits + tree.splits; s < splits + tree.nan_left; ++s) {
        const double* column = columns + s->feature * FOREST_ROWS;
        const Doubles threshold = doubles(s->threshold);
        const Longs kept = Longs{} + int64_t(s->kept);
        for (int v = 0; v < FOREST_VECTORS; ++v)
            left[v] = load<Doubles>(column + v * HALF) <= threshold ? left[v] : left[v] & kept;
    }
    for (const Split* s = splits + tree.nan_left; s < splits + tree.categories; ++s) {
        const double* column = columns + s->feature * FOREST_ROWS;
        const Doubles threshold = doubles(s->threshold);
        const Longs kept = Longs{} + int64_t(s->kept);
        for (int v = 0; v < FOREST_VECTORS; ++v)
            left[v] = load<Doubles>(column + v * HALF) > threshold ? left[v] & kept : left[v];
    }
    for (int v = 0; v < FOREST_VECTORS; ++v) store(remaining + v * HALF, left[v]);
    for (const Split* s = splits + tree.categories; s < splits + tree.end; ++s) {
        const double* column = columns + s->feature * FOREST_ROWS;
        for (int r = 0; r < FOREST_ROWS; ++r)
            remaining[r] &= s->kept | -uint64_t(is_in_set(forest.arrays, s->category_set, column[r]));
    }
}

// Add the leaves of some rows, given by columns; several walk abreast, as each waits for memory.
INLINE void walk(const ForestArrays& a, int32_t root, const double* columns, double* scores) {
    constexpr int ABREAST = 8;
    for (int begin = 0; begin < FOREST_ROWS; begin += ABREAST) {
        int32_t nodes[ABREAST];
        for (int32_t& node : nodes) node = root;
        for (bool is_walking = true; is_walking;) {
            is_walking = false;
            for (int i = 0; i < ABREAST; ++i) {
                const int32_t node = nodes[i] < 0 ? 0 : nodes[i], set = a.category_set[node];
                const double value = columns[size_t(a.feature[node]) * FOREST_ROWS + begin + i];
                const bool goes_left =
                    set >= 0 ? is_in_set(a, set, value)
                             : (value <= a.threshold[node]) | ((value != value) & a.nan_left[node]);
                const int32_t next = goes_left ? a.left[node] : a.right[node];
                nodes[i] = nodes[i] < 0 ? nodes[i] : next;
                is_walking |= nodes[i] >= 0;
            }
        }
        for (int i = 0; i < ABREAST; ++i) scores[begin + i] += a.leaf_value[~nodes[i]];
    }
}

INLINE void add_tree(const PackedForest& forest, const PackedTree& tree, const double* columns,
                     double* scores) {
    if (tree.is_walked) {
        walk(forest.arrays, tree.root, columns, scores);
        return;
    }
    uint64_t remaining[FOREST_ROWS];
    remaining_leaves(forest, tree, columns, remaining);
    const double* values = forest.leaf_values + tree.leaves;
    for (int r = 0; r < FOREST_ROWS; ++r) scores[r] += values[__builtin_ctzll(remaining[r])];
}

template <class T>
INLINE void forest_scores(const PackedForest& forest, const T* rows, size_t n_rows, double* scores) {
    const size_t m = forest.arrays.n_features, n_outputs = forest.arrays.n_outputs;
    double* columns = new double[m * FOREST_ROWS]();
    double* tile = new double[n_outputs * FOREST_ROWS];
    for (size_t begin = 0; begin < n_rows; begin += FOREST_ROWS) {
        const size_t n = n_rows - begin < size_t(FOREST_ROWS) ? n_rows - begin : FOREST_ROWS;
        for (size_t r = 0; r < n; ++r)
            for (size_t f = 0; f < m; ++f)
                columns[f * FOREST_ROWS + r] = double(rows[(begin + r) * m + f]);
        for (size_t i = 0; i < n_outputs * FOREST_ROWS; ++i) tile[i] = 0;
        for (size_t t = 0; t < forest.arrays.n_trees; ++t)
            add_tree(forest, forest.trees[t], columns, tile + t % n_outputs * FOREST_ROWS);
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
