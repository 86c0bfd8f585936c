"""How each claim of the paper is judged by what was measured: a verdict, and the numbers.

Every judge returns None where the results that it needs are not there.
"""

from __future__ import annotations

import numpy as np

from benchmarks.paper.figures import mean_curve, trusted_errors
from benchmarks.paper.methods import METHODS
from benchmarks.paper.run import CURVE_DATASETS
from benchmarks.paper.tables import MIN_REPEATS, Measured, complete_samples, significantly_lower
from rboost._typing import Floats

# A verdict and the evidence for it.
Finding = tuple[str, str]
# Section 4.3: test errors with 20 trusted rows.
PUBLISHED_TRUSTED = {"Banana": 15.74, "Image": 7.61, "Twonorm": 9.73}
# Base learners after which convergence is compared.
EARLY = 25


def _samples(measured: Measured, *methods: str) -> dict[str, list[Floats]]:
    """Errors at 30 % asymmetric noise by set, for the sets where all the methods are finished."""
    found = complete_samples(measured, "asym30", methods)
    return {name: list(row.values()) for name, row in found.items()}


def _means(samples: dict[str, list[Floats]]) -> list[float]:
    """Mean over the sets, by method."""
    return [float(np.mean(column)) for column in zip(*samples.values(), strict=True)]


def _clearly_lower(first: Floats, second: Floats, n_sets: int = 1) -> bool:
    """Significantly lower; on average, where each set has too few repeats to test it."""
    if min(len(first), len(second)) >= n_sets * MIN_REPEATS:
        return significantly_lower(first, second)
    return bool(first.mean() < second.mean())


def _clearly(n_repeats: int) -> str:
    return "significantly" if n_repeats >= MIN_REPEATS else "on average"


def _n_repeats(samples: dict[str, list[Floats]]) -> int:
    return len(next(iter(samples.values()))[0])


def _wins(samples: dict[str, list[Floats]]) -> tuple[int, int]:
    """On how many sets the first method has the lower mean, and on how many clearly so."""
    lower = sum(bool(first.mean() < second.mean()) for first, second, *_ in samples.values())
    return lower, sum(_clearly_lower(first, second) for first, second, *_ in samples.values())


def _say(holds: bool, partly: bool = False) -> str:
    return "reproduced" if holds else "partly reproduced" if partly else "not reproduced"


def _sentence(parts: list[str]) -> str:
    text = "; ".join(parts)
    return text[0].upper() + text[1:] + "."


def robust_learners_converge_faster(measured: Measured) -> Finding | None:
    """Training error after a few base learners."""
    early, parts = [], []
    for dataset in CURVE_DATASETS:
        plain, robust = (
            [
                result["train"]
                for job, result in measured.items()
                if (job.part, job.dataset, job.method) == ("curves", dataset, method)
            ]
            for method in ("AdaBoost LR", "AdaBoost rLR")
        )
        if plain and robust:
            curves = [mean_curve(plain), mean_curve(robust)]
            at = [curve[min(EARLY, len(curve)) - 1] for curve in curves]
            early.append(at[1] < at[0])
            parts.append(
                f"{dataset} {at[0]:.1f} and {at[1]:.1f} %, in the end {curves[0][-1]:.1f} and "
                f"{curves[1][-1]:.1f} %"
            )
    if not parts:
        return None
    return (
        _say(all(early), partly=any(early)),
        f"Training error after {EARLY} base learners, LR and rLR: {'; '.join(parts)}.",
    )


def robust_learners_alone_do_not_withstand_noise(measured: Measured) -> Finding | None:
    """AdaBoost with rLR against rBoost that knows the noise."""
    samples = _samples(measured, "rBoost-fixed rLR", "AdaBoost rLR")
    if not samples:
        return None
    (told, alone), (_, clear) = _means(samples), _wins(samples)
    return (
        _say(clear > len(samples) / 2, partly=clear > 0),
        f"At 30 % asymmetric noise AdaBoost with rLR has {alone:.1f} %, rBoost that knows the "
        f"noise {told:.1f} %, {_clearly(_n_repeats(samples))} less on {clear} of {len(samples)} "
        "sets (a majority is asked for).",
    )


def known_noise_beats_adaboost(measured: Measured) -> Finding | None:
    """Mean errors with each base learner, set by set."""
    parts, holds, partly = [], True, False
    for base in ("LR", "rLR"):
        samples = _samples(measured, f"rBoost-fixed {base}", f"AdaBoost {base}")
        if not samples:
            return None
        (told, plain), (lower, clear) = _means(samples), _wins(samples)
        holds, partly = holds and lower == len(samples), partly or lower > len(samples) / 2
        parts.append(
            f"with {base} {told:.1f} % against {plain:.1f} %, lower on {lower} of {len(samples)} "
            f"sets{f', significantly on {clear}' if _n_repeats(samples) >= MIN_REPEATS else ''}"
        )
    return (
        _say(holds, partly),
        _sentence(parts),
    )


