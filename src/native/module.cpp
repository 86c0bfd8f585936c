// What Python sees of the native core. Arguments are checked here, once; the kernels trust them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <string>

#include "kernels.hpp"
#include "noise_platt_bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

NB_MODULE(_native, m) {
    m.def("instruction_set", [] { return rboost::kernels().name; });
    m.def(
        "choose_instruction_set",
        [](const char* name) {
            if (!rboost::choose_instruction_set(name))
                throw std::invalid_argument("This processor cannot run the kernels for " +
                                            std::string(name) + ".");
        },
        "name"_a);
    m.def(
        "stream_sum",
        [](nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu> values) {
            nb::gil_scoped_release unlocked;
            return rboost::kernels().stream_sum(values.data(), values.shape(0));
        },
        "values"_a);
    rboost::bind_noise_platt(m);
}
