// A grid of noise matrices, finer and finer where they are likely: rboost/noise/platt.py.
#pragma once
#include <vector>

#include "noise_platt.hpp"

namespace rboost {

// The order is that of KINDS in platt.py.
enum class KindName { hardly_any, alike, into_1, into_0, any };

struct NoiseKind {
    KindName name;
    double mass;
    int n_points[2];  // the second is 1 where a kind has only one number to choose
};

struct NoisePrior {
    double largest_sum, rare, negligible;
    LinePrior line;
};

// The rates that two numbers in [0, 1] stand for.
struct Rates {
    double into_1, into_0;
};
Rates rates_of(KindName kind, double first, double second, const NoisePrior& prior);

struct GridPoint {
    Rates rates, lowest, highest;
    double slope, offset, log_weight;
};

// The points of all kinds, as far as they are not negligible beside the best of all.
std::vector<GridPoint> explore(const LabelCounts& counts, const std::vector<NoiseKind>& kinds,
                               const NoisePrior& prior);

}  // namespace rboost
