"""
Ten per cent of wrong labels against convex boosters
====================================================

Long & Servedio constructed a table that AdaBoost learns without error, until a tenth of its labels
is flipped at random: then boosters with a convex loss fail. The example shows what the table looks
like, and which methods survive the flips.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from rboost import RBoostClassifier, RobustLogisticRegression
from rboost.datasets import make_long_servedio
from rboost.noise import flip_labels, symmetric
from rboost.rivals import LogitBoostClassifier, RobustBoostClassifier

# %%
# 21 features of −1 or +1, whose majority is the class. A quarter of the rows agree with their class
# in all features (large margin), a quarter in 11 of the first (pullers), and half in 11 drawn at
# random (penalisers).
X, y = make_long_servedio(1000, random_state=0)
given, _ = flip_labels(y, symmetric(0.1), random_state=0)
X_test, y_test = make_long_servedio(4000, random_state=1)

# %%
# Boosters get stumps, trees that ask for one feature. Before labels are flipped, AdaBoost and
# logistic regression have no difficulty.
stump = DecisionTreeClassifier(max_depth=1)
adaboost = AdaBoostClassifier(stump, n_estimators=150, random_state=0)
for model in (adaboost, LogisticRegression()):
    error = 1 - model.fit(X, y).score(X_test, y_test)
    print(f"{type(model).__name__:20} error {error:.1%} with true labels")

# %%
# Now with a tenth of the labels flipped. LogitBoost cuts off the response of rows far on the wrong
# side, unless it is told not to. RobustBoost gives up rows too far away, as many as the
# ``error_goal`` allows that it finds by itself. The last two know that labels can be wrong.
boosting = {"max_splits": 1, "n_estimators": 150, "random_state": 0}
models = {
    "AdaBoost": adaboost,
    "logistic regression": LogisticRegression(),
    "LogitBoost, no cut-off": LogitBoostClassifier(max_response=np.inf, **boosting),
    "LogitBoost": LogitBoostClassifier(**boosting),
    "RobustBoost": RobustBoostClassifier(max_splits=1, random_state=0),
    "rBoost": RBoostClassifier(random_state=0),
    "robust logistic regression": RobustLogisticRegression(random_state=0),
}
errors = {name: 1 - model.fit(X, given).score(X_test, y_test) for name, model in models.items()}

# %%
# On the left every tenth row of the table: features that agree with the class are dark. The rows of
# large margin whose labels were flipped cost a convex loss so much that it gives up penalisers,
# whose features are at odds. On the right the errors of all models after the flips.
agrees = X * (2 * y - 1)[:, np.newaxis] > 0
kind = np.select([agrees.all(axis=1), agrees[:, :11].all(axis=1)], [0, 1], 2)
shown = np.argsort(kind, kind="stable")[::10]
sizes = np.bincount(kind[shown])

figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), width_ratios=(1, 1.6), layout="constrained")
axes[0].imshow(agrees[shown], aspect="auto", cmap="Blues", vmin=-0.3, vmax=1.5)
axes[0].set_yticks(sizes.cumsum() - sizes / 2, ["large\nmargin", "pullers", "penalisers"])
axes[0].hlines(sizes.cumsum()[:-1] - 0.5, -0.5, 20.5, color="white", linewidth=3)
axes[0].set(xlabel="feature", xticks=[0, 10, 20], xticklabels=[1, 11, 21])
axes[0].tick_params(axis="y", length=0)
colors = ["C1" if error > 0.1 else "C0" for error in errors.values()]
bars = axes[1].barh(list(errors), list(errors.values()), color=colors)
axes[1].bar_label(bars, fmt="{:.1%}", padding=4)
axes[1].invert_yaxis()
axes[1].set(xlabel="test error", xlim=(0, 0.4), title="A tenth of the labels is flipped")
axes[1].xaxis.set_major_formatter("{x:.0%}")
axes[1].spines[["right", "top"]].set_visible(False)
plt.show()
