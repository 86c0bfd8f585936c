#include "logistic.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

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

}  // namespace

// What L-BFGS remembers of its last steps.
class LogisticSolver::Memory {
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

LogisticSolver::LogisticSolver() : memory_(std::make_unique<Memory>()) {}
LogisticSolver::~LogisticSolver() = default;

template <class R>
LogisticFit LogisticSolver::fit(const SampleRows<R>& rows, Columns& columns,
                                const LogisticOptions& options, double weight_sum,
                                const double* start) {
    const size_t m = columns.n_features, n = options.n_parameters(m);
    const double penalty = 1 / (options.C * weight_sum);
    const double informative = 1 - options.rates[0] - options.rates[1];
    const double curvature = informative * informative / 4;  // at margin 0
    columns.prepare(curvature, penalty);
    const auto precondition = [&](double* v) {
        columns.solve(v, scratch_.data());
        size_t k = m;
        if (options.fit_intercept) v[k++] /= curvature;
        for (int r = 0; k < n; ++k, ++r) {
            const double by_logit = options.rates[r] * (1 - options.rates[r]);
            v[k] /= std::max(by_logit * by_logit, 1e-3);
        }
    };

    Objective<R> objective(rows, columns, options, penalty);
    LogisticFit fit;
    std::vector<double>& x = fit.parameters;
    x.assign(start, start + n);
    for (size_t f = 0; f < m; ++f)
        if (columns.is_constant[f]) x[f] = 0;  // it would stay where it starts
    for (auto* vector :
         {&gradient_, &direction_, &moved_, &new_gradient_, &step_, &change_, &scratch_})
        vector->resize(n);
    auto &gradient = gradient_, &direction = direction_, &moved = moved_,
         &new_gradient = new_gradient_, &step = step_, &change = change_;
    Memory& memory = *memory_;
    memory.reset(n);
    double value = objective(x.data(), gradient.data());
    const auto rounding = [](double v) {  // what it may add to the value
        return (sizeof(R) == 4 ? 1e-7 : 1e-15) * std::max(1.0, std::abs(v));
    };

    int idle = 0;
    while (fit.n_iter < options.max_iter) {
        if (largest_of(gradient.data(), n) <= options.tol) {
            fit.converged = true;
            break;
        }
        for (size_t i = 0; i < n; ++i) direction[i] = -gradient[i];
        memory.apply(direction.data(), precondition);
        double slope = dot(gradient.data(), direction.data(), n);
        if (!(slope < 0)) {
            memory.clear();
            for (size_t i = 0; i < n; ++i) direction[i] = -gradient[i];
            precondition(direction.data());
            slope = dot(gradient.data(), direction.data(), n);
        }
        double length = std::min(1.0, 10 / largest_of(direction.data(), n)), new_value = 0;
        bool found = false;
        for (int trial = 0; trial < 40 && !found; ++trial) {
            for (size_t i = 0; i < n; ++i) moved[i] = x[i] + length * direction[i];
            new_value = objective(moved.data(), new_gradient.data());
            found = new_value <= value + 1e-4 * length * slope + rounding(value);
            if (!found) {
                const double excess = new_value - value - slope * length;
                const double shorter = -slope * length / (2 * excess);
                length *= std::isfinite(shorter) ? std::min(0.5, std::max(0.1, shorter)) : 0.1;
            }
        }
        ++fit.n_iter;
        if (!found) {
            if (memory.empty()) {  // rounding leaves no step that descends
                fit.converged = true;
                break;
            }
            memory.clear();
            continue;
        }
        for (size_t i = 0; i < n; ++i) {
            step[i] = moved[i] - x[i];
            change[i] = new_gradient[i] - gradient[i];
        }
        memory.add(step.data(), change.data());
        const double gain = value - new_value;
        x.swap(moved);
        gradient.swap(new_gradient);
        value = new_value;
        idle = gain <= rounding(value) ? idle + 1 : 0;
        if (idle == 3) {  // at the bottom, as far as rounding can tell
            fit.converged = true;
            break;
        }
    }
    if (!fit.converged) fit.converged = largest_of(gradient.data(), n) <= options.tol;
    fit.loss = value;
    fit.gradient = largest_of(gradient.data(), n);
    return fit;
}
template LogisticFit LogisticSolver::fit(const SampleRows<float>&, Columns&, const LogisticOptions&,
                                         double, const double*);
template LogisticFit LogisticSolver::fit(const SampleRows<double>&, Columns&,
                                         const LogisticOptions&, double, const double*);

}  // namespace rboost
