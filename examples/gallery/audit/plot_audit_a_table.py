"""
Find the wrong labels of a table
================================

:func:`rboost.audit_labels` says how many labels of a table are wrong, and which rows to look
at first. You learn how to choose suspects, what their *expected precision* promises, how to ask for
reasons, and which pictures there are.
"""

# %%
# The table: 569 tumours with 30 measurements. We flip every seventh diagnosis or so, at random.
from sklearn.datasets import load_breast_cancer

from rboost import audit_labels
from rboost.noise import flip_labels, symmetric

measurements, is_benign = load_breast_cancer(return_X_y=True, as_frame=True)
diagnosis = is_benign.map({0: "malignant", 1: "benign"})
given, is_wrong = flip_labels(diagnosis, symmetric(0.15), random_state=3)
print(f"{is_wrong.sum()} of {len(given)} labels are wrong")

# %%
# One call audits the table. It knows the measurements and the labels as given, nothing else.
audit = audit_labels(measurements, given, label_name="diagnosis")
audit

# %%
# How many rows to check is up to you: a number, a probability, or the precision that you want. The
# audit says how many of them it expects to be wrong; here we can look up how many are.
for chosen in (
    audit.suspects(n=30),
    audit.suspects(threshold=0.9),
    audit.suspects(),
    audit.suspects(expected_precision=0.8),
):
    print(
        f"{len(chosen):3} suspects, precision {chosen.expected_precision:.0%} expected, "
        f"{is_wrong[chosen.rows].mean():.0%} true: "
        f"{is_wrong[chosen.rows].sum()} of {is_wrong.sum()} wrong labels"
    )

# %%
# Why is the first of them suspected? Reasons name columns whose value is unusual for the label that
# was given and usual for the one that is suggested.
first = audit.explain(audit.suspects().rows[0])
print(f"given {first.given!r}, suggested {first.suggested!r}")
for reason in first.reasons:
    print(
        f"{reason.column} is {reason.value}; of those labelled {first.given}", end=" "
    )
    print(f"usually {reason.typical}, {first.suggested} {reason.typical_suggested}")

# %%
# Pictures of the report. Each ``plot_`` method draws on the axes that it is given and returns
# a Display, as scikit-learn's do; ``audit.report()`` shows the whole report in a notebook.
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
audit.plot_noise_matrix(ax=axes[0])
audit.plot_distribution(ax=axes[1])
axes[0].set_title("How labels go wrong")
axes[1].set_title("How doubtful labels are")
plt.show()

# %%
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
audit.plot_gain(ax=axis)
axis.set_title("What checking rows is expected to find")
plt.show()

# %%
# How far can such promises be trusted? They differ from draw to draw of the wrong labels, and the
# one above was no unlucky one. As many suspects as there are wrong labels, for four draws:
for seed in range(4):
    other, wrong = flip_labels(diagnosis, symmetric(0.15), random_state=seed)
    redone = audit_labels(measurements, other, check_columns=False)
    chosen = redone.suspects(n=wrong.sum())
    print(
        f"draw {seed}: precision {chosen.expected_precision:.0%} expected, "
        f"{wrong[chosen.rows].mean():.0%} true"
    )

# %%
# Where the expected precision is far too low, the audit could not rule out that labels were right
# and classes overlap. The order of the suspects is good all the same.
