"""
Several labels a row: who errs, who copies, whom to ask
=======================================================

:func:`rboost.audit_labels` takes one column of labels an annotator. You learn how good each
of them is, who copies from whom, which rows are in dispute, whom to ask next, and how many labels
a row are enough.
"""

# %%
# A table of 800 rows that six people label, each about a third of it. Ann is careful, Fred guesses,
# and Eve copies from Dan when he has labelled the row.
import numpy as np
import pandas as pd

from rboost.audit import audit_labels
from rboost.datasets import make_banana

random = np.random.RandomState(0)
X, y = make_banana(800, random_state=0)
true = np.where(y > 0, "ripe", "green")
error_rates = {
    "ann": 0.05,
    "bob": 0.15,
    "carl": 0.2,
    "dan": 0.3,
    "eve": 0.3,
    "fred": 0.5,
}
said = pd.DataFrame(index=range(len(X)), columns=list(error_rates), dtype=object)
for name, rate in error_rates.items():
    wrong = random.uniform(size=len(X)) < rate
    labels = np.where(wrong, np.where(y > 0, "green", "ripe"), true)
    has_label = random.uniform(size=len(X)) < 0.35
    said[name] = np.where(has_label, labels, None)
copies = said["eve"].notna() & said["dan"].notna()
said.loc[copies, "eve"] = said.loc[copies, "dan"]
print(said.head())

# %%
# One call. The label of a row is now that of the majority of its annotators.
audit = audit_labels(X, said, label_name="fruit")
summary = audit.summary()
for one in summary.annotators:
    print(
        f"{one.name:5} {one.n_labels} labels, {one.accuracy:.0%} right "
        f"({one.low:.0%} to {one.high:.0%}), {one.kind}"
    )

# %%
# Eve and Dan agree on all rows of both, although each errs in three of ten.
for pair in summary.copies:
    print(
        f"{pair.first} and {pair.second} agree on {pair.n_same} of {pair.n_rows} rows, where "
        f"{pair.expected_same:.0f} were to be expected"
    )

# %%
# So we leave Eve out. The consensus of the others is better than their majority; rows in dispute
# come first.
audit = audit_labels(X, said.drop(columns="eve"), label_name="fruit")
consensus = audit.consensus()
print(consensus.head())
labelled = consensus[consensus["fruit"] != ""]
truth = true[labelled["row"].astype(int) - 1]
print(f"majority right:  {np.mean(labelled['fruit'] == truth):.1%}")
print(f"consensus right: {np.mean(labelled['consensus'] == truth):.1%}")

# %%
# Whom to ask next, if nobody has time for more than two rows:
print(audit.ask_next(5, most_each=2))

# %%
# How often the consensus would be right with 1, 2, ... labels a row by these annotators, and how
# accurate each of them is.
import matplotlib.pyplot as plt

summary = audit.summary()
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
axes[0].plot(
    [one.n_labels for one in summary.labels_a_row],
    [one.accuracy for one in summary.labels_a_row],
    marker="o",
)
axes[0].axvline(summary.mean_labels, color="0.5", linestyle="--", linewidth=1)
axes[0].set(xlabel="labels a row (dashed: today)", ylabel="consensus right")
places = np.arange(len(summary.annotators))
for place, one in zip(places, summary.annotators, strict=True):
    axes[1].plot([one.low, one.high], [place, place], color="C0")
    axes[1].plot(one.accuracy, place, "o", color="C0")
    axes[1].plot(1 - error_rates[one.name], place, "|", color="C1", markersize=14)
axes[1].set_yticks(places, [one.name for one in summary.annotators])
axes[1].set(xlabel="share of labels that are right (orange: the truth)")
for axis in (axes[0].yaxis, axes[1].xaxis):
    axis.set_major_formatter("{x:.0%}")
plt.show()
