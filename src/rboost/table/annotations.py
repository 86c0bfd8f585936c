"""Labels of several annotators: from a list of labels to one column an annotator."""

from typing import Any

import numpy as np

from rboost._validation import is_missing
from rboost.packages import package
from rboost.table.columns import as_frame


def annotation_columns(
    table: Any,
    *,
    row: str = "row",
    annotator: str = "annotator",
    label: str = "label",
    rows: Any = None,
) -> Any:
    """Labels of several annotators as ``fit`` and ``audit_labels`` take them.

    Parameters
    ----------
    table : data frame or dict of columns
        One line a label: which row, who says it, and what. Of two labels of one annotator for one
        row the later one holds. Lines without a label are left out.
    row, annotator, label : str
        The names of these columns.
    rows : array-like of shape (n_rows,), default=None
        The names of the rows of X, in their order; rows that nobody labelled stay empty. None means
        all rows that have a label, in the order of the table.

    Returns
    -------
    labels : DataFrame of shape (n_rows, n_annotators)
        A column an annotator, None where one did not label a row; its index has the names of rows.

    Examples
    --------
    >>> from rboost import annotation_columns
    >>> said = {"row": [7, 7, 8], "annotator": ["ann", "bob", "bob"], "label": ["a", "b", "b"]}
    >>> annotation_columns(said).loc[7].tolist()
    ['a', 'b']
    """
    pandas = package("pandas")
    lines = pandas.DataFrame(table) if isinstance(table, dict) else as_frame(table)
    absent = [name for name in (row, annotator, label) if name not in lines.columns]
    if absent:
        raise ValueError(
            f"The list of labels has no column {absent[0]!r} but {', '.join(map(str, lines))}; "
            "name the columns of rows, annotators and labels."
        )
    said = lines[label].tolist()
    lines = lines[[not is_missing(one) for one in said]]
    nameless = lines[row].isna() | lines[annotator].isna()
    if nameless.any():
        line = int(np.argmax(nameless.to_numpy())) + 1
        raise ValueError(f"Label {line} has no row or no annotator; fill it in, or leave it out.")
    known = pandas.unique(lines[row]) if rows is None else np.asarray(rows)
    names = pandas.Index(known)
    if not names.is_unique:
        twice = names[names.duplicated()].tolist()[0]
        raise ValueError(f"Two rows are called {twice!r}; give each row of X a name of its own.")
    place = names.get_indexer(lines[row])
    if (place < 0).any():
        unknown = lines[row].tolist()[int(np.argmax(place < 0))]
        raise ValueError(
            f"A label is of the row {unknown!r}, which is none of rows; write names of rows the "
            "same way in both tables."
        )
    column, people = pandas.factorize(lines[annotator], sort=True)
    found = np.full((len(names), len(people)), None, dtype=object)
    found[place, column] = lines[label].tolist()
    return pandas.DataFrame(found, index=names, columns=[str(name) for name in people])
