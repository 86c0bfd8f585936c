"""Every public estimator passes scikit-learn's own checks, in every configuration that matters."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from rboost import RBoostClassifier, RobustLogisticRegression
from rboost.learners import RandomKernelClassifier
from rboost.rivals import (
    AdaCostClassifier,
    BaggedBoostClassifier,
    CostSensitiveBoostClassifier,
    EtaBoostClassifier,
    GentleBoostClassifier,
    LogitBoostClassifier,
    ModestBoostClassifier,
    OutlierRemovalBoostClassifier,
    RobustBoostClassifier,
)
from tests.models import algorithm_1

ESTIMATORS = [
    RobustLogisticRegression(),
    RobustLogisticRegression(noise_matrix=[[0.8, 0.2], [0.1, 0.9]]),
    RobustLogisticRegression(solver="alternating", n_init=1),
    RandomKernelClassifier(),
    RBoostClassifier(n_estimators=6),
    RBoostClassifier("trees", n_estimators=6),
    RBoostClassifier("xgboost", n_estimators=6, n_jobs=1),
    RBoostClassifier("pool", n_estimators=20),
    RBoostClassifier(
        [DecisionTreeClassifier(max_depth=2), LogisticRegression()],
        n_estimators=10,
        sampling="weights",
        max_samples=1.0,
        votes="class",
        calibration="isotonic",
    ),
    algorithm_1(n_estimators=10),
    algorithm_1(n_estimators=10, noise_matrix=np.eye(2), calibration="logistic"),
    algorithm_1(n_estimators=10, calibration="isotonic", mixing="paper"),
    algorithm_1(LogisticRegression(), n_estimators=5),
    algorithm_1(RobustLogisticRegression(n_init=1), n_estimators=3, learning_rate=0.5),
    algorithm_1(n_estimators=10, votes="probability", noise_matrix=np.eye(2)),
    algorithm_1(n_estimators=10, sampling="uniform", max_samples=0.7),
    algorithm_1(DecisionTreeClassifier(max_depth=2), n_estimators=10, sampling="weights"),
    GentleBoostClassifier(n_estimators=10),
    ModestBoostClassifier(n_estimators=10),
    LogitBoostClassifier(n_estimators=10),
    BaggedBoostClassifier(n_bags=3, n_estimators=10),
    OutlierRemovalBoostClassifier(n_estimators=10),
    OutlierRemovalBoostClassifier(n_estimators=10, max_removed=1.0),
    RobustBoostClassifier(n_estimators=10),
    RobustBoostClassifier(n_estimators=10, error_goal=0.2),
    AdaCostClassifier(n_estimators=10),
    AdaCostClassifier(n_estimators=10, cost_factor="outside"),
    CostSensitiveBoostClassifier(n_estimators=10),
    EtaBoostClassifier(n_estimators=10),
]


ROWS_ARE_DRAWN = dict.fromkeys(
    [
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ],
    "random rows are drawn, and repeated rows are drawn as separate ones",
)
ROWS_ARE_DEALT = dict.fromkeys(
    ROWS_ARE_DRAWN, "rows are dealt into folds, and repeated rows are dealt as separate ones"
)


def expected_failures(estimator):
    if isinstance(estimator, BaggedBoostClassifier):
        return ROWS_ARE_DRAWN
    if str(getattr(estimator, "estimator", None)) in ("trees", "xgboost"):
        return ROWS_ARE_DEALT
    if "estimate" in (
        getattr(estimator, "error_goal", None),
        getattr(estimator, "max_removed", None),
    ):
        reason = "repeated rows are in the same forest and in different folds"
        return dict.fromkeys(ROWS_ARE_DRAWN, reason)
    if getattr(estimator, "sampling", "none") == "none":
        if isinstance(getattr(estimator, "estimator", None), RobustLogisticRegression):
            reason = "rounds of a linear learner are summed in float32: 7 digits agree, not 8"
            return {"check_sample_weight_equivalence_on_dense_data": reason}
        return {}
    return ROWS_ARE_DRAWN


@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning",
    # Some checks draw labels that have nothing to do with the features.
    "ignore:Every training row is predicted as:UserWarning",
    "ignore:No base learner was kept:UserWarning",
    "ignore:.*rows of X repeat others:UserWarning",
    "ignore:RobustBoost ended at time:UserWarning",
)
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_estimator_check(estimator, check):
    check(estimator)
