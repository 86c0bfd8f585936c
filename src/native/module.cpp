// What Python sees of the native core.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <string>

#include "arrays.hpp"
#include "bindings.hpp"
#include "kernels.hpp"

namespace nb = nanobind;
using namespace nb::literals;

NB_MODULE(_native, m) {
    using namespace rboost;
    // Models that live until the interpreter ends are no mistake that users should read of.
    nb::set_leak_warnings(false);
    m.def("instruction_set", [] { return kernels().name; });
    m.def(
        "choose_instruction_set",
        [](const char* name) {
            if (!choose_instruction_set(name))
                throw std::invalid_argument(
                    std::string("This processor cannot run the kernels for ") + name + ".");
        },
        "name"_a);
    bind_rounds(m);
    bind_tables(m);
    bind_forest(m);
    bind_noise_platt(m);
}
