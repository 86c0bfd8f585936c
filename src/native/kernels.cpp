// The hot loops, compiled once for each instruction set (RBOOST_ISA is its name).
#include "kernels.hpp"

#include "kernel_forest.hpp"
#include "kernel_logistic.hpp"
#include "kernel_pass.hpp"
#include "kernel_platt.hpp"
#include "kernel_predict.hpp"
#include "simd.hpp"

namespace {

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
    TEXT(RBOOST_ISA),
    stream_sum,
    judge_rows<float>,
    judge_rows<double>,
    stream_rows<float>,
    stream_rows<double>,
    platt_sums,
    exponentials,
    gather<float, float>,
    gather<float, double>,
    gather<double, float>,
    gather<double, double>,
    logistic_float,
    logistic_double,
    predict_float,
    predict_double,
    forest_float,
    forest_double,
    &NOISE_PLATT(RBOOST_ISA),
};
}  // namespace rboost
