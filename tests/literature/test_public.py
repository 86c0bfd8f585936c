"""What every estimator of another paper must be."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import get_tags

from rboost import rivals, robust

ESTIMATORS = [
    getattr(module, name) for module in (rivals, robust) for name in sorted(module.__all__)
]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)


@every_estimator
def test_it_is_for_two_classes_and_says_so(estimator):
    model = estimator()
    assert not get_tags(model).classifier_tags.multi_class
    X, y = np.random.RandomState(0).standard_normal((30, 2)), np.arange(30) % 3
    before = dict(vars(model))
    with pytest.raises(ValueError, match=r"Only binary classification .*3 classes") as caught:
        model.fit(X, y)
    assert "\n" not in str(caught.value)
    assert vars(model) == before


@every_estimator
def test_its_docstring_names_what_it_takes_and_has(estimator):
    """Parts that several share are put in from one place."""
    doc = estimator.__doc__
    for section in ("Parameters\n----------\n", "Attributes\n----------\n"):
        assert doc.count(section) == 1
    for name in inspect.signature(estimator).parameters:
        assert doc.count(f"\n{name} : ") == 1
    for name in ("classes_", "n_features_in_", "feature_names_in_"):
        assert doc.count(f"\n{name} : ") == 1
    assert clone(estimator()).get_params() == estimator().get_params()
