"""Every public estimator, in the configurations that share no code with each other.

``tests/test_sklearn_contract.py`` holds each of them to scikit-learn's checks and to the project's.
Rounds are few and folds two, as the contract asks for agreement, not for accuracy.
"""

from dataclasses import dataclass, field

import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from rboost import (
    AdaRBoostClassifier,
    NoiseAwareClassifier,
    NoiseCalibratedClassifier,
    RBoostClassifier,
    RobustLogisticRegression,
)
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
from rboost.robust import (
    DepurationNeighborsClassifier,
    MultiAnnotatorLogisticRegression,
    RobustDiscriminantClassifier,
    RobustGaussianProcessClassifier,
    RobustKernelLogisticRegression,
    RobustMixtureDiscriminantClassifier,
)

# Public modules whose estimators take other tables than arrays and frames.
ELSEWHERE = {"dask": "estimators of Dask tables are checked in tests/dask"}

GIVEN = [[0.8, 0.2], [0.1, 0.9]]


@dataclass(frozen=True)
class Public:
    """A configured estimator, and scikit-learn's checks that it fails, with the reasons.

    What it takes (sparse rows, more than two classes, trusted rows) is read from its tags and from
    the signature of ``fit``, which the contract holds it to.
    """

    model: BaseEstimator
    failures: dict[str, str] = field(default_factory=dict)
    quick: bool = False  # one of the few whose scikit-learn checks are quick tests
    peers: bool = False  # needs a package that is no dependency


def _repeated_rows(reason: str) -> dict[str, str]:
    kinds = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in kinds}


DRAWN = _repeated_rows("random rows are drawn, and repeated rows are drawn as separate ones")
DEALT = _repeated_rows("rows are dealt into folds, and repeated rows are dealt as separate ones")

PUBLIC = {
    "logistic": Public(RobustLogisticRegression(n_init=1), quick=True),
    "logistic, alternating": Public(
        RobustLogisticRegression(solver="alternating", n_init=1, tol=1e-2)
    ),
    "random kernel": Public(RandomKernelClassifier(n_components=20), quick=True),
    "rboost": Public(RBoostClassifier(max_iter=2), DRAWN),
    "rboost, linear": Public(RBoostClassifier(engines="linear", max_iter=2), DRAWN),
    "rboost, logistic": Public(RBoostClassifier(engines="logistic", max_iter=2), DEALT),
    # On tables as small as those of the checks the default is the pool alone.
    "rboost, trees": Public(RBoostClassifier(engines="trees", max_iter=2), DEALT),
    "rboost, stacked": Public(RBoostClassifier(engines=["pool", "trees"], max_iter=2), DEALT),
    "rboost, xgboost": Public(
        RBoostClassifier(engines="xgboost", max_iter=2, n_jobs=1), DEALT, peers=True
    ),
    "algorithm 1": Public(AdaRBoostClassifier(n_estimators=4, mixing="paper"), quick=True),
    "algorithm 1, linear": Public(
        AdaRBoostClassifier(RobustLogisticRegression(n_init=1, tol=1e-2), n_estimators=2)
    ),
    "algorithm 1, rows drawn": Public(
        AdaRBoostClassifier(
            [DecisionTreeClassifier(max_depth=2), LogisticRegression()],
            n_estimators=2,
            sampling="weights",
            votes="probability",
            calibration="isotonic",
        ),
        DRAWN,
    ),
    "aware, in sample": Public(NoiseAwareClassifier(LogisticRegression(), cv=None, max_iter=2)),
    "aware": Public(NoiseAwareClassifier(LogisticRegression(), cv=2, max_iter=1, random_state=0)),
    "calibrated": Public(NoiseCalibratedClassifier(LogisticRegression(), cv=2, random_state=0)),
    "AdaCost": Public(AdaCostClassifier(n_estimators=3)),
    "bagged": Public(BaggedBoostClassifier(n_bags=2, n_estimators=3)),
    "cost-sensitive": Public(CostSensitiveBoostClassifier(n_estimators=3)),
    "eta": Public(EtaBoostClassifier(n_estimators=3)),
    "gentle": Public(GentleBoostClassifier(n_estimators=3), quick=True),
    "logit": Public(LogitBoostClassifier(n_estimators=3)),
    "modest": Public(ModestBoostClassifier(n_estimators=3)),
    # Their default is an estimate by a forest, half a second a fit.
    "outlier removal": Public(OutlierRemovalBoostClassifier(n_estimators=3, max_removed=1.0)),
    "robust boost": Public(RobustBoostClassifier(n_estimators=3, error_goal=0.2)),
    "depuration": Public(
        DepurationNeighborsClassifier(n_neighbors=3, n_agreeing=2, n_passes=2, n_voters=3)
    ),
    "annotators": Public(MultiAnnotatorLogisticRegression(max_iter=100)),
    "discriminant": Public(RobustDiscriminantClassifier(), quick=True),
    "discriminant, separate": Public(
        RobustDiscriminantClassifier(covariance="separate", noise_matrix=GIVEN)
    ),
    "gaussian process": Public(RobustGaussianProcessClassifier()),
    "gaussian process, given": Public(
        RobustGaussianProcessClassifier(noise_matrix=GIVEN, standardize=False)
    ),
    "kernel logistic": Public(RobustKernelLogisticRegression(n_components=20, n_init=1)),
    "kernel logistic, given": Public(
        RobustKernelLogisticRegression(
            kernel="polynomial", noise_matrix=GIVEN, standardize=False, n_init=1
        )
    ),
    "mixture": Public(RobustMixtureDiscriminantClassifier(n_components=4)),
    "mixture, number by BIC": Public(
        RobustMixtureDiscriminantClassifier(n_components="bic", covariance="shared")
    ),
}


def parametrized(slow=False):
    """A mark that runs a test with every configuration; ``slow`` for all but a few."""
    return pytest.mark.parametrize(
        "name",
        [
            pytest.param(
                name,
                marks=[pytest.mark.peers] * public.peers
                + [pytest.mark.slow] * (slow and not public.quick),
            )
            for name, public in PUBLIC.items()
        ],
    )
