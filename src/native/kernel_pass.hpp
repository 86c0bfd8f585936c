// The pass over all rows of a round: votes added, the new learner judged. Part of kernels.cpp.
#pragma once
#include "kernel_margins.hpp"
#include "kernels.hpp"
#include "simd.hpp"

namespace {

using rboost::Pass;
using rboost::PassSums;
using rboost::Rows;

struct Accumulators {
    Floats falling{}, rising{}, all{}, net{};
    Floats least_agreement = floats(1.0f), largest_score{};

    // Sums of a few rows are float32, all others float64.
    void move_to(PassSums& sums) {
        sums.falling += sum(low_doubles(falling) + high_doubles(falling));
        sums.rising += sum(low_doubles(rising) + high_doubles(rising));
        sums.all += sum(low_doubles(all) + high_doubles(all));
        sums.net += sum(low_doubles(net) + high_doubles(net));
        falling = rising = all = net = Floats{};
    }
};

// The vector with its sign changed where `positive` is not set.
INLINE Floats signed_by(Floats v, Ints bits) {
    Ints raw;
    std::memcpy(&raw, &v, sizeof raw);
    raw ^= (bits << 31) ^ int32_t(0x80000000);  // POSITIVE is the lowest bit
    std::memcpy(&v, &raw, sizeof v);
    return v;
}

// Rows that are judged together: all their margins first, then all the rest, which leaves the
// processor more to do at once than one row after the other.
constexpr size_t TILE = 16 * LANES;

// What the rows of a tile have in common, in vectors.
struct Common {
    explicit Common(const Pass& pass)
        : last_step(doubles(pass.last_step)),
          total_step(doubles(pass.total_step)),
          total(floats(float(pass.total_step))),
          log_scale(floats(float(pass.log_scale))),
          intercept(floats(pass.intercept)),
          right{floats(float(pass.mixing.right[0])), floats(float(pass.mixing.right[1]))},
          wrong{floats(float(pass.mixing.wrong[0])), floats(float(pass.mixing.wrong[1]))},
          is_scaled(pass.log_scale != 0),
          any_trusted(pass.any_trusted),
          probability(pass.probability) {}
    const Doubles last_step, total_step;
    const Floats total, log_scale, intercept, right[2], wrong[2];
    const bool is_scaled, any_trusted, probability;
};

// Arrays of the rows of a vector.
struct Side {
    double* votes;
    const double* missed;
    float* last_vote;
    const uint8_t* flags;
    const double* weight;
};

// What the previous learner voted is added now; the score with it.
template <bool OUT_OF_BAG>
INLINE Floats add_last_votes(const Common& common, const Side& side, Ints bits) {
    const Floats zero = floats(0.0f);
    Floats last = load<Floats>(side.last_vote);
    if (OUT_OF_BAG) last = (bits & rboost::SEEN_BEFORE) != 0 ? zero : last;
    const Doubles low = load<Doubles>(side.votes) + common.last_step * low_doubles(last);
    const Doubles high = load<Doubles>(side.votes + HALF) + common.last_step * high_doubles(last);
    store(side.votes, low);
    store(side.votes + HALF, high);
    const Floats score = join(low, high);
    if (!OUT_OF_BAG) return score;
    const Floats steps = join(common.total_step - load<Doubles>(side.missed),
                              common.total_step - load<Doubles>(side.missed + HALF));
    return steps > zero ? score * common.total / steps : zero;
}

// Eq. (13): the exponentials of a row for not being further on the side of its label, and for
// being too far on that side.
struct Exponentials {
    Floats right, wrong;
};
INLINE Exponentials exponentials_of(const Common& common, const Side& side, Ints bits,
                                    Floats score) {
    const Floats zero = floats(0.0f), one = floats(1.0f);
    const Ints positive = (bits & rboost::POSITIVE) != 0;
    const Floats margin = signed_by(score, bits);
    Floats right, wrong;
    if (common.is_scaled) {
        right = exponential(-margin - common.log_scale);
        wrong = exponential(margin - common.log_scale);
    } else {
        right = exponential(-margin);
        wrong = one / right;
    }
    Floats if_right = positive ? common.right[1] : common.right[0];
    Floats if_wrong = positive ? common.wrong[1] : common.wrong[0];
    if (common.any_trusted) {
        const Ints trusted = (bits & rboost::TRUSTED) != 0;
        if_right = trusted ? one : if_right;
        if_wrong = trusted ? zero : if_wrong;
    }
    right *= if_right;
    wrong *= if_wrong;
    if (side.weight != nullptr) {
        const Floats times = join(load<Doubles>(side.weight), load<Doubles>(side.weight + HALF));
        right *= times;
        wrong *= times;
    }
    return {right, wrong};
}

// What the new learner says: its vote, and how far it agrees with the label and disagrees.
struct Said {
    Floats vote, agreement, against;
};
INLINE Said said_by(const Common& common, Floats margin, Ints bits) {
    const Floats zero = floats(0.0f), one = floats(1.0f);
    if (!common.probability) {
        const Floats vote = margin > zero ? one : -one;
        const Floats agreement = 0.5f + 0.5f * signed_by(vote, bits);
        return {vote, agreement, one - agreement};
    }
    // The smaller probability must not be lost to rounding: a sure learner errs by that much.
    const Floats e = exponential(-magnitude(margin));
    const Floats likelier = one / (one + e), other = e * likelier;
    const Ints agrees = signed_by(margin, bits) > zero;
    return {margin > zero ? likelier - other : other - likelier, agrees ? likelier : other,
            agrees ? other : likelier};
}

template <bool OUT_OF_BAG>
INLINE void judge_vector(const Common& common, Floats margin_of_learner, const Side& side,
                         Accumulators& sums) {
    const Ints bits = widened(side.flags);
    const Floats score = add_last_votes<OUT_OF_BAG>(common, side, bits);
    const auto [right, wrong] = exponentials_of(common, side, bits, score);
    const auto [vote, agreement, against] =
        said_by(common, margin_of_learner + common.intercept, bits);
    store(side.last_vote, vote);
    Floats falling = agreement * right + against * wrong;
    Floats rising = agreement * wrong + against * right;
    if (OUT_OF_BAG) {
        const Ints seen = (bits & rboost::SEEN) != 0;
        falling = seen ? floats(0.0f) : falling;
        rising = seen ? floats(0.0f) : rising;
    }
    sums.falling += falling;
    sums.rising += rising;
    sums.all += right + wrong;
    sums.net += magnitude(right - wrong);
    sums.least_agreement = smaller(sums.least_agreement, agreement);
    sums.largest_score = larger(sums.largest_score, magnitude(score));
}

// The last rows, fewer than a vector or too near the end of X to read beyond it: in a copy.
template <bool OUT_OF_BAG, class T>
void judge_last(const Rows<T>& rows, const Pass& pass, const Common& common, size_t begin, size_t n,
                size_t n_read, T* copy, Accumulators& sums) {
    double votes[LANES] = {}, missed[LANES] = {}, weight[LANES] = {};
    float last_vote[LANES] = {};
    uint8_t flags[LANES] = {};
    const size_t m = rows.n_features;
    std::memset(copy, 0, LANES * n_read * sizeof(T));
    for (size_t r = 0; r < n; ++r) {
        const size_t i = begin + r;
        std::memcpy(copy + r * n_read, rows.values + i * m, m * sizeof(T));
        votes[r] = pass.votes[i];
        missed[r] = OUT_OF_BAG ? pass.missed[i] : 0;
        weight[r] = pass.weight == nullptr ? 1 : pass.weight[i];  // 0 for rows that do not exist
        last_vote[r] = pass.last_vote[i];
        flags[r] = pass.flags[i];
    }
    const Floats least_agreement = sums.least_agreement;
    judge_vector<OUT_OF_BAG>(common, margins_of(copy, n_read, rows.center, pass.coef, n_read),
                             {votes, missed, last_vote, flags, weight}, sums);
    // Nor does it count whether those rows agree.
    sums.least_agreement = least_agreement;
    for (size_t r = 0; r < n; ++r) {
        pass.votes[begin + r] = votes[r];
        pass.last_vote[begin + r] = last_vote[r];
        const float sign = (flags[r] & rboost::POSITIVE) ? 0.5f : -0.5f;
        sums.least_agreement = smaller(sums.least_agreement, floats(0.5f + sign * last_vote[r]));
    }
}

// Ask for rows well before their turn, evenly: the processor's own guesses end with each page.
constexpr size_t AHEAD = 32768;
INLINE void prefetch(const void* here, size_t begin, size_t end) {
    for (size_t b = begin / 64 * 64; b < end; b += 64)
        __builtin_prefetch(static_cast<const char*>(here) + AHEAD + b, 0, 2);
}

// The rows from `begin` on, a tile at a time, as long as whole vectors can be read; where it ended.
template <bool OUT_OF_BAG, class T>
INLINE size_t judge_tiles(const Rows<T>& rows, const Pass& pass, const Common& common,
                          size_t begin, size_t n_safe, Accumulators& sums, PassSums& result) {
    const size_t m = rows.n_features, n_read = values_read(m), bytes = LANES * m * sizeof(T);
    const T* const center = rows.center;
    alignas(64) float margins[TILE];
    size_t i = begin;
    while (i + LANES <= n_safe) {
        const size_t n = (n_safe - i < TILE ? n_safe - i : TILE) / LANES * LANES;
        for (size_t r = 0; r < n; r += LANES) {
            const T* here = rows.values + (i + r) * m;
            prefetch(here, 0, bytes / 2);
            store(margins + r, center == nullptr
                                   ? margins_of<T>(here, m, nullptr, pass.coef, n_read)
                                   : margins_of<T>(here, m, center, pass.coef, n_read));
        }
        for (size_t r = 0; r < n; r += LANES) {
            const size_t at = i + r;
            prefetch(rows.values + at * m, bytes / 2, bytes);
            judge_vector<OUT_OF_BAG>(
                common, load<Floats>(margins + r),
                {pass.votes + at, OUT_OF_BAG ? pass.missed + at : nullptr, pass.last_vote + at,
                 pass.flags + at, pass.weight == nullptr ? nullptr : pass.weight + at},
                sums);
        }
        sums.move_to(result);
        i += n;
    }
    return i;
}

template <bool OUT_OF_BAG, class T>
INLINE void judge(const Rows<T>& rows, const Pass& pass, size_t begin, size_t end,
                  PassSums& result) {
    const size_t m = rows.n_features, n_read = values_read(m);
    // Rows whose values can be read as far as n_read without leaving X.
    size_t n_safe = 0;
    if (rows.n_rows * m >= n_read) n_safe = (rows.n_rows * m - n_read) / m + 1;
    if (n_safe > end) n_safe = end;
    const Common common(pass);
    result = PassSums{};
    Accumulators sums;
    size_t i = judge_tiles<OUT_OF_BAG>(rows, pass, common, begin, n_safe, sums, result);
    if (i < end) {
        T* copy = new T[LANES * n_read];
        for (; i < end; i += LANES)
            judge_last<OUT_OF_BAG>(rows, pass, common, i, end - i < size_t(LANES) ? end - i : LANES,
                                   n_read, copy, sums);
        delete[] copy;
        sums.move_to(result);
    }
    for (int l = 0; l < LANES; ++l) {
        if (sums.least_agreement[l] < result.least_agreement)
            result.least_agreement = sums.least_agreement[l];
        if (sums.largest_score[l] > result.largest_score)
            result.largest_score = sums.largest_score[l];
    }
}

template <class T>
void judge_rows(const Rows<T>& rows, const Pass& pass, size_t begin, size_t end, PassSums& sums) {
    if (pass.missed != nullptr)
        judge<true>(rows, pass, begin, end, sums);
    else
        judge<false>(rows, pass, begin, end, sums);
}

}  // namespace
