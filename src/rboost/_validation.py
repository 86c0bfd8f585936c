"""Validation shared by the estimators; requirements of parameters are declared as data.

Each check fails with one sentence that names the problem and the remedy.
"""

from __future__ import annotations

import contextlib
import numbers
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from rboost._typing import Floats, Integers


@dataclass(frozen=True)
class OneOf:
    """The value is one of a few names."""

    choices: tuple[Any, ...]

    def accepts(self, value: Any) -> bool:
        """Whether the value satisfies the requirement."""
        return isinstance(value, (str, bool, np.bool_)) and value in self.choices

    def __str__(self) -> str:
        names = ", ".join(repr(choice) for choice in self.choices)
        return names if len(self.choices) == 1 else f"one of {names}"


@dataclass(frozen=True)
class Number:
    """The value is a number above ``low`` (or ``low``, if ``closed``) and at most ``high``."""

    low: float
    integer: bool = False
    closed: bool = False
    finite: bool = True
    optional: bool = False
    high: float = np.inf

    def accepts(self, value: Any) -> bool:
        """Whether the value satisfies the requirement."""
        if value is None:
            return self.optional
        kind = numbers.Integral if self.integer else numbers.Real
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, kind):
            return False
        try:
            number = float(value)
        except OverflowError:  # an integer of hundreds of digits
            return False
        above = self.low <= number if self.closed else self.low < number
        return above and number <= self.high and (np.isfinite(number) or not self.finite)

    def __str__(self) -> str:
        kind = "an integer" if self.integer else "a finite number" if self.finite else "a number"
        bound = f" of at least {self.low}" if self.closed else f" above {self.low}"
        bound = bound if np.isfinite(self.low) else ""
        bound += f" and at most {self.high}" if np.isfinite(self.high) else ""
        return f"{kind}{bound}" + (", or None" if self.optional else "")


@dataclass(frozen=True)
class Threads:
    """The value is a number of threads, −1 for all, or None; 0 has no meaning."""

    def accepts(self, value: Any) -> bool:
        """Whether the value satisfies the requirement."""
        return value != 0 and Number(-np.inf, integer=True, optional=True).accepts(value)

    def __str__(self) -> str:
        return "a number of threads, -1 for all, or None"


@dataclass(frozen=True)
class Either:
    """The value satisfies one of several requirements."""

    requirements: tuple[OneOf | Number | Threads, ...]

    def accepts(self, value: Any) -> bool:
        """Whether the value satisfies the requirement."""
        return any(requirement.accepts(value) for requirement in self.requirements)

    def __str__(self) -> str:
        return ", or ".join(str(requirement) for requirement in self.requirements)


# True or False, or a whole number that says how much.
SWITCH = Either((OneOf((True, False)), Number(0, integer=True, closed=True)))
Requirements = Mapping[str, OneOf | Number | Threads | Either]


def check_parameters(estimator: BaseEstimator, requirements: Requirements) -> None:
    """Check the parameters of an estimator against what it declares."""
    for name, requirement in requirements.items():
        value = getattr(estimator, name)
        if not requirement.accepts(value):
            raise ValueError(
                f"{name} of {type(estimator).__name__} must be {requirement}, not {value!r}."
            )


def check_classifier(estimator: Any, example: str) -> None:
    """Fail with one sentence when a parameter is not a classifier."""
    is_instance = hasattr(estimator, "fit") and not isinstance(estimator, type)
    if not is_instance or not is_classifier(estimator):
        raise ValueError(
            f"estimator must be a scikit-learn classifier such as {example}, not {estimator!r}."
        )


def check_class_labels(y: Any, name: str = "y") -> tuple[NDArray[Any], Integers]:
    """Return the classes, two or more, sorted, and the position of each label among them."""
    y = check_labels(y, name)
    classes = np.unique(y)
    if len(classes) == 1:
        raise ValueError(
            f"{name} holds only one class, {classes.tolist()[0]!r}; a classifier needs rows of two "
            "classes."
        )
    return classes, np.searchsorted(classes, y)


