// Trees, and how they are laid out for prediction.
//
// A row that goes right at a split cannot reach the leaves to the left of it. So each split has a bit
// per leaf, from left to right, and the leaf of a row is the first one that remains after all splits
// at which it goes right, in any order: no jumps, many rows at once. A word holds 64 leaves; larger
// trees have several, each with the splits that rule out some of its leaves.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rboost {

// As in Python (rboost.engines.trees): a child or root that is negative is leaf ~number.
struct ForestArrays {
    const int32_t *feature, *left, *right, *category_set;
    const double* threshold;
    const bool* nan_left;
    size_t n_nodes;
    const int32_t* set_starts;
    size_t n_sets;
    const uint32_t* bitset;
    size_t n_bitset;
    const double* leaf_value;
    size_t n_leaves;
    const int32_t* roots;
    size_t n_trees, n_outputs;
};

struct Split {
    double threshold;
    uint64_t kept;  // the leaves that remain to a row that goes right
    uint32_t feature;
    int32_t category_set;
};

// Of its splits come first those where NaN goes right, then those where it goes left, then those of
// categories. All positions are of the arrays of a PackedForest.
struct Word {
    size_t splits, nan_left, categories, end;
    size_t leaves, output;
    bool is_first, is_whole;  // of a tree: whether it is its first word, and its only one
};

// What a kernel is given.
struct PackedForest {
    const int32_t* set_starts;
    const uint32_t* bitset;
    const Word* words;
    size_t n_words;
    const Split* splits;
    const double* leaf_values;
    size_t n_features, n_outputs;
};

// Trees that were checked and laid out once, to score rows many times. The arrays may go.
class Forest {
   public:
    // Fails with std::invalid_argument when a number leads out of its array.
    explicit Forest(const ForestArrays& arrays);
    // For rows of so many columns, which must be at least ``n_columns_read``.
    PackedForest view(size_t n_features) const {
        return {set_starts_.data(), bitset_.data(), words_.data(), words_.size(),
                splits_.data(), leaf_values_.data(), n_features, n_outputs};
    }
    size_t n_outputs, n_columns_read = 0;

   private:
    std::vector<int32_t> set_starts_;
    std::vector<uint32_t> bitset_;
    std::vector<Word> words_;
    std::vector<Split> splits_;
    std::vector<double> leaf_values_;
    friend class ForestPacker;
};

}  // namespace rboost
