"""Several labels a row: who is right, which majorities are wrong, and models fitted to them.

    python -m benchmarks.crowd --data ../shared/crowd

reads sentences of film reviews and pairs of products, with labels of workers and true classes, and
writes ``docs/crowd/crowd.md`` and ``crowd.png`` beside it. It needs the extras ``audit``, ``plots``
and ``peers``. All methods see the same labels: one, two, three or all of a row, drawn at random,
and all with spammers added, who are 10, 20 or 40 % of the annotators.
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
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.markdown import table
from benchmarks.pages import write_page
from rboost import RBoostClassifier, annotation_columns
from rboost.noise.annotators import Statements, counted, fit_annotators
from rboost.packages import package
from rboost.robust import MultiAnnotatorLogisticRegression

PAGE = Path("docs/crowd/crowd.md")
FIGURE = "crowd.png"
TABLES = {"sentiment": "sentences", "products": "pairs of products"}
A_ROW = {"sentiment": (1, 2, 3, None), "products": (1, 2, None)}
KINDS = ("random", "constant", "reversed")
SPAMMERS = (("mixed", 0.1), ("mixed", 0.2), *((kind, 0.4) for kind in KINDS))
# Correlations of annotators' errors that are tried; the least probability in a loss.
TRIED = (0.0, 0.2, 0.35, 0.5)
LEAST = 1e-6
NONE = float("nan")
# The colour and marker of each method in the figure, and the range of accuracies shown there.
STYLES = {
    "majority": ("#7f7f7f", "o"),
    "Dawid–Skene": ("#1f77b4", "s"),
    "GLAD": ("#9467bd", "^"),
    "MACE": ("#8c564b", "v"),
    "CROWDLAB": ("#2ca02c", "D"),
    "Raykar": ("#ff7f0e", "P"),
    "rBoost": ("#d62728", "*"),
}
SHOWN_BELOW = 0.25


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


def drawn(
    said: np.ndarray, true: np.ndarray, a_row: int | None, kind: str, share: float, seed: int
) -> np.ndarray:
    """Labels with spammers added, of which some are kept in each row; columns with any label."""
    random = np.random.RandomState(seed)
    n_rows, n_annotators = said.shape
    n_added = round(n_annotators * share / (1 - share))
    added = np.full((n_rows, n_added), -1)
    for column, like in enumerate(random.randint(n_annotators, size=n_added)):
        n_labels = np.count_nonzero(said[:, like] >= 0)
        rows = random.choice(n_rows, n_labels, replace=False)
        own = KINDS[column % len(KINDS)] if kind == "mixed" else kind
        labels = {
            "random": random.randint(2, size=n_labels),
            "constant": np.full(n_labels, random.randint(2)),
            "reversed": np.where(random.uniform(size=n_labels) < 0.8, 1 - true[rows], true[rows]),
        }
        added[rows, column] = labels[own]
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


def crowd_kit(said: np.ndarray, name: str) -> np.ndarray:
    """GLAD (Whitehill et al. 2009) or MACE (Hovy et al. 2013), by crowd-kit: p(class)."""
    aggregation = package("crowdkit.aggregation", "peers")
    row, annotator = np.nonzero(said >= 0)
    labels = package("pandas").DataFrame(
        {"task": row, "worker": annotator, "label": said[row, annotator]}
    )
    model = aggregation.GLAD() if name == "GLAD" else aggregation.MACE(random_state=0)
    found = model.fit(labels).probas_.reindex(index=range(len(said)), columns=[0, 1])
    return np.asarray(found.fillna(0.5), dtype=float)


@dataclass(frozen=True, eq=False)
class Found:
    """p(class) of each row by one method, None without; and what fits a model to some rows.

    ``scores`` are held-out scores of rBoost.
    """

    q: np.ndarray | None
    fit: Callable[[np.ndarray], Any]
    reads_numbers: bool
    scores: np.ndarray | None = None


def methods(crowd: Crowd, said: np.ndarray) -> dict[str, Found]:
    """All methods, by name."""
    counts = counts_of(said)
    majority = (counts + 1e-3 * counts.sum(axis=0) / counts.sum()).argmax(axis=1)
    held_out = cross_val_predict(crowd.plain, crowd.numbers, majority, method="predict_proba")
    found: dict[str, Found] = {}

    def keep(name: str, q: np.ndarray) -> None:
        best = q.argmax(axis=1)
        found[name] = Found(
            q, lambda rows: clone(crowd.plain).fit(crowd.numbers[rows], best[rows]), True
        )

    keep("majority", _shares(counts + 1e-3 * held_out))
    keep("Dawid–Skene", dawid_skene(said))
    for name in ("GLAD", "MACE"):
        keep(name, crowd_kit(said, name))
    if (counts.sum(axis=1) > 1).any():  # it takes several labels of some rows
        keep("CROWDLAB", crowdlab(said, held_out))
    columns = np.where(said >= 0, said, np.nan)
    raykar = MultiAnnotatorLogisticRegression().fit(crowd.numbers, columns)
    positive = raykar.true_probability_
    found["Raykar"] = Found(
        np.column_stack([1 - positive, positive]),
        lambda rows: MultiAnnotatorLogisticRegression().fit(
            crowd.numbers[rows], _heard(columns[rows])
        ),
        True,
    )
    ours = RBoostClassifier(random_state=0)
    fitted = clone(ours).fit(crowd.X, columns)
    found["rBoost"] = Found(
        fitted.true_class_probability_,
        lambda rows: (
            fitted
            if len(rows) == len(said)
            else clone(ours).fit(crowd.X.iloc[rows], _heard(columns[rows]))
        ),
        False,
        fitted.held_out_scores_,
    )
    for name in ("majority", "Dawid–Skene"):
        q = found[name].q
        assert q is not None
        found[f"rBoost on {name}"] = Found(None, _on(ours, crowd, q.argmax(axis=1)), False)
    return found


def _heard(columns: np.ndarray) -> np.ndarray:
    """The columns of annotators who labelled any row."""
    return columns[:, ~np.isnan(columns).all(axis=0)]


def _on(model: Any, crowd: Crowd, labels: np.ndarray) -> Callable[[np.ndarray], Any]:
    """What fits a model to one label a row."""
    return lambda rows: clone(model).fit(crowd.X.iloc[rows], labels[rows])


def _tested(found: Found, crowd: Crowd) -> float:
    """The share of right predictions of other rows: of the test rows, else in five folds."""
    if crowd.test is not None:
        model = found.fit(np.arange(len(crowd.true)))
        return float(np.mean(model.predict(crowd.test[found.reads_numbers]) == crowd.test[2]))
    right = np.zeros(len(crowd.true), dtype=bool)
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(
        crowd.true, crowd.true
    ):
        rows = crowd.numbers[test] if found.reads_numbers else crowd.X.iloc[test]
        right[test] = found.fit(train).predict(rows) == crowd.true[test]
    return float(np.mean(right))


@dataclass(frozen=True)
class Result:
    """Of one method: accuracy of the consensus, its mean p, log-loss, AP, and test accuracy.

    ``losses`` are those of rBoost by the correlation of errors.
    """

    table: str
    a_row: str
    spammers: str
    method: str
    accuracy: float
    expected: float
    loss: float
    precision: float
    tested: float
    losses: tuple[float, ...] = ()


def measure(folder: Path, name: str, a_row: int | None, kind: str, share: float) -> list[Result]:
    """All methods on one draw of labels; ties of the majority go to the plain model's class.

    Models are fitted and tested where there are no spammers.
    """
    crowd = read_crowd(folder, name)
    said = drawn(crowd.said, crowd.true, a_row, kind, share, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = methods(crowd, said)
        tested = {one: _tested(own, crowd) if not share else NONE for one, own in found.items()}
    assert found["majority"].q is not None
    majority = found["majority"].q.argmax(axis=1)
    title = "–" if not share else f"{share:.0%} {kind}"
    results = []
    for method, own in found.items():
        if own.q is None and share:
            continue
        kept = "all" if a_row is None else str(a_row)
        figures = (NONE,) * 4 if own.q is None else _figures(own.q, crowd.true, majority)
        losses = () if own.scores is None else losses_by_correlation(said, own.scores, crowd.true)
        results.append(Result(name, kept, title, method, *figures, tested[method], tuple(losses)))
    return results


def _figures(
    q: np.ndarray, true: np.ndarray, majority: np.ndarray
) -> tuple[float, float, float, float]:
    """Accuracy and mean p of the consensus, log-loss of the true class, AP of wrong majorities."""
    each = np.arange(len(true))
    return (
        float(np.mean(q.argmax(axis=1) == true)),
        float(q.max(axis=1).mean()),
        _loss(q, true),
        float(average_precision_score(majority != true, 1 - q[each, majority])),
    )


def _loss(q: np.ndarray, true: np.ndarray) -> float:
    return float(-np.log(np.maximum(q[np.arange(len(true)), true], LEAST)).mean())


def losses_by_correlation(said: np.ndarray, scores: np.ndarray, true: np.ndarray) -> list[float]:
    """Log-loss of the true class, by the correlation that annotators' errors are taken to have."""
    row, annotator = np.nonzero(said >= 0)
    n_rows, n_annotators = said.shape
    own = Statements(row, annotator, said[row, annotator], n_rows, n_annotators, 2)
    fit = fit_annotators(own, scores)
    found = [counted(fit.posterior, own, fit.is_informed, one) for one in TRIED]
    return [_loss(q, true) for q in found]