def check_binary_labels(y: Any, name: str = "y") -> tuple[NDArray[Any], Integers]:
    """Return the two classes, sorted, and the position of each label among them."""
    classes, encoded = check_class_labels(y, name)
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"multiclass: {name} holds {len(classes)} classes; wrap the estimator in "
            "sklearn.multiclass.OneVsRestClassifier or keep two classes."
        )
    return classes, encoded


def check_labels(y: Any, name: str = "y") -> NDArray[Any]:
    """Return labels as a one-dimensional array of strings or numbers."""
    if y is None:
        raise ValueError(
            f"A classifier requires {name} to be passed, but the target {name} is None."
        )
    if hasattr(y, "to_pylist"):
        y = np.asarray(y)  # of Arrow, whose to_numpy refuses words and missing values
    elif hasattr(y, "to_numpy"):
        y = y.to_numpy()  # nullable columns of a frame keep whole numbers whole that way
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "O":
        y = plain_labels(y, name)
    if y.dtype.kind not in "biu":  # whole numbers are finite and can only be classes
        assert_all_finite(y, input_name=name)
        check_classification_targets(y)
    return y


def is_missing(value: Any) -> bool:
    """Whether a single value is None, NaN, pandas.NA or NaT."""
    # pandas.NA is recognised by the name of its type, as pandas may not be installed.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    differs = value != value  # NaN differs from itself; of an array this is no single answer
    return isinstance(differs, (bool, np.bool_)) and bool(differs)


def plain_labels(y: NDArray[Any], name: str = "y") -> NDArray[Any]:
    """Turn an array of objects into one of strings or numbers, if its values are of one kind."""
    missing = [is_missing(value) for value in y]
    if any(missing):
        raise ValueError(
            f"Input {name} contains NaN or None in row {missing.index(True)}; give every row a "
            "label or leave it out."
        )
    types = sorted({type(value).__name__ for value in y})
    if "str" in types and len(types) > 1:
        raise ValueError(
            f"{name} mixes labels of the types {' and '.join(types)}; convert them to one type."
        )
    return np.array(y.tolist())


# Why several labels a row have no context, and what to do instead.
NO_CONTEXT = (
    "context is for one label a row; of several annotators give each one column in every group of "
    "the context (such as 'ann, 2024' and 'ann, 2025'), which has its own noise matrix, or leave "
    "it out."
)


def are_annotations(y: Any) -> bool:
    """Whether y has several columns: the labels of several annotators."""
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, (list, tuple)) and len(y):
        first = y[0]
        is_row = isinstance(first, (list, tuple, np.ndarray))
        shape = (len(y), len(first)) if is_row else (len(y),)
    return shape is not None and len(shape) == 2 and shape[1] > 1


def read_annotations(y: Any) -> tuple[NDArray[Any], NDArray[np.bool_], list[str]]:
    """Labels of annotators, (n_rows, n_annotators), where they are missing, and who they are.

    The columns of a frame are named; others are numbered.
    """
    if isinstance(y, np.ma.MaskedArray):
        mask, y = np.ma.getmaskarray(y), np.array(y.data, dtype=object)
        y[mask] = None
    names = [str(name) for name in getattr(y, "columns", [])]
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    elif not isinstance(y, np.ndarray):
        y = np.array(y, dtype=object)  # a gap among strings would become the string "nan"
    if y.ndim != 2 or y.shape[1] == 0:
        raise ValueError(
            f"y must have a row per sample and a column per annotator, but its shape is {y.shape}."
        )
    missing = np.reshape([is_missing(label) for label in y.flat], y.shape).astype(bool)
    if missing.all():
        raise ValueError("y holds no label at all; at least some rows need one.")
    return y, missing, names or [f"annotator {a}" for a in range(1, y.shape[1] + 1)]


