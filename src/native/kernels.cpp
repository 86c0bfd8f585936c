// The hot loops, compiled once for each instruction set (RBOOST_ISA is its name).
#include "kernels.hpp"

#include "kernel_forest.hpp"
#include "kernel_logistic.hpp"
#include "kernel_pass.hpp"
#include "simd.hpp"

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
    judge_rows<float>,
    judge_rows<double>,
    exponentials,
    gather<float, float>,
    gather<float, double>,
    gather<double, float>,
    gather<double, double>,
    logistic_float,
    logistic_double,
    forest_float,
    forest_double,
    &NOISE_PLATT(RBOOST_ISA),
};
}  // namespace rboost
