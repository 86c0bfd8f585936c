"""Ways to estimate noise and to rank labels, compared on the same out-of-fold forest."""

from __future__ import annotations

from typing import Any

import numpy as np
from cleanlab.count import compute_confident_joint, estimate_latent
from cleanlab.rank import get_label_quality_scores

from benchmarks.counting import anchor_points, trusted_counting
from benchmarks.judge import judge_noise, judge_ranking, wrong_share
from benchmarks.methods import N_TRUSTED, forest
from benchmarks.paper.protocol import Trial
from benchmarks.store import Record
from rboost._typing import Floats, Integers
from rboost.noise import infer_noise
from rboost.noise.inference import prevalence_of
from rboost.wrappers.base import model_outputs, out_of_fold_outputs, outputs_as_scores

NOISE_AWARE = "noise-aware"
POSTERIOR = "posterior"
CLEANLAB_MARGIN = "cleanlab normalised margin"
CLEANLAB_ADJUSTED = "cleanlab adjusted"


def compare_estimators(trial: Trial) -> Record:
    """The noise by every estimator and the ranking by every score."""
    labels, n_classes = trial.observed, len(trial.noise_matrix)
    model = forest(trial.seed)
    outputs = out_of_fold_outputs(model, trial.X, labels, random_state=trial.seed)
    scores = outputs_as_scores(model, outputs, prevalence_of(labels, n_classes))
    probability = _of_each_class(outputs)
    clipped = np.clip(probability, 1e-6, 1 - 1e-6)  # cleanlab takes no 0
    inferred = infer_noise(scores, labels)
    matrices = {
        NOISE_AWARE: inferred.noise_matrix,
        "confident learning (cleanlab)": _cleanlab_noise(labels, clipped),
        "anchor points": anchor_points(probability),
    }
    if n_classes == 2:  # more classes need more rows than that
        matrices[f"counting on {N_TRUSTED} trusted rows"] = _by_trusted_rows(trial)
    noise = {
        name: judge_noise(matrix, inferred.interval() if name == NOISE_AWARE else None, trial)
        | {"wrong share": wrong_share(matrix, trial)}
        for name, matrix in matrices.items()
    }
    shares = ("wrong share", "lowest share", "highest share")
    found = inferred.wrong_share_interval(scores, labels)
    noise[NOISE_AWARE] |= dict(zip(shares, found, strict=True))
    rankings = {
        POSTERIOR: inferred.issue_probability(scores, labels),
        "self-confidence": 1 - probability[np.arange(len(labels)), labels],
        CLEANLAB_MARGIN: _cleanlab_ranking(labels, clipped, adjusted=False),
        CLEANLAB_ADJUSTED: _cleanlab_ranking(labels, clipped, adjusted=True),
    }
    return {
        "true share": float(np.mean(labels != trial.true)),
        "noise": noise,
        "rankings": {name: judge_ranking(issues, trial) for name, issues in rankings.items()},
    }


def trusted_rows(trial: Trial, number: int) -> Integers:
    """Training rows drawn at random, until there are as many as wanted and two of each class."""
    order = np.random.RandomState(trial.seed).permutation(len(trial.true))
    classes = range(len(trial.noise_matrix))
    needed = [np.flatnonzero(trial.true[order] == k)[1] + 1 for k in classes]
    return order[: max(number, *needed)]


def _of_each_class(outputs: Floats) -> Floats:
    """One column for each class, two of them too."""
    return np.column_stack([1 - outputs, outputs]) if outputs.ndim == 1 else outputs


def _by_trusted_rows(trial: Trial) -> Floats:
    trusted = trusted_rows(trial, N_TRUSTED)
    rest = np.setdiff1d(np.arange(len(trial.true)), trusted)
    model = forest(trial.seed).fit(trial.X[rest], trial.observed[rest])
    outputs = model_outputs(model, trial.X[trusted], len(trial.noise_matrix))
    return trusted_counting(_of_each_class(outputs), trial.true[trusted])


def _cleanlab_noise(labels: Any, probability: Floats) -> Floats:
    """cleanlab's noise matrix; it is indexed [observed, true]."""
    joint = compute_confident_joint(labels, probability)
    _, noise, _ = estimate_latent(joint, labels)
    return np.asarray(noise).T


def _cleanlab_ranking(labels: Any, probability: Floats, *, adjusted: bool) -> Floats:
    """How suspicious each label is by cleanlab's score, classes made alike or not."""
    return 1 - get_label_quality_scores(
        labels, probability, method="normalized_margin", adjust_pred_probs=adjusted
    )
