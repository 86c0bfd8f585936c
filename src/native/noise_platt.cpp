// Noise-aware Platt scaling, compiled once for each instruction set (RBOOST_ISA is its name).
#include "noise_platt.hpp"

#include "noise_evaluate.hpp"
#include "noise_lines.hpp"

#define TABLE_OF(name) noise_platt_##name
#define TABLE(name) TABLE_OF(name)

namespace rboost {
extern const NoisePlattKernels TABLE(RBOOST_ISA);
const NoisePlattKernels TABLE(RBOOST_ISA) = {fit_lines, evaluate, evaluate_by_label, threshold};
}  // namespace rboost
