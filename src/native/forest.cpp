#include "forest.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace rboost {

namespace {

constexpr size_t WORD = 64, KINDS = 3;

// Children come after their parents, and have only one, so that every tree ends.
bool is_sound(const ForestArrays& a) {
    std::vector<bool> has_parent(a.n_nodes, false);
    const auto leads = [&](int32_t child) {
        return child < 0 ? size_t(~child) < a.n_leaves : size_t(child) < a.n_nodes;
    };
    for (size_t i = 0; i < a.n_nodes; ++i) {
        for (const int32_t child : {a.left[i], a.right[i]}) {
            if (!leads(child)) return false;
            if (child < 0) continue;
            if (size_t(child) <= i || has_parent[child]) return false;
            has_parent[child] = true;
        }
        if (a.feature[i] < 0) return false;
        if (a.category_set[i] >= 0 && size_t(a.category_set[i]) >= a.n_sets) return false;
    }
    for (size_t s = 0; s < a.n_sets; ++s)
        if (a.set_starts[s] < 0 || a.set_starts[s + 1] <= a.set_starts[s] ||
            size_t(a.set_starts[s + 1]) > a.n_bitset)
            return false;
    return std::all_of(a.roots, a.roots + a.n_trees, leads);
}

// The bits of a word for leaves begin ... end - 1 of a tree.
uint64_t bits_of(size_t word, size_t begin, size_t end) {
    const size_t first = std::max(begin, word * WORD) - word * WORD;
    const size_t last = std::min(end, (word + 1) * WORD) - word * WORD;  // is at least first + 1
    return ~uint64_t(0) >> (WORD - (last - first)) << first;
}

}  // namespace

class ForestPacker {
   public:
    ForestPacker(const ForestArrays& arrays, Forest& forest) : arrays_(arrays), forest_(forest) {
        n_below_.resize(arrays.n_nodes);
        for (size_t i = arrays.n_nodes; i-- > 0;)
            n_below_[i] = leaves_below(arrays.left[i]) + leaves_below(arrays.right[i]);
        for (size_t t = 0; t < arrays.n_trees; ++t) pack(t);
    }

   private:
    void pack(size_t tree);
    size_t leaves_below(int32_t node) const { return node < 0 ? 1 : n_below_[node]; }
    const ForestArrays& arrays_;
    Forest& forest_;
    std::vector<size_t> n_below_;             // leaves, of each node
    std::vector<std::vector<Split>> sorted_;  // of one tree, by word and kind
};

Forest::Forest(const ForestArrays& a)
    : n_outputs(a.n_outputs),
      set_starts_(a.set_starts, a.set_starts + a.n_sets + 1),
      bitset_(a.bitset, a.bitset + a.n_bitset) {
    if (!is_sound(a)) throw std::invalid_argument("The nodes of the trees must fit together.");
    for (size_t i = 0; i < a.n_nodes; ++i)
        n_columns_read = std::max(n_columns_read, size_t(a.feature[i]) + 1);
    ForestPacker(a, *this);
}

void ForestPacker::pack(size_t tree) {
    const ForestArrays& a = arrays_;
    const int32_t root = a.roots[tree];
    const size_t n_leaves = leaves_below(root), n_words = (n_leaves + WORD - 1) / WORD;
    const size_t first_leaf = forest_.leaf_values_.size();
    forest_.leaf_values_.resize(first_leaf + n_leaves);
    if (sorted_.size() < n_words * KINDS) sorted_.resize(n_words * KINDS);
    std::vector<std::pair<int32_t, size_t>> open{{root, 0}};  // nodes with their first leaves
    while (!open.empty()) {
        const auto [node, begin] = open.back();
        open.pop_back();
        if (node < 0) {
            forest_.leaf_values_[first_leaf + begin] = a.leaf_value[~node];
            continue;
        }
        const size_t middle = begin + leaves_below(a.left[node]);
        const int32_t set = a.category_set[node];
        const size_t kind = set >= 0 ? 2 : a.nan_left[node] ? 1 : 0;
        for (size_t w = begin / WORD; w <= (middle - 1) / WORD; ++w)
            sorted_[w * KINDS + kind].push_back(
                {a.threshold[node], ~bits_of(w, begin, middle), uint32_t(a.feature[node]), set});
        open.emplace_back(a.left[node], begin);
        open.emplace_back(a.right[node], middle);
    }
    for (size_t w = 0; w < n_words; ++w) {
        size_t ends[KINDS + 1] = {forest_.splits_.size()};
        for (size_t kind = 0; kind < KINDS; ++kind) {
            auto& splits = sorted_[w * KINDS + kind];
            forest_.splits_.insert(forest_.splits_.end(), splits.begin(), splits.end());
            splits.clear();
            ends[kind + 1] = forest_.splits_.size();
        }
        forest_.words_.push_back({ends[0], ends[1], ends[2], ends[3], first_leaf + w * WORD,
                          tree % a.n_outputs, w == 0, n_words == 1});
    }
}

}  // namespace rboost