def the_papers_estimate_does_not(measured: Measured) -> Finding | None:
    """How much of the gap between AdaBoost and known noise the estimate closes."""
    parts, closed = [], []
    for base in ("LR", "rLR"):
        methods = [f"{booster} {base}" for booster in ("rBoost", "AdaBoost", "rBoost-fixed")]
        samples = _samples(measured, *methods)
        if not samples:
            return None
        estimated, plain, told = _means(samples)
        closed.append((plain - estimated) / max(plain - told, 1e-9))
        parts.append(f"with {base} {estimated:.1f} % against {plain:.1f} % and {told:.1f} %")
    rates = [
        result["rates"][0]
        for job, result in measured.items()
        if (job.part, job.setting, job.method) == ("tables", "asym30", "rBoost rLR")
    ]
    return (
        _say(max(closed) < 0.25, partly=min(closed) < 0.25),
        f"Estimated, AdaBoost and told, {'; '.join(parts)}; the claim holds if less than a quarter "
        f"of the gap is closed. The mean estimate of γ01 is {np.mean(rates):.2f}, the truth .30.",
    )


def best_in_table_5(measured: Measured) -> Finding | None:
    """The errors of all sets and repeats together, as in the row All."""
    rivals = [name for name in METHODS if not METHODS[name].ours and name != "rBoost-fixed rLR"]
    samples = _samples(measured, "rBoost-fixed rLR", *rivals)
    if not samples:
        return None
    best, *others = (np.concatenate(column) for column in zip(*samples.values(), strict=True))
    beaten = [
        name
        for name, sample in zip(rivals, others, strict=True)
        if _clearly_lower(best, sample, len(samples))
    ]
    lowest = all(best.mean() < sample.mean() for sample in others)
    listed = ", ".join(
        f"{name} {sample.mean():.1f}" for name, sample in zip(rivals, others, strict=True)
    )
    return (
        _say(lowest and len(beaten) == len(rivals), partly=lowest or len(beaten) >= 4),
        f"{best.mean():.1f} % against {listed}; {_clearly(_n_repeats(samples))} less than "
        f"{len(beaten)} of {len(rivals)} ({', '.join(beaten) or 'none'}).",
    )


def trusted_rows_repair_it(measured: Measured) -> Finding | None:
    """Errors with 20 trusted rows against none."""
    found = {
        name: (np.array(sizes[20]), np.array(sizes[0]))
        for name, sizes in trusted_errors(measured).items()
        if sizes.keys() >= {0, 20}
    }
    if not found:
        return None
    improved = [name for name, pair in found.items() if _clearly_lower(*pair)]
    n_repeats = min(len(sample) for pair in found.values() for sample in pair)
    listed = ", ".join(
        f"{name} {without.mean():.1f} → {with_20.mean():.1f} % "
        f"(published {PUBLISHED_TRUSTED[name]:.1f})"
        for name, (with_20, without) in found.items()
    )
    return (
        _say(len(improved) == len(found), partly=bool(improved)),
        f"Error without → with them: {listed}; {_clearly(n_repeats)} less on "
        f"{len(improved)} of {len(found)} sets.",
    )


def boundaries_are_smoother(measured: Measured) -> Finding | None:
    """How long the boundary on Banana is."""
    lengths = [
        np.array(
            [
                result["length"]
                for job, result in measured.items()
                if (job.part, job.setting, job.method) == ("boundaries", "asym30", method)
            ]
        )
        for method in ("rBoost-fixed rLR", "AdaBoost rLR")
    ]
    if not all(len(sample) for sample in lengths):
        return None
    robust, plain = (sample.mean() for sample in lengths)
    return (
        _say(_clearly_lower(lengths[0], lengths[1])),
        f"The boundary is {robust:.0f} grid steps long with rBoost, {plain:.0f} with AdaBoost; "
        f"{_clearly(min(map(len, lengths)))} shorter is asked for.",
    )


def posterior_mixing(measured: Measured) -> Finding | None:
    """Our way of mixing against the paper's; nothing is claimed."""
    parts = []
    for base in ("LR", "rLR"):
        samples = _samples(measured, f"rBoost-posterior {base}", f"rBoost-fixed {base}")
        if not samples:
            return None
        (ours, paper), (lower, _) = _means(samples), _wins(samples)
        parts.append(
            f"with {base} {ours:.1f} % against {paper:.1f} %, "
            f"lower on {lower} of {len(samples)} sets"
        )
    return (
        "measured",
        _sentence(parts),
    )
