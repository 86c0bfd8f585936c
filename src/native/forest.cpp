#include "forest.hpp"

#include <algorithm>
#include <stdexcept>

namespace rboost {

namespace {

constexpr size_t MOST_LEAVES = 64;

// Children come after their parents, so that every walk ends.
bool is_sound(const ForestArrays& a) {
    const auto leads = [&](int32_t child, int64_t from) {
        return child < 0 ? size_t(~child) < a.n_leaves : child > from && size_t(child) < a.n_nodes;
    };
    for (size_t i = 0; i < a.n_nodes; ++i)
        if (!leads(a.left[i], int64_t(i)) || !leads(a.right[i], int64_t(i)) || a.feature[i] < 0 ||
            size_t(a.feature[i]) >= a.n_features ||
            (a.category_set[i] >= 0 && size_t(a.category_set[i]) >= a.n_sets))
            return false;
    for (size_t s = 0; s < a.n_sets; ++s)
        if (a.set_starts[s] < 0 || a.set_starts[s + 1] <= a.set_starts[s] ||
            size_t(a.set_starts[s + 1]) > a.n_words)
            return false;
    return std::all_of(a.roots, a.roots + a.n_trees, [&](int32_t root) { return leads(root, -1); });
}

// Splits of one tree with the range of leaves to the left of each, leaves counted from the left.
class Numbering {
   public:
    explicit Numbering(const ForestArrays& arrays) : arrays_(arrays) {}
    // False when there are too many leaves, as there are below a split this deep.
    bool visit(int32_t node, size_t depth = 0) {
        if (depth >= MOST_LEAVES) return false;
        if (node < 0) {
            leaves.push_back(~node);
            return leaves.size() <= MOST_LEAVES;
        }
        const size_t begin = leaves.size();
        if (!visit(arrays_.left[node], depth + 1)) return false;
        const size_t n_left = leaves.size() - begin;  // less than 64: a leaf to the right follows
        splits.push_back({arrays_.threshold[node], ~(((uint64_t(1) << (n_left % 64)) - 1) << begin),
                          uint32_t(arrays_.feature[node]), arrays_.category_set[node]});
        kinds.push_back(arrays_.category_set[node] >= 0 ? 2 : arrays_.nan_left[node] ? 1 : 0);
        return visit(arrays_.right[node], depth + 1);
    }

    std::vector<int32_t> leaves;
    std::vector<Split> splits;
    std::vector<int> kinds;  // see PackedTree

   private:
    const ForestArrays& arrays_;
};

}  // namespace

ForestPacker::ForestPacker(const ForestArrays& arrays) : arrays_(arrays) {
    if (!is_sound(arrays)) throw std::invalid_argument("The nodes of the trees must fit together.");
    trees_.reserve(arrays.n_trees);
    for (size_t t = 0; t < arrays.n_trees; ++t) pack(arrays.roots[t]);
}

void ForestPacker::pack(int32_t root) {
    Numbering tree(arrays_);
    const bool is_walked = !tree.visit(root);
    size_t ends[4] = {splits_.size(), 0, 0, 0};
    for (int kind = 0; kind < 3; ++kind) {
        for (size_t i = 0; i < tree.splits.size() && !is_walked; ++i)
            if (tree.kinds[i] == kind) splits_.push_back(tree.splits[i]);
        ends[kind + 1] = splits_.size();
    }
    trees_.push_back({ends[0], ends[1], ends[2], ends[3], leaf_values_.size(), root, is_walked});
    for (size_t i = 0; i < tree.leaves.size() && !is_walked; ++i)
        leaf_values_.push_back(arrays_.leaf_value[tree.leaves[i]]);
}

}  // namespace rboost
