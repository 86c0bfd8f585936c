"""
Frames with words and gaps, in scikit-learn's tools
===================================================

``RBoostClassifier`` takes data frames with words, categories, dates and missing values as they are,
and works in pipelines, searches and cross-validation. You also see what a cross-validated score is
worth when the labels that it is measured on are wrong.
"""

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from rboost import RBoostClassifier
from rboost.noise import asymmetric, flip_labels

# %%
# Customers with a plan (words, some of them missing), a region, a number and a date. Whether they
# leave depends on the plan, on how long they have been customers, and on calls to the support.
n = 1500
random = np.random.RandomState(0)
joined = pd.Timestamp("2020-01-01") + pd.to_timedelta(
    random.randint(0, 1800, n), unit="D"
)
customers = pd.DataFrame(
    {
        "plan": random.choice(["basic", "plus", "business"], n),
        "region": pd.Categorical(random.choice(["north", "south", "west"], n)),
        "support_calls": random.poisson(2, n).astype(float),
        "joined": joined,
    }
)
years = (pd.Timestamp("2025-01-01") - joined).days / 365
score = 1.5 * (customers["support_calls"] - 2) - 1.2 * (years - 2.5)
score += customers["plan"].map({"basic": 1.5, "plus": 0, "business": -2})
leaves = np.where(random.uniform(size=n) < expit(2 * score), "leaves", "stays")
customers.loc[random.uniform(size=n) < 0.1, ["plan", "support_calls"]] = None

# %%
# Of those who leave, 35 % are recorded as staying.
given, is_wrong = flip_labels(leaves, asymmetric(0.35, from_class=0), random_state=0)
train, test = slice(None, 1000), slice(1000, None)
print(f"{is_wrong.mean():.1%} of all labels are wrong")
customers.assign(label=given).head()

# %%
# A search over a pipeline, on the labels as given. Its first step makes a column of another one;
# nothing needs to be encoded or filled in.
add_month = FunctionTransformer(
    lambda table: table.assign(month=table["joined"].dt.month)
)
pipeline = make_pipeline(add_month, RBoostClassifier(engines="trees", random_state=0))
search = GridSearchCV(
    pipeline,
    {"rboostclassifier__learning_rate": [0.03, 0.1, 0.3]},
    scoring="neg_log_loss",
    cv=3,
)
search.fit(customers[train], given[train])
model = search.best_estimator_[-1]
print(search.best_params_)
low, high = model.noise_interval_[:, 0, 1]
print(
    f"{model.noise_matrix_[0, 1]:.0%} of those who leave are recorded as staying "
    f"(90 % interval {low:.0%} to {high:.0%})"
)

# %%
# Now the same pipeline beside one that believes every label: it is told that the noise matrix is
# the identity. Where the given labels are wrong, even a model that knows the truth counts as wrong:
# measured on them both look poor and much alike. Rows with true labels tell them apart.
aware = search.best_estimator_
believing = clone(aware).set_params(rboostclassifier__noise_matrix=np.eye(2))
believing.fit(customers[train], given[train])
scores = {
    name: (
        cross_val_score(pipe, customers[train], given[train], cv=3).mean(),
        pipe.score(customers[test], leaves[test]),
    )
    for name, pipe in {"noise-aware": aware, "believing": believing}.items()
}
for name, (on_given, on_true) in scores.items():
    print(f"{name:12} given labels {on_given:.1%}, true labels {on_true:.1%}")

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for name, color in [("believing", "C1"), ("noise-aware", "C0")]:
    axes[0].plot([0, 1], scores[name], "o-", color=color, label=name)
axes[0].set_xticks(
    [0, 1], ["given labels,\ncross-validated", "true labels,\nother rows"]
)
axes[0].set(title="Accuracy", xlim=(-0.3, 1.3))
axes[0].yaxis.set_major_formatter("{x:.0%}")
axes[0].legend()
axes[1].barh(aware[:-1].transform(customers).columns, model.feature_importances_)
axes[1].set(title="What the noise-aware model looks at", xlabel="share of importance")
axes[1].xaxis.set_major_formatter("{x:.0%}")
plt.show()
