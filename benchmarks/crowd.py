"""Several labels a row: who is right, which majorities are wrong, and models fitted to them.

    python -m benchmarks.crowd --data ../shared/crowd

reads sentences of film reviews and pairs of products, with labels of workers and true classes, and
writes ``docs/crowd/crowd.md``. It needs the extras ``audit`` and ``peers``. All methods see the
same labels: one, two, three or all of a row, drawn at random, and the same with spammers added, who
are 40 % of the annotators: half of them guess, half always say the same.
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.markdown import table
from benchmarks.pages import write_page
from rboost import RBoostClassifier, annotation_columns
from rboost.packages import package
from rboost.robust import MultiAnnotatorLogisticRegression

PAGE = Path("docs/crowd/crowd.md")
TABLES = {"sentiment": "sentences", "products": "pairs of products"}
A_ROW = {"sentiment": (1, 2, 3, None), "products": (1, 2, None)}
SPAMMERS = (0.0, 0.4)


@dataclass(frozen=True, eq=False)
class Crowd:
    """Rows for rBoost, the same in numbers for others, labels (n, A) as codes or −1, truth, test.

    ``plain`` is the model that majority, Dawid–Skene and CROWDLAB are combined with.
    """

    X: Any
    numbers: Any
    said: np.ndarray
    true: np.ndarray
    plain: Any
    test: tuple[Any, Any, np.ndarray] | None


def read_crowd(folder: Path, name: str) -> Crowd:
    """A table, its labels, and rows to test on where there are any."""
    pandas = package("pandas")
    rows = pandas.read_csv(folder / f"{name}.csv.gz")
    said = annotation_columns(pandas.read_csv(folder / f"{name}_answers.csv.gz"), rows=rows["row"])
    classes, true = np.unique(rows["true"], return_inverse=True)
    codes = np.full(said.shape, -1)
    for k, label in enumerate(classes):
        codes[(said == label).to_numpy()] = k
    if name == "products":
        X = similarity(rows)
        plain = HistGradientBoostingClassifier(learning_rate=0.05, random_state=0)
        filled = make_pipeline(StandardScaler()).fit_transform(X.fillna(0))
        return Crowd(X, filled, codes, true, plain, None)
    test = pandas.read_csv(folder / f"{name}_test.csv.gz")
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2).fit(rows["text"])
    place = np.searchsorted(classes, test["true"])
    tested = test[["text"]], words.transform(test["text"]), place
    plain = LogisticRegression(C=3, max_iter=500)
    return Crowd(rows[["text"]], words.transform(rows["text"]), codes, true, plain, tested)


def similarity(rows: Any) -> Any:
    """How alike both sides of each pair of products are, in a few numbers."""
    sides = [
        [f"{name} {'' if about != about else about}".lower()
         for name, about in zip(rows[f"name_{side}"], rows[f"description_{side}"], strict=True)]
        for side in "ab"
    ]  # fmt: skip
    names = [rows[f"name_{side}"].fillna("").str.lower().tolist() for side in "ab"]
    prices = [
        package("pandas").to_numeric(
            rows[f"price_{side}"].astype(str).str.replace(r"[$,]", "", regex=True), errors="coerce"
        )
        for side in "ab"
    ]
    found = {"price": np.log(prices[0] / prices[1])}
    for title, (first, second) in {"name": names, "all": sides}.items():
        for unit, grams in {"word": (1, 1), "char_wb": (3, 4)}.items():
            terms = TfidfVectorizer(analyzer=unit, ngram_range=grams, sublinear_tf=True)
            terms.fit(sorted({*first, *second}))
            cosine = terms.transform(first).multiply(terms.transform(second)).sum(axis=1)
            found[f"{title}, {unit}"] = np.asarray(cosine).ravel()
        pairs = [
            (set(_codes(one)), set(_codes(other))) for one, other in zip(first, second, strict=True)
        ]
        found[f"{title}, shared codes"] = [float(len(one & other)) for one, other in pairs]
        found[f"{title}, longest code"] = [
            float(max(map(len, one & other), default=0)) for one, other in pairs
        ]
        found[f"{title}, other codes"] = [float(len(one - other)) for one, other in pairs]
    return package("pandas").DataFrame(found)


def _codes(text: str) -> list[str]:
    """Words with digits, such as names of models, without signs between."""
    return [
        word for word in re.findall(r"\w+", re.sub(r"[-/]", "", text)) if re.search(r"\d", word)
    ]


def drawn(said: np.ndarray, a_row: int | None, spammers: float, seed: int) -> np.ndarray:
    """Labels with spammers added, of which some are kept in each row; columns with any label."""
    random = np.random.RandomState(seed)
    n_rows, n_annotators = said.shape
    n_added = round(n_annotators * spammers / (1 - spammers))
    added = np.full((n_rows, n_added), -1)
    for column, like in enumerate(random.randint(n_annotators, size=n_added)):
        n_labels = np.count_nonzero(said[:, like] >= 0)
        rows = random.choice(n_rows, n_labels, replace=False)
        same = random.randint(2)
        added[rows, column] = same if column % 2 else random.randint(2, size=n_labels)
    found = np.hstack([said, added])
    if a_row is not None:
        order = np.where(found >= 0, random.uniform(size=found.shape), 2.0).argsort(axis=1)
        late = np.argsort(order, axis=1) >= a_row
        found[late] = -1
    return found[:, (found >= 0).any(axis=0)]


def counts_of(said: np.ndarray) -> np.ndarray:
    """How many name each class of each row, (n_rows, 2)."""
    return np.stack([(said == k).sum(axis=1) for k in (0, 1)], axis=1).astype(float)


def dawid_skene(said: np.ndarray, n_steps: int = 100) -> np.ndarray:
    """EM of Dawid and Skene (1979) with 0.01 pseudo-counts: p(class of each row)."""
    q = _shares(counts_of(said) + 0.01)
    one_hot = np.stack([(said == k) for k in (0, 1)], axis=2).astype(float)
    for _ in range(n_steps):
        matrices = np.einsum("ij,iak->ajk", q, one_hot) + 0.01
        logs = np.log(_shares(matrices))
        found = np.einsum("iak,ajk->ij", one_hot, logs) + np.log(q.mean(axis=0))
        q = _shares(np.exp(found - found.max(axis=1, keepdims=True)))
    return q


def _shares(values: np.ndarray) -> np.ndarray:
    return values / values.sum(axis=-1, keepdims=True)


def crowdlab(said: np.ndarray, held_out: np.ndarray) -> np.ndarray:
    """CROWDLAB (Goh, Tkachenko & Mueller 2022), by cleanlab: p(class) of two classes."""
    pandas, cleanlab = package("pandas"), package("cleanlab.multiannotator", "peers")
    frame = pandas.DataFrame(np.where(said >= 0, said, np.nan))
    found = cleanlab.get_label_quality_multiannotator(frame, held_out, verbose=False)
    found = found["label_quality"]
    best = found["consensus_label"].to_numpy().astype(int)
    sure = found["consensus_quality_score"].to_numpy()
    return np.where(np.arange(2) == best[:, None], sure[:, None], 1 - sure[:, None])


def methods(crowd: Crowd, said: np.ndarray) -> dict[str, tuple[np.ndarray, float]]:
    """p(class) of each row, and the accuracy of a model on other rows, by method."""
    counts = counts_of(said)
    majority = (counts + 1e-3 * counts.sum(axis=0) / counts.sum()).argmax(axis=1)
    held_out = cross_val_predict(crowd.plain, crowd.numbers, majority, method="predict_proba")
    tied = counts + 1e-3 * held_out
    found: dict[str, tuple[np.ndarray, float]] = {}

    def keep(name: str, q: np.ndarray) -> None:
        model = clone(crowd.plain).fit(crowd.numbers, q.argmax(axis=1))
        found[name] = q, _tested(model.predict, crowd, 1)

    keep("majority", _shares(tied))
    keep("Dawid–Skene", dawid_skene(said))
    if (counts.sum(axis=1) > 1).any():  # it takes several labels of some rows
        keep("CROWDLAB", crowdlab(said, held_out))
    columns = np.where(said >= 0, said, np.nan)
    raykar = MultiAnnotatorLogisticRegression().fit(crowd.numbers, columns)
    positive = raykar.true_probability_
    found["Raykar"] = np.column_stack([1 - positive, positive]), _tested(raykar.predict, crowd, 1)
    ours = RBoostClassifier(random_state=0).fit(crowd.X, columns)
    found["rBoost"] = ours.true_class_probability_, _tested(ours.predict, crowd, 0)
    return found


def _tested(predict: Callable[[Any], Any], crowd: Crowd, form: int) -> float:
    """The share of right predictions of other rows; NaN where there are none."""
    if crowd.test is None:
        return float("nan")
    return float(np.mean(predict(crowd.test[form]) == crowd.test[2]))


@dataclass(frozen=True)
class Result:
    """Of one method: accuracy of the consensus, AP of wrong majorities, test accuracy, mean p."""

    table: str
    a_row: str
    spammers: float
    method: str
    accuracy: float
    precision: float
    tested: float
    expected: float


def measure(folder: Path, name: str, a_row: int | None, spammers: float) -> list[Result]:
    """All methods on one draw of labels; ties of the majority go to the plain model's class."""
    crowd = read_crowd(folder, name)
    said = drawn(crowd.said, a_row, spammers, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = methods(crowd, said)
    majority = found["majority"][0].argmax(axis=1)
    wrong, each = majority != crowd.true, np.arange(len(majority))
    return [
        Result(
            name, "all" if a_row is None else str(a_row), spammers, method,
            float(np.mean(q.argmax(axis=1) == crowd.true)),
            float(average_precision_score(wrong, 1 - q[each, majority])), tested,
            float(q.max(axis=1).mean()),
        )
        for method, (q, tested) in found.items()
    ]  # fmt: skip


def page(results: Sequence[Result]) -> str:
    """The page of figures."""
    parts = [
        "# Several labels a row",
        "Sentences of film reviews (4 999, 203 workers, 5.6 labels a row; Rodrigues, Pereira & "
        "Ribeiro 2013) and pairs of products (8 315, 176 workers, 3 labels a row; Wang et al. "
        "2012), with true classes. Majority, Dawid–Skene and CROWDLAB are combined with logistic "
        "regression on words (sentences) or gradient boosting (products), Raykar is our "
        "`MultiAnnotatorLogisticRegression`, rBoost `RBoostClassifier().fit(X, Y)`. The consensus "
        "is the most probable class of a row; AP is the average precision of wrong majorities; "
        "sure is the mean probability of the consensus, which should be its accuracy; test is the "
        "accuracy of a model on 3 999 other sentences.",
    ]
    head = ["labels a row", "spammers", "method", "consensus", "sure", "AP", "test"]
    for name, title in TABLES.items():
        rows = [
            [one.a_row, f"{one.spammers:.0%}", one.method, f"{one.accuracy:.3f}",
             f"{one.expected:.3f}", f"{one.precision:.3f}",
             "–" if np.isnan(one.tested) else f"{one.tested:.3f}"]
            for one in results if one.table == name
        ]  # fmt: skip
        parts += [f"## {title.capitalize()}", table(head, rows)]
    return "\n\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.crowd", description="Several labels a row."
    )
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder of tables")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to write")
    given = parser.parse_args(arguments)
    cases = [(name, k, share) for name in TABLES for k in A_ROW[name] for share in SPAMMERS]
    done = Parallel(given.jobs)(delayed(measure)(given.data, *case) for case in cases)
    text = page([one for each in done for one in each])
    print(text)
    given.page.parent.mkdir(parents=True, exist_ok=True)
    write_page(given.page, text, "benchmarks.crowd", arguments, ("cleanlab", "scikit-learn"))


if __name__ == "__main__":
    main()
