"""How many labels are wrong, for boosters that have to know and are told nothing."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from rboost.noise.platt.scaling import fit_noise_aware_platt
from rboost.tables import Table
from rboost.wrappers.out_of_fold import out_of_fold_outputs, platt_scores


def share_of_wrong_labels(table: Table, seed: int) -> float:
    """By noise-aware Platt scaling of what a forest says of rows that it has not seen."""
    scorer = RandomForestClassifier(min_samples_leaf=5, random_state=seed)
    labels, weight = table.classes.astype(np.intp), table.sample_weight
    outputs = out_of_fold_outputs(scorer, table.X, labels, sample_weight=weight, random_state=seed)
    scores = platt_scores(scorer, outputs, table.prevalence)
    wrong = fit_noise_aware_platt(scores, labels, weight).issue_probability(scores, labels)
    return float(np.average(wrong, weights=weight))
