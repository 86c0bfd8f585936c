"""The claims of the paper, and what the measured numbers say of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rboost._typing import Floats
from rboost.datasets import BENCHMARKS
from rboost.paper.figures import mean_curve, trusted_errors
from rboost.paper.methods import METHODS
from rboost.paper.run import CURVE_DATASETS
from rboost.paper.tables import Measured, errors, significantly_lower

# Section 4.3: test errors with 20 trusted rows.
PUBLISHED_TRUSTED = {"Banana": 15.74, "Image": 7.61, "Twonorm": 9.73}


@dataclass(frozen=True)
class Verdict:
    """A claim, whether the measurements bear it out, and by how much."""

    claim: str
    verdict: str
    evidence: str


def verdicts(measured: Measured) -> list[Verdict]:
    """Judge every claim that enough was measured for."""
    judges: list[Callable[[Measured], Verdict | None]] = [
        _robust_learners_converge_faster,
        _robust_learners_alone_do_not_withstand_noise,
        _known_noise_beats_adaboost,
        _the_papers_estimate_does_not,
        _the_significant_order_of_table_5,
        _trusted_rows_repair_it,
        _boundaries_are_smoother,
        _posterior_mixing,
    ]
    return [verdict for judge in judges if (verdict := judge(measured)) is not None]


def _samples(measured: Measured, setting: str, method: str) -> dict[str, Floats]:
    """Errors by dataset, for the datasets that have them."""
    found = {name: errors(measured, setting, name, method) for name in BENCHMARKS}
    return {name: sample for name, sample in found.items() if len(sample)}


def _mean(samples: dict[str, Floats]) -> float:
    return float(np.mean([sample.mean() for sample in samples.values()]))


def _compared(measured: Measured, setting: str, first: str, second: str) -> tuple[int, int, int]:
    """On how many sets the first method has the lower mean, how many significantly, of how many."""
    one, other = (_samples(measured, setting, method) for method in (first, second))
    lower = sum(one[name].mean() < other[name].mean() for name in one)
    significant = sum(significantly_lower(one[name], other[name]) for name in one)
    return lower, significant, len(one)


def _say(holds: bool, partly: bool = False) -> str:
    return "reproduced" if holds else "partly reproduced" if partly else "not reproduced"


def _sentence(parts: list[str]) -> str:
    text = "; ".join(parts)
    return text[0].upper() + text[1:] + "."


def _robust_learners_converge_faster(measured: Measured) -> Verdict | None:
    """Rounds until the training error is as low as that of LR in the end."""
    rounds = {}
    for dataset in CURVE_DATASETS:
        curves = {}
        for method in ("AdaBoost LR", "AdaBoost rLR"):
            found = [
                result["train"]
                for job, result in measured.items()
                if (job.part, job.dataset, job.method) == ("curves", dataset, method)
            ]
            if found:
                curves[method] = mean_curve(found)
        if len(curves) == 2:
            goal = curves["AdaBoost LR"][-1] + 1.0
            rounds[dataset] = [int(np.argmax(curve <= goal)) + 1 for curve in curves.values()]
            if not np.any(curves["AdaBoost rLR"] <= goal):
                rounds[dataset][1] = len(curves["AdaBoost rLR"]) + 1
    if not rounds:
        return None
    faster = sum(robust < plain for plain, robust in rounds.values())
    listed = ", ".join(f"{name} {plain} → {robust}" for name, (plain, robust) in rounds.items())
    return Verdict(
        "rLR converges faster than LR in AdaBoost.",
        _say(faster == len(rounds), partly=faster > 0),
        f"Rounds until the training error is within a point of where LR ends, LR → rLR: {listed}.",
    )


def _robust_learners_alone_do_not_withstand_noise(measured: Measured) -> Verdict | None:
    clean, noisy = (_samples(measured, s, "AdaBoost rLR") for s in ("sym10", "asym30"))
    if not clean or not noisy:
        return None
    _, significant, n_sets = _compared(measured, "asym30", "rBoost-fixed rLR", "AdaBoost rLR")
    rise = _mean(noisy) - _mean(clean)
    return Verdict(
        "A robust base learner alone does not withstand noise.",
        _say(rise > 2 and significant > n_sets / 2, partly=rise > 2),
        f"AdaBoost with rLR goes from {_mean(clean):.1f} % at 10 % symmetric noise to "
        f"{_mean(noisy):.1f} % at 30 % asymmetric noise; rBoost that knows the noise is "
        f"significantly better on {significant} of {n_sets} sets.",
    )


def _known_noise_beats_adaboost(measured: Measured) -> Verdict | None:
    parts, holds, partly = [], True, False
    for base in ("LR", "rLR"):
        first, second = f"rBoost-fixed {base}", f"AdaBoost {base}"
        if not _samples(measured, "asym30", first):
            return None
        lower, significant, n_sets = _compared(measured, "asym30", first, second)
        holds, partly = holds and lower == n_sets, partly or lower > n_sets / 2
        means = [_mean(_samples(measured, "asym30", method)) for method in (first, second)]
        parts.append(
            f"with {base} lower on {lower} of {n_sets} sets, significantly on {significant} "
            f"({means[0]:.1f} % against {means[1]:.1f} %)"
        )
    return Verdict(
        "rBoost with the true γ beats AdaBoost at 30 % asymmetric noise on every set.",
        _say(holds, partly),
        _sentence(parts),
    )


def _the_papers_estimate_does_not(measured: Measured) -> Verdict | None:
    ours, plain = (_samples(measured, "asym30", m) for m in ("rBoost rLR", "AdaBoost rLR"))
    if not ours:
        return None
    _, significant, n_sets = _compared(measured, "asym30", "rBoost rLR", "AdaBoost rLR")
    rates = [
        result["rates"][0]
        for job, result in measured.items()
        if (job.part, job.setting, job.method) == ("tables", "asym30", "rBoost rLR")
    ]
    return Verdict(
        "With γ estimated the paper's way, rBoost is no better than AdaBoost.",
        _say(significant <= n_sets / 4),
        f"{_mean(ours):.1f} % against {_mean(plain):.1f} % with rLR, significantly better on "
        f"{significant} of {n_sets} sets; the mean estimate of γ01 is {np.mean(rates):.2f}, the "
        "truth .30.",
    )


def _the_significant_order_of_table_5(measured: Measured) -> Verdict | None:
    best = _samples(measured, "asym30", "rBoost-fixed rLR")
    if not best:
        return None
    rivals = [name for name in METHODS if not METHODS[name].ours and name != "rBoost-fixed rLR"]
    lowest, against = [], {}
    for name in best:
        means = {rival: errors(measured, "asym30", name, rival).mean() for rival in rivals}
        if best[name].mean() < min(means.values()):
            lowest.append(name)
    for rival in rivals:
        against[rival] = _compared(measured, "asym30", "rBoost-fixed rLR", rival)[1]
    listed = ", ".join(f"{rival} {count}" for rival, count in against.items())
    return Verdict(
        "Table 5: rBoost with the true γ and rLR is the best of the eight columns on every set.",
        _say(len(lowest) == len(best), partly=len(lowest) > len(best) / 2),
        f"Lowest mean on {len(lowest)} of {len(best)} sets ({', '.join(lowest) or 'none'}). "
        f"Sets on which it is significantly better, by rival: {listed}.",
    )


def _trusted_rows_repair_it(measured: Measured) -> Verdict | None:
    found = trusted_errors(measured)
    if not any(20 in sizes and 0 in sizes for sizes in found.values()):
        return None
    improved = [name for name, sizes in found.items() if np.mean(sizes[20]) < np.mean(sizes[0]) - 1]
    listed = ", ".join(
        f"{name} {np.mean(sizes[0]):.1f} → {np.mean(sizes[20]):.1f} % "
        f"(published {PUBLISHED_TRUSTED[name]:.1f})"
        for name, sizes in found.items()
    )
    return Verdict(
        "20 trusted points repair the estimate at 30 % asymmetric noise.",
        _say(len(improved) == len(found), partly=bool(improved)),
        f"Error without → with them: {listed}.",
    )


def _boundaries_are_smoother(measured: Measured) -> Verdict | None:
    lengths: dict[tuple[str, str], list[int]] = {}
    for job, result in measured.items():
        if job.part == "boundaries":
            lengths.setdefault((job.setting, job.method), []).append(result["length"])
    if not lengths:
        return None
    plain = np.mean(lengths["asym30", "AdaBoost rLR"])
    robust = np.mean(lengths["asym30", "rBoost-fixed rLR"])
    return Verdict(
        "Boundaries on Banana are smoother with rBoost at 30 % asymmetric noise.",
        _say(bool(robust < 0.9 * plain), partly=bool(robust < plain)),
        f"The boundary is {robust:.0f} grid steps long with rBoost, {plain:.0f} with AdaBoost.",
    )


def _posterior_mixing(measured: Measured) -> Verdict | None:
    parts = []
    for base in ("LR", "rLR"):
        ours, paper = f"rBoost-posterior {base}", f"rBoost-fixed {base}"
        if not _samples(measured, "asym30", ours):
            return None
        lower, _, n_sets = _compared(measured, "asym30", ours, paper)
        means = [_mean(_samples(measured, "asym30", method)) for method in (ours, paper)]
        parts.append(
            f"with {base} {means[0]:.1f} % against {means[1]:.1f} %, "
            f"lower on {lower} of {n_sets} sets"
        )
    return Verdict(
        "Ours: mixing by the posterior instead of eq. (10), true γ, 30 % asymmetric noise.",
        "measured",
        _sentence(parts),
    )
