"""
What boosting minimises
=======================

AdaBoost's exponential loss always asks for more certainty: no score is good enough. The paper's
mixture of exponentials and the likelihood of the observed label know how likely a label is to be
wrong, and use that in two different ways. The example draws the three losses, and how hard each
pulls a row towards its label.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import softmax

from rboost.engines.rounds import ExponentialLoss, LikelihoodLoss, mixing_coefficients
from rboost.noise import observed_probability, symmetric
from rboost.noise.likelihood import Likelihood

# %%
# Scores *F* = (−*H*, *H*) of rows that are all labelled 1: *H* = −3 is sure of class 0, *H* = 3 of
# class 1. One label in five is wrong.
H = np.linspace(-3, 3, 301)
scores = np.column_stack([-H, H])
labels = np.ones(len(H), dtype=int)
noise = symmetric(0.2)

# %%
# The mixture weighs the exponentials of both classes by how likely each is, given the label. The
# likelihood is that of the label: what the scores say of the true class, seen through the noise.
doubt, trust = mixing_coefficients(noise)[1]
label_probability = observed_probability(softmax(scores, axis=1), noise)[:, 1]
curves = {
    "exponential (AdaBoost)": np.exp(-H),
    "mixture of exponentials": trust * np.exp(-H) + doubt * np.exp(H),
    "likelihood": -np.log(label_probability),
}

# %%
# Minus the slope of a loss is the pull on a row towards its label. The mixture is convex, like
# AdaBoost's loss, and pulls nearly as hard on the left, where wrong labels lie. But it is smallest
# at a finite score: no row is worth more certainty than its label deserves. The likelihood is not
# convex, and gives up a row that lies too far on the wrong side.
figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for (name, loss), color in zip(curves.items(), ["C1", "C0", "C2"], strict=True):
    pull = -np.gradient(loss, H)
    axes[0].plot(H, loss, color, label=name)
    axes[1].plot(H, pull, color, label=name)
    print(
        f"{name:24} smallest at H = {H[loss.argmin()]:.2f}, pull at H = -3: {pull[0]:.2f}"
    )
axes[0].set(title="Loss", ylim=(0, 6))
axes[1].set(title="Pull towards the label", ylim=(-2, 6))
axes[1].axhline(0, color="0.6", linewidth=1, zorder=0)
for axis in axes:
    axis.set(xlabel="score H of a row with the label 1")
    axis.grid(alpha=0.3)
axes[0].legend()
plt.show()

# %%
# In ``rboost.engines.rounds``, the two losses that boosting minimises, the pull on each row is the
# difference of its two class weights; those of exponentials are scaled, so that no score makes them
# overflow. A loss is given one column for each label: what the label says of the true class.
weight = np.ones(len(H))
mixing = Likelihood(labels, mixing_coefficients(noise).T, weight)
mixture = ExponentialLoss().terms(mixing, scores)
likelihood = LikelihoodLoss().terms(Likelihood(labels, noise, weight), scores)
for name, pull in {
    "mixture of exponentials": np.exp(mixture.log_scale)
    * mixture.class_weights
    @ [-1, 1],
    "likelihood": likelihood.class_weights @ [-1, 1],
}.items():
    difference = np.abs(pull + np.gradient(curves[name], H, edge_order=2))
    print(f"{name}: differs from minus the slope by {difference.max():.0e} at most")
