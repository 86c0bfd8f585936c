"""
One careless annotator
======================

Labels of a table often come from several hands. A column that says who labelled a row is no
feature, as the class does not depend on it, but it says how far to trust the label. Named as
``context`` it gives each annotator rates of their own, and the rows of a careless one are suspected
sooner.
"""

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification

from rboost import audit_labels

# %%
# Four people have labelled 1200 rows. Three of them err in 3 % of the cases, Dan in 30 %.
error_rate = {"Ann": 0.03, "Bob": 0.03, "Cleo": 0.03, "Dan": 0.3}
random = np.random.RandomState(0)
X, y = make_classification(
    1200, n_features=8, n_informative=5, class_sep=1.5, random_state=0
)
table = pd.DataFrame(X, columns=[f"x{k}" for k in range(8)])
table["annotator"] = random.choice(list(error_rate), len(y))
is_wrong = random.uniform(size=len(y)) < table["annotator"].map(error_rate)
given = np.where(is_wrong, 1 - y, y)

# %%
# The audit with the column as context. To compare, it is also left out, and taken for a feature
# like the others. Left to itself, the audit would warn of such a feature; we ask it not to.
audits = {
    "as context": audit_labels(table, given, context="annotator"),
    "left out": audit_labels(
        table.drop(columns="annotator"), given, check_columns=False
    ),
    "as a feature": audit_labels(table, given, check_columns=False),
}
audits["as context"]

# %%
# As many suspects as there are wrong labels: how many of them are wrong?
n_wrong = is_wrong.sum()
for name, audit in audits.items():
    rows = audit.suspects(n=n_wrong).rows
    print(f"{name:13} {is_wrong.iloc[rows].sum()} of {n_wrong} wrong labels found")

# %%
# The share of wrong labels of each annotator with its interval of 90 %. Diamonds are the truth.
import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
audits["as context"].plot_groups(ax=axis)
truth = is_wrong.groupby(table["annotator"]).mean()
axis.plot(
    truth, range(len(truth)), "D", color="black", markerfacecolor="white", label="truth"
)
axis.legend(loc="upper right")
plt.show()

# %%
# The same numbers for programs:
for group in audits["as context"].summary().groups:
    print(
        f"{group.name}: {group.wrong_share:.1%} ({group.low:.1%} to {group.high:.1%})"
    )
