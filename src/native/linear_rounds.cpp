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
        for (size_t f = 0; f < table.n_features; ++f) {
            is_far_ |= std::abs(columns_.center[f]) > FAR_FROM_ZERO * columns_.scale[f];
        }
        for (size_t i = 0; i < table.n_rows; ++i)
            flags_[i] = uint8_t((table.labels[i] > 0 ? POSITIVE : 0) |
                                (table.trusted != nullptr && table.trusted[i] ? TRUSTED : 0));
    }

    Found run(int n_rounds, const int64_t* samples, size_t n_drawn, const double* starts,
              size_t n_starts) override {
        Found found;
        const size_t n_parameters = options_.learner.n_parameters(table_.n_features);
        if (samples == nullptr) n_drawn = table_.n_rows;
        for (int round = 0; round < n_rounds && found.ending == Ending::none; ++round) {
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
        largest_score_ += last_step_;  // or less
        forget_last();
    }

    double bytes_per_pass() const override {
        const double side = 2 * sizeof(double) + 2 * sizeof(float) + 1 +
                            (out_of_bag_ ? sizeof(double) : 0) +
                            (table_.sample_weight != nullptr ? sizeof(double) : 0);
        return double(table_.n_rows) * (double(table_.n_features * sizeof(T)) + side);
    }
    void pass_only() override { judge(); }
    double stream_only() override { return judge(&Kernels::stream<T>).all; }
    const std::vector<double>& center() const override { return columns_.center; }

   private:
    void one_round(const double* starts, size_t n_starts, Found& found) {
        mixing_ = mixing_of(noise, options_.paper_mixing);
        log_scale_ = std::max(0.0, largest_score_ + last_step_ - LARGE_SCORE);
        fit_learner(starts, n_starts);
        if (out_of_bag_)
            for (int64_t i : sample_) flags_[i] |= SEEN;
        PassSums sums = judge();
        if (out_of_bag_)
            for (int64_t i : sample_) flags_[i] &= uint8_t(~SEEN);
        if (sums.net <= 1e-14 * sums.all) {
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
            if (options_.learner.tol >= FINEST_FLOAT_TOL)
                fit_sample(float_rows_, total, weight_sum, starts, n_starts);
            else
                fit_sample(double_rows_, total, weight_sum, starts, n_starts);
        } else {  // a single class leaves a constant vote
            level_ = seen[1] ? std::numeric_limits<double>::infinity()
                             : -std::numeric_limits<double>::infinity();
            loss_ = n_iter_ = 0;
            rates_[0] = rates_[1] = 0;
        }
        double intercept = level_;
        for (size_t f = 0; f < table_.n_features; ++f) {
            const double coef = direction_[f] * columns_.inverse_scale[f];
            coef_[f] = float(coef);
            if (!is_far_) intercept -= coef * columns_.center[f];
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
        std::vector<double> best;
        for (size_t s = 0; s < n_starts; ++s) {
            LogisticFit fit = solver_.fit(rows, columns_, options_.learner, weight_sum,
                                          starts + s * n_parameters);
            if (s > 0 && !(fit.loss < loss_)) continue;
            loss_ = fit.loss;
            n_iter_ = fit.n_iter;
            best = std::move(fit.parameters);
        }
        std::copy_n(best.begin(), m, direction_.begin());
        level_ = options_.learner.fit_intercept ? best[m] : 0;
        std::copy_n(options_.learner.rates, 2, rates_);
        if (options_.learner.estimate_noise) flip_rates(&best[n_parameters - 2], rates_);
    }

    double weight_of(size_t i) const {
        return table_.sample_weight == nullptr ? 1 : table_.sample_weight[i];
    }

    // Steps (2) and (4) over all rows.
    PassSums judge(JudgeRows<T> judge_rows = &Kernels::judge<T>) {
        const Rows<T> rows{table_.values, table_.n_rows, table_.n_features,
                           is_far_ ? columns_.template padded_center<T>() : nullptr};
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
        largest_score_ = total.largest_score;
        forget_last();
        return total;
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
    bool is_far_ = false;
    float intercept_ = 0;  // of margins as the pass computes them
    PlattState platt_;
    double level_ = 0, rates_[2] = {0, 0}, loss_ = 0, n_iter_ = 0, last_step_ = 0, log_scale_ = 0, largest_score_ = 0;
};

// Weight of a Gaussian prior on the slope for scores of unit variance, and on the offset; as in
// rboost.calibration.
constexpr double SLOPE_PENALTY = 2.0 / 900, OFFSET_PENALTY = 1e-10;

struct Moments {
    double weight = 0, score = 0, positive = 0;
};
struct Squares {
    double sum = 0;
};

template <class Sums, class Work>
Sums sum_chunks(size_t n_rows, Team& team, const Work& work) {
    std::vector<Sums> chunks(n_chunks(n_rows));
    team.for_each_chunk(n_rows, [&](size_t chunk, size_t begin, size_t end) {
        work(begin, end, chunks[chunk]);
    });
    Sums total;
    double* to = reinterpret_cast<double*>(&total);
    for (const Sums& sums : chunks) {
        const double* from = reinterpret_cast<const double*>(&sums);
        for (size_t k = 0; k < sizeof(Sums) / sizeof(double); ++k) to[k] += from[k];
    }
    return total;
}

}  // namespace

PlattSums fit_platt(const PlattRows& rows, Team& team, const double noise[2][2],
                    PlattState& state) {
    const auto weight_of = [&](size_t i) { return rows.weight == nullptr ? 1 : rows.weight[i]; };
    const Moments moments =
        sum_chunks<Moments>(rows.n_rows, team, [&](size_t begin, size_t end, Moments& sums) {
            for (size_t i = begin; i < end; ++i) {
                const double w = weight_of(i), s = rows.scores[i];
                sums.weight += w;
                sums.score += w * s;
                sums.positive += (rows.flags[i] & POSITIVE) ? w : 0;
            }
        });
    const double center = moments.score / moments.weight;
    const Squares squares =
        sum_chunks<Squares>(rows.n_rows, team, [&](size_t begin, size_t end, Squares& sums) {
            for (size_t i = begin; i < end; ++i) {
                const double deviation = rows.scores[i] - center;
                sums.sum += weight_of(i) * deviation * deviation;
            }
        });
    double spread = std::sqrt(squares.sum / moments.weight);
    const bool constant = !(spread > 1e-12 * std::max(1.0, std::abs(center)));
    if (constant) spread = 1;

    PlattPoint point;
    point.center = center;
    point.spread = spread;
    point.target[1] = (moments.positive + 1) / (moments.positive + 2);
    point.target[0] = 1 / (moments.weight - moments.positive + 2);
    std::memcpy(point.noise, noise, sizeof point.noise);

    // Newton's method for slope and offset of (score - center) / spread, from the last ones or the
    // class frequency, where no score is so far out that the loss has lost its curvature.
    const double share = (moments.positive * point.target[1] +
                          (moments.weight - moments.positive) * point.target[0]) /
                         moments.weight;
    const double frequency = std::log(share / (1 - share));
    double slope = state.fitted ? state.slope * spread : 0;
    double offset = state.fitted ? state.offset + state.slope * center : frequency;
    if (constant) slope = 0;  // only the offset means anything
    PlattSums sums;
    const auto evaluate = [&](double a, double b, double gradient[2], double hessian[3]) {
        point.slope = a;
        point.offset = b;
        sums = sum_chunks<PlattSums>(
            rows.n_rows, team, [&](size_t begin, size_t end, PlattSums& chunk) {
                kernels().platt_sums(rows, point, begin, end, chunk);
            });
        const double* c = sums.curvature;
        gradient[0] = sums.by_slope + SLOPE_PENALTY * a;
        gradient[1] = sums.by_offset + OFFSET_PENALTY * b;
        hessian[0] = c[2] + SLOPE_PENALTY;
        hessian[1] = c[1];
        hessian[2] = c[0] + OFFSET_PENALTY;
        if (constant) gradient[0] = hessian[1] = 0;
    };
    double gradient[2], hessian[3];
    evaluate(slope, offset, gradient, hessian);
    for (int iteration = 0; iteration < 100; ++iteration) {
        const double determinant = hessian[0] * hessian[2] - hessian[1] * hessian[1];
        double by_slope = (hessian[2] * gradient[0] - hessian[1] * gradient[1]) / determinant;
        double by_offset = (hessian[0] * gradient[1] - hessian[1] * gradient[0]) / determinant;
        const double decrement = by_slope * gradient[0] + by_offset * gradient[1];
        if (!(decrement > 1e-12 * moments.weight)) break;
        const double largest = std::max(std::abs(by_slope), std::abs(by_offset));
        double scale = std::min(1.0, 10 / largest), new_gradient[2];
        // The loss is convex: a step is good when its slope has not grown on the other side.
        for (;; scale /= 2) {
            evaluate(slope - scale * by_slope, offset - scale * by_offset, new_gradient, hessian);
            const double end = by_slope * new_gradient[0] + by_offset * new_gradient[1];
            if (std::abs(end) <= decrement || scale < 1e-10) break;
        }
        slope -= scale * by_slope;
        offset -= scale * by_offset;
        std::memcpy(gradient, new_gradient, sizeof gradient);
    }
    if (slope < 0) {  // the scores contradict the labels: keep the class frequency
        slope = 0;
        offset = frequency;
        evaluate(slope, offset, gradient, hessian);
    }
    state = {slope / spread, offset - slope * center / spread, true};
    return sums;
}

void update_noise(const PlattRows& rows, Team& team, PlattState& state, double noise[2][2]) {
    const PlattSums sums = fit_platt(rows, team, noise, state);
    for (int j = 0; j < 2; ++j) {  // eq. (20)-(22)
        const double g[2] = {noise[j][0] * sums.responsibility[j][0],
                             noise[j][1] * sums.responsibility[j][1]};
        if (g[0] + g[1] > 0)
            for (int k = 0; k < 2; ++k) noise[j][k] = g[k] / (g[0] + g[1]);
    }
    constexpr double LARGEST_SUM = 0.99;  // rboost.noise.matrix.keep_informative
    const double total = noise[0][1] + noise[1][0];
    if (total > LARGEST_SUM)
        for (int j = 0; j < 2; ++j) {
            noise[j][1 - j] *= LARGEST_SUM / total;
            noise[j][j] = 1 - noise[j][1 - j];
        }
}

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
