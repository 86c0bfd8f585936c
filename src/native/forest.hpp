// Trees, and how they are laid out for prediction.
//
// A row that goes right at a split cannot reach the leaves to the left of it. So each split of a tree
// of up to 64 leaves has a word with a bit per leaf, from left to right, and the leaf of a row is the
// first one that remains after all splits at which it goes right, in any order: no jumps, many rows at
// once. Larger trees are walked.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rboost {

// As in Python (rboost.learners.forest): a child or root that is negative is leaf ~number.
struct ForestArrays {
    const int32_t *feature, *left, *right, *category_set;
    const double* threshold;
    const bool* nan_left;
    size_t n_nodes;
    const int32_t* set_starts;
    size_t n_sets;
    const uint32_t* bitset;
    size_t n_words;
    const double* leaf_value;
    size_t n_leaves;
    const int32_t* roots;
    size_t n_trees, n_outputs, n_features;
};

struct Split {
    double threshold;
    uint64_t kept;  // the leaves that remain to a row that goes right
    uint32_t feature;
    int32_t category_set;
};

// Of the splits of a tree come first those where NaN goes right, then left, then the categories.
struct PackedTree {
    size_t splits, nan_left, categories, end;  // positions in the splits of the forest
    size_t leaves;                             // position in its leaf values
    int32_t root;
    bool is_walked;
};

// What a kernel is given.
struct PackedForest {
    ForestArrays arrays;
    const PackedTree* trees;
    const Split* splits;
    const double* leaf_values;
};

class ForestPacker {
   public:
    // Fails with std::invalid_argument when a number leads out of its array.
    explicit ForestPacker(const ForestArrays& arrays);
    PackedForest view() const {
        return {arrays_, trees_.data(), splits_.data(), leaf_values_.data()};
    }

   private:
    void pack(int32_t root);
    ForestArrays arrays_;
    std::vector<PackedTree> trees_;
    std::vector<Split> splits_;
    std::vector<double> leaf_values_;
};

}  // namespace rboost
