"""
Boosting learns wrong labels by heart
=====================================

Boosting turns to the rows that it cannot fit yet. When labels are wrong, those are the mislabelled
ones. Here we watch, round by round, how AdaBoost takes over the wrong labels of its training rows
and how its accuracy suffers, and how rBoost does not.
"""

import numpy as np
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from rboost import RBoostClassifier
from rboost.datasets import make_banana
from rboost.noise import asymmetric, flip_labels

# %%
# 400 rows of two interlocked bananas. 30 % of class 0 are labelled 1; no label of class 1 is wrong.
# Nobody tells the models so. The test rows have their true labels.
X, y = make_banana(400, random_state=0)
noisy, flipped = flip_labels(y, asymmetric(0.3, from_class=0), random_state=0)
X_test, y_test = make_banana(4000, random_state=1)
print(f"{flipped.sum()} of {len(y)} labels are wrong")

# %%
# Both models boost 150 learners. ``"pool"`` is the engine of rBoost that goes round by round
# (Algorithm 1 of the paper); the default adds boosted trees, which have no such rounds.
models = {
    "AdaBoost": AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=3), n_estimators=150, random_state=0
    ),
    "rBoost": RBoostClassifier("pool", n_estimators=150, random_state=0),
}
accuracy, taken_over = {}, {}
for name, model in models.items():
    model.fit(X, noisy)
    accuracy[name] = [np.mean(said == y_test) for said in model.staged_predict(X_test)]
    taken_over[name] = [
        np.mean(said == noisy[flipped]) for said in model.staged_predict(X[flipped])
    ]
    print(
        f"{name:9} accuracy {accuracy[name][-1]:.1%}, "
        f"repeats {taken_over[name][-1]:.0%} of the wrong labels"
    )

# %%
# On the left the accuracy on true labels, on the right the share of wrong training labels that a
# model repeats. The more of them it has learnt, the worse it predicts.
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for name, color in [("AdaBoost", "C1"), ("rBoost", "C0")]:
    axes[0].plot(range(1, len(accuracy[name]) + 1), accuracy[name], color, label=name)
    axes[1].plot(range(1, len(taken_over[name]) + 1), taken_over[name], color, label=name)
axes[0].set(xlabel="rounds", ylabel="accuracy on true labels")
axes[1].set(xlabel="rounds", ylabel="wrong training labels repeated", ylim=(0, 1))
for axis in axes:
    axis.yaxis.set_major_formatter("{x:.0%}")
    axis.grid(alpha=0.3)
axes[0].legend(loc="center right")
plt.show()

# %%
# What rBoost found out about the labels by itself: row *j*, column *k* is the probability that a
# row of class *j* carries the label *k*.
print(models["rBoost"].noise_matrix_.round(2))
