#include "logistic.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rboost {

void flip_rates(const double* logits, double* rates) {
    const double largest = std::max({logits[0], logits[1], 0.0});
    const double u = std::exp(logits[0] - largest), v = std::exp(logits[1] - largest);
    const double total = u + v + std::exp(-largest);
    rates[0] = u / total;
    rates[1] = v / total;
}

namespace {

// Steps that L-BFGS remembers.
constexpr size_t MEMORY = 8;

// The objective at packed parameters, as a function with its gradient.
template <class R>
class Objective {
   public:
    Objective(const SampleRows<R>& rows, const Columns& columns, const LogisticOptions& options,
              double penalty)
        : sample_(rows.view()), columns_(columns), options_(options), penalty_(penalty) {}

    double operator()(const double* parameters, double* gradient) {
        const size_t m = columns_.n_features;
        const double level = options_.fit_intercept ? parameters[m] : 0;
        double rates[2] = {options_.rates[0], options_.rates[1]};
        const size_t first_rate = m + options_.fit_intercept;
        if (options_.estimate_noise) flip_rates(parameters + first_rate, rates);
        LogisticSums sums;
        kernels().logistic(sample_, parameters, level, rates, scratch_, sums, gradient);
        double norm = 0;
        for (size_t f = 0; f < m; ++f) {
            const double coef = parameters[f] * columns_.inverse_scale[f];
            norm += coef * coef;
            gradient[f] += penalty_ * coef * columns_.inverse_scale[f];
        }
        if (options_.fit_intercept) gradient[m] = sums.by_level;
        if (options_.estimate_noise) {
            const double mean = rates[0] * sums.by_rate[0] + rates[1] * sums.by_rate[1];
            for (int k = 0; k < 2; ++k)
                gradient[first_rate + k] = rates[k] * (sums.by_rate[k] - mean);
        }
        return sums.value + 0.5 * penalty_ * norm;
    }

   private:
    Sample<R> sample_;
    const Columns& columns_;
    const LogisticOptions& options_;
    double penalty_;
    alignas(64) R scratch_[SAMPLE_BLOCK];
};

double largest_of(const double* v, size_t n) {
    double largest = 0;
    for (size_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(v[i]));
    return largest;
}

// What L-BFGS remembers of its last steps.
class Memory {
   public:
    void reset(size_t n) {
        if (n != n_) {
            n_ = n;
            steps_.resize(MEMORY * n);
            changes_.resize(MEMORY * n);
        }
        size_ = 0;
    }
    void clear() { size_ = 0; }
    bool empty() const { return size_ == 0; }
    // Steps along which the gradient did not grow say nothing about a minimum.
    void add(const double* step, const double* change) {
        const double product = dot(step, change, n_);
        if (!(product > 1e-12 * std::sqrt(dot(step, step, n_) * dot(change, change, n_)))) return;
        const size_t slot = next_++ % MEMORY;
        std::copy(step, step + n_, &steps_[slot * n_]);
        std::copy(change, change + n_, &changes_[slot * n_]);
        products_[slot] = product;
        size_ = std::min(size_ + 1, MEMORY);
    }
    // Multiply by the approximate inverse of the curvature, whose first guess is `precondition`.
    template <class Precondition>
    void apply(double* vector, const Precondition& precondition) const {
        double factors[MEMORY];
        for (size_t k = 0; k < size_; ++k) {
            const size_t slot = (next_ - 1 - k) % MEMORY;
            factors[k] = dot(&steps_[slot * n_], vector, n_) / products_[slot];
            for (size_t i = 0; i < n_; ++i) vector[i] -= factors[k] * changes_[slot * n_ + i];
        }
        precondition(vector);
        for (size_t k = size_; k-- > 0;) {
            const size_t slot = (next_ - 1 - k) % MEMORY;
            const double back = dot(&changes_[slot * n_], vector, n_) / products_[slot];
            for (size_t i = 0; i < n_; ++i)
                vector[i] += (factors[k] - back) * steps_[slot * n_ + i];
        }
    }

   private:
    size_t n_ = 0, size_ = 0, next_ = 0;
    std::vector<double> steps_, changes_;
    double products_[MEMORY] = {};
};

}  // namespace

struct LogisticWorkspace {
    Memory memory;
    std::vector<double> gradient, direction, moved, new_gradient, step, change, scratch;

    void reset(size_t n) {
        for (auto* vector :
             {&gradient, &direction, &moved, &new_gradient, &step, &change, &scratch})
            vector->resize(n);
        memory.reset(n);
    }
};

namespace {

// One descent from one start, by preconditioned L-BFGS with a backtracking line search.
template <class R>
class Descent {
   public:
    Descent(const SampleRows<R>& rows, Columns& columns, const LogisticOptions& options,
            double weight_sum, LogisticWorkspace& work)
        : columns_(columns),
          options_(options),
          n_(options.n_parameters(columns.n_features)),
          penalty_(1 / (options.C * weight_sum)),
          work_(work),
          objective_(rows, columns, options, penalty_) {
        const double informative = 1 - options.rates[0] - options.rates[1];
        curvature_ = informative * informative / 4;  // at margin 0
        columns.prepare(curvature_, penalty_);
        work.reset(n_);
    }

