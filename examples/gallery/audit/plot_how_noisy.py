"""
How noisy are my labels?
========================

:func:`rboost.estimate_noise_matrix` tells how often each class carries the label of the other,
without a single clean label, and how sure that is. Here it is asked about tables whose true rate we
know, without any clean label and with a hundred.
"""

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from rboost import estimate_noise_matrix
from rboost.datasets import make_banana
from rboost.noise import asymmetric, flip_labels

# %%
# Two interlocked bananas, of which class 0 carries the label 1 at rates from 0 to 40 %. The classes
# overlap, which is the difficulty: in the overlap, right labels look wrong too. The model whose
# out-of-fold scores are read may be any; a kernel machine suits this shape and is fast.
model = make_pipeline(Nystroem(gamma=1, random_state=0), LogisticRegression(C=10))
X, y = make_banana(1000, random_state=0)
true_rates = np.array([0.0, 0.1, 0.2, 0.3, 0.4])
X_right, y_right = make_banana(100, random_state=1)
trusted_rows = {
    "no clean label": {},
    "100 trusted rows": {"X_trusted": X_right, "y_trusted": y_right},
}

estimates = {}
for rate in true_rates:
    noisy, _ = flip_labels(y, asymmetric(rate, from_class=0), random_state=1)
    for name, trusted in trusted_rows.items():
        estimates[name, rate] = estimate_noise_matrix(
            X, noisy, model, **trusted, random_state=0
        )

# %%
# Printed, an estimate is two lines:
print(estimates["no clean label", 0.3])

# %%
# The figure has the rate of flips from class 0 to class 1. A bar is an interval of 90 %.
import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(7, 4.6), layout="constrained")
axis.plot([-0.02, 0.45], [-0.02, 0.45], color="0.6", linewidth=1, label="the truth")
for place, (name, marker) in enumerate(zip(trusted_rows, "os", strict=True)):
    found = [estimates[name, rate] for rate in true_rates]
    rates = np.array([one.noise_matrix[0, 1] for one in found])
    low, high = np.array([one.interval[:, 0, 1] for one in found]).T
    axis.errorbar(
        true_rates + 0.008 * (place - 0.5), rates,
        yerr=[np.maximum(rates - low, 0), np.maximum(high - rates, 0)],
        fmt=marker, capsize=3, label=name,
    )  # fmt: skip
    n_held = np.sum((low <= true_rates) & (true_rates <= high))
    print(
        f"{name:18} mean error {np.abs(rates - true_rates).mean():.3f}, "
        f"{n_held} of {len(true_rates)} intervals hold the truth"
    )
axis.set(xlabel="true rate of flips from 0 to 1", ylabel="estimated rate")
axis.legend()
axis.grid(alpha=0.3)
plt.show()
