#include "linear_rounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "parallel.hpp"
#include "sample_weights.hpp"

namespace rboost {

namespace {

// Exponentials of larger scores are scaled down: with their weights they might overflow float32.
constexpr double LARGE_SCORE = 60;
// After a larger step the largest score is looked up instead of bounded.
constexpr double LARGE_STEP = 20;
// Columns whose mean is this many deviations from 0 are centred before they are multiplied.
constexpr double FAR_FROM_ZERO = 30;

template <class T>
class Rounds : public LinearRounds {
   public:
    Rounds(const Table<T>& table, const RowState& state, const RoundOptions& options, double total)
        : table_(table),
          state_(state),
          options_(options),
          out_of_bag_(state.missed != nullptr),
          columns_(table.values, table.n_rows, table.n_features, options.learner.fit_intercept,
                   table.sample_weight),
          coef_(padded(table.n_features), 0.0f),
          flags_(table.n_rows),
          team_(size_t(options.n_threads), table.n_rows) {
        total_step = total;
        for (size_t f = 0; f < table.n_features; ++f)
            is_far_ |= std::abs(columns_.mean[f]) > FAR_FROM_ZERO * columns_.scale[f];
        for (size_t i = 0; i < table.n_rows; ++i)
            flags_[i] = uint8_t((table.labels[i] > 0 ? POSITIVE : 0) |
                                (table.trusted != nullptr && table.trusted[i] ? TRUSTED : 0));
        find_largest_score();
    }

    bool fit_learner(const Mixing& mixing, const int64_t* sample, size_t n_drawn,
                     const double* starts, size_t n_starts) override {
        mixing_ = mixing;
        if (last_step_ > LARGE_STEP) settle();
        log_scale_ = std::max(0.0, largest_score_ + last_step_ - LARGE_SCORE);
        sample_.resize(sample == nullptr ? table_.n_rows : n_drawn);
        if (sample == nullptr)
            std::iota(sample_.begin(), sample_.end(), int64_t(0));
        else
            std::copy_n(sample, n_drawn, sample_.begin());

        weigh_sample();
        const bool is_offset = is_far_ && !options_.learner.fit_intercept;
        bool converged = true;
        if (!weighed_.hold_both_classes())
            vote_constantly();
        else if (options_.learner.tol >= FINEST_FLOAT_TOL && !is_offset)
            converged = fit_sample(float_rows_, starts, n_starts);
        else
            converged = fit_sample(double_rows_, starts, n_starts);
        set_pass();
        return converged;
    }

    PassSums judge() override {
        if (out_of_bag_)
            for (int64_t i : sample_) flags_[size_t(i)] |= SEEN;
        const PassSums sums = sweep();
        if (out_of_bag_)
            for (int64_t i : sample_) flags_[size_t(i)] &= uint8_t(~SEEN);
        largest_score_ = sums.largest_score;
        forget_last();
        return sums;
    }

    void move(double step) override {
        kept.push_back(learner_);
        last_step_ = step;
        total_step += step;
        if (!out_of_bag_) return;
        last_sample_ = sample_;
        for (int64_t i : last_sample_) {
            flags_[size_t(i)] |= SEEN_BEFORE;
            state_.missed[i] += step;
        }
    }

    void settle() override {
        if (last_step_ == 0) return;
        team_.for_each_chunk(table_.n_rows, [&](size_t, size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i)
                if (!(out_of_bag_ && (flags_[i] & SEEN_BEFORE)))
                    state_.votes[i] += last_step_ * state_.last_vote[i];
        });
        forget_last();
        find_largest_score();
    }


   private:
    // The score of a row, with the votes that the next pass will add.
    double score_of(size_t i) const {
        const bool skipped = out_of_bag_ && (flags_[i] & SEEN_BEFORE);
        const double sum = state_.votes[i] + (skipped ? 0 : last_step_ * state_.last_vote[i]);
        if (!out_of_bag_) return sum;
        const double steps = total_step - state_.missed[i];
        return steps > 0 ? sum * total_step / steps : 0;
    }

    // Step (1), eq. (12).
    void weigh_sample() {
        weighed_.margins.resize(sample_.size());
        for (size_t r = 0; r < sample_.size(); ++r) {
            const size_t i = size_t(sample_[r]);
            weighed_.margins[r] = (flags_[i] & POSITIVE) ? score_of(i) : -score_of(i);
        }
        weighed_.weigh(sample_, flags_, mixing_, options_.flip_negative, [&](size_t i) {
            return table_.sample_weight == nullptr ? 1.0 : table_.sample_weight[i];
        });
    }

    // A single class leaves a constant vote.
    void vote_constantly() {
        direction_.assign(table_.n_features, 0.0);
        level_ = std::numeric_limits<double>::infinity() * (weighed_.heaviest_is_positive() ? 1 : -1);
        learner_.rates[0] = learner_.rates[1] = learner_.loss = learner_.n_iter = 0;
    }

