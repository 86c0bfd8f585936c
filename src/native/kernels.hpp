// The kernels that are compiled once per instruction set, as a table of functions.
#pragma once
#include <cstddef>
#include <cstdint>

#include "noise_platt.hpp"

namespace rboost {

struct Kernels {
    const char* name;
    // Sum of n numbers, as fast as memory delivers them: the yardstick of the benchmarks.
    double (*stream_sum)(const float* values, size_t n);
    const NoisePlattKernels* noise_platt;
};

// The table for the best instruction set of this processor, unless another was chosen.
const Kernels& kernels();
// Choose by name; false when this processor has no such instruction set.
bool choose_instruction_set(const char* name);

}  // namespace rboost
