"""
Make the classifier that you have noise-aware
=============================================

A model that is trained on wrong labels predicts labels, errors included.
:class:`rboost.NoiseCalibratedClassifier` wraps it and predicts the true class: it reads how often
labels are wrong off the model's own out-of-fold scores. The example shows what that does to the
probabilities of boosted trees and of a support vector machine.
"""

import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.svm import SVC

from rboost import NoiseCalibratedClassifier
from rboost.datasets import make_banana
from rboost.noise import asymmetric, flip_labels

# %%
# 35 % of class 0 carry the label 1.
X, y = make_banana(1000, random_state=0)
noisy, _ = flip_labels(y, asymmetric(0.35, from_class=0), random_state=0)
X_test, y_test = make_banana(5000, random_state=1)

# %%
# Each model as it is, and wrapped. A support vector machine without ``probability=True`` has no
# ``predict_proba`` of its own; wrapped, it has.
trees = HistGradientBoostingClassifier(max_iter=40, learning_rate=0.05, random_state=0)
machine = SVC()
models = {
    "trees": trees,
    "trees, noise-aware": NoiseCalibratedClassifier(trees, random_state=0),
    "SVC": machine,
    "SVC, noise-aware": NoiseCalibratedClassifier(machine, random_state=0),
}
for name, model in models.items():
    model.fit(X, noisy)
    print(f"{name:20} accuracy on true labels {model.score(X_test, y_test):.1%}")

# %%
# What the wrapped models found out about the labels. The truth is .35 and 0.
for name in ("trees, noise-aware", "SVC, noise-aware"):
    low, high = models[name].noise_interval_[:, 0, 1]
    print(
        f"{name}: {models[name].noise_matrix_[0, 1]:.2f} of class 0 are labelled 1 "
        f"(90 % interval {low:.2f} to {high:.2f})"
    )

# %%
# Calibration curves compare predicted probabilities of class 1 with how frequent it is. The trees
# alone promise class 1 far too often, as do their training labels.
import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(6.4, 5), layout="constrained")
for name, color in [
    ("trees", "C1"), ("trees, noise-aware", "C0"), ("SVC, noise-aware", "C2")
]:  # fmt: skip
    CalibrationDisplay.from_estimator(
        models[name], X_test, y_test, n_bins=10, strategy="quantile",
        name=name, ax=axis, color=color,
    )  # fmt: skip
axis.set(xlabel="predicted probability of class 1", ylabel="share of class 1, true labels")
axis.grid(alpha=0.3)
plt.show()

# %%
# The mean distance of the curves from the diagonal, in numbers:
for name in ("trees", "trees, noise-aware", "SVC, noise-aware"):
    probability = models[name].predict_proba(X_test)[:, 1]
    bins = np.array_split(np.argsort(probability), 10)
    gap = np.mean([abs(probability[rows].mean() - y_test[rows].mean()) for rows in bins])
    print(f"{name:20} mean gap {gap:.3f}")