def page(results: Sequence[Result]) -> str:
    """The page of figures."""
    losses = [
        [TABLES[one.table], one.a_row, one.spammers, *map(_cell, one.losses)]
        for one in results
        if one.losses
    ]
    parts = [
        "# Several labels a row",
        "Sentences of film reviews (4 999, 203 workers, 5.6 labels a row; Rodrigues, Pereira & "
        "Ribeiro 2013) and pairs of products (8 315, 176 workers, 3 labels a row; Wang et al. "
        "2012), with true classes. All methods see the same labels: one, two, three or all of a "
        "row, drawn at random. Spammers are added until they are the named share of annotators: "
        "random ones guess, constant ones always say the same, reversed ones are wrong in 80 % of "
        "cases, mixed are a third of each. rBoost is `RBoostClassifier().fit(X, Y)`, Raykar our "
        "`MultiAnnotatorLogisticRegression`; GLAD and MACE are those of crowd-kit, CROWDLAB that "
        "of cleanlab.",
        "- consensus: the share of rows whose most probable class is the true one\n"
        "- sure: the mean probability of the consensus, which should be that share\n"
        "- loss: the mean of −log p(true class); probabilities below 10⁻⁶ count as that\n"
        "- AP: average precision of wrong majorities\n"
        "- test: accuracy on rows that were not fitted to (sentences: 3 999 others; products: five "
        "folds by row) of a model fitted to the consensus: logistic regression on words "
        "(sentences), gradient boosting (products). Raykar and rBoost are models themselves; "
        "“rBoost on majority” and “on Dawid–Skene” are rBoost fitted to that one label a row.",
    ]
    parts.append(
        f"![Accuracy of the consensus over labels a row and over spammers]({FIGURE})\n\n"
        f"Each method's consensus; accuracies more than {SHOWN_BELOW:.2f} below the best are "
        "beyond the lower edge."
    )
    head = ["labels a row", "spammers", "method", "consensus", "sure", "loss", "AP", "test"]
    for name, title in TABLES.items():
        rows = [
            [one.a_row, one.spammers, one.method, *map(_cell, (
                one.accuracy, one.expected, one.loss, one.precision, one.tested))]
            for one in results if one.table == name
        ]  # fmt: skip
        parts += [f"## {title.capitalize()}", table(head, rows)]
    parts += [
        "## Correlation of errors",
        "The loss of rBoost's consensus, where the errors of annotators in one row are taken to "
        "have this correlation (0.35 is what is used; the most probable class does not depend on "
        "it):",
        table(["rows", "labels a row", "spammers", *map(str, TRIED)], losses),
    ]
    return "\n\n".join(parts)


