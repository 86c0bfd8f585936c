"""The claims of the paper, and what the measured numbers say of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.paper import judges
from benchmarks.paper.run import PLANS
from benchmarks.paper.tables import MIN_REPEATS, Measured


@dataclass(frozen=True)
class Verdict:
    """A claim, whether the measurements bear it out, and by how much."""

    claim: str
    verdict: str
    evidence: str


@dataclass(frozen=True)
class Claim:
    """What is claimed, the part of a run that can judge it, what that needs, and the judge."""

    text: str
    part: str
    needs: str
    judge: Callable[[Measured], judges.Finding | None]


def verdicts(measured: Measured) -> list[Verdict]:
    """Judge every claim by what was measured, and say of how many repeats and sets that is.

    Too few repeats for a test of significance give a hint: errors are compared on average.
    """
    return [_verdict(claim, measured) for claim in CLAIMS]


def _verdict(claim: Claim, measured: Measured) -> Verdict:
    found = claim.judge(measured)
    if found is None:
        missing = f"The part “{claim.part}” lacks results: {claim.needs} are needed."
        return Verdict(claim.text, "not judged", missing)
    done = [job for job in measured if job.part == claim.part]
    n_repeats, sets = len({job.repeat for job in done}), {job.dataset for job in done}
    n_sets = len({name for names, *_ in PLANS[claim.part] for name in names})
    verdict, evidence = found
    few = n_repeats < MIN_REPEATS
    if few or len(sets) < n_sets:
        repeats = f"{n_repeats} repeat{'s' if n_repeats > 1 else ''}"
        of_sets = f"{len(sets)} of {n_sets} sets" if n_sets > 1 else "the only set"
        verdict = f"{'a hint: ' if few else ''}{verdict}, on {repeats} of {of_sets}"
    return Verdict(claim.text, verdict, evidence)


CLAIMS = (
    Claim(
        "rLR converges faster than LR in AdaBoost.",
        "curves",
        "training errors of AdaBoost with LR and with rLR",
        judges.robust_learners_converge_faster,
    ),
    Claim(
        "A robust base learner alone does not withstand noise.",
        "tables",
        "all repeats, on at least one set, of AdaBoost and rBoost-fixed with rLR",
        judges.robust_learners_alone_do_not_withstand_noise,
    ),
    Claim(
        "rBoost with the true γ beats AdaBoost at 30 % asymmetric noise on every set.",
        "tables",
        "all repeats, on at least one set, of AdaBoost and rBoost-fixed",
        judges.known_noise_beats_adaboost,
    ),
    Claim(
        "With γ estimated the paper's way, rBoost is no better than AdaBoost.",
        "tables",
        "all repeats, on at least one set, of AdaBoost, rBoost and rBoost-fixed",
        judges.the_papers_estimate_does_not,
    ),
    Claim(
        "Table 5, row All: rBoost with the true γ and rLR is best, significantly.",
        "tables",
        "all repeats, on at least one set, of the paper's eight methods",
        judges.best_in_table_5,
    ),
    Claim(
        "20 trusted points repair the estimate at 30 % asymmetric noise.",
        "trusted",
        "errors with 0 and with 20 trusted rows on one of Banana, Image and Twonorm",
        judges.trusted_rows_repair_it,
    ),
    Claim(
        "Boundaries on Banana are smoother with rBoost at 30 % asymmetric noise.",
        "boundaries",
        "boundaries of AdaBoost and rBoost-fixed on Banana",
        judges.boundaries_are_smoother,
    ),
    Claim(
        "Ours: posterior mixing and exact negative weights, true γ, 30 % asymmetric noise.",
        "tables",
        "all repeats, on at least one set, of rBoost-posterior and rBoost-fixed",
        judges.posterior_mixing,
    ),
)
