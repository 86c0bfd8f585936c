"""What a base learner, trained on classes 0 and 1, says of a row: a vote h between −1 and +1."""

from __future__ import annotations

from typing import Any

import numpy as np

from rboost._typing import Floats


def class_vote(learner: Any, X: Any) -> Floats:
    """The predicted class as −1 or +1, as in the paper."""
    return 2.0 * np.asarray(learner.predict(X)) - 1.0


def probability_vote(learner: Any, X: Any) -> Floats:
    """2p − 1, where p is the learner's probability of class 1: unsure learners say so."""
    probability = learner.predict_proba(X)
    if probability.shape[1] == 1:  # a learner that saw a single class
        return np.full(len(probability), 2.0 * learner.classes_[0] - 1.0)
    return 2.0 * np.asarray(probability[:, 1], dtype=np.float64) - 1.0


VOTES = {"class": class_vote, "probability": probability_vote}
