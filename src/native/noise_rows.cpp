#include "noise_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace rboost {

namespace {

template <class T>
void read_as(const char* from, ptrdiff_t stride, size_t n_rows, double* to) {
    if (stride == ptrdiff_t(sizeof(T))) {
        for (size_t i = 0; i < n_rows; ++i) {
            T value;
            std::memcpy(&value, from + i * sizeof(T), sizeof(T));
            to[i] = double(value);
        }
        return;
    }
    for (size_t i = 0; i < n_rows; ++i) {
        T value;
        std::memcpy(&value, from + ptrdiff_t(i) * stride, sizeof(T));
        to[i] = double(value);
    }
}

// The edges, filled up to a power of two less one: the search then needs no condition.
struct PaddedEdges {
    size_t size = 1;
    double values[MAX_EDGES + 1];

    explicit PaddedEdges(const Binning& binning) {
        while (size < binning.n_edges + 1) size *= 2;
        for (size_t i = 0; i < size; ++i) values[i] = i < binning.n_edges ? binning.edges[i] : INFINITY;
    }
};

constexpr double LARGEST = std::numeric_limits<double>::max();

// Some rows at a time, as numbers.
struct BlockOfRows {
    static constexpr size_t SIZE = 512;
    size_t n;
    double score[SIZE], label[SIZE], weight[SIZE], trust[SIZE], scaled[SIZE];
    uint32_t bin[SIZE];

    void read(const RowColumns& rows, size_t begin) {
        n = std::min(SIZE, rows.n_rows - begin);
        rows.scores.read(begin, n, score);
        rows.labels.read(begin, n, label);
        rows.weights.read(begin, n, weight);
        rows.trusted.read(begin, n, trust);
    }

    // Without a branch in the loop, so that several rows are checked at once.
    Refusal check() const {
        bool finite = true, zero_one = true, sure = true, positive = true;
        for (size_t i = 0; i < n; ++i) {
            finite &= std::fabs(score[i]) <= LARGEST;
            zero_one &= (label[i] == 0) | (label[i] == 1);
            sure &= (trust[i] == 0) | (trust[i] == 1);
            positive &= weight[i] >= 0;
        }
        return !finite     ? Refusal::scores
               : !zero_one ? Refusal::labels
               : !sure     ? Refusal::trusted
               : !positive ? Refusal::weights
                           : Refusal::none;
    }

    void scale(const Binning& binning) {
        const double half_middle = binning.middle / 2, half_range = binning.half_range, far = binning.far;
        // Halves, because the difference of two huge numbers may be infinite.
        for (size_t i = 0; i < n; ++i)
            scaled[i] = std::min(std::max((score[i] / 2 - half_middle) / half_range, -far), far);
    }

    // How many edges are not above each score.
    void find_bins(const PaddedEdges& edges) {
        for (size_t i = 0; i < n; ++i) bin[i] = 0;
        for (size_t step = edges.size / 2; step > 0; step /= 2)
            for (size_t i = 0; i < n; ++i)
                bin[i] += edges.values[bin[i] + step - 1] <= score[i] ? uint32_t(step) : 0;
    }

    void add_to(double (*totals)[5], double moments[3]) const {
        for (size_t i = 0; i < n; ++i) {
            double* total = totals[bin[i]];
            const double w = weight[i], part = w * scaled[i];
            total[int(label[i]) + 2 * int(trust[i])] += w;
            total[4] += part;
            moments[0] += w;
            moments[1] += part;
            moments[2] += part * scaled[i];
        }
    }
};

}  // namespace

void Column::read(size_t begin, size_t n_rows, double* to) const {
    if (data == nullptr) {
        std::fill(to, to + n_rows, constant);
        return;
    }
    const char* from = data + ptrdiff_t(begin) * stride;
    switch (type) {
        case Type::f64: return read_as<double>(from, stride, n_rows, to);
        case Type::f32: return read_as<float>(from, stride, n_rows, to);
        case Type::i64: return read_as<int64_t>(from, stride, n_rows, to);
        case Type::i32: return read_as<int32_t>(from, stride, n_rows, to);
        case Type::i8: return read_as<int8_t>(from, stride, n_rows, to);
        case Type::u8: return read_as<uint8_t>(from, stride, n_rows, to);
    }
}

Refusal count_labels(const RowColumns& rows, const Binning& binning, double (*totals)[5],
                     double moments[3]) {
    if (binning.n_edges > MAX_EDGES) return Refusal::scores;
    const PaddedEdges edges(binning);
    BlockOfRows block;
    for (size_t begin = 0; begin < rows.n_rows; begin += BlockOfRows::SIZE) {
        block.read(rows, begin);
        const Refusal refusal = block.check();
        if (refusal != Refusal::none) return refusal;
        block.scale(binning);
        block.find_bins(edges);
        block.add_to(totals, moments);
    }
    return moments[0] > 0 && moments[0] <= LARGEST ? Refusal::none : Refusal::weights;
}

}  // namespace rboost
