// The hot loops, compiled once for each instruction set (RBOOST_ISA is its name).
#include "kernels.hpp"

#include "simd.hpp"

namespace {

double stream_sum(const float* values, size_t n) {
    Floats sums[4] = {};
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES)
        for (int k = 0; k < 4; ++k) sums[k] += load<Floats>(values + i + k * LANES);
    double total = 0;
    for (int k = 0; k < 4; ++k) total += sum(low_doubles(sums[k])) + sum(high_doubles(sums[k]));
    for (; i < n; ++i) total += values[i];
    return total;
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
const Kernels TABLE(RBOOST_ISA) = {TEXT(RBOOST_ISA), stream_sum, &NOISE_PLATT(RBOOST_ISA)};
}  // namespace rboost
