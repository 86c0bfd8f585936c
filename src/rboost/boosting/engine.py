"""What Algorithm 1 asks of an engine, which owns the rows, their scores and the learners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rboost._typing import Floats
from rboost.boosting.sampling import Randomness
from rboost.boosting.votes import RowVotes
from rboost.losses import Sums
from rboost.tables import Rows


@dataclass(frozen=True)
class Start:
    """Where the rounds of a fit begin: the rows, and what ``n_rounds`` earlier rounds say of them.

    ``checked`` rows have known labels and are not trained on.
    """

    rows: Rows
    votes: RowVotes
    random: Randomness
    n_rounds: int = 0
    checked: Rows | None = None
    checked_scores: Floats | None = None


class Engine(Protocol):
    """The rows of a fit, wherever they are; a round calls the first three in this order.

    ``out_of_bag`` says that a row's score comes from learners that were not fitted to it, and that
    a learner is judged on the rows that it has not seen.
    """

    out_of_bag: bool

    def fit_learner(self, noise_matrix: Floats) -> None:
        """Fit the next base learner to the rows as the loss weighs them now, eq. (12) and (13)."""

    def judge(self) -> Sums:
        """Sum up how good that learner is."""

    def move(self, step: float) -> None:
        """Keep the learner and add its votes to the scores, eq. (15)–(18)."""

    def paper_noise(self, noise_matrix: Floats) -> Floats:
        """The next noise matrix as the paper has it: Platt's method, then eq. (19)–(22)."""

    @property
    def votes(self) -> RowVotes:
        """What the learners so far say of each row."""

    @property
    def checked_scores(self) -> Floats | None:
        """Scores of rows with known labels that are not trained on, (n_checked, K)."""

    def finish(self) -> Sequence[Any]:
        """Return the learners that were kept, and warn of what went wrong with any."""
