"""
Clean the labels, train again
=============================

An audit can mend a table: :meth:`rboost.LabelAudit.clean` relabels, drops or weighs down rows
whose labels are probably wrong. The example trains the same plain model on the labels as given, on
the three cleaned tables and on the true labels, and compares accuracies on rows that nobody
touched.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from rboost import RBoostClassifier, audit_labels
from rboost.datasets import make_twonorm
from rboost.noise import flip_labels, symmetric

# %%
# A table of 600 rows and 20 columns. A fifth of the labels is wrong.
X, y = make_twonorm(600, random_state=0)
given, is_wrong = flip_labels(y, symmetric(0.2), random_state=0)
X_test, y_test = make_twonorm(5000, random_state=1)
audit = audit_labels(X, given)

# %%
# A cleaned table has the columns, the mended label, and for every row where its label comes from.
relabelled = audit.clean("relabel", threshold=0.9)
relabelled["label_source"].value_counts()

# %%
# How many labels are wrong before and after:
mended = relabelled["label"].to_numpy(dtype=int)
print(
    f"as given {np.mean(given != y):.1%}, relabelled {np.mean(mended != y):.1%} wrong"
)

# %%
# The same model, trained five times. ``drop`` leaves rows out, ``weigh`` gives every row the
# probability that its label is right as a weight. Rows are counted from 1 unless they have names.
kept = audit.clean("drop", threshold=0.9)["row"].to_numpy(dtype=int) - 1
weight = audit.clean("weigh")["weight"].to_numpy()
model = HistGradientBoostingClassifier(random_state=0)
accuracy = {
    "labels as given": model.fit(X, given).score(X_test, y_test),
    "suspects dropped": model.fit(X[kept], given[kept]).score(X_test, y_test),
    "suspects weighed down": model.fit(X, given, weight).score(X_test, y_test),
    "suspects relabelled": model.fit(X, mended).score(X_test, y_test),
    "true labels": model.fit(X, y).score(X_test, y_test),
}

# %%
# None of this is needed for a model that allows for wrong labels itself:
robust = RBoostClassifier(random_state=0).fit(X, given)
accuracy["rBoost, labels as given"] = robust.score(X_test, y_test)

figure, axis = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
colors = ["C1", "C0", "C0", "C0", "0.6", "C2"]
bars = axis.barh(list(accuracy), list(accuracy.values()), color=colors)
axis.bar_label(bars, fmt="{:.1%}", padding=4)
axis.invert_yaxis()
axis.set(xlim=(0.5, 1), xlabel="accuracy on 5000 rows with true labels")
axis.xaxis.set_major_formatter("{x:.0%}")
axis.spines[["right", "top"]].set_visible(False)
plt.show()

# %%
# Never measure a model on labels that were cleaned without a person's check: where the audit
# decided, it is right by definition.
