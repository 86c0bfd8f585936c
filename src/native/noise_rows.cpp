#include "noise_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

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

constexpr size_t BLOCK = 512;

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

Refusal count_rows(const Column& scores, const Column& labels, const Column& weights,
                   const Column& trusted, size_t n_rows, const Binning& binning, double (*totals)[5],
                   double moments[3]) {
    // The edges, filled up to a power of two less one: the search then needs no condition.
    size_t size = 1;
    while (size < binning.n_edges + 1) size *= 2;
    double edges[4096];
    if (size > 4096) return Refusal::scores;
    for (size_t i = 0; i < size; ++i) edges[i] = i < binning.n_edges ? binning.edges[i] : INFINITY;

    double score[BLOCK], label[BLOCK], weight[BLOCK], trust[BLOCK], scaled[BLOCK];
    uint32_t bin[BLOCK];
    bool finite = true, zero_one = true, sure = true, positive = true;
    const double half_middle = binning.middle / 2, half_range = binning.half_range, far = binning.far;
    for (size_t begin = 0; begin < n_rows; begin += BLOCK) {
        const size_t n = std::min(BLOCK, n_rows - begin);
        scores.read(begin, n, score);
        labels.read(begin, n, label);
        weights.read(begin, n, weight);
        trusted.read(begin, n, trust);
        for (size_t i = 0; i < n; ++i) {
            finite &= std::fabs(score[i]) <= 1.7976931348623157e308;
            zero_one &= (label[i] == 0) | (label[i] == 1);
            sure &= (trust[i] == 0) | (trust[i] == 1);
            positive &= weight[i] >= 0;
            // Halves, because the difference of two huge numbers may be infinite.
            scaled[i] = std::min(std::max((score[i] / 2 - half_middle) / half_range, -far), far);
        }
        if (!(finite && zero_one && sure && positive)) break;
        for (size_t i = 0; i < n; ++i) bin[i] = 0;
        for (size_t step = size / 2; step > 0; step /= 2)
            for (size_t i = 0; i < n; ++i)
                bin[i] += edges[bin[i] + step - 1] <= score[i] ? uint32_t(step) : 0;
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
    if (!finite) return Refusal::scores;
    if (!zero_one) return Refusal::labels;
    if (!sure) return Refusal::trusted;
    if (!positive || !(moments[0] > 0) || !(moments[0] <= 1.7976931348623157e308))
        return Refusal::weights;
    return Refusal::none;
}

}  // namespace rboost
