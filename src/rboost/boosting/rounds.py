"""Algorithm 1 of the paper, on sums: an engine has the rows, here are the steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from rboost._typing import Floats
from rboost.boosting.engine import Engine
from rboost.boosting.ensemble import Ensemble
from rboost.noise import NoisePosterior

# Base learners may be random, so one that fails says little; this many in a row end the boosting.
USELESS_LEARNERS = 10

# Why boosting may end before its last round.
AT_MINIMUM = "round {}: every row is at the minimum of its loss"
USELESS = "round {}: {} base learners in a row no better than chance"
PERFECT = "round {}: a base learner without errors leaves nothing to boost"


@dataclass
class Progress:
    """What one round hands to the next, and one fit to a fit that goes on.

    ``n_rounds`` counts all rounds run, ``useless`` the learners in a row that were of no use;
    ``inferred`` is what was found out about the noise after the last round, if that was due.
    """

    noise_matrix: Floats
    n_rounds: int = 0
    useless: int = 0
    inferred: NoisePosterior | None = None


# Steps (5) and (6): changes the noise matrix of the progress, from what the engine knows.
NoiseUpdate = Callable[[Engine, Progress], None]


@dataclass
class Boosted:
    """What the rounds found, and why they ended; ``finished`` when more could add nothing."""

    steps: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    noise_matrices: list[Floats] = field(default_factory=list)
    n_rounds: int = 0
    stop_reason: str = ""
    finished: bool = False

    def ended(self, because: str) -> Boosted:
        """The same, with the reason."""
        self.stop_reason, self.finished = because.format(self.n_rounds, USELESS_LEARNERS), True
        return self


def boost(
    engine: Engine,
    progress: Progress,
    update_noise: NoiseUpdate,
    learning_rate: float,
    round_numbers: Iterable[int],
) -> Boosted:
    """Repeat rounds until the numbers run out or nothing more can be learnt.

    The numbers on the right are those of the steps of Algorithm 1; its weights are not kept, as
    they follow from the scores. A learner no better than chance gets the step 0 and is not kept.
    """
    found, skipped = Boosted(), 0
    for number in round_numbers:
        found.n_rounds = number
        engine.fit_learner(progress.noise_matrix)  # (1)
        sums = engine.judge()  # (2)
        if sums.at_minimum:
            return found.ended(AT_MINIMUM)
        progress.n_rounds += 1
        step = learning_rate * sums.step  # (3) eq. (14)
        if step > 0:
            engine.move(step)  # (4) eq. (15)–(18)
        if step > 0 or engine.out_of_bag:
            update_noise(engine, progress)  # (5), (6)
        if step == 0:
            skipped, progress.useless = skipped + 1, progress.useless + 1
            # Learners judged on rows they have not seen come and go; averaging them is the point.
            if progress.useless == USELESS_LEARNERS and not engine.out_of_bag:
                return found.ended(USELESS)
            continue
        progress.useless = 0
        found.steps.append(step)
        found.errors.append(sums.error)
        found.noise_matrices.append(progress.noise_matrix)
        if sums.perfect:
            return found.ended(PERFECT)
    without = f", {skipped} of them without a learner better than chance" if skipped else ""
    found.stop_reason = f"all {found.n_rounds} rounds done{without}"
    return found


def ensemble_of(engine: Engine, found: Boosted, n_classes: int) -> Ensemble:
    """The learners that were kept, with what is known of each."""
    noise_matrices = np.reshape(found.noise_matrices, (-1, n_classes, n_classes))
    return Ensemble(engine.finish(), np.array(found.steps), np.array(found.errors), noise_matrices)