def draw(results: Sequence[Result], path: Path) -> None:
    """Accuracy of the consensus by method: over labels a row, and over spammers; a row a table."""
    figure = package("matplotlib.figure").Figure(figsize=(11, 7.5), layout="constrained")
    axes = figure.subplots(2, len(TABLES), squeeze=False)
    for column, (name, title) in enumerate(TABLES.items()):
        own = [one for one in results if one.table == name and not np.isnan(one.accuracy)]
        panels = (
            ("a_row", [one for one in own if one.spammers == "–"], "labels a row", title),
            ("spammers", [one for one in own if one.a_row == "all"], "spammers", ""),
        )
        for ax, (axis, shown, label, heading) in zip(axes[:, column], panels, strict=True):
            places = list(dict.fromkeys(getattr(one, axis) for one in shown))
            for place, (method, (color, marker)) in enumerate(STYLES.items()):
                found = {getattr(one, axis): one.accuracy for one in shown if one.method == method}
                x = [places.index(one) for one in found]
                is_ours, is_line = method == "rBoost", axis == "a_row"
                shift = 0.0 if is_line else 0.1 * (place - (len(STYLES) - 1) / 2)
                ax.plot(
                    np.array(x) + shift, list(found.values()), color=color, marker=marker,
                    label=method, markersize=10 if marker == "*" else 6,
                    linestyle="-" if is_line else "none", linewidth=2.6 if is_ours else 1.3,
                    zorder=3 if is_ours else 2,
                )  # fmt: skip
            ax.set_xticks(range(len(places)), ["none" if one == "–" else one.replace(" ", "\n")
                                               for one in places])  # fmt: skip
            # Methods that collapse would flatten all others: they leave the picture.
            values = [one.accuracy for one in shown] or [1.0]
            least = max(min(values) - 0.015, max(values) - SHOWN_BELOW)
            ax.set_ylim(least, max(values) + 0.015)
            ax.grid(axis="y", alpha=0.3)
            ax.set_xlabel(label)
            ax.set_title(heading.capitalize())
            if column == 0:
                ax.set_ylabel("right consensus")
    handles, names = axes[0, -1].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def _cell(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.crowd", description="Several labels a row."
    )
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder of tables")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to write")
    given = parser.parse_args(arguments)
    cases: list[tuple[str, int | None, str, float]] = []
    for name in TABLES:
        cases += [(name, a_row, "none", 0.0) for a_row in A_ROW[name]]
        cases += [(name, None, kind, share) for kind, share in SPAMMERS]
    done = Parallel(given.jobs)(delayed(measure)(given.data, *case) for case in cases)
    results = [one for each in done for one in each]
    text = page(results)
    print(text)
    draw(results, given.page.parent / FIGURE)
    write_page(
        given.page, text, "benchmarks.crowd", arguments, ("cleanlab", "crowd-kit", "scikit-learn")
    )


if __name__ == "__main__":
    main()