def check_annotations(y: Any) -> tuple[NDArray[Any], Integers, list[str]]:
    """The classes, the position of each label among them (−1 if missing), and the annotators."""
    values, missing, names = read_annotations(y)
    check_annotators(missing, names)
    classes, found = check_class_labels(values[~missing])
    codes = np.full(values.shape, -1, dtype=np.intp)
    codes[~missing] = found
    return classes, codes, names


def check_annotators(missing: NDArray[np.bool_], names: list[str]) -> None:
    """Fail with one sentence where an annotator labelled nothing, or two have one name."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"y has two annotators called {twice!r}; rename one of the columns.")
    silent = np.flatnonzero(missing.all(axis=0))
    if len(silent):
        raise ValueError(f"{names[silent[0]]!r} has labelled no row; leave this column of y out.")


def check_lengths(X: Any, labels: NDArray[Any], which: str = "") -> None:
    """Demand a label for every row of ``X`` and ``y``, or of ``X_trusted`` and ``y_trusted``."""
    shape = getattr(X, "shape", ())  # of an array without dimensions it is empty, too
    n_rows = shape[0] if shape else len(np.atleast_1d(np.asarray(X, dtype=object)))
    if n_rows != len(labels):
        raise ValueError(
            f"X{which} has {n_rows} rows but y{which} has {len(labels)}; pass one label a row."
        )


def check_order(values: Any, name: str, *others: Any) -> None:
    """Fail where pandas has the rows of ``values`` and of another table in another order.

    Rows belong together by position. Indices that are equal, or of other rows, say nothing.
    """
    indices: list[Any] = [getattr(each, "index", None) for each in (values, *others)]
    index = indices[0]
    for other in indices[1:]:
        if not (hasattr(index, "equals") and hasattr(other, "equals")) or index.equals(other):
            continue
        are_names = len(index) == len(other) and index.is_unique and other.is_unique
        if are_names and other.isin(index).all():
            raise ValueError(
                f"{name} has the rows of X or y in another order, by its index, but rows belong "
                f"together by position; pass {name}.loc[X.index]."
            )


def check_sample_weight(sample_weight: ArrayLike | None, encoded_labels: Integers) -> Floats:
    """Return one finite, non-negative weight per row, with some weight on each of the classes."""
    n_rows = len(encoded_labels)
    if sample_weight is None:
        return np.ones(n_rows)
    if isinstance(sample_weight, numbers.Real):
        sample_weight = np.full(n_rows, sample_weight)
    if isinstance(sample_weight, str):
        raise ValueError(
            f"sample_weight must hold one number per row, not {sample_weight!r}; scikit-learn's "
            "compute_sample_weight makes such an array."
        )
    weight: Floats = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must hold one number per row, so its shape must be ({n_rows},), "
            f"not {weight.shape}."
        )
    if np.any(weight < 0):
        raise ValueError(
            f"sample_weight must not be negative, but row {int(np.argmin(weight))} has "
            f"{weight.min():.6g}; use 0 to leave a row out."
        )
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not np.isfinite(total):
        raise ValueError("sample_weight has an infinite sum; divide it by its mean.")
    weighed = encoded_labels[weight > 0]
    if len(weighed) == 0 or np.ptp(weighed) == 0:
        raise ValueError(
            "sample_weight is zero on all rows but those of one class or none; give some rows of "
            "each class a positive weight."
        )
    return weight


def warn_of_one_class(predicted: NDArray[Any], remedy: str, stacklevel: int) -> None:
    """Warn when the training rows are all predicted as the same class."""
    if len(predicted) and np.all(predicted == predicted[0]):
        first = predicted[:1].tolist()[0]
        warnings.warn(
            f"Every training row is predicted as {first!r}: the features say too "
            f"little about the classes, or one is too rare; {remedy}",
            stacklevel=stacklevel,
        )


def warn_not_converged(estimator: Any, remedy: str, stacklevel: int) -> None:
    """Warn that a fit ended at the estimator's ``max_iter``."""
    warnings.warn(
        f"{type(estimator).__name__} stopped at max_iter={estimator.max_iter} before it converged; "
        f"{remedy}.",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )


