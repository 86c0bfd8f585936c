// What the sampled rows weigh, and as which class a learner is to fit them: eq. (12) and (13).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels.hpp"

namespace rboost {

// Exponentials of larger margins are scaled down, so that none overflows.
constexpr double LARGEST_EXPONENT = 300;

class SampleWeights {
   public:
    std::vector<double> margins;   // of the sampled rows, set before `weigh`
    std::vector<double> weights;   // at most 1
    std::vector<uint8_t> targets;  // 0 or 1
    double sample_weight = 0;      // the rows' own weights together

    // `weight_of` says what a row itself weighs. With `flip_negative` a negative weight asks for
    // the opposite label.
    template <class WeightOf>
    void weigh(const std::vector<int64_t>& sample, const std::vector<uint8_t>& flags,
               const Mixing& mixing, bool flip_negative, const WeightOf& weight_of) {
        const size_t n = sample.size();
        find_exponentials(n);
        weights.resize(n);
        targets.resize(n);
        double largest = 0;
        sample_weight = 0;
        for (size_t r = 0; r < n; ++r) {
            const size_t i = size_t(sample[r]);
            const int k = (flags[i] & POSITIVE) != 0;
            const bool trusted = flags[i] & TRUSTED;
            const double own = weight_of(i);
            const double weight = own * ((trusted ? 1 : mixing.right[k]) * falling_[r] -
                                         (trusted ? 0 : mixing.wrong[k]) * rising_[r]);
            targets[r] = (weight < 0 && flip_negative) ? !k : k;
            weights[r] = std::abs(weight);
            largest = std::max(largest, weights[r]);
            sample_weight += own;
        }
        if (!(largest > 0)) {  // rows so well fitted that their weights vanished: all alike
            largest = 1;
            for (size_t r = 0; r < n; ++r) weights[r] = weight_of(size_t(sample[r]));
        }
        for (double& weight : weights) weight /= largest;
    }

    bool hold_both_classes() const {
        bool seen[2] = {false, false};
        for (size_t r = 0; r < weights.size(); ++r)
            if (weights[r] > 0) seen[targets[r]] = true;
        return seen[0] && seen[1];
    }

    bool heaviest_is_positive() const {
        return targets[size_t(std::max_element(weights.begin(), weights.end()) - weights.begin())];
    }

   private:
    // e^-margin and e^margin, divided by the same number where they are large.
    void find_exponentials(size_t n) {
        falling_.resize(n);
        rising_.resize(n);
        double farthest = 0;
        for (size_t r = 0; r < n; ++r) farthest = std::max(farthest, std::abs(margins[r]));
        const double beyond = std::max(0.0, farthest - LARGEST_EXPONENT);
        for (size_t r = 0; r < n; ++r) falling_[r] = -margins[r] - beyond;
        kernels().exponentials(falling_.data(), n);
        if (beyond > 0) {
            for (size_t r = 0; r < n; ++r) rising_[r] = margins[r] - beyond;
            kernels().exponentials(rising_.data(), n);
        } else {
            for (size_t r = 0; r < n; ++r) rising_[r] = 1 / falling_[r];
        }
    }

    std::vector<double> falling_, rising_;
};

}  // namespace rboost
