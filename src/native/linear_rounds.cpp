#include "linear_rounds.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "parallel.hpp"

namespace rboost {

namespace {

// Exponentials of larger scores are scaled down: with their weights they might overflow float32.
constexpr double LARGE_SCORE = 60;
// The same for the weights of a sample, in float64.
constexpr double LARGEST_EXPONENT = 300;
// Differences of float32 numbers that are but rounding, as a share of the numbers.
constexpr double ROUNDING = 4e-7;
// After a larger step the largest score is looked up instead of bounded.
constexpr double LARGE_STEP = 20;
// Columns whose mean is this many deviations from 0 are centred before they are multiplied.
constexpr double FAR_FROM_ZERO = 30;

Mixing mixing_of(const double noise[2][2], bool paper) {
    if (paper) return {{1 - noise[1][0], 1 - noise[0][1]}, {noise[1][0], noise[0][1]}};
    Mixing mixing;
    for (int k = 0; k < 2; ++k) {  // p(true | observed k) for balanced classes
        const double total = noise[0][k] + noise[1][k];
        mixing.right[k] = total > 0 ? noise[k][k] / total : 0.5;
        mixing.wrong[k] = total > 0 ? noise[1 - k][k] / total : 0.5;
    }
    return mixing;
}

template <class T>
class Rounds : public LinearRounds {
   public:
    Rounds(const Table<T>& table, const RowState& state, const RoundOptions& options)
        : table_(table),
          state_(state),
          options_(options),
          out_of_bag_(state.missed != nullptr),
          columns_(table.values, table.n_rows, table.n_features, options.learner.fit_intercept,
                   table.sample_weight),
          coef_(padded(table.n_features), 0.0f),
          flags_(table.n_rows),
          team_(size_t(options.n_threads), table.n_rows) {
        for (size_t f = 0; f < table.n_features; ++f)
            is_far_ |= std::abs(columns_.mean[f]) > FAR_FROM_ZERO * columns_.scale[f];
        find_largest_score();
        for (size_t i = 0; i < table.n_rows; ++i)
            flags_[i] = uint8_t((table.labels[i] > 0 ? POSITIVE : 0) |
                                (table.trusted != nullptr && table.trusted[i] ? TRUSTED : 0));
    }