@contextlib.contextmanager
def all_or_nothing(estimator: BaseEstimator) -> Iterator[None]:
    """Undo every change to the estimator when the block fails.

    A ``fit`` that fails thus leaves an unfitted object unfitted and a fitted one as it was.
    """
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def check_checked_labels(y_checked: Any, n_rows: int, classes: NDArray[Any]) -> Integers | None:
    """The position of each checked label among the classes, −1 where it is missing.

    None where no row was checked.
    """
    if y_checked is None:
        return None
    values = np.asarray(y_checked, dtype=object)
    if values.shape != (n_rows,):
        raise ValueError(
            f"y_checked must have one entry for each of {n_rows} rows, missing where nobody looked."
        )
    is_there = np.array([not is_missing(value) for value in values], dtype=bool)
    found = np.full(n_rows, -1, dtype=np.intp)
    found[is_there] = _positions(values[is_there], classes, "y_checked")
    return found if is_there.any() else None


def _positions(labels: NDArray[Any], classes: NDArray[Any], name: str) -> Integers:
    """The position of each label among the classes."""
    place = {label: position for position, label in enumerate(classes.tolist())}
    values = labels.tolist()
    unknown = next((value for value in values if value not in place), None)
    if unknown is not None:
        raise ValueError(
            f"{name} holds {unknown!r} but y holds {classes}; use the same labels in both."
        )
    return np.array([place[value] for value in values], dtype=np.intp)


def check_weighed(observed: Integers, weight: Floats, classes: NDArray[Any]) -> None:
    """Fail when all rows of a class have the weight 0."""
    without = np.flatnonzero(np.bincount(observed, weight, len(classes)) == 0)
    if len(without):
        raise ValueError(
            f"sample_weight is zero on all rows of class {classes[without].tolist()[0]!r}; give "
            "some rows of each class a positive weight."
        )


def as_counts(weight: Floats, largest: float = 1e6) -> Floats:
    """The weights, divided by their mean where they cannot be numbers of repetitions.

    A weight of 2 means a row that stands there twice, and calibration on 400 rows is surer than on
    4. Weights that sum to 1, or of any scale that no count has, can only mean shares.
    """
    mean = weight.mean()
    if 1 <= mean <= largest:
        return weight
    # To 40 binary digits, so that weights of any common scale come out the same.
    digits, exponents = np.frexp(weight / mean)
    return np.ldexp(np.round(np.ldexp(digits, 40)), exponents - 40)


def check_trusted_labels(X_trusted: Any, y_trusted: Any, classes: NDArray[Any]) -> Integers | None:
    """Return the position of each trusted label among the classes; None without trusted rows."""
    if X_trusted is None and y_trusted is None:
        return None
    if X_trusted is None or y_trusted is None:
        raise ValueError("X_trusted and y_trusted belong together; pass both or neither.")
    labels = check_labels(y_trusted, name="y_trusted")
    check_lengths(X_trusted, labels, "_trusted")
    return _positions(labels, classes, "y_trusted")


def on_host(array: Any) -> Any:
    """An array of CuPy as one of NumPy, a frame of cuDF as one of pandas; others as they are."""
    if type(array).__module__.partition(".")[0] == "cupy":
        return array.get()
    if type(array).__module__.partition(".")[0] == "cudf":
        return array.to_pandas()
    return array


def check_trusted_rows(X_trusted: Any, check_X: Callable[[Any], Any]) -> Any:
    """Validated trusted rows; errors name X_trusted."""
    try:
        return check_X(X_trusted)
    except ValueError as error:
        problem = " ".join(str(error).split())
        raise ValueError(
            f"X_trusted must have the columns of X and hold what X may hold: {problem}"
        ) from error
