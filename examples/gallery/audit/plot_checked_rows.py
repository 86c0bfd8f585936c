"""
What a few checked rows tell
============================

Without clean labels, wrong labels and overlapping classes can look the same, and the interval for
the noise is wide. Rows that a person has checked tell the two apart. Here we follow the estimate as
answers come in, for rows drawn at random and for the most suspicious ones.
"""

import numpy as np

from rboost import audit_labels
from rboost.datasets import make_banana
from rboost.noise import asymmetric, flip_labels

# %%
# 800 rows of two overlapping classes; a fifth of class 0 carries the label 1.
X, y = make_banana(800, random_state=0)
given, is_wrong = flip_labels(y, asymmetric(0.2, from_class=0), random_state=0)
audit = audit_labels(X, given)
audit

# %%
# A person answers, and ``with_checked`` brings the audit up to date. The model is not fitted again,
# so that this takes a tenth of a second. Answers are positions of classes, −1 where nobody looked.
# We print the interval for the share of class 0 that is labelled 1.
orders = {
    "drawn at random": np.random.RandomState(0).permutation(len(y)),
    "most suspicious first": audit.suspects(n=len(y)).rows,
}
n_answers = [0, 20, 40, 80, 160, 320]
rates = {}
for name, order in orders.items():
    for n in n_answers:
        answers = np.full(len(y), -1)
        answers[order[:n]] = y[order[:n]]
        rates[name, n] = rate = audit.with_checked(answers).summary().noise[1]
        print(
            f"{name}, {n:3} answers, {is_wrong[order[:n]].sum():2} corrections: "
            f"{rate.low:.2f} to {rate.high:.2f}"
        )

# %%
# Bars are intervals of 90 %. Whoever checks the most suspicious rows corrects more labels. It does
# no harm that these rows were not drawn at random: the inference knows which rows were answered.
# But the first few of them tell little about all others, and the interval stays wide for longer.
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(8, 3.8), sharey=True, layout="constrained")
places = np.arange(len(n_answers))
for axis, name in zip(axes, orders, strict=True):
    found = [rates[name, n] for n in n_answers]
    axis.axhline(0.2, color="C1", label="the truth")
    axis.vlines(
        places, [one.low for one in found], [one.high for one in found], linewidth=6
    )
    axis.plot(
        places, [one.rate for one in found], "o", color="white", markeredgecolor="C0"
    )
    axis.set_xticks(places, n_answers)
    axis.set(title=f"Rows {name}", xlabel="rows checked")
    axis.yaxis.set_major_formatter("{x:.0%}")
    axis.grid(axis="y", alpha=0.3)
axes[0].set(ylabel="share of class 0 that is labelled 1", ylim=(0, None))
axes[0].legend()
plt.show()

# %%
# To train on the answers as well, pass them as labels, missing where nobody looked:
# ``audit_labels(X, given, y_checked=...)``, or ``RBoostClassifier().fit(X, given, y_checked=...)``.
