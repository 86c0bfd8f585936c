// The hot loops, compiled once for each instruction set (RBOOST_ISA is its name).
#include "kernels.hpp"

#include "simd.hpp"

namespace {

using rboost::Gather;
using rboost::LinearEnsemble;
using rboost::LogisticSums;
using rboost::Pass;
using rboost::PassSums;
using rboost::PlattPoint;
using rboost::PlattRows;
using rboost::PlattSums;
using rboost::Rows;
using rboost::Sample;

double stream_sum(const float* values, size_t n) {
    Floats sums[8] = {};
    size_t i = 0;
    for (; i + 8 * LANES <= n; i += 8 * LANES)
        for (int k = 0; k < 8; ++k) sums[k] += load<Floats>(values + i + k * LANES);
    double total = 0;
    for (int k = 0; k < 8; ++k) total += sum(low_doubles(sums[k])) + sum(high_doubles(sums[k]));
    for (; i < n; ++i) total += values[i];
    return total;
}

// ---- the pass over all rows -------------------------------------------------------------------

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

// 2p - 1 for p = 1 / (1 + e^-margin), or the sign.
INLINE Floats vote_of(Floats margin, bool probability) {
    if (probability) return 1.0f - 2.0f / (1.0f + exponential(margin));
    return margin > floats(0.0f) ? floats(1.0f) : floats(-1.0f);
}

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

template <bool OUT_OF_BAG>
INLINE void judge_vector(const Common& common, Floats margin_of_learner, const Side& side,
                         Accumulators& sums) {
    const Floats zero = floats(0.0f), one = floats(1.0f);
    const Ints bits = widened(side.flags);
    const Ints positive = (bits & rboost::POSITIVE) != 0;

    // What the previous learner voted is added now.
    Floats last = load<Floats>(side.last_vote);
    if (OUT_OF_BAG) last = (bits & rboost::SEEN_BEFORE) != 0 ? zero : last;
    const Doubles low = load<Doubles>(side.votes) + common.last_step * low_doubles(last);
    const Doubles high = load<Doubles>(side.votes + HALF) + common.last_step * high_doubles(last);
    store(side.votes, low);
    store(side.votes + HALF, high);
    Floats score = join(low, high);
    if (OUT_OF_BAG) {
        const Floats steps = join(common.total_step - load<Doubles>(side.missed),
                                  common.total_step - load<Doubles>(side.missed + HALF));
        score = steps > zero ? score * common.total / steps : zero;
    }

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

    const Floats vote = vote_of(margin_of_learner + common.intercept, common.probability);
    store(side.last_vote, vote);
    const Floats agreement = 0.5f + 0.5f * signed_by(vote, bits), against = one - agreement;
    Floats falling = agreement * right + against * wrong;
    Floats rising = agreement * wrong + against * right;
    if (OUT_OF_BAG) {
        const Ints seen = (bits & rboost::SEEN) != 0;
        falling = seen ? zero : falling;
        rising = seen ? zero : rising;
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

template <bool OUT_OF_BAG, class T>
INLINE void judge(const Rows<T>& rows, const Pass& pass, size_t begin, size_t end,
                  PassSums& result) {
    const size_t m = rows.n_features, n_read = values_read(m);
    // Rows whose values can be read as far as n_read without leaving X.
    size_t n_safe = 0;
    if (rows.n_rows * m >= n_read) n_safe = (rows.n_rows * m - n_read) / m + 1;
    if (n_safe > end) n_safe = end;
    const Common common(pass);
    const size_t vector_bytes = LANES * m * sizeof(T);
    const T* const values = rows.values;
    const T* const center = rows.center;
    const float* const coef = pass.coef;
    result = PassSums{};
    Accumulators sums;
    alignas(64) float margins[TILE];
    size_t i = begin;
    while (i + LANES <= n_safe) {
        const size_t n = (n_safe - i < TILE ? n_safe - i : TILE) / LANES * LANES;
        for (size_t r = 0; r < n; r += LANES) {
            const T* here = values + (i + r) * m;
            prefetch(here, 0, vector_bytes / 2);
            store(margins + r, center == nullptr
                                   ? margins_of<T>(here, m, nullptr, coef, n_read)
                                   : margins_of<T>(here, m, center, coef, n_read));
        }
        for (size_t r = 0; r < n; r += LANES) {
            const size_t at = i + r;
            prefetch(values + at * m, vector_bytes / 2, vector_bytes);
            judge_vector<OUT_OF_BAG>(
                common, load<Floats>(margins + r),
                {pass.votes + at, OUT_OF_BAG ? pass.missed + at : nullptr, pass.last_vote + at,
                 pass.flags + at, pass.weight == nullptr ? nullptr : pass.weight + at},
                sums);
        }
        sums.move_to(result);
        i += n;
    }
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

// The bytes of a pass, read and written in the same turns, with nothing computed: what memory allows.
template <class T>
void stream_rows(const Rows<T>& rows, const Pass& pass, size_t begin, size_t end, PassSums& result) {
    const size_t m = rows.n_features;
    Floats sums[4] = {};
    Doubles missed{};
    Ints flags{};
    for (size_t i = begin; i + TILE <= end; i += TILE) {
        const char* bytes = reinterpret_cast<const char*>(rows.values + i * m);
        for (size_t b = 0; b + 4 * BYTES <= TILE * m * sizeof(T); b += 4 * BYTES)
            for (int k = 0; k < 4; ++k) sums[k] += load<Floats>(bytes + b + k * BYTES);
        for (size_t r = i; r < i + TILE; r += LANES) {
            prefetch(rows.values + r * m, 0, LANES * m * sizeof(T));
            store(pass.votes + r, load<Doubles>(pass.votes + r) + 0.0);
            store(pass.votes + r + HALF, load<Doubles>(pass.votes + r + HALF) + 0.0);
            store(pass.last_vote + r, load<Floats>(pass.last_vote + r) + 0.0f);
            if (pass.missed != nullptr)
                missed += load<Doubles>(pass.missed + r) + load<Doubles>(pass.missed + r + HALF);
            flags |= widened(pass.flags + r);
        }
    }
    // The sums must not be found to be useless.
    const Floats total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    result.all = sum(low_doubles(total)) + sum(missed) + flags[0];
}

// ---- Platt scaling and the multiplicative update ----------------------------------------------

void platt_sums(const PlattRows& rows, const PlattPoint& point, size_t begin, size_t end,
                PlattSums& result) {
    const Floats zero = floats(0.0f), one = floats(1.0f);
    const auto noise = [&](int j, int k) { return floats(float(point.noise[j][k])); };
    const Doubles slope = doubles(point.slope), offset = doubles(point.offset);
    const Doubles center = doubles(point.center), inverse_spread = doubles(1 / point.spread);
    Doubles by_offset{}, by_slope{}, curvature[3] = {}, g[2][2] = {};
    const auto add = [](Doubles& to, Floats from) { to += low_doubles(from) + high_doubles(from); };
    for (size_t i = begin; i < end; i += LANES) {
        double scores[LANES], weights[LANES] = {};
        uint8_t flags[LANES] = {};
        const double* score_at = rows.scores + i;
        const uint8_t* flags_at = rows.flags + i;
        const double* weight_at = rows.weight == nullptr ? nullptr : rows.weight + i;
        if (i + LANES > end) {  // the last rows, with others of weight 0
            for (double& score : scores) score = point.center;
            for (size_t l = 0; i + l < end; ++l) {
                scores[l] = rows.scores[i + l];
                weights[l] = rows.weight == nullptr ? 1 : rows.weight[i + l];
                flags[l] = rows.flags[i + l];
            }
            score_at = scores;
            flags_at = flags;
            weight_at = weights;
        }
        // Scores far from 0 lose no digits when they are centred first.
        const Doubles low = (load<Doubles>(score_at) - center) * inverse_spread;
        const Doubles high = (load<Doubles>(score_at + HALF) - center) * inverse_spread;
        const Floats score = join(low, high);
        const Floats margin = join(slope * low + offset, slope * high + offset);
        const Floats weight = weight_at == nullptr ? one
                                                   : join(load<Doubles>(weight_at),
                                                          load<Doubles>(weight_at + HALF));
        const Ints positive = (widened(flags_at) & rboost::POSITIVE) != 0;
        // The smaller probability must not be lost to rounding.
        const Floats e = exponential(-magnitude(margin));
        const Floats likelier = one / (one + e), other = e * likelier;
        const Ints above = margin > zero;
        const Floats p1 = above ? likelier : other, p0 = above ? other : likelier;
        const Floats target = positive ? floats(float(1 - point.target[1]))
                                       : floats(float(point.target[0]));
        // p1 - target, from the side on which nothing cancels
        const Floats residual = weight * (positive ? target - p0 : p1 - target);
        const Floats spread = weight * p0 * p1;
        add(by_offset, residual);
        add(by_slope, residual * score);
        add(curvature[0], spread);
        add(curvature[1], spread * score);
        add(curvature[2], spread * score * score);
        const Floats mixture = positive ? p0 * noise(0, 1) + p1 * noise(1, 1)
                                        : p0 * noise(0, 0) + p1 * noise(1, 0);
        const Floats share = weight / larger(mixture, floats(1e-37f));
        add(g[0][0], positive ? zero : share * p0);
        add(g[0][1], positive ? share * p0 : zero);
        add(g[1][0], positive ? zero : share * p1);
        add(g[1][1], positive ? share * p1 : zero);
    }
    result.by_offset = sum(by_offset);
    result.by_slope = sum(by_slope);
    for (int k = 0; k < 3; ++k) result.curvature[k] = sum(curvature[k]);
    for (int j = 0; j < 2; ++j)
        for (int k = 0; k < 2; ++k) result.responsibility[j][k] = sum(g[j][k]);
}

// ---- the noisy logistic loss of a sample ------------------------------------------------------

void exponentials(double* values, size_t n) {
    size_t i = 0;
    for (; i + HALF <= n; i += HALF) store(values + i, exponential(load<Doubles>(values + i)));
    for (; i < n; ++i) values[i] = exponential(doubles(values[i]))[0];
}

// Four values of a row, centred in their own type and scaled in that of the sample.
template <class R>
struct QuadOf;
template <>
struct QuadOf<float> {
    typedef Quad type;
};
template <>
struct QuadOf<double> {
    typedef QuadDoubles type;
};
template <class R, class T>
INLINE typename QuadOf<R>::type standardised(const T* x, const T* center,
                                             const float* inverse_scale) {
    typedef typename QuadOf<R>::type Result;
    typedef typename QuadOf<T>::type Given;
    return __builtin_convertvector(load<Given>(x) - load<Given>(center), Result) *
           __builtin_convertvector(load<Quad>(inverse_scale), Result);
}

// Four rows and four columns at a time, transposed on the way.
template <class T, class R>
void gather(const Gather<T, R>& g) {
    typedef typename QuadOf<R>::type Values;
    const size_t m = g.n_features, whole = m / 4 * 4;
    const auto row = [&](size_t r) {
        return g.values + (g.rows == nullptr ? r : size_t(g.rows[r])) * m;
    };
    size_t r = 0;
    for (; r + 4 <= g.n_rows; r += 4) {
        const T* x[4] = {row(r), row(r + 1), row(r + 2), row(r + 3)};
        for (size_t f = 0; f < whole; f += 4) {
            Values q[4];
            for (int k = 0; k < 4; ++k)
                q[k] = standardised<R>(x[k] + f, g.center + f, g.inverse_scale + f);
            const Values a = __builtin_shufflevector(q[0], q[1], 0, 4, 1, 5);
            const Values b = __builtin_shufflevector(q[2], q[3], 0, 4, 1, 5);
            const Values c = __builtin_shufflevector(q[0], q[1], 2, 6, 3, 7);
            const Values d = __builtin_shufflevector(q[2], q[3], 2, 6, 3, 7);
            R* to = g.columns + f * g.stride + r;
            store(to, __builtin_shufflevector(a, b, 0, 1, 4, 5));
            store(to + g.stride, __builtin_shufflevector(a, b, 2, 3, 6, 7));
            store(to + 2 * g.stride, __builtin_shufflevector(c, d, 0, 1, 4, 5));
            store(to + 3 * g.stride, __builtin_shufflevector(c, d, 2, 3, 6, 7));
        }
        for (size_t f = whole; f < m; ++f)
            for (int k = 0; k < 4; ++k)
                g.columns[f * g.stride + r + k] = R(x[k][f] - g.center[f]) * R(g.inverse_scale[f]);
    }
    for (; r < g.n_rows; ++r)
        for (size_t f = 0; f < m; ++f)
            g.columns[f * g.stride + r] = R(row(r)[f] - g.center[f]) * R(g.inverse_scale[f]);
}

// A margin this far on the wrong side costs more only linearly; its exponential is still finite.
template <class R>
constexpr R FARTHEST = sizeof(R) == 4 ? R(80) : R(600);
// Less than any probability at such a margin, and a number that has a logarithm.
template <class R>
constexpr R LEAST_PROBABILITY = sizeof(R) == 4 ? R(1e-37) : R(1e-300);

template <class R>
INLINE double total(typename VectorOf<R>::type v) {
    double result = 0;
    for (int l = 0; l < VectorOf<R>::lanes; ++l) result += v[l];
    return result;
}

template <class R>
INLINE void logistic(const Sample<R>& sample, const double* direction, double level,
                     const double* rates, R* residuals, LogisticSums& sums, double* by_direction) {
    typedef typename VectorOf<R>::type Vector;
    constexpr int lanes = VectorOf<R>::lanes;
    const R informative = R(1 - rates[0] - rates[1]);
    const Vector zero = Vector{}, one = zero + R(1), far = zero + FARTHEST<R>;
    double value = 0, by_level = 0, by_rate[2] = {0, 0};
    for (size_t f = 0; f < sample.n_features; ++f) by_direction[f] = 0;

    // A block is read twice, the second time from the first cache where it fits.
    size_t block = rboost::SAMPLE_BLOCK;
    while (block > 64 && block * sample.n_features * sizeof(R) > 24576) block /= 2;
    for (size_t begin = 0; begin < sample.n_padded; begin += block) {
        const size_t end = begin + block < sample.n_padded ? begin + block : sample.n_padded;
        Vector block_value{}, block_level{}, block_rate[2] = {};
        for (size_t i = begin; i < end; i += 4 * lanes) {
            Vector margin[4];
            for (int k = 0; k < 4; ++k) margin[k] = zero + R(level);
            for (size_t f = 0; f < sample.n_features; ++f) {
                const R* column = sample.columns + f * sample.stride + i;
                const R factor = R(direction[f]);
                for (int k = 0; k < 4; ++k) margin[k] += factor * load<Vector>(column + k * lanes);
            }
            for (int k = 0; k < 4; ++k) {
                const Vector sign = load<Vector>(sample.sign + i + k * lanes);
                const Vector share = load<Vector>(sample.share + i + k * lanes);
                const auto positive = sign > zero;
                // With q = 1 / (1 + e) the probability of the true class that the label names,
                // p(label) = rate + informative * q = d / (1 + e).
                const Vector rate = positive ? zero + R(rates[0]) : zero + R(rates[1]);
                const Vector against = -sign * margin[k];
                const Vector e = exponential(smaller(against, far));
                const Vector d = rate * (one + e) + informative;
                const Vector inverse = share / d, q = one / (one + e);
                const Vector ratio = larger(d * q, zero + LEAST_PROBABILITY<R>);
                // A label that cannot be wrong costs on beyond the farthest margin.
                const Vector beyond = rate > zero ? zero : larger(against - far, zero);
                block_value += share * (beyond - logarithm(ratio));
                const Vector residual = -sign * informative * e * q * inverse;
                store(residuals + (i - begin) + k * lanes, residual);
                block_level += residual;
                // By the rate of flips into this label and out of it.
                const Vector into = -e * inverse, out_of = inverse;
                block_rate[0] += positive ? into : out_of;
                block_rate[1] += positive ? out_of : into;
            }
        }
        value += total<R>(block_value);
        by_level += total<R>(block_level);
        by_rate[0] += total<R>(block_rate[0]);
        by_rate[1] += total<R>(block_rate[1]);
        size_t f = 0;
        for (; f + 4 <= sample.n_features; f += 4) {
            Vector products[4] = {};
            const R* column = sample.columns + f * sample.stride + begin;
            for (size_t i = 0; i < end - begin; i += lanes) {
                const Vector residual = load<Vector>(residuals + i);
                for (int k = 0; k < 4; ++k)
                    products[k] += residual * load<Vector>(column + k * sample.stride + i);
            }
            for (int k = 0; k < 4; ++k) by_direction[f + k] += total<R>(products[k]);
        }
        for (; f < sample.n_features; ++f) {
            Vector products{};
            const R* column = sample.columns + f * sample.stride + begin;
            for (size_t i = 0; i < end - begin; i += lanes)
                products += load<Vector>(residuals + i) * load<Vector>(column + i);
            by_direction[f] += total<R>(products);
        }
    }
    sums.value = value;
    sums.by_level = by_level;
    sums.by_rate[0] = by_rate[0];
    sums.by_rate[1] = by_rate[1];
}

void logistic_float(const Sample<float>& sample, const double* direction, double level,
                    const double* rates, float* scratch, LogisticSums& sums, double* by) {
    logistic(sample, direction, level, rates, scratch, sums, by);
}
void logistic_double(const Sample<double>& sample, const double* direction, double level,
                     const double* rates, double* scratch, LogisticSums& sums, double* by) {
    logistic(sample, direction, level, rates, scratch, sums, by);
}

// ---- prediction of a linear ensemble ----------------------------------------------------------

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

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
#define TABLE_OF(name) kernels_##name
#define TABLE(name) TABLE_OF(name)

#define NOISE_PLATT_OF(name) noise_platt_##name
#define NOISE_PLATT(name) NOISE_PLATT_OF(name)

namespace rboost {
extern const NoisePlattKernels NOISE_PLATT(RBOOST_ISA);
extern const Kernels TABLE(RBOOST_ISA);
const Kernels TABLE(RBOOST_ISA) = {
    TEXT(RBOOST_ISA), stream_sum,      judge_rows<float>, judge_rows<double>, stream_rows<float>, stream_rows<double>, platt_sums,
    exponentials, gather<float, float>, gather<float, double>, gather<double, float>, gather<double, double>,
    logistic_float,   logistic_double, predict_float, predict_double,
    &NOISE_PLATT(RBOOST_ISA),
};
}  // namespace rboost
