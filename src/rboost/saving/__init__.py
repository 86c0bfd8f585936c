"""A fitted model in a file that holds numbers and words alone: nothing in it is run.

schema      what a file may hold, declared once for writing and reading
file        its bytes: header, checksum, JSON, blocks of numbers
kinds       models and their parts, declared
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rboost.saving import kinds as kinds  # declares all that it knows
from rboost.saving.file import read_file, write_file


def save(model: Any, path: str | Path, about: dict[str, Any] | None = None) -> None:
    """Write a fitted model, without what only its training needed, or leave the file as it was.

    ``about`` is what to know of the model, in terms of JSON: :func:`load_with_notes` gives it back.
    """
    write_file(Path(path), model, about or {})


def load(path: str | Path) -> Any:
    """Read a model that ``save`` of an estimator, or an audit, has written.

    Nothing in the file is run: it holds numbers and words, which are checked before they are used.
    A file that is no model, or in which a byte was changed, is refused with one sentence.

    Parameters
    ----------
    path : str or path
        The file, such as ``model.rboost``.

    Returns
    -------
    model : classifier
        It predicts what the saved one did. Attributes of training rows are not in a file.

    Examples
    --------
    >>> import rboost
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = rboost.RobustLogisticRegression().fit(X, y)
    >>> path = getfixture("tmp_path") / "model.rboost"
    >>> model.save(path)
    >>> bool((rboost.load(path).predict(X) == model.predict(X)).all())
    True
    """
    return load_with_notes(path)[0]


def load_with_notes(path: str | Path) -> tuple[Any, dict[str, Any]]:
    """The model, and what was said about it when it was saved."""
    return read_file(Path(path))
