// Reading rows of scores, labels, weights and trust, whatever type they have; and counting them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace rboost {

// A column of numbers of some type, one every `stride` bytes; no data: the same number for all rows.
struct Column {
    enum class Type { f64, f32, i64, i32, i8, u8 };
    const char* data = nullptr;
    ptrdiff_t stride = 0;
    Type type = Type::f64;
    double constant = 0;

    void read(size_t begin, size_t n_rows, double* to) const;
};

enum class Refusal { none, scores, labels, trusted, weights };

constexpr size_t MAX_EDGES = 4095;

// Where to tell scores apart. They are scaled to (score - middle) / (2 * half_range), no farther from 0
// than `far`.
struct Binning {
    const double* edges;
    size_t n_edges;
    double middle, half_range, far;
};

struct RowColumns {
    Column scores, labels, weights, trusted;
    size_t n_rows;
};

// totals: for each of n_edges + 1 bins the weight of observed 0 and 1, of trusted 0 and 1, and
// weight times scaled score. moments: weight, and weight times scaled score to the first and second.
// Both are 0 before.
Refusal count_labels(const RowColumns& rows, const Binning& binning, double (*totals)[5],
                     double moments[3]);

}  // namespace rboost
