"""
Wrong labels of pictures, by any model's probabilities
======================================================

Whatever gives probabilities for rows that it was not trained on can be audited: models of texts, of
images, of sound. Here the model is a logistic regression on handwritten digits. We look at the
pictures whose labels are most suspicious.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from rboost import audit_labels
from rboost.noise import flip_labels, symmetric

# %%
# 1797 pictures of digits, of which one label in ten is replaced by another digit.
images, digits = load_digits(return_X_y=True)
given, is_wrong = flip_labels(digits, symmetric(0.1, 10), random_state=0)

# %%
# The probabilities must be of rows that the model was not fitted to; it knows the labels of others,
# the wrong ones too. ``cross_val_predict`` makes such probabilities.
model = LogisticRegression(C=1e-3, max_iter=1000)
probabilities = cross_val_predict(model, images, given, method="predict_proba", cv=5)
audit = audit_labels(None, given, probabilities=probabilities)
suspects = audit.suspects()
print(f"{len(suspects)} suspects, {is_wrong[suspects.rows].sum()} of them wrong")
print(f"expected precision {suspects.expected_precision:.1%}")
print(
    f"{is_wrong.sum()} labels are wrong in all, {audit.expected_wrong_labels:.0f} expected"
)

# %%
# The 32 most suspicious pictures with the label given and the one suggested. Blue suggestions are
# the true class.
import matplotlib.pyplot as plt

figure, axes = plt.subplots(4, 8, figsize=(8, 5), layout="constrained")
for axis, row in zip(axes.flat, suspects.rows, strict=False):
    suggested = audit.classes[audit.suggested[row]]
    axis.imshow(images[row].reshape(8, 8), cmap="gray_r")
    color = "C0" if suggested == digits[row] else "C3"
    axis.set_title(f"{given[row]} → {suggested}", color=color)
    axis.set_axis_off()
plt.show()

# %%
# At the other end of the list are suspects of which the audit is less sure. Pictures with a red
# frame have the right label after all.
figure, axes = plt.subplots(2, 8, figsize=(8, 2.7), layout="constrained")
for axis, row in zip(axes.flat, suspects.rows[-16:], strict=True):
    suggested = audit.classes[audit.suggested[row]]
    axis.imshow(images[row].reshape(8, 8), cmap="gray_r")
    axis.set_title(f"{given[row]} → {suggested}", color="C0" if is_wrong[row] else "C3")
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set(
        color="0.8" if is_wrong[row] else "C3", linewidth=1 + 2 * ~is_wrong[row]
    )
print(f"{np.sum(~is_wrong[suspects.rows])} suspects have a right label")
plt.show()
