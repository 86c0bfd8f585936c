"""
Boosting learns wrong labels by heart
=====================================

Boosting turns to the rows that it cannot fit yet. When labels are wrong, those are the mislabelled
ones. Round by round AdaBoost takes over the wrong labels of its training rows, and its accuracy
suffers; that of rBoost does not.
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
# Both models boost up to 150 learners. AdaBoost says what it predicts after every round. rBoost is
# fitted anew for each number of rounds, by its engine ``"pool"``, Algorithm 1 of the paper; the
# default would add boosted trees.
rounds = {"AdaBoost": range(1, 151), "rBoost": [5, 10, 20, 30, 50, 75, 100, 150]}
adaboost = AdaBoostClassifier(
    DecisionTreeClassifier(max_depth=3), n_estimators=150, random_state=0
).fit(X, noisy)
rboosts = [
    RBoostClassifier(engines="pool", max_iter=n, random_state=0).fit(X, noisy)
    for n in rounds["rBoost"]
]
on_test = {
    "AdaBoost": list(adaboost.staged_predict(X_test)),
    "rBoost": [model.predict(X_test) for model in rboosts],
}
on_wrong = {
    "AdaBoost": list(adaboost.staged_predict(X[flipped])),
    "rBoost": [model.predict(X[flipped]) for model in rboosts],
}
accuracy, taken_over = {}, {}
for name in rounds:
    accuracy[name] = [np.mean(said == y_test) for said in on_test[name]]
    taken_over[name] = [np.mean(said == noisy[flipped]) for said in on_wrong[name]]
    print(
        f"{name:9} accuracy {accuracy[name][-1]:.1%}, "
        f"repeats {taken_over[name][-1]:.0%} of the wrong labels"
    )

# %%
# On the left the accuracy on true labels, on the right the share of wrong training labels that a
# model repeats. AdaBoost learns more and more of them by heart, and soon predicts worse than its
# first trees did.
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for name, style in [("AdaBoost", "C1-"), ("rBoost", "C0o-")]:
    axes[0].plot(rounds[name], accuracy[name], style, label=name)
    axes[1].plot(rounds[name], taken_over[name], style, label=name)
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
print(rboosts[-1].noise_matrix_.round(2))