    Found run(int n_rounds, const int64_t* samples, size_t n_drawn, const double* starts,
              size_t n_starts, const std::function<void()>& between_rounds) override {
        Found found;
        const size_t n_parameters = options_.learner.n_parameters(table_.n_features);
        if (samples == nullptr) n_drawn = table_.n_rows;
        for (int round = 0; round < n_rounds && found.ending == Ending::none; ++round) {
            between_rounds();
            sample_.resize(n_drawn);
            for (size_t r = 0; r < n_drawn; ++r)
                sample_[r] = samples == nullptr ? int64_t(r) : samples[round * n_drawn + r];
            one_round(starts + round * n_starts * n_parameters, n_starts, found);
        }
        return found;
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

    void resume(double total, int n_useless) override {
        total_step = total;
        useless = n_useless;
        find_largest_score();
    }

    double bytes_per_pass() const override {
        const double side = 2 * sizeof(double) + 2 * sizeof(float) + 1 +
                            (out_of_bag_ ? sizeof(double) : 0) +
                            (table_.sample_weight != nullptr ? sizeof(double) : 0);
        return double(table_.n_rows) * (double(table_.n_features * sizeof(T)) + side);
    }
    void pass_only() override { sweep(&Kernels::judge<T>); }
    double stream_only() override { return sweep(&Kernels::stream<T>).all; }
    const std::vector<double>& center() const override { return columns_.mean; }

   private:
    void one_round(const double* starts, size_t n_starts, Found& found) {
        mixing_ = mixing_of(noise, options_.paper_mixing);
        if (last_step_ > LARGE_STEP) settle();
        log_scale_ = std::max(0.0, largest_score_ + last_step_ - LARGE_SCORE);
        fit_learner(starts, n_starts);
        if (out_of_bag_)
            for (int64_t i : sample_) flags_[i] |= SEEN;
        PassSums sums = judge();
        if (out_of_bag_)
            for (int64_t i : sample_) flags_[i] &= uint8_t(~SEEN);
        if (sums.net <= ROUNDING * sums.all) {
            found.ending = Ending::at_minimum;
            return;
        }
        ++found.n_rounds;
        if (out_of_bag_) {
            // One more row, half right, keeps a few lucky ones from giving an infinite step.
            const double half = sums.all / double(table_.n_rows) / 2;
            sums.falling += half;
            sums.rising += half;
        }
        const double step = options_.learning_rate * step_size(sums.falling, sums.rising);
        keep(found, step, sums.rising / (sums.falling + sums.rising));
        if (step == 0) {
            ++useless;
            if (!out_of_bag_ && useless == options_.useless_learners)
                found.ending = Ending::useless;
            return;
        }
        useless = 0;
        last_step_ = step;
        total_step += step;
        if (out_of_bag_) {
            last_sample_ = sample_;
            for (int64_t i : last_sample_) {
                flags_[i] |= SEEN_BEFORE;
                state_.missed[i] += step;
            }
        }
        if (options_.update_noise) {
            settle();
            const PlattRows rows{state_.votes, flags_.data(), table_.sample_weight, table_.n_rows};
            update_noise(rows, team_, platt_, noise);
            std::memcpy(&found.noise[found.noise.size() - 4], noise, sizeof noise);
        }
        if (sums.rising == 0 && sums.least_agreement > 0) found.ending = Ending::perfect;
    }

    void keep(Found& found, double step, double error) const {
        const size_t m = table_.n_features;
        double intercept = level_;
        for (size_t f = 0; f < m; ++f) {
            const double coef = direction_[f] * columns_.inverse_scale[f];
            found.coefs.push_back(coef);
            intercept -= coef * columns_.center[f];
        }
        found.intercepts.push_back(intercept);
        found.steps.push_back(step);
        found.errors.push_back(error);
        found.noise.insert(found.noise.end(), &noise[0][0], &noise[0][0] + 4);
        found.rates.insert(found.rates.end(), rates_, rates_ + 2);
        found.losses.push_back(loss_);
        found.iterations.push_back(n_iter_);
        found.n_unconverged += !converged_;
    }

    double step_size(double falling, double rising) const {  // eq. (14), as losses.step_size
        if (falling <= rising) return 0;
        if (rising <= 0) return options_.max_step;
        const double step = (std::log(falling) - std::log(rising)) / 2;
        return step < options_.min_step ? 0 : std::min(step, options_.max_step);
    }

    // The score of a row, with the votes that the next pass will add.
    double score_of(size_t i) const {
        const bool skipped = out_of_bag_ && (flags_[i] & SEEN_BEFORE);
        const double sum = state_.votes[i] + (skipped ? 0 : last_step_ * state_.last_vote[i]);
        if (!out_of_bag_) return sum;
        const double steps = total_step - state_.missed[i];
        return steps > 0 ? sum * total_step / steps : 0;
    }

    // Step (1): weights of the sampled rows, then the logistic fit.
    void fit_learner(const double* starts, size_t n_starts) {
        const size_t n = sample_.size();
        weights_.resize(n);
        targets_.resize(n);
        double farthest = 0, largest = 0, weight_sum = 0;
        for (size_t r = 0; r < n; ++r) {
            const size_t i = size_t(sample_[r]);
            weights_[r] = (flags_[i] & POSITIVE) ? score_of(i) : -score_of(i);  // its margin
            farthest = std::max(farthest, std::abs(weights_[r]));
        }
        // e^-margin and e^margin, divided by e^beyond so that neither overflows.
        const double beyond = std::max(0.0, farthest - LARGEST_EXPONENT);
        inverses_.resize(n);
        for (size_t r = 0; r < n; ++r) inverses_[r] = -weights_[r] - beyond;
        kernels().exponentials(inverses_.data(), n);
        if (beyond > 0) {
            for (double& margin : weights_) margin -= beyond;
            kernels().exponentials(weights_.data(), n);
        } else {
            for (size_t r = 0; r < n; ++r) weights_[r] = 1 / inverses_[r];
        }
        for (size_t r = 0; r < n; ++r) {
            const size_t i = size_t(sample_[r]);
            const int k = (flags_[i] & POSITIVE) != 0;
            const bool trusted = flags_[i] & TRUSTED;
            const double sample_weight = weight_of(i);
            const double weight =
                sample_weight * ((trusted ? 1 : mixing_.right[k]) * inverses_[r] -
                                 (trusted ? 0 : mixing_.wrong[k]) * weights_[r]);
            targets_[r] = (weight < 0 && options_.flip_negative) ? !k : k;
            weights_[r] = std::abs(weight);
            largest = std::max(largest, weights_[r]);
            weight_sum += sample_weight;
        }
        if (!(largest > 0)) {  // rows so well fitted that their weights vanished: all alike
            largest = 1;
            for (size_t r = 0; r < n; ++r) weights_[r] = weight_of(size_t(sample_[r]));
        }
        double total = 0;
        bool seen[2] = {false, false};
        for (size_t r = 0; r < n; ++r) {
            total += weights_[r] /= largest;
            if (weights_[r] > 0) seen[targets_[r]] = true;
        }
        direction_.assign(table_.n_features, 0.0);
        if (seen[0] && seen[1]) {
            const bool is_offset = is_far_ && !options_.learner.fit_intercept;
            if (options_.learner.tol >= FINEST_FLOAT_TOL && !is_offset)
                fit_sample(float_rows_, total, weight_sum, starts, n_starts);
            else
                fit_sample(double_rows_, total, weight_sum, starts, n_starts);
        } else {  // a single class leaves a constant vote
            level_ = seen[1] ? std::numeric_limits<double>::infinity()
                             : -std::numeric_limits<double>::infinity();
            loss_ = n_iter_ = 0;
            converged_ = true;
            rates_[0] = rates_[1] = 0;
        }
        double intercept = level_;
        for (size_t f = 0; f < table_.n_features; ++f) {
            const double coef = direction_[f] * columns_.inverse_scale[f];
            coef_[f] = float(coef);
            // The fit is about the centre, the pass about the mean or 0.
            intercept += coef * ((is_far_ ? columns_.mean[f] : 0) - columns_.center[f]);
        }
        intercept_ = float(intercept);
    }

    template <class R>
    void fit_sample(SampleRows<R>& rows, double total, double weight_sum, const double* starts,
                    size_t n_starts) {
        const size_t m = table_.n_features, n_parameters = options_.learner.n_parameters(m);
        rows.resize(sample_.size(), m);
        rows.set_rows(table_.values, sample_.data(), sample_.size(), columns_);
        for (size_t r = 0; r < sample_.size(); ++r) {
            rows.set_label(r, targets_[r], weights_[r] / total);
        }
        const LogisticFit fit = solver_.best_fit(rows, columns_, options_.learner, weight_sum,
                                                 starts, n_starts);
        const std::vector<double>& best = fit.parameters;
        loss_ = fit.loss;
        n_iter_ = fit.n_iter;
        converged_ = fit.converged;
        std::copy_n(best.begin(), m, direction_.begin());
        level_ = options_.learner.fit_intercept ? best[m] : 0;
        std::copy_n(options_.learner.rates, 2, rates_);
        if (options_.learner.estimate_noise) flip_rates(&best[n_parameters - 2], rates_);
    }

    double weight_of(size_t i) const {
        return table_.sample_weight == nullptr ? 1 : table_.sample_weight[i];
    }

    // Steps (2) and (4) over all rows.
    PassSums judge() {
        const PassSums sums = sweep(&Kernels::judge<T>);
        largest_score_ = sums.largest_score;
        forget_last();
        return sums;
    }

    // One way over all rows, chunk by chunk.
    PassSums sweep(JudgeRows<T> judge_rows) {
        const Rows<T> rows{table_.values, table_.n_rows, table_.n_features,
                           is_far_ ? columns_.template padded_mean<T>() : nullptr};
        const Pass pass{coef_.data(),
                        intercept_,
                        options_.probability,
                        state_.votes,
                        state_.missed,
                        state_.last_vote,
                        flags_.data(),
                        table_.trusted != nullptr,
                        table_.sample_weight,
                        last_step_,
                        total_step,
                        mixing_,
                        log_scale_};
        chunks_.assign(n_chunks(table_.n_rows), PassSums{});
        team_.for_each_chunk(table_.n_rows, [&](size_t chunk, size_t begin, size_t end) {
                           (kernels().*judge_rows)(rows, pass, begin, end, chunks_[chunk]);
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
            for (size_t i = begin; i < end; ++i) {
                const double size = std::abs(state_.votes[i]);
                double& so_far = lanes[i % 4];
                so_far = size > so_far ? size : so_far;
            }
            largest[chunk] = *std::max_element(lanes, lanes + 4);
        });
        largest_score_ = *std::max_element(largest.begin(), largest.end());
    }

    void forget_last() {
        for (int64_t i : last_sample_) flags_[size_t(i)] &= uint8_t(~SEEN_BEFORE);
        last_sample_.clear();
        last_step_ = 0;
    }

    Table<T> table_;
    RowState state_;
    RoundOptions options_;
    bool out_of_bag_;
    Columns columns_;
    std::vector<float> coef_;
    std::vector<uint8_t> flags_;
    std::vector<int64_t> sample_, last_sample_;
    std::vector<double> weights_, inverses_, direction_;
    std::vector<uint8_t> targets_;
    std::vector<PassSums> chunks_;
    LogisticSolver solver_;
    SampleRows<float> float_rows_;
    SampleRows<double> double_rows_;
    Team team_;
    Mixing mixing_{};
    bool is_far_ = false, converged_ = true;
    float intercept_ = 0;  // of margins as the pass computes them
    PlattState platt_;
    double level_ = 0, rates_[2] = {0, 0}, loss_ = 0, n_iter_ = 0, last_step_ = 0, log_scale_ = 0, largest_score_ = 0;
};

}  // namespace

template <class T>
std::unique_ptr<LinearRounds> linear_rounds(const Table<T>& table, const RowState& state,
                                            const RoundOptions& options) {
    return std::make_unique<Rounds<T>>(table, state, options);
}
template std::unique_ptr<LinearRounds> linear_rounds(const Table<float>&, const RowState&,
                                                     const RoundOptions&);
template std::unique_ptr<LinearRounds> linear_rounds(const Table<double>&, const RowState&,
                                                     const RoundOptions&);

}  // namespace rboost
