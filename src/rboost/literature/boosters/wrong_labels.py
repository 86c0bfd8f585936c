"""How many labels are wrong, for boosters that have to know and are told nothing."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from rboost.fitting import Rows
from rboost.noise.inference import infer_noise, prevalence_of
from rboost.wrappers.base import out_of_fold_outputs, outputs_as_scores


def share_of_wrong_labels(rows: Rows, seed: int) -> float:
    """By what a forest says of rows that it has not seen, and the noise inferred from it."""
    scorer = RandomForestClassifier(min_samples_leaf=5, random_state=seed)
    labels, weight = rows.observed, rows.sample_weight
    outputs = out_of_fold_outputs(scorer, rows.X, labels, sample_weight=weight, random_state=seed)
    scores = outputs_as_scores(scorer, outputs, prevalence_of(labels, 2, weight))
    noise = infer_noise(scores, labels, sample_weight=weight)
    wrong = noise.issue_probability(scores, labels)
    return float(np.average(wrong, weights=weight))