    LogisticFit from(const double* start) {
        begin(start);
        int idle = 0;
        while (fit_.n_iter < options_.max_iter && !is_flat()) {
            const double slope = choose_direction();
            const bool found = search_line(slope);
            ++fit_.n_iter;
            if (!found && work_.memory.empty()) {  // rounding leaves no step that descends
                fit_.converged = true;
                break;
            }
            if (!found) {
                work_.memory.clear();
                continue;
            }
            const double gain = accept();
            idle = gain <= rounding(value_) ? idle + 1 : 0;
            if (idle == 3) {  // at the bottom, as far as rounding can tell
                fit_.converged = true;
                break;
            }
        }
        fit_.converged = fit_.converged || is_flat();
        fit_.loss = value_;
        fit_.gradient = largest_of(work_.gradient.data(), n_);
        return std::move(fit_);
    }

   private:
    void begin(const double* start) {
        std::vector<double>& x = fit_.parameters;
        x.assign(start, start + n_);
        for (size_t f = 0; f < columns_.n_features; ++f)
            if (columns_.is_constant[f]) x[f] = 0;  // it would stay where it starts
        value_ = objective_(x.data(), work_.gradient.data());
    }

    bool is_flat() const { return largest_of(work_.gradient.data(), n_) <= options_.tol; }

    // What rounding may add to the value.
    static double rounding(double value) {
        return (sizeof(R) == 4 ? 1e-7 : 1e-15) * std::max(1.0, std::abs(value));
    }

    // Divide by the curvature at margin 0 and at the rates where the search begins.
    void precondition(double* v) {
        columns_.solve(v, work_.scratch.data());
        size_t k = columns_.n_features;
        if (options_.fit_intercept) v[k++] /= curvature_;
        for (int r = 0; k < n_; ++k, ++r) {
            const double by_logit = options_.rates[r] * (1 - options_.rates[r]);
            v[k] /= std::max(by_logit * by_logit, 1e-3);
        }
    }

    // The direction of L-BFGS, or without memory where that does not descend; returns the slope.
    double choose_direction() {
        const auto scaled = [this](double* v) { precondition(v); };
        for (;;) {
            for (size_t i = 0; i < n_; ++i) work_.direction[i] = -work_.gradient[i];
            work_.memory.apply(work_.direction.data(), scaled);
            const double slope = dot(work_.gradient.data(), work_.direction.data(), n_);
            if (slope < 0 || work_.memory.empty()) return slope;
            work_.memory.clear();
        }
    }

    // Shorten the step until the value falls far enough; false where it never does.
    bool search_line(double slope) {
        double length = std::min(1.0, 10 / largest_of(work_.direction.data(), n_));
        for (int trial = 0; trial < 40; ++trial) {
            for (size_t i = 0; i < n_; ++i)
                work_.moved[i] = fit_.parameters[i] + length * work_.direction[i];
            new_value_ = objective_(work_.moved.data(), work_.new_gradient.data());
            if (new_value_ <= value_ + 1e-4 * length * slope + rounding(value_)) return true;
            // To the minimum of the parabola through what is known, within bounds.
            const double excess = new_value_ - value_ - slope * length;
            const double shorter = -slope * length / (2 * excess);
            length *= std::isfinite(shorter) ? std::min(0.5, std::max(0.1, shorter)) : 0.1;
        }
        return false;
    }

    // Take the step that was found and remember it; returns by how much the value fell.
    double accept() {
        for (size_t i = 0; i < n_; ++i) {
            work_.step[i] = work_.moved[i] - fit_.parameters[i];
            work_.change[i] = work_.new_gradient[i] - work_.gradient[i];
        }
        work_.memory.add(work_.step.data(), work_.change.data());
        fit_.parameters.swap(work_.moved);
        work_.gradient.swap(work_.new_gradient);
        const double gain = value_ - new_value_;
        value_ = new_value_;
        return gain;
    }

    Columns& columns_;
    const LogisticOptions& options_;
    const size_t n_;
    const double penalty_;
    double curvature_;
    LogisticWorkspace& work_;
    Objective<R> objective_;
    LogisticFit fit_;
    double value_ = 0, new_value_ = 0;
};

}  // namespace

LogisticSolver::LogisticSolver() : work_(std::make_unique<LogisticWorkspace>()) {}
LogisticSolver::~LogisticSolver() = default;

template <class R>
LogisticFit LogisticSolver::fit(const SampleRows<R>& rows, Columns& columns,
                                const LogisticOptions& options, double weight_sum,
                                const double* start) {
    return Descent<R>(rows, columns, options, weight_sum, *work_).from(start);
}
template LogisticFit LogisticSolver::fit(const SampleRows<float>&, Columns&, const LogisticOptions&,
                                         double, const double*);
template LogisticFit LogisticSolver::fit(const SampleRows<double>&, Columns&,
                                         const LogisticOptions&, double, const double*);

}  // namespace rboost
