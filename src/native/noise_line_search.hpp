// The search for the likeliest line of one noise matrix: damped Fisher scoring, at last Newton's steps.
// Part of noise_platt.cpp.
#pragma once
#include <math.h>

#include "noise_platt.hpp"
#include "simd.hpp"

namespace {

using rboost::LinePrior;

// From here on Newton's step is trusted; farther away the likelihood may not be concave.
constexpr double NEAR = 1.0;
// No step changes the slope or the offset by more.
constexpr double LONGEST_STEP = 10;
constexpr double LARGEST_DAMPING = 1e8;

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
    const auto offset_at_0 = [&] {  // the best one where slopes end
        return (line.by_offset + curvature.both * line.slope) / curvature.offset;
    };
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

INLINE double evidence_of(const Line& line, const LinePrior& prior) {
    const double slope = line.slope > prior.smallest_slope ? line.slope : prior.smallest_slope;
    return line.value - log(determinant_of(line.fisher, prior)) / 2 - log(slope);
}

// One lane's search for the line of one noise matrix.
struct Search {
    size_t point;
    bool busy = false;
    bool fresh;            // nothing was evaluated yet
    bool plain, trusting;  // whether the step that is tried is not damped, and whether to try such
    int steps;
    double damping, try_slope, try_offset, evidence;
    Line line;

    INLINE void begin(size_t at, const double* start) {
        point = at;
        busy = fresh = trusting = true;
        plain = false;
        steps = 0;
        damping = 1e-3;
        try_slope = start[0] > 0 ? start[0] : 0;
        try_offset = start[1];
    }

    // Take in what was found at the line that was tried: damped scoring until it ascends
    // (Levenberg-Marquardt). False when the search is over.
    INLINE bool proceed(const Line& tried, const LinePrior& prior, double rounding, double hopeless) {
        ++steps;
        if (fresh || tried.value >= line.value - rounding) {
            if (!fresh && !plain) damping *= 0.2;
            line = tried;
            fresh = false;
            const Step next = best_step(line, prior);
            if (is_over(next, prior, rounding, hopeless)) return false;
            if (trusting && next.gain < NEAR) return attempt(next, true);
        } else {
            if (plain)
                trusting = false;
            else
                damping *= 10;
            if (damping > LARGEST_DAMPING || steps > prior.max_steps) return false;
        }
        Symmetric damped = line.fisher;
        damped.slope *= 1 + damping;
        damped.offset *= 1 + damping;
        return attempt(step_of(line, damped, determinant_of(damped, prior)), false);
    }

private:
    INLINE bool is_over(const Step& next, const LinePrior& prior, double rounding, double hopeless) {
        evidence = evidence_of(line, prior);
        const bool enough = next.gain < (rounding > prior.enough ? rounding : prior.enough);
        if (!enough && !(evidence + 4 * next.gain < hopeless)) return steps > prior.max_steps;
        if (!(next.gain >= 0)) return true;
        // What is given up may still be where a neighbour begins, so it takes the step, too.
        line.slope += next.slope;
        line.offset += next.offset;
        line.value += next.gain;
        if (line.slope < 0) line.slope = 0;
        if (enough) evidence = evidence_of(line, prior);
        return true;
    }

    INLINE bool attempt(const Step& step, bool is_plain) {
        plain = is_plain;
        try_slope = line.slope + step.slope;
        try_offset = line.offset + step.offset;
        if (try_slope < 0) try_slope = 0;
        return true;
    }
};

}  // namespace
