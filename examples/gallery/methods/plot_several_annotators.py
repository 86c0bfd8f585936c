"""
Labels by several annotators
============================

When several people label each row, a majority vote counts every voice alike.
:class:`rboost.robust.MultiAnnotatorLogisticRegression` learns how reliable each annotator is, from
the labels and the features together, and weighs the voices accordingly. Not everybody needs to
label every row.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from rboost.noise import flip_labels, symmetric
from rboost.robust import MultiAnnotatorLogisticRegression

# %%
# Five annotators, from careful to worse than a coin: the last one says the opposite of the truth
# more often than not. Each of them labelled about half of the 600 rows.
random = np.random.RandomState(0)
X = random.standard_normal((600, 5))
true_coefficients = np.array([2.0, -2.0, 1.0, 0.0, 0.0])
y = (random.uniform(size=len(X)) < expit(X @ true_coefficients)).astype(int)
error_rates = np.array([0.05, 0.25, 0.35, 0.4, 0.6])
said = np.column_stack(
    [flip_labels(y, symmetric(rate), random_state=a)[0] for a, rate in enumerate(error_rates)]
).astype(float)
said[random.uniform(size=said.shape) < 0.5] = np.nan
has_label = ~np.isnan(said).all(axis=1)
print(f"{has_label.sum()} of {len(y)} rows have at least one label")

# %%
# Two ways to use them: an ordinary regression on the majority of each row, of which ties and rows
# without a label are left out, and one model of the classes and of everybody's errors.
share_of_ones = np.nanmean(said[has_label], axis=1)
is_decided = share_of_ones != 0.5
majority = (share_of_ones > 0.5)[is_decided]
ordinary = LogisticRegression().fit(X[has_label][is_decided], majority)
model = MultiAnnotatorLogisticRegression().fit(X, said)

X_test = random.standard_normal((5000, 5))
y_test = (random.uniform(size=5000) < expit(X_test @ true_coefficients)).astype(int)
best = np.mean((X_test @ true_coefficients > 0) == y_test)
print(f"majority vote           {ordinary.score(X_test, y_test):.1%}")
print(f"annotators modelled     {model.score(X_test, y_test):.1%}")
print(f"the best that there is  {best:.1%}")

# %%
# The majority is wrong more often than what the model believes of the same rows:
believed = model.true_probability_[has_label][is_decided] > 0.5
truth = y[has_label][is_decided]
print(f"majority: {np.mean(majority != truth):.1%} wrong")
print(f"model:    {np.mean(believed != truth):.1%} wrong")

# %%
# What it says of the annotators, for both kinds of errors.
rates = model.annotator_noise_[:, [0, 1], [1, 0]]
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
places = np.arange(len(error_rates))
axis.bar(places, error_rates, 0.8, color="0.85", label="the truth")
axis.plot(places - 0.12, rates[:, 0], "o", label="estimated, 0 labelled 1")
axis.plot(places + 0.12, rates[:, 1], "^", label="estimated, 1 labelled 0")
axis.axhline(0.5, color="0.5", linestyle="--", linewidth=1)
axis.set_xticks(places, [f"annotator {a + 1}" for a in places])
axis.set(ylabel="share of labels that are wrong", ylim=(0, 0.8))
axis.yaxis.set_major_formatter("{x:.0%}")
axis.legend(loc="upper left")
plt.show()
