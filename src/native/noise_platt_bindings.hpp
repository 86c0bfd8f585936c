#pragma once
#include <nanobind/nanobind.h>

namespace rboost {
void bind_noise_platt(nanobind::module_& m);
}
