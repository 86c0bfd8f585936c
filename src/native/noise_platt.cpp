// Sigmoids seen through noise, compiled once for each instruction set (RBOOST_ISA is its name).
#include "noise_platt.hpp"

#include <math.h>

#include "kernels.hpp"
#include "simd.hpp"

namespace {

using rboost::LabelCounts;
using rboost::LinePrior;
using rboost::Mixture;
using rboost::Of;

// From here on Newton's step is trusted; farther away the likelihood may not be concave.
constexpr double NEAR = 1.0;
// No step changes the slope or the offset by more.
constexpr double LONGEST_STEP = 10;
// A noise matrix is given up when even four times the gain that is predicted leaves it this many
// nats beyond what is negligible.
constexpr double MARGIN = 3.0;
// Up to this many rows the rounding of float32 costs less than 1e-3 nats.
constexpr double FEW_ROWS = 20000;
// Rounding may keep float32 from ever coming to rest, so it takes no more steps than this.
constexpr int FLOAT_STEPS = 50;

// Numbers of either precision. A row that the model rules out costs -log(floor) nats, not
// infinitely many. `rounding` is what a logarithm may be off, times a few.
template <class T>
struct Precision;
template <>
struct Precision<double> {
    typedef Doubles Vector;
    static constexpr int LANES_OF = HALF;
    static constexpr double FLOOR = 1e-300, ROUNDING = 1e-15;
};
template <>
struct Precision<float> {
    typedef Floats Vector;
    static constexpr int LANES_OF = LANES;
    static constexpr double FLOOR = 1e-30, ROUNDING = 5e-8;
};

// Sums of log-likelihoods, in float64 whatever the terms have: the terms are small, the sum is not.
template <class V>
struct Total;
template <>
struct Total<Doubles> {
    Doubles sum{};
    INLINE void add(Doubles term) { sum += term; }
    INLINE double lane(int l) const { return sum[l]; }
};
template <>
struct Total<Floats> {
    Doubles low{}, high{};
    INLINE void add(Floats term) { low += low_doubles(term), high += high_doubles(term); }
    INLINE double lane(int l) const { return l < HALF ? low[l] : high[l - HALF]; }
};

// Log-likelihood of one line a lane, its first derivatives, and its expected (fisher) and observed
// (newton) curvature: of the slope, of both, of the offset.
template <class V>
struct Likelihood {
    Total<V> value;
    V by_slope{}, by_offset{};
    V fisher[3] = {}, newton[3] = {};
};

constexpr size_t BLOCK = 32;

// Each lane has a noise matrix and a line of its own.
template <class T, bool ANY_TRUSTED, class V = typename Precision<T>::Vector>
INLINE Likelihood<V> likelihood(const LabelCounts& counts, V into_1, V into_0, V slope, V offset) {
    Likelihood<V> sums;
    const V informative = T(1) - into_1 - into_0, one = V{} + T(1), floor = V{} + T(Precision<T>::FLOOR);
    // Three short loops: a processor works on several bins at once only if one does not take long.
    V smalls[BLOCK], label_1[BLOCK], label_0[BLOCK], clean[BLOCK];
    for (size_t begin = 0; begin < counts.n_bins; begin += BLOCK) {
        const size_t n = counts.n_bins - begin < BLOCK ? counts.n_bins - begin : BLOCK;
        const double* scores = counts.scores + begin;
        const double *observed_0 = counts.observed[0] + begin, *observed_1 = counts.observed[1] + begin;
        const double *trusted_0 = counts.trusted[0] + begin, *trusted_1 = counts.trusted[1] + begin;
        for (size_t k = 0; k < n; ++k) {
            const V margin = slope * T(scores[k]) + offset;
            smalls[k] = larger(exponential(-magnitude(margin)), floor);
        }
        for (size_t k = 0; k < n; ++k) {
            const T score = T(scores[k]), n_0 = T(observed_0[k]), n_1 = T(observed_1[k]);
            const V margin = slope * score + offset, small = smalls[k];
            const auto negative = margin < V{};
            const V above = negative ? small : one, below = negative ? one : small;
            const V both = T(1) + small;
            // p(label 1) = a / both, p(label 0) = b / both: one division serves all that follows.
            const V a = larger(into_1 * both + informative * above, floor);
            const V b = larger(into_0 * both + informative * below, floor);
            const V ab = a * b;
            const V inverse = T(1) / (ab * both);
            const V t = informative * small * inverse;
            const V share = ab * inverse;        // 1 / both
            const V by_1 = t * b, by_0 = t * a;  // of log p(label) in the margin
            label_1[k] = larger(a * share, floor);
            label_0[k] = larger(b * share, floor);
            V gradient = n_1 * by_1 - n_0 * by_0;
            const V lean = (below - above) * share;  // p(y = 0) - p(y = 1)
            V expected = (n_0 + n_1) * by_1 * by_0;
            V seen = n_1 * by_1 * by_1 + n_0 * by_0 * by_0 - lean * gradient;
            if (ANY_TRUSTED) {
                const T t_0 = T(trusted_0[k]), t_1 = T(trusted_1[k]);
                clean[k] = t_1 * smaller(margin, V{}) - t_0 * larger(margin, V{});
                const V positive = above * share, other = below * share;
                gradient += t_1 * other - t_0 * positive;
                const V spread = (t_0 + t_1) * (positive * other);
                expected += spread;
                seen += spread;
            }
            sums.by_slope += gradient * score;
            sums.by_offset += gradient;
            const V e = expected * score, s = seen * score;
            sums.fisher[0] += e * score;
            sums.fisher[1] += e;
            sums.fisher[2] += expected;
            sums.newton[0] += s * score;
            sums.newton[1] += s;
            sums.newton[2] += seen;
        }
        for (size_t k = 0; k < n; ++k) {
            V value = T(observed_1[k]) * logarithm(label_1[k]) + T(observed_0[k]) * logarithm(label_0[k]);
            if (ANY_TRUSTED)
                value += clean[k] - T(trusted_0[k] + trusted_1[k]) * logarithm(T(1) + smalls[k]);
            sums.value.add(value);
        }
    }
    return sums;
}

// A symmetric 2x2 matrix: slope, both, offset.
struct Symmetric {
    double slope, both, offset;
};

// What is known of a line: log-likelihood with the prior, derivatives, curvature.
struct Line {
    double slope, offset, value, by_slope, by_offset;
    Symmetric fisher, newton;
};

struct Step {
    double slope, offset, gain;
};

// What a parabola says that a step gains.
INLINE Step step_with_gain(const Line& line, Symmetric curvature, double slope, double offset) {
    return {slope, offset,
            slope * line.by_slope + offset * line.by_offset - curvature.both * slope * offset -
                (curvature.slope * slope * slope + curvature.offset * offset * offset) / 2};
}

INLINE double cut(double number) {
    return number < -LONGEST_STEP ? -LONGEST_STEP : number > LONGEST_STEP ? LONGEST_STEP : number;
}

// The step to the maximum of a parabola, as far as slopes are not negative, and what it gains.
INLINE Step step_of(const Line& line, Symmetric curvature, double determinant) {
    double slope = (curvature.offset * line.by_slope - curvature.both * line.by_offset) / determinant;
    double offset = (curvature.slope * line.by_offset - curvature.both * line.by_slope) / determinant;
    // Where slopes end, the best offset there is.
    const auto offset_at_0 = [&] { return (line.by_offset + curvature.both * line.slope) / curvature.offset; };
    const double near = cut(slope);
    const Step cut_step = line.slope + near <= 0
                              ? step_with_gain(line, curvature, -line.slope, cut(offset_at_0()))
                              : step_with_gain(line, curvature, near, cut(offset));
    if (cut_step.gain > 0) return cut_step;
    // Two numbers, each cut by itself, may point downhill, as if nothing were left to gain. The
    // whole step made shorter never does.
    if (line.slope + slope <= 0) slope = -line.slope, offset = offset_at_0();
    const double longest = fabs(slope) > fabs(offset) ? fabs(slope) : fabs(offset);
    const double share = longest > LONGEST_STEP ? LONGEST_STEP / longest : 1;
    return step_with_gain(line, curvature, share * slope, share * offset);
}

// Fisher's information has at least the prior's curvature in every direction, but for rounding.
INLINE double determinant_of(Symmetric information, const LinePrior& prior) {
    const double p = 1 / (prior.slope_scale * prior.slope_scale);
    const double q = 1 / (prior.offset_scale * prior.offset_scale);
    const double found = information.slope * information.offset - information.both * information.both;
    const double least = p * information.offset + q * (information.slope - p);
    return found > least ? found : least;
}

INLINE Step best_step(const Line& line, const LinePrior& prior) {
    const Step fisher = step_of(line, line.fisher, determinant_of(line.fisher, prior));
    if (!(fisher.gain < NEAR)) return fisher;
    const Symmetric& h = line.newton;
    const double determinant = h.slope * h.offset - h.both * h.both;
    if (!(h.slope > 0 && h.offset > 0 && determinant > 0.01 * h.slope * h.offset)) return fisher;
    const Step newton = step_of(line, h, determinant);
    return newton.gain < 4 * NEAR && newton.gain >= 0 ? newton : fisher;
}

// One lane's search for the line of one noise matrix.
struct Search {
    size_t point;
    bool busy, fresh;
    bool plain, trusting;  // whether the step that is tried is not damped, and whether to try such
    int steps;
    double damping, try_slope, try_offset, evidence;
    Line line;
};

INLINE void begin(Search& search, size_t point, const double* start) {
    search.point = point;
    search.busy = search.fresh = search.trusting = true;
    search.plain = false;
    search.steps = 0;
    search.damping = 1e-3;
    search.try_slope = start[0] > 0 ? start[0] : 0;
    search.try_offset = start[1];
}

INLINE double evidence_of(const Line& line, const LinePrior& prior) {
    const double slope = line.slope > prior.smallest_slope ? line.slope : prior.smallest_slope;
    return line.value - log(determinant_of(line.fisher, prior)) / 2 - log(slope);
}

// Take in what was found at the line that was tried: damped scoring until it ascends
// (Levenberg-Marquardt). False when the search is over.
INLINE bool proceed(Search& search, const Line& tried, const LinePrior& prior, double rounding,
                    double hopeless) {
    ++search.steps;
    const bool better = search.fresh || tried.value >= search.line.value - rounding;
    if (better) {
        if (!search.fresh && !search.plain) search.damping *= 0.2;
        search.line = tried;
        search.fresh = false;
        const Step next = best_step(search.line, prior);
        search.evidence = evidence_of(search.line, prior);
        const bool enough = next.gain < (rounding > prior.enough ? rounding : prior.enough);
        if (enough || search.evidence + 4 * next.gain < hopeless) {
            if (!(next.gain >= 0)) return false;
            // What is given up may still be where a neighbour begins, so it takes the step, too.
            search.line.slope += next.slope;
            search.line.offset += next.offset;
            search.line.value += next.gain;
            if (search.line.slope < 0) search.line.slope = 0;
            if (enough) search.evidence = evidence_of(search.line, prior);
            return false;
        }
        if (search.steps > prior.max_steps) return false;
        if (search.trusting && next.gain < NEAR) {
            search.plain = true;
            search.try_slope = search.line.slope + next.slope;
            search.try_offset = search.line.offset + next.offset;
            if (search.try_slope < 0) search.try_slope = 0;
            return true;
        }
    } else {
        if (search.plain)
            search.trusting = false;
        else
            search.damping *= 10;
        if (search.damping > 1e8 || search.steps > prior.max_steps) return false;
    }
    search.plain = false;
    Symmetric damped = search.line.fisher;
    damped.slope *= 1 + search.damping;
    damped.offset *= 1 + search.damping;
    const Step next = step_of(search.line, damped, determinant_of(damped, prior));
    search.try_slope = search.line.slope + next.slope;
    search.try_offset = search.line.offset + next.offset;
    if (search.try_slope < 0) search.try_slope = 0;
    return true;
}

// Points whose evidence is below `skip` keep the line and the evidence they have.
template <class T, bool ANY_TRUSTED>
void fit_all(const LabelCounts& counts, double n_rows, const LinePrior& prior, const double* rates,
             size_t n_points, size_t first, double negligible, double skip, double* lines,
             double* evidence) {
    typedef typename Precision<T>::Vector V;
    constexpr int N = Precision<T>::LANES_OF;
    const double p = 1 / (prior.slope_scale * prior.slope_scale);
    const double q = 1 / (prior.offset_scale * prior.offset_scale);
    const double rounding = n_rows * Precision<T>::ROUNDING;
    T into_1[N] = {}, into_0[N] = {}, slope[N] = {}, offset[N] = {};
    Search searches[N];
    size_t n_begun = 0;
    double best = -INFINITY;
    for (int l = 0; l < N; ++l) searches[l].busy = false;
    while (true) {
        bool any = false;
        for (int l = 0; l < N; ++l) {
            Search& search = searches[l];
            while (!search.busy && n_begun < n_points) {
                size_t point = first + n_begun++;
                if (point >= n_points) point -= n_points;
                if (evidence[point] < skip) continue;
                begin(search, point, lines + 2 * point);
                into_1[l] = T(rates[2 * point]);
                into_0[l] = T(rates[2 * point + 1]);
            }
            if (search.busy) {
                any = true;
                slope[l] = T(search.try_slope);
                offset[l] = T(search.try_offset);
            }
        }
        if (!any) break;
        const Likelihood<V> found = likelihood<T, ANY_TRUSTED>(counts, load<V>(into_1), load<V>(into_0),
                                                               load<V>(slope), load<V>(offset));
        for (int l = 0; l < N; ++l) {
            Search& search = searches[l];
            if (!search.busy) continue;
            const double a = slope[l], b = offset[l];
            const Line tried = {a, b, found.value.lane(l) - (p * a * a + q * b * b) / 2,
                                found.by_slope[l] - p * a, found.by_offset[l] - q * b,
                                {found.fisher[0][l] + p, found.fisher[1][l], found.fisher[2][l] + q},
                                {found.newton[0][l] + p, found.newton[1][l], found.newton[2][l] + q}};
            if (proceed(search, tried, prior, rounding, best - negligible - MARGIN - 4 * rounding)) continue;
            search.busy = false;
            lines[2 * search.point] = search.line.slope;
            lines[2 * search.point + 1] = search.line.offset;
            evidence[search.point] = search.evidence;
            if (search.evidence > best) best = search.evidence;
        }
    }
}

template <bool ANY_TRUSTED>
void fit_with(const LabelCounts& counts, const LinePrior& prior, const double* rates, size_t n_points,
              size_t first, double negligible, double* lines, double* evidence) {
    double n_rows = 0;
    for (size_t k = 0; k < counts.n_bins; ++k)
        n_rows += counts.observed[0][k] + counts.observed[1][k] + counts.trusted[0][k] + counts.trusted[1][k];
    double skip = -INFINITY;
    for (size_t i = 0; i < n_points; ++i) evidence[i] = 0;
    // float32 is faster. Where it is not exact enough it still tells where to search. Counts of more
    // rows than it can square are left to float64.
    if (negligible < INFINITY && n_rows < 1e12) {
        LinePrior hasty = prior;
        if (hasty.max_steps > FLOAT_STEPS) hasty.max_steps = FLOAT_STEPS;
        fit_all<float, ANY_TRUSTED>(counts, n_rows, hasty, rates, n_points, first, negligible, skip,
                                    lines, evidence);
        if (n_rows <= FEW_ROWS) return;
        double best = -INFINITY;
        for (size_t i = 0; i < n_points; ++i) best = evidence[i] > best ? evidence[i] : best;
        skip = best - negligible - MARGIN - 8 * n_rows * Precision<float>::ROUNDING;
    }
    fit_all<double, ANY_TRUSTED>(counts, n_rows, prior, rates, n_points, first, negligible, skip, lines,
                                 evidence);
}

void fit_lines(const LabelCounts& counts, const LinePrior& prior, const double* rates,
               size_t n_points, size_t first, double negligible, double* lines, double* evidence) {
    if (counts.any_trusted)
        fit_with<true>(counts, prior, rates, n_points, first, negligible, lines, evidence);
    else
        fit_with<false>(counts, prior, rates, n_points, first, negligible, lines, evidence);
}

// Sums over a mixture at HALF scores: of w*sigmoid(m), of w*sigmoid(-m), and of their slope.
struct Sums {
    Doubles positive{}, negative{}, slope{};
};

INLINE Sums sums_at(const Mixture& mixture, Doubles scores) {
    Sums sums;
    for (size_t k = 0; k < mixture.n_points; ++k) {
        const double weight = mixture.weights[k], slope = mixture.slopes[k];
        const Doubles margin = scores * slope + mixture.offsets[k];
        const Doubles small = exponential(-magnitude(margin));
        const Doubles inverse = 1.0 / (1.0 + small);
        const Doubles share = weight * inverse, rest = small * share;
        const auto below = margin < doubles(0);
        sums.positive += below ? rest : share;
        sums.negative += below ? share : rest;
        sums.slope += slope * (rest * inverse);
    }
    return sums;
}

// log of the sum of w * sigmoid(sign * m) where every term underflows.
double log_sum(const Mixture& mixture, double score, double sign) {
    double largest = -INFINITY, total = 0;
    for (int pass = 0; pass < 2; ++pass)
        for (size_t k = 0; k < mixture.n_points; ++k) {
            if (!(mixture.weights[k] > 0)) continue;
            const double margin = sign * (mixture.slopes[k] * score + mixture.offsets[k]);
            const double term = log(mixture.weights[k]) + (margin < 0 ? margin : 0) -
                                log1p(exp(margin < 0 ? margin : -margin));
            if (pass == 0)
                largest = term > largest ? term : largest;
            else
                total += exp(term - largest);
        }
    return largest + log(total);
}

constexpr double TINY = 1e-290;

INLINE Doubles log_odds_of(const Mixture& mixture, const Sums& sums, Doubles scores) {
    Doubles result = logarithm(larger(sums.positive, doubles(TINY))) -
                     logarithm(larger(sums.negative, doubles(TINY)));
    for (int l = 0; l < HALF; ++l) {
        if (sums.positive[l] >= TINY && sums.negative[l] >= TINY) continue;
        const double positive =
            sums.positive[l] < TINY ? log_sum(mixture, scores[l], 1) : log(sums.positive[l]);
        const double negative =
            sums.negative[l] < TINY ? log_sum(mixture, scores[l], -1) : log(sums.negative[l]);
        result[l] = positive - negative;
    }
    return result;
}

INLINE Doubles load_some(const double* from, size_t n) {
    Doubles v = doubles(from[0]);
    for (size_t l = 0; l < n; ++l) v[l] = from[l];
    return v;
}

void evaluate_each(const Mixture& mixture, Of what, const double* scores, size_t n_rows, double* out) {
    for (size_t i = 0; i < n_rows; i += HALF) {
        const size_t n = n_rows - i < HALF ? n_rows - i : HALF;
        const Doubles score = n < HALF ? load_some(scores + i, n) : load<Doubles>(scores + i);
        const Sums sums = sums_at(mixture, score);
        const Doubles found = what == Of::log_odds ? log_odds_of(mixture, sums, score)
                                                   : smaller(sums.positive, doubles(1));
        for (size_t l = 0; l < n; ++l) out[i + l] = found[l];
    }
}

// The log-odds of a mixture of sigmoids are nearly straight, so they are tabulated for many rows:
// at nodes that are equidistant where the sigmoids bend and ever farther apart beyond.
constexpr int MAX_NODES = 2048;
constexpr int FEWEST_NODES = 32;
// How far the probability between two nodes may be off for the nodes to be doubled only once more,
// which divides it by about 16. Few rows are not worth a finer table.
constexpr double TABLE_ERROR = 1e-8, TABLE_ERROR_OF_FEW = 8e-7;
constexpr size_t FEW = 4096;

struct Table {
    double center, scale, first, step;  // node i is at center + scale * sinh(first + i * step)
    double inverse_scale, inverse_step;
    int n_nodes;
    double total;  // of the weights
    double score[MAX_NODES + 1], log_odds[MAX_NODES + 1], slope[MAX_NODES + 1];
};

INLINE double node(const Table& table, double i) {
    return table.center + table.scale * sinh(table.first + i * table.step);
}

// Cubic through both values with both slopes, at a share of the way between two nodes.
INLINE double hermite(double x_0, double x_1, double y_0, double y_1, double d_0, double d_1, double x) {
    const double h = x_1 - x_0, t = (x - x_0) / h, u = 1 - t;
    return y_0 * u + y_1 * t + t * u * (u * (d_0 * h - (y_1 - y_0)) - t * (d_1 * h - (y_1 - y_0)));
}

double sigmoid(double x) {
    const double small = exp(x < 0 ? x : -x);
    return (x < 0 ? small : 1.0) / (1 + small);
}

// Fill every `stride`-th node from `begin`.
void fill(Table& table, const Mixture& mixture, int begin, int stride) {
    double scores[HALF] = {};
    int nodes[HALF], n = 0;
    for (int i = begin; i < table.n_nodes; i += stride) {
        scores[n] = table.score[i] = node(table, i);
        nodes[n++] = i;
        if (n < HALF && i + stride < table.n_nodes) continue;
        const Doubles at = load_some(scores, n);
        const Sums sums = sums_at(mixture, at);
        const Doubles log_odds = log_odds_of(mixture, sums, at);
        for (int l = 0; l < n; ++l) {
            // d log(p / (1 - p)) = p' / p + p' / (1 - p)
            const double p = sums.positive[l], q = sums.negative[l];
            table.log_odds[nodes[l]] = log_odds[l];
            table.slope[nodes[l]] = p < TINY || q < TINY ? NAN : sums.slope[l] / p + sums.slope[l] / q;
        }
        n = 0;
    }
    // Far out, where one of both underflows, a chord is as good.
    for (int i = begin; i < table.n_nodes; i += stride)
        if (table.slope[i] != table.slope[i]) {
            double steepness = 0, mass = 0;
            const double sign = table.log_odds[i] < 0 ? 1 : -1;
            const double all = log_sum(mixture, table.score[i], sign);
            for (size_t k = 0; k < mixture.n_points; ++k) {
                const double m = mixture.slopes[k] * table.score[i] + mixture.offsets[k];
                const double w = mixture.weights[k] > 0 ? exp(log(mixture.weights[k]) + sign * m - all) : 0;
                steepness += w * mixture.slopes[k];
                mass += w;
            }
            table.slope[i] = mass > 0 ? steepness / mass : 0;
        }
}

// False when there is nothing to gain.
bool tabulate(Table& table, const Mixture& mixture, double lowest, double highest, size_t n_rows) {
    double steepest = 0, place = 0, mass = 0;
    table.total = 0;
    for (size_t k = 0; k < mixture.n_points; ++k) {
        const double slope = mixture.slopes[k], weight = mixture.weights[k];
        table.total += weight;
        if (!(slope > 0) || !(weight > 0)) continue;
        double middle = -mixture.offsets[k] / slope;
        middle = middle < lowest ? lowest : middle > highest ? highest : middle;
        place += weight * middle;
        mass += weight;
        steepest = slope > steepest ? slope : steepest;
    }
    if (!(mass > 0) || !(highest > lowest)) return false;
    table.center = place / mass;
    table.scale = 4 / steepest;
    if (!(table.scale < 1e300) || !(highest - lowest < 1e300) || !(table.scale > 1e-300)) return false;
    table.first = asinh((lowest - table.center) / table.scale);
    const double last = asinh((highest - table.center) / table.scale);
    if (!(last - table.first > 1e-6)) return false;
    int coarse = FEWEST_NODES;
    for (; coarse <= MAX_NODES / 2 && 4 * size_t(coarse) <= n_rows; coarse *= 2) {
        table.n_nodes = 2 * coarse + 1;
        table.step = (last - table.first) / (2 * coarse);
        table.inverse_step = 1 / table.step, table.inverse_scale = 1 / table.scale;
        if (coarse == FEWEST_NODES) {
            fill(table, mixture, 0, 2);
        } else {  // what was every node is now every other
            for (int i = coarse; i > 0; --i) {
                table.score[2 * i] = table.score[i];
                table.log_odds[2 * i] = table.log_odds[i];
                table.slope[2 * i] = table.slope[i];
            }
        }
        fill(table, mixture, 1, 2);
        double worst = 0;
        for (int i = 1; i < table.n_nodes; i += 2) {
            const double guess = hermite(table.score[i - 1], table.score[i + 1], table.log_odds[i - 1],
                                         table.log_odds[i + 1], table.slope[i - 1],
                                         table.slope[i + 1], table.score[i]);
            const double p = sigmoid(table.log_odds[i]);
            const double error = fabs(guess - table.log_odds[i]) * p * (1 - p);
            // Relative to the log-odds, for those who want them.
            const double relative = fabs(guess - table.log_odds[i]) / (1 + fabs(table.log_odds[i])) / 100;
            worst = fmax(worst, fmax(error, relative));
        }
        if (worst < (n_rows < FEW ? TABLE_ERROR_OF_FEW : TABLE_ERROR)) return true;
    }
    return false;
}

void range_of(const double* scores, size_t n_rows, double& lowest, double& highest) {
    lowest = highest = scores[0];
    for (size_t i = 0; i < n_rows; ++i) {
        lowest = scores[i] < lowest ? scores[i] : lowest;
        highest = scores[i] > highest ? scores[i] : highest;
    }
}

// What a lane has to know of its table to find the nodes around a score.
struct Axis {
    Doubles center, inverse_scale, first, inverse_step;
};

INLINE Axis axis_of(const Table& table) {
    return {doubles(table.center), doubles(table.inverse_scale), doubles(table.first),
            doubles(table.inverse_step)};
}

// Log-odds of HALF scores, each from the table that is chosen for its lane.
template <class Choose>
INLINE Doubles look_up(Doubles scores, const Axis& axis, const Choose& table_of) {
    const Doubles x = (scores - axis.center) * axis.inverse_scale, size = magnitude(x);
    Doubles root;
    for (int l = 0; l < HALF; ++l) root[l] = __builtin_sqrt(size[l] * size[l] + 1.0);
    const Doubles arc = logarithm(size + root);  // asinh; one interval off does no harm
    const Doubles place = ((x < doubles(0) ? -arc : arc) - axis.first) * axis.inverse_step;
    Doubles x_0, x_1, y_0, y_1, d_0, d_1;
    for (int l = 0; l < HALF; ++l) {
        const Table& table = table_of(l);
        int k = place[l] > 0 ? int(place[l]) : 0;
        k = k > table.n_nodes - 2 ? table.n_nodes - 2 : k;
        x_0[l] = table.score[k], x_1[l] = table.score[k + 1];
        y_0[l] = table.log_odds[k], y_1[l] = table.log_odds[k + 1];
        d_0[l] = table.slope[k], d_1[l] = table.slope[k + 1];
    }
    const Doubles h = x_1 - x_0, t = (scores - x_0) / h, u = 1.0 - t, rise = y_1 - y_0;
    return y_0 + t * rise + t * u * (u * (d_0 * h - rise) - t * (d_1 * h - rise));
}

INLINE Doubles sigmoid(Doubles x) {
    const Doubles small = exponential(-magnitude(x));
    return (x < doubles(0) ? small : doubles(1)) / (1.0 + small);
}

void evaluate(const Mixture& mixture, Of what, const double* scores, size_t n_rows, double* out) {
    Table table;
    double lowest, highest;
    bool tabulated = false;
    if (n_rows > 4 * FEWEST_NODES) {
        range_of(scores, n_rows, lowest, highest);
        tabulated = tabulate(table, mixture, lowest, highest, n_rows);
    }
    if (!tabulated) {
        evaluate_each(mixture, what, scores, n_rows, out);
        return;
    }
    const Axis axis = axis_of(table);
    for (size_t i = 0; i < n_rows; i += HALF) {
        const size_t n = n_rows - i < HALF ? n_rows - i : HALF;
        const Doubles score = n < HALF ? load_some(scores + i, n) : load<Doubles>(scores + i);
        Doubles found = look_up(score, axis, [&](int) -> const Table& { return table; });
        if (what == Of::probability) found = smaller(sigmoid(found) * table.total, doubles(1));
        for (size_t l = 0; l < n; ++l) out[i + l] = found[l];
    }
}

// Mixture 0 at the scores of label 0, mixture 1 at minus the scores of label 1.
void evaluate_by_label(const Mixture mixtures[2], const double* scores, const bool* labels,
                       size_t n_rows, double* out) {
    Table tables[2];
    double lowest, highest;
    bool tabulated = false;
    if (n_rows > 4 * FEWEST_NODES) {
        range_of(scores, n_rows, lowest, highest);
        tabulated = tabulate(tables[0], mixtures[0], lowest, highest, n_rows) &&
                    tabulate(tables[1], mixtures[1], -highest, -lowest, n_rows);
    }
    Axis axes[2] = {};
    if (tabulated)
        for (int k = 0; k < 2; ++k) axes[k] = axis_of(tables[k]);
    for (size_t i = 0; i < n_rows; i += HALF) {
        const size_t n = n_rows - i < HALF ? n_rows - i : HALF;
        const Doubles score = n < HALF ? load_some(scores + i, n) : load<Doubles>(scores + i);
        Longs label{};
        for (size_t l = 0; l < n; ++l) label[l] = labels[i + l];
        const auto one = label > Longs{};
        Doubles found;
        if (tabulated) {
            const Axis axis = {one ? axes[1].center : axes[0].center,
                               one ? axes[1].inverse_scale : axes[0].inverse_scale,
                               one ? axes[1].first : axes[0].first,
                               one ? axes[1].inverse_step : axes[0].inverse_step};
            found = look_up(one ? -score : score, axis,
                            [&](int l) -> const Table& { return tables[label[l]]; });
            found = sigmoid(found) * (one ? doubles(tables[1].total) : doubles(tables[0].total));
        } else {
            found = one ? sums_at(mixtures[1], -score).positive : sums_at(mixtures[0], score).positive;
        }
        found = smaller(found, doubles(1));
        for (size_t l = 0; l < n; ++l) out[i + l] = found[l];
    }
}

double threshold(const Mixture& mixture, double lowest, double highest) {
    const auto tilt_at = [&](double score, double& slope) {
        const Sums sums = sums_at(mixture, doubles(score));
        slope = 2 * sums.slope[0];
        return sums.positive[0] - sums.negative[0];
    };
    double slope, low = lowest, high = highest;
    if (tilt_at(lowest, slope) >= 0) return lowest;
    if (tilt_at(highest, slope) <= 0) return highest;
    double score = low / 2 + high / 2;
    for (int steps = 0; steps < 200; ++steps) {  // Newton, and halving where it leaves the interval
        const double tilt = tilt_at(score, slope);
        if (tilt == 0) break;
        (tilt < 0 ? low : high) = score;
        double next = score - tilt / slope;
        if (!(next > low && next < high) || steps % 8 == 7) next = low / 2 + high / 2;
        const double moved = fabs(next - score);
        score = next;
        if (moved <= 1e-15 * (fabs(score) + 1e-300) || !(score > low && score < high)) break;
    }
    return score < lowest ? lowest : score > highest ? highest : score;
}

void cumulate(const double* low, const double* high, const double* weights, size_t n_cells,
              const double* ends, size_t n_ends, double* before, double* up_to) {
    for (size_t i = 0; i < n_ends; i += HALF) {
        const size_t n = n_ends - i < HALF ? n_ends - i : HALF;
        const Doubles end = n < HALF ? load_some(ends + i, n) : load<Doubles>(ends + i);
        Doubles sum{}, with_atoms{};
        for (size_t k = 0; k < n_cells; ++k) {
            const double width = high[k] - low[k];
            const Doubles share = (end - low[k]) / (width > 1e-12 ? width : 1e-12);
            const Doubles atom = share + (width > 0 ? 0.0 : 1.0);
            sum += weights[k] * smaller(larger(share, doubles(0)), doubles(1));
            with_atoms += weights[k] * smaller(larger(atom, doubles(0)), doubles(1));
        }
        for (size_t l = 0; l < n; ++l) before[i + l] = sum[l], up_to[i + l] = with_atoms[l];
    }
}

}  // namespace

#define TABLE_OF(name) noise_platt_##name
#define TABLE(name) TABLE_OF(name)

namespace rboost {
extern const NoisePlattKernels TABLE(RBOOST_ISA);
const NoisePlattKernels TABLE(RBOOST_ISA) = {fit_lines, evaluate, evaluate_by_label, threshold,
                                               cumulate};
}  // namespace rboost
