"""
A line that wrong labels do not move
====================================

When labels of one class are wrong more often than those of the other, ordinary logistic regression
moves its line into the class that is mislabelled. :class:`rboost.RobustLogisticRegression` finds
coefficients and rates of flips together, and leaves the line where it belongs.
"""

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from rboost import RobustLogisticRegression
from rboost.noise import asymmetric, flip_labels

# %%
# The truth is a logistic model with two coefficients. 40 % of class 0 carry the label 1.
random = np.random.RandomState(0)
X = random.standard_normal((2000, 2))
true_coefficients = np.array([4.0, -2.0])
y = (random.uniform(size=len(X)) < expit(X @ true_coefficients)).astype(int)
given, is_wrong = flip_labels(y, asymmetric(0.4, from_class=0), random_state=0)

# %%
# Three models: ordinary regression on the true labels, which nobody has; on the labels given; and
# the robust one on the labels given.
models = {
    "ordinary, true labels": LogisticRegression().fit(X, y),
    "ordinary": LogisticRegression().fit(X, given),
    "robust": RobustLogisticRegression(random_state=0).fit(X, given),
}
print(f"{'the truth':22}", true_coefficients, 0.0)
for name, model in models.items():
    print(f"{name:22}", model.coef_[0].round(2), model.intercept_[0].round(2))

# %%
# The rates of flips that it found; the truth is 0.4 from 0 to 1, and 0 from 1 to 0.
print(models["robust"].noise_matrix_.round(2))

# %%
# Each line is where a model says one half; class 1 is on its right. Crosses are wrong labels.
import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(8, 4.8), layout="constrained")
for label, color in [(0, "C0"), (1, "C1")]:
    rows = (given == label) & ~is_wrong
    axis.scatter(*X[rows].T, s=9, color=color, alpha=0.5, linewidths=0, label=f"labelled {label}")
axis.scatter(
    *X[is_wrong].T, s=18, marker="x", linewidths=0.8, color="0.35", label="wrongly labelled 1"
)
ends = np.array([-3.2, 3.2])
for (name, model), style in zip(models.items(), ["k:", "C3--", "k-"], strict=True):
    slope, offset = -model.coef_[0, 0] / model.coef_[0, 1], -model.intercept_ / model.coef_[0, 1]
    axis.plot(ends, slope * ends + offset, style, linewidth=2, label=name)
axis.set(xlim=(-3, 3), ylim=(-3, 3), xlabel="first feature", ylabel="second feature")
figure.legend(loc="outside right upper", frameon=False)
plt.show()
