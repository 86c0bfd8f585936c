"""Tables of the page about more than two classes: case by case, and tables as they came."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.estimators import CLEANLAB_ADJUSTED, CLEANLAB_MARGIN, NOISE_AWARE, POSTERIOR
from benchmarks.markdown import number, table
from benchmarks.methods import JUDGES
from benchmarks.suites import UNTOUCHED
from benchmarks.tables import Reader, Results, by_setting, entry, of_forest
from rboost._typing import Floats

CONFIDENT_LEARNING = "confident learning (cleanlab)"


def _ranking(one: str) -> Reader:
    return of_forest("rankings", one, "average precision")


OUR_RANKINGS: dict[str, Reader] = {
    "rBoost": entry("rBoost", "average precision"),
    f"{POSTERIOR} (forest)": _ranking(POSTERIOR),
}
THEIR_RANKINGS: dict[str, Reader] = {
    f"{name} (forest)": _ranking(name) for name in (CLEANLAB_MARGIN, CLEANLAB_ADJUSTED)
}


def cases_table(results: Results, settings: Sequence[str]) -> str:
    """Average precision on every table with every noise, beside the better of cleanlab's two."""
    noisy = [setting for setting in settings if setting != "clean"]
    datasets = dict.fromkeys(job.dataset for job in results if job.setting in noisy)
    readers = {**OUR_RANKINGS, **THEIR_RANKINGS}
    values = np.array(
        [
            [by_setting(results, reader, [setting], name)[0] for reader in readers.values()]
            for name in datasets
            for setting in noisy
        ]
    ).reshape(-1, len(readers))
    better = np.fmax(*values.T[len(OUR_RANKINGS) :])
    cases = [f"{name}, {setting}" for name in datasets for setting in noisy]
    values = np.column_stack([values, better])
    rows = [[case, *(number(v, 3) for v in row)] for case, row in zip(cases, values, strict=True)]
    rows.append(["**mean**", *(number(float(v), 3) for v in values.mean(axis=0))])
    sentences = [
        _furthest_behind(name, values[:, k] - better, cases) for k, name in enumerate(OUR_RANKINGS)
    ]
    text = table(["", *readers, "the better of cleanlab's two"], rows)
    return "\n".join([text, *(f"{one}\n" for one in sentences if one)])


def _furthest_behind(name: str, ahead: Floats, cases: Sequence[str]) -> str:
    """Where a ranking does worst against the better of cleanlab's two."""
    if not len(ahead) or np.isnan(ahead).all():
        return ""
    worst = int(np.nanargmin(ahead))
    return (
        f"{name} less the better of cleanlab's two: {np.nanmean(ahead):+.3f} on average, "
        f"{ahead[worst]:+.3f} at the least ({cases[worst]})."
    )


SHARES: dict[str, Reader] = {
    **{method: entry(method, "wrong share") for method in JUDGES},
    f"{NOISE_AWARE} (forest)": of_forest("noise", NOISE_AWARE, "wrong share"),
    "from": of_forest("noise", NOISE_AWARE, "lowest share"),
    "to": of_forest("noise", NOISE_AWARE, "highest share"),
    f"{CONFIDENT_LEARNING} (forest)": of_forest("noise", CONFIDENT_LEARNING, "wrong share"),
}


def untouched_table(results: Results) -> str:
    """Estimated share of wrong labels in percent, with its interval where there is one."""
    datasets = dict.fromkeys(job.dataset for job in results if job.setting == UNTOUCHED)
    rows = [
        [
            name,
            *(
                number(100 * by_setting(results, reader, [UNTOUCHED], name)[0])
                for reader in SHARES.values()
            ),
        ]
        for name in datasets
    ]
    return table(["", *SHARES], rows)
