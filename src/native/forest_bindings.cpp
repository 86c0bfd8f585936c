// Forests for Python. Their arrays are checked here and in forest.cpp; the kernel trusts them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>

#include "arrays.hpp"
#include "bindings.hpp"
#include "forest.hpp"
#include "kernels.hpp"
#include "parallel.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace rboost {
namespace {

// Scores of all rows, or of those that a kernel takes at once: the product of sizes does not wrap.
constexpr size_t MOST_SCORES = PTRDIFF_MAX / sizeof(double);

Forest packed(Vector<int32_t> feature, Vector<double> threshold, Vector<int32_t> left,
              Vector<int32_t> right, Vector<bool> nan_left, Vector<int32_t> category_set,
              Vector<int32_t> set_starts, Vector<uint32_t> bitset, Vector<double> leaf_value,
              Vector<int32_t> roots, size_t n_outputs) {
    const size_t n_nodes = feature.shape(0);
    require(threshold.shape(0) == n_nodes && left.shape(0) == n_nodes && right.shape(0) == n_nodes &&
                nan_left.shape(0) == n_nodes && category_set.shape(0) == n_nodes &&
                set_starts.shape(0) > 0 && n_outputs > 0,
            "The nodes of the trees must fit together.");
    require(n_outputs <= MOST_SCORES / CHUNK_ROWS, "There are too many scores.");
    nb::gil_scoped_release unlocked;
    return Forest({feature.data(), left.data(), right.data(), category_set.data(), threshold.data(),
                   nan_left.data(), n_nodes, set_starts.data(), set_starts.shape(0) - 1,
                   bitset.data(), bitset.shape(0), leaf_value.data(), leaf_value.shape(0),
                   roots.data(), roots.shape(0), n_outputs});
}

template <class T>
OutMatrix scores_of(const Forest& forest, Matrix<T> X, int n_threads) {
    const size_t n = X.shape(0), width = X.shape(1), n_outputs = forest.n_outputs;
    require(width >= forest.n_columns_read, "The rows have too few columns for the trees.");
    require(n_outputs <= MOST_SCORES / std::max<size_t>(n, CHUNK_ROWS), "There are too many scores.");
    std::vector<double> scores(n * n_outputs);
    {
        nb::gil_scoped_release unlocked;
        const PackedForest view = forest.view(width);
        // A row takes much longer than elsewhere, so that one chunk is worth a thread.
        Team team(size_t(std::max(1, n_threads)), n * (ROWS_WORTH_A_THREAD / CHUNK_ROWS));
        team.for_each_chunk(n, [&](size_t, size_t begin, size_t end) {
            kernels().forest(view, X.data() + begin * width, end - begin,
                             scores.data() + begin * n_outputs);
        });
    }
    return to_numpy<OutMatrix>(std::move(scores), {n, n_outputs});
}

}  // namespace

void bind_forest(nb::module_& m) {
    // The first that fits is taken: arrays that must be copied become float64, which loses nothing.
    nb::class_<Forest>(m, "Forest")
        .def("scores", &scores_of<double>, "X"_a, "n_threads"_a)
        .def("scores", &scores_of<float>, "X"_a, "n_threads"_a);
    m.def("pack_forest", &packed, "feature"_a, "threshold"_a, "left"_a, "right"_a, "nan_left"_a,
          "category_set"_a, "set_starts"_a, "bitset"_a, "leaf_value"_a, "roots"_a, "n_outputs"_a);
}

}  // namespace rboost
