"""The pages of the leaderboards: which tables they hold, and what is said about them."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.classes import cases_table, untouched_table
from benchmarks.figure import draw
from benchmarks.large import NOISES, large_page, sizes_page
from benchmarks.methods import INFORMED, METHODS, MIXED, TEXTS
from benchmarks.suites import Suite
from benchmarks.tables import (
    Results,
    calibration_table,
    dataset_table,
    error_table,
    noise_table,
    ranking_table,
)


def _errors(results: Results, suite: Suite, name: str, methods: list[str]) -> str:
    return error_table(results, name, methods, tuple(suite.settings), suite.averaged)


def _by_table(results: Results, settings: tuple[str, ...]) -> list[str]:
    if not any(job.method == "rBoost" for job in results):
        return []
    return ["## rBoost, table by table\n", dataset_table(results, "rBoost", settings)]


def two_class_page(results: Results, suite: Suite, title: str) -> str:
    """The page of the suites of two classes."""
    settings = tuple(suite.settings)
    parts = [
        "# Accuracy beside peers\n",
        f"{title}. symNN: NN % of each class flipped; asymNN: NN % of the negatives. "
        "Bold: methods of this package; italics: methods of other papers as it implements them.\n",
        "![Test error of every method, one panel for each kind of noise.](leaderboard.png)\n",
        "## Test error in percent, nothing known of the noise\n",
        _errors(results, suite, "error", [m for m in METHODS if m not in INFORMED]),
        "## For reference: the same methods told the true noise\n",
        "Methods that take a noise matrix are given it; the probabilities of the others are cut at "
        "the threshold that it asks for.\n",
        _errors(results, suite, "oracle", [m for m in METHODS if METHODS[m].oracle is not None]),
        "## For reference: rBoost told something else\n",
        "Twenty training rows with their true labels, or that all labels are right.\n",
        _errors(results, suite, "error", list(INFORMED)),
        "## Mean absolute error of the two flip rates\n",
        noise_table(results, settings),
        "## Ranking of wrong labels: average precision\n",
        ranking_table(results, "average precision", settings),
        "## Ranking of wrong labels: area under the ROC curve\n",
        ranking_table(results, "ROC-AUC", settings),
        "## Expected calibration error against true labels\n",
        calibration_table(results, settings),
        *_by_table(results, settings),
    ]
    return "\n".join(parts)


def classes_page(results: Results, suite: Suite, title: str) -> str:
    """The page of the suites of more than two classes."""
    settings = tuple(suite.settings)
    parts = [
        "# More than two classes beside peers\n",
        f"{title}. sym20: 20 % of each class, to all others alike; next30: 30 % of each class to "
        "the next one in sorted order; pairs: a third of the classes, each to one other, .1 to .4 "
        "of it. Bold: methods of this package; italics: methods of other papers as it implements "
        "them.\n",
        "![Test error of every method, one panel for each kind of noise.](classes.png)\n",
        "## Test error in percent, nothing known of the noise\n",
        _errors(results, suite, "error", list(METHODS)),
        "## Ranking of wrong labels: average precision, case by case\n",
        cases_table(results, settings),
        "## Ranking of wrong labels: average precision by kind of noise\n",
        ranking_table(results, "average precision", settings),
        "## Mean absolute error of the flip rates: the off-diagonal of the noise matrix\n",
        noise_table(results, settings),
    ]
    if suite.untouched:
        parts += [
            "## Share of wrong labels in tables as they came\n",
            "Classes that overlap are no wrong labels: in percent, what is found in the labels "
            "that the tables came with; from … to: the 90 % interval of the column before.\n",
            untouched_table(results),
        ]
    return "\n".join([*parts, *_by_table(results, settings)])


def _page_by_table(
    results: Results, suite: Suite, heading: str, introduction: str, methods: tuple[str, ...]
) -> str:
    """A page with a table of errors for each table of data."""
    settings = tuple(suite.settings)
    parts = [
        f"# {heading}\n",
        f"{introduction}\n",
        f"![Test error of every method, one panel for each kind of noise.]({suite.page}.png)\n",
        "## Test error in percent, nothing known of the noise\n",
        _errors(results, suite, "error", list(methods)),
        "## Ranking of wrong labels: average precision\n",
        ranking_table(results, "average precision", settings),
        "## Table by table: test error in percent, and average precision\n",
    ]
    for name in dict.fromkeys(job.dataset for job in results):
        of_table = {job: record for job, record in results.items() if job.dataset == name}
        parts += [f"{name}\n", _errors(of_table, suite, "error", list(methods))]
        parts.append(ranking_table(of_table, "average precision", settings))
    return "\n".join(parts)


def mixed_page(results: Results, suite: Suite, title: str) -> str:
    """The page of tables with words, dates, numbers and missing cells."""
    introduction = (
        f"{title}. Made-up tables with missing cells: rBoost gets the frames as they are, CatBoost "
        "is told which columns are categories and texts, and gets days, months and days of the "
        f"week for dates. {NOISES}"
    )
    heading = "Tables of words, dates and numbers"
    return _page_by_table(results, suite, heading, introduction, MIXED)


def texts_page(results: Results, suite: Suite, title: str) -> str:
    """The page of tables that are a column of texts."""
    introduction = (
        f"{title}. Questions to a bank by intent, sentences of film reviews by polarity. Peers "
        "have the words, pairs of words and parts of words that rBoost reads. symNN: NN % of each "
        "class, to all others alike; next30: 30 % of each class to the next one in sorted order, "
        "of two classes of the first one; pairs: a third of the classes, at least two, each to one "
        "other, .1 to .4 of it. TF-IDF + LR ranks labels by self-confidence, 1 − p(given label) "
        "out of fold."
    )
    return _page_by_table(results, suite, "Texts", introduction, TEXTS)


PAGES: dict[str, Callable[[Results, Suite, str], str]] = {
    "leaderboard": two_class_page,
    "classes": classes_page,
    "large": large_page,
    "sizes": sizes_page,
    "mixed": mixed_page,
    "texts": texts_page,
}


def render(results: Results, suite: Suite, title: str) -> tuple[str, bytes]:
    """The page and its figure."""
    page = PAGES[suite.page](results, suite, title)
    return page, draw(results, tuple(suite.settings), suite.averaged)