    template <class R>
    bool fit_sample(SampleRows<R>& rows, const double* starts, size_t n_starts) {
        const size_t m = table_.n_features, n_parameters = options_.learner.n_parameters(m);
        rows.resize(sample_.size(), m);
        rows.set_rows(table_.values, sample_.data(), sample_.size(), columns_);
        const std::vector<double>& weights = weighed_.weights;
        const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
        for (size_t r = 0; r < sample_.size(); ++r)
            rows.set_label(r, weighed_.targets[r], weights[r] / total);
        const LogisticFit fit = solver_.best_fit(rows, columns_, options_.learner,
                                                 weighed_.sample_weight, starts, n_starts);
        const std::vector<double>& best = fit.parameters;
        direction_.assign(best.begin(), best.begin() + std::ptrdiff_t(m));
        level_ = options_.learner.fit_intercept ? best[m] : 0;
        std::copy_n(options_.learner.rates, 2, learner_.rates);
        if (options_.learner.estimate_noise) flip_rates(&best[n_parameters - 2], learner_.rates);
        learner_.loss = fit.loss;
        learner_.n_iter = fit.n_iter;
        return fit.converged;
    }

    // The learner in the units of X, and as the pass takes it.
    void set_pass() {
        double in_pass = level_;
        learner_.intercept = level_;
        learner_.coef.resize(table_.n_features);
        for (size_t f = 0; f < table_.n_features; ++f) {
            const double coef = direction_[f] * columns_.inverse_scale[f];
            learner_.coef[f] = coef;
            coef_[f] = float(coef);
            // The fit is about the centre, the pass about the mean or 0.
            learner_.intercept -= coef * columns_.center[f];
            in_pass += coef * ((is_far_ ? columns_.mean[f] : 0) - columns_.center[f]);
        }
        intercept_ = float(in_pass);
    }

    // One way over all rows, chunk by chunk.
    PassSums sweep() {
        const Rows<T> rows{table_.values, table_.n_rows, table_.n_features,
                           is_far_ ? columns_.template padded_mean<T>() : nullptr};
        const Pass pass{coef_.data(), intercept_, options_.probability, state_.votes,
                        state_.missed, state_.last_vote, flags_.data(), table_.trusted != nullptr,
                        table_.sample_weight, last_step_, total_step, mixing_, log_scale_};
        chunks_.assign(n_chunks(table_.n_rows), PassSums{});
        team_.for_each_chunk(table_.n_rows, [&](size_t chunk, size_t begin, size_t end) {
            kernels().judge(rows, pass, begin, end, chunks_[chunk]);
        });
        PassSums total;
        for (const PassSums& chunk : chunks_) {
            total.falling += chunk.falling;
            total.rising += chunk.rising;
            total.all += chunk.all;
            total.net += chunk.net;
            total.least_agreement = std::min(total.least_agreement, chunk.least_agreement);
            total.largest_score = std::max(total.largest_score, chunk.largest_score);
        }
        return total;
    }

    // How far scores reach; with out_of_bag no farther than all steps.
    void find_largest_score() {
        largest_score_ = total_step;
        if (out_of_bag_) return;
        std::vector<double> largest(n_chunks(table_.n_rows), 0.0);
        team_.for_each_chunk(table_.n_rows, [&](size_t chunk, size_t begin, size_t end) {
            double lanes[4] = {0, 0, 0, 0};  // maxima that do not wait for each other
            for (size_t i = begin; i < end; ++i)
                lanes[i % 4] = std::max(lanes[i % 4], std::abs(state_.votes[i]));
            largest[chunk] = *std::max_element(lanes, lanes + 4);
        });
        largest_score_ = *std::max_element(largest.begin(), largest.end());
    }

    void forget_last() {
        for (int64_t i : last_sample_) flags_[size_t(i)] &= uint8_t(~SEEN_BEFORE);
        last_sample_.clear();
        last_step_ = 0;
    }

    const Table<T> table_;
    const RowState state_;
    const RoundOptions options_;
    const bool out_of_bag_;
    Columns columns_;
    bool is_far_ = false;
    std::vector<uint8_t> flags_;
    Team team_;
    LogisticSolver solver_;
    SampleRows<float> float_rows_;
    SampleRows<double> double_rows_;
    std::vector<PassSums> chunks_;

    // The samples of the new learner and of the previous one; the new one's weights.
    std::vector<int64_t> sample_, last_sample_;
    SampleWeights weighed_;
    Mixing mixing_{};

    // The new learner: in the fit's columns, in those of X, and as the pass takes it.
    std::vector<double> direction_;
    double level_ = 0;
    LinearLearner learner_;
    std::vector<float> coef_;
    float intercept_ = 0;

    double last_step_ = 0, log_scale_ = 0, largest_score_ = 0;
};

}  // namespace

template <class T>
std::unique_ptr<LinearRounds> linear_rounds(const Table<T>& table, const RowState& state,
                                            const RoundOptions& options, double total_step) {
    return std::make_unique<Rounds<T>>(table, state, options, total_step);
}
template std::unique_ptr<LinearRounds> linear_rounds(const Table<float>&, const RowState&,
                                                     const RoundOptions&, double);
template std::unique_ptr<LinearRounds> linear_rounds(const Table<double>&, const RowState&,
                                                     const RoundOptions&, double);

}  // namespace rboost
