"""The classifiers that are compared, each with settings that its users would start from.

Boosted trees of the peers run 150 rounds unless they say otherwise, forests have leaves of five
rows, the Gaussian process has a kernel of fixed width. No setting was chosen on these tables. Those
of RBoostClassifier were chosen on other tables, those of the suites named "development", under the
same kinds of noise.

``build(noise_matrix, seed)`` makes one; a noise matrix is given only for the reference rows that
are told the noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from catboost import CatBoostClassifier
from cleanlab.classification import CleanLearning
from lightgbm import LGBMClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from benchmarks.literature import LITERATURE
from benchmarks.mixed import WithPlainColumns
from benchmarks.paper.methods import METHODS as PAPER_METHODS
from benchmarks.texts import SelfConfident, linear_pipeline
from rboost import NoiseCalibratedClassifier, RBoostClassifier, RobustLogisticRegression
from rboost._typing import Floats

PAPER_ROUNDS = 150
N_TRUSTED = 20


@dataclass(frozen=True)
class Method:
    """A row of the leaderboard.

    ``oracle`` says what it would be with the true noise known: "threshold", its own probabilities
    with the threshold that the noise asks for; "told", built with the noise matrix; None, no such
    row. ``package`` is whose version its results depend on. ``n_trusted`` training rows are given
    with their true labels. ``settings`` are those it is measured at, None meaning all.
    """

    build: Callable[[Floats | None, int], Any]
    package: str
    oracle: str | None = "threshold"
    n_trusted: int = 0
    settings: tuple[str, ...] | None = None


def forest(seed: int) -> RandomForestClassifier:
    """The forest that several methods have inside."""
    return RandomForestClassifier(min_samples_leaf=5, random_state=seed)


def _paper(name: str, told: str | None = None) -> Method:
    def build(noise_matrix: Floats | None, seed: int) -> Any:
        column = PAPER_METHODS[name if noise_matrix is None or told is None else told]
        model = column.build(np.eye(2) if noise_matrix is None else noise_matrix, PAPER_ROUNDS)
        return model.set_params(random_state=seed)

    return Method(build, "rboost", oracle=None if told is None else "told")


def _rboost(noise_matrix: Floats | None, seed: int, engines: Any = "auto") -> Any:
    told: dict[str, Any] = {} if noise_matrix is None else {"noise_matrix": noise_matrix}
    return RBoostClassifier(engines=engines, random_state=seed, **told)


def _lightgbm(seed: int) -> LGBMClassifier:
    return LGBMClassifier(n_estimators=150, n_jobs=1, random_state=seed, verbose=-1)


def _catboost(seed: int, n_rounds: int) -> CatBoostClassifier:
    return CatBoostClassifier(
        iterations=n_rounds, thread_count=1, random_seed=seed, verbose=0, allow_writing_files=False
    )


def _noise_calibrated(base: Callable[[int], Any]) -> Method:
    def build(noise_matrix: Floats | None, seed: int) -> Any:
        told: Any = "estimate" if noise_matrix is None else noise_matrix
        return NoiseCalibratedClassifier(base(seed), noise_matrix=told, random_state=seed)

    return Method(build, "rboost", "told")


def _cleaned(base: Callable[[int], Any]) -> Method:
    def build(noise_matrix: Floats | None, seed: int) -> Any:
        return CleanLearning(base(seed), seed=seed, find_label_issues_kwargs={"n_jobs": 1})

    return Method(build, "cleanlab", oracle=None)  # its probabilities are of cleaned labels already


def _scaled(classifier: Any) -> Any:
    return make_pipeline(StandardScaler(), classifier)


def _robust_lr(noise_matrix: Floats | None, seed: int) -> Any:
    told: Any = "estimate" if noise_matrix is None else noise_matrix
    return _scaled(RobustLogisticRegression(noise_matrix=told, random_state=seed))


LEADERBOARD: dict[str, Method] = {
    "rBoost": Method(_rboost, "rboost", "told"),
    f"rBoost, {N_TRUSTED} trusted rows": Method(_rboost, "rboost", None, n_trusted=N_TRUSTED),
    # The measure of what awareness of noise does for the probabilities.
    "rBoost, told there is no noise": Method(
        lambda noise, seed: _rboost(np.eye(2), seed), "rboost", None, settings=("clean", "asym30")
    ),
    "noise-calibrated forest": _noise_calibrated(forest),
    "robust logistic regression": Method(_robust_lr, "rboost", "told"),
    "paper: rBoost rLR": _paper("rBoost rLR", told="rBoost-fixed rLR"),
    "paper: rBoost LR": _paper("rBoost LR", told="rBoost-fixed LR"),
    "paper: AdaBoost rLR": _paper("AdaBoost rLR"),
    "paper: AdaBoost LR": _paper("AdaBoost LR"),
    "random forest": Method(lambda noise, seed: forest(seed), "scikit-learn"),
    "extra trees": Method(
        lambda noise, seed: ExtraTreesClassifier(min_samples_leaf=5, random_state=seed),
        "scikit-learn",
    ),
    "SVC": Method(lambda noise, seed: _scaled(SVC(random_state=seed)), "scikit-learn", None),
    "15 nearest neighbours": Method(
        lambda noise, seed: _scaled(KNeighborsClassifier(15)), "scikit-learn"
    ),
    "Gaussian process": Method(lambda noise, seed: _scaled(_GaussianProcess()), "scikit-learn"),
    "logistic regression": Method(
        lambda noise, seed: _scaled(LogisticRegression()), "scikit-learn"
    ),
    "HistGradientBoosting": Method(
        lambda noise, seed: HistGradientBoostingClassifier(random_state=seed), "scikit-learn"
    ),
    "XGBoost": Method(
        lambda noise, seed: XGBClassifier(n_estimators=150, n_jobs=1, random_state=seed), "xgboost"
    ),
    "LightGBM": Method(lambda noise, seed: _lightgbm(seed), "lightgbm"),
    "CatBoost": Method(lambda noise, seed: _catboost(seed, 150), "catboost"),
    "cleanlab around a forest": _cleaned(forest),
    "AdaBoost": Method(
        lambda noise, seed: AdaBoostClassifier(
            DecisionTreeClassifier(max_leaf_nodes=3), n_estimators=150, random_state=seed
        ),
        "scikit-learn",
        oracle=None,  # its probabilities are all near ½
    ),
    **{name: Method(build, "rboost", oracle) for name, (build, oracle) in LITERATURE.items()},
}
# What is compared on large tables besides: the engines of rBoost alone, and what is around them.
LARGE_ALONE: dict[str, Method] = {
    "rBoost pool": Method(partial(_rboost, engines="pool"), "rboost", None),
    "rBoost trees": Method(partial(_rboost, engines="trees"), "rboost", None),
    "rBoost xgboost": Method(partial(_rboost, engines="xgboost"), "rboost", None),
    "noise-calibrated LightGBM": _noise_calibrated(_lightgbm),
    "noise-calibrated CatBoost, 300 rounds": _noise_calibrated(lambda seed: _catboost(seed, 300)),
    "CatBoost, 300 rounds": Method(lambda noise, seed: _catboost(seed, 300), "catboost"),
    "cleanlab around LightGBM": _cleaned(_lightgbm),
}
# What is compared on tables with words: those that read them without being told how.
MIXED_ALONE: dict[str, Method] = {
    f"CatBoost, native categories, {n_rounds} rounds": Method(
        lambda noise, seed, n_rounds=n_rounds: WithPlainColumns(_catboost(seed, n_rounds)),  # type: ignore[misc]
        "catboost",
        None,
    )
    for n_rounds in (150, 300)
}
# What is compared on texts: what twenty lines of scikit-learn do, and what is around them.
TEXTS_ALONE: dict[str, Method] = {
    "TF-IDF + LR": Method(lambda noise, seed: SelfConfident(), "scikit-learn", None),
    "cleanlab around TF-IDF + LR": _cleaned(lambda seed: linear_pipeline()),
    "noise-calibrated TF-IDF + LR": _noise_calibrated(lambda seed: linear_pipeline()),
}
METHODS = LEADERBOARD | LARGE_ALONE | MIXED_ALONE | TEXTS_ALONE
OURS = tuple(
    name
    for name, method in METHODS.items()
    if method.package == "rboost" and name not in LITERATURE and not name.startswith("paper")
)
# Told something that the others are not: a few true labels, or that there is no noise.
INFORMED = tuple(name for name in OURS if name.startswith("rBoost, "))
# Those that are compared on more than two classes.
SEVERAL = (
    "rBoost",
    "noise-calibrated forest",
    "noise-aware forest (EM)",
    "robust logistic regression",
    "random forest",
    "CatBoost",
    "LightGBM",
    "XGBoost",
    "HistGradientBoosting",
    "cleanlab around a forest",
)
# Those that are compared on large tables, and at sizes up to them.
LARGE = (
    "rBoost",
    *LARGE_ALONE,
    "CatBoost",
    "LightGBM",
    "XGBoost",
    "HistGradientBoosting",
    "random forest",
)
ENGINES = ("rBoost pool", "rBoost trees")
MIXED = ("rBoost", *ENGINES, *MIXED_ALONE)
TEXTS = ("rBoost", *TEXTS_ALONE)
# Those that are asked how many labels are wrong in tables as they came.
JUDGES = ("rBoost", "noise-calibrated forest", "cleanlab around a forest")


class _GaussianProcess(GaussianProcessClassifier):
    """A Gaussian process whose kernel is as wide as standardised rows are apart."""

    def fit(self, X: Any, y: Any) -> Any:
        self.set_params(kernel=RBF(np.sqrt(X.shape[1])), optimizer=None)
        return super().fit(X, y)


def package_version(package: str) -> str:
    """The version that a peer's results depend on."""
    return version(package)
