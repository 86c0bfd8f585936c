// Platt scaling of scores, and the update of the noise matrix that follows it (steps 5 and 6).
#pragma once
#include "kernels.hpp"
#include "parallel.hpp"

namespace rboost {

// Platt scaling of scores by Newton's method, from where it last ended.
struct PlattState {
    double slope = 1, offset = 0;
    bool fitted = false;
};
PlattSums fit_platt(const PlattRows& rows, Team& team, const double noise[2][2],
                    PlattState& state);
// Steps 5 and 6: Platt scaling, then one multiplicative update of the noise matrix.
void update_noise(const PlattRows& rows, Team& team, PlattState& state, double noise[2][2]);

}  // namespace rboost
