// NumPy arrays in and out.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rboost {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutVector = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using OutMatrix = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

inline void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

// Give a vector of numbers to NumPy, without a copy.
template <class Out>
Out to_numpy(std::vector<double>&& values, std::initializer_list<size_t> shape) {
    auto* kept = new std::vector<double>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
    return Out(kept->data(), shape, owner);
}

template <class T>
const T* or_null(const std::optional<Vector<T>>& array) {
    return array ? array->data() : nullptr;
}

}  // namespace rboost
