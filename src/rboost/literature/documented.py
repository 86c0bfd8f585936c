"""What a family of estimators shares, written once and shown in the docstring of each."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

FITTED = """\
Attributes
----------
classes_ : ndarray of shape (2,)
    The two class labels.
n_features_in_ : int
    Number of features seen in ``fit``.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features, when X had string column names.
"""


class Documented:
    """Puts shared parameters and attributes into the docstring of every subclass."""

    _shared_parameters: ClassVar[str] = ""
    _shared_attributes: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        doc = inspect.cleandoc(cls.__doc__ or "")
        before, _, after = doc.partition("Attributes\n----------\n")
        if cls._shared_parameters and "Parameters\n----------\n" not in before:
            before = f"{before.rstrip()}\n\nParameters\n----------"
        before = before.rstrip() + cls._shared_parameters
        cls.__doc__ = f"{before}\n\n{FITTED}{cls._shared_attributes}{after}"
