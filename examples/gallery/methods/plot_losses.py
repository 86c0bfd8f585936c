"""
What boosting minimises
=======================

AdaBoost's exponential loss punishes a row without bound the further it lies on the wrong side of
its label. The paper's mixture of exponentials and the likelihood of the observed label do not: they
know how likely a label is to be wrong. The example draws the three, and the weight that a row gets
from each.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import softmax

from rboost.losses import ExponentialLoss, LikelihoodLoss
from rboost.noise import observed_probability, symmetric

# %%
# Scores *F* = (−*H*, *H*) of rows that are all labelled 1: *H* = −3 is sure of class 0, *H* = 3 of
# class 1. One label in five is wrong.
H = np.linspace(-3, 3, 301)
scores = np.column_stack([-H, H])
labels = np.ones(len(H), dtype=int)
noise = symmetric(0.2)

# %%
# ``terms`` evaluates a loss at the scores of rows; without noise the mixture is AdaBoost's. Its
# values are the sums of its ``class_weights``, up to a scale that keeps them from overflowing. The
# likelihood is that of the label: what the scores say of the true class, seen through the noise.
exponential = ExponentialLoss().terms(labels, scores, np.eye(2))
mixture = ExponentialLoss().terms(labels, scores, noise)
likelihood = LikelihoodLoss().terms(labels, scores, noise)
curves = {
    "exponential (AdaBoost)": np.exp(exponential.log_scale) * exponential.class_weights.sum(axis=1),
    "mixture of exponentials": np.exp(mixture.log_scale) * mixture.class_weights.sum(axis=1),
    "likelihood": -np.log(observed_probability(softmax(scores, axis=1), noise)[:, 1]),
}

# %%
# Minus the slope of a loss is the pull on a row towards its label. The mixture is convex, like
# AdaBoost's loss, and pulls nearly as hard on the left, where wrong labels lie. But it is smallest
# at a finite score: no row is worth more certainty than its label deserves. The likelihood is not
# convex, and gives up a row that lies too far on the wrong side.
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for (name, loss), color in zip(curves.items(), ["C1", "C0", "C2"], strict=True):
    pull = -np.gradient(loss, H)
    axes[0].plot(H, loss, color, label=name)
    axes[1].plot(H, pull, color, label=name)
    print(f"{name:24} smallest at H = {H[loss.argmin()]:.2f}, pull at H = -3: {pull[0]:.2f}")
axes[0].set(title="Loss", ylim=(0, 6))
axes[1].set(title="Pull towards the label", ylim=(-2, 6))
axes[1].axhline(0, color="0.6", linewidth=1, zorder=0)
for axis in axes:
    axis.set(xlabel="score H of a row with the label 1")
    axis.grid(alpha=0.3)
axes[0].legend()
plt.show()
