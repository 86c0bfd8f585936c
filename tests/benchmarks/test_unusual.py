"""What is planted is what the page says."""

import numpy as np

from benchmarks.planted_columns import load
from benchmarks.unusual import FEWEST, Case, foreign_cases, measure, report


def test_a_few_rows_of_the_class_left_out_have_labels_of_others():
    case = next(one for one in foreign_cases() if one.name.startswith("wine without"))
    X, y = load("wine")
    left_out = int(case.name.split()[-1]) - 1
    own = {tuple(row) for row in X[y == left_out].to_numpy().tolist()}
    rows = [tuple(row) for row in case.X.to_numpy().tolist()]
    assert [row in own for row in rows] == case.foreign.tolist()
    assert case.foreign.sum() == FEWEST
    assert left_out not in case.y


def test_far_rows_are_found_and_counted():
    random = np.random.RandomState(0)
    X, y = load("iris")
    foreign = np.zeros(len(y), dtype=bool)
    foreign[:2] = True
    X = X.copy()
    X.iloc[:2] = [[30.0, -30, 30, -30], [-30, 30, -30, 30]]
    y = np.where(foreign, random.randint(0, 3, len(y)), y)
    ordinary, found = measure(Case("iris", X, y, foreign))
    assert ordinary < 0.05 < found
    page = report({"iris": ordinary}, {"iris without class 1": (ordinary, found)})
    assert f"| iris without class 1 | {found:.1%} | {ordinary:.1%} |" in page
