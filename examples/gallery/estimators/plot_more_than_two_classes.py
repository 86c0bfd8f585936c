"""
Which class is mistaken for which
=================================

With more than two classes, labels go wrong in particular ways: one class is taken for another, and
not the other way round. ``RBoostClassifier`` finds the whole noise matrix. Here it is compared with
the one that made the labels wrong.
"""

import numpy as np
from sklearn.datasets import load_digits

from rboost import RBoostClassifier
from rboost.noise import flip_labels

# %%
# Pictures of the digits 0 to 5. A third of the threes carry the label 5, and a fifth of the ones
# the label 4.
images, digits = load_digits(n_class=6, return_X_y=True)
true_noise = np.eye(6)
true_noise[3, [3, 5]] = 2 / 3, 1 / 3
true_noise[1, [1, 4]] = 4 / 5, 1 / 5
given, is_wrong = flip_labels(digits, true_noise, random_state=0)
train, test = slice(None, 700), slice(700, None)
print(f"{is_wrong[train].sum()} of 700 training labels are wrong")

# %%
model = RBoostClassifier(max_iter=60, random_state=0).fit(images[train], given[train])
print(f"accuracy on true labels: {model.score(images[test], digits[test]):.1%}")

# %%
# The model knows its training rows too: how likely each label is to be wrong, and what the row
# probably is.
suspects = np.flatnonzero(model.label_issue_probability_ > 0.5)
right = model.true_class_[suspects] == digits[train][suspects]
print(f"{len(suspects)} suspects, {is_wrong[train][suspects].sum()} of them wrong")
print(f"the true class of {right.sum()} of them is found")

# %%
# Rows are true classes and columns are labels. The diagonal, labels that are right, is left out.
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for axis, matrix, title in [
    (axes[0], true_noise, "True noise"),
    (axes[1], model.noise_matrix_, "Found, with 90 % intervals"),
]:
    flips = np.ma.array(matrix, mask=np.eye(6, dtype=bool))
    axis.imshow(flips, cmap="Oranges", vmin=0, vmax=0.5)
    axis.set(title=title, xlabel="label given", ylabel="true class")
    axis.set(xticks=range(6), yticks=range(6), facecolor="0.9")
    axis.spines[:].set_visible(False)
for j, k in np.argwhere(true_noise * (1 - np.eye(6))):
    axes[0].text(k, j, f"{true_noise[j, k]:.0%}", ha="center", va="center")
low, high = model.noise_interval_
for j, k in np.argwhere(model.noise_matrix_ * (1 - np.eye(6)) > 0.02):
    interval = f"{100 * low[j, k]:.0f}–{100 * high[j, k]:.0f}"
    axes[1].text(
        k, j, f"{model.noise_matrix_[j, k]:.0%}\n{interval}",
        ha="center", va="center", fontsize=9,
    )  # fmt: skip
plt.show()
