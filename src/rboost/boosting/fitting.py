"""The rounds of a fit, which a later fit can continue, and what is made of them."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from rboost._typing import Floats
from rboost._validation import warn_of_one_class
from rboost.boosting.decisions import (
    DecisionRule,
    VoteCalibration,
    decide_by_sign,
    decide_by_votes,
)
from rboost.boosting.engine import Start
from rboost.boosting.engines import engine_for
from rboost.boosting.ensemble import Ensemble
from rboost.boosting.members import BoostedLearners
from rboost.boosting.models import Model, VotingModel
from rboost.boosting.noise_updates import infer, noise_update
from rboost.boosting.parameters import (
    BoostingParameters,
    check_number_of_classes,
    noise_update_name,
    pool_of,
)
from rboost.boosting.rounds import Progress, boost, ensemble_of
from rboost.boosting.sampling import Randomness
from rboost.boosting.votes import RowVotes
from rboost.encoding import for_pool, pool_source
from rboost.noise import NoisePosterior, symmetric
from rboost.progress import track
from rboost.tables import Rows

# Where the paper's estimation of the flip rates starts; it does not say. It must not be 0, which
# the multiplicative updates never leave. Inference starts from labels that are all right.
INITIAL_RATES = {"paper": 0.1, "noise-aware": 0.0}
# Rounds of Algorithm 1, unless told otherwise.
ROUNDS = 300


@dataclass(frozen=True)
class Training:
    """Where the rounds of a fit have come to; ``fitted_on`` is what a fit that goes on must share.

    ``n_iter`` counts the rounds, ``checked_scores`` are those of rows that are not trained on.
    """

    fitted_on: tuple[Any, ...]
    votes: RowVotes
    progress: Progress
    random: Randomness
    ensemble: Ensemble = field(default_factory=Ensemble)
    n_iter: int = 0
    stop_reason: str = ""
    finished: bool = False
    checked_scores: Floats | None = None


@dataclass(frozen=True)
class Fitted:
    """What a fit found; rounds that a later fit can continue leave their ``training``.

    ``held_out`` are scores of rows that were not fitted to, and ``noise`` is what was inferred from
    them; both are None where all rows judge all learners.
    """

    model: Model
    noise_matrix: Floats
    noise: NoisePosterior | None
    held_out: Floats | None
    n_iter: int
    stop_reason: str
    training: Training | None = None


def begin(
    parameters: BoostingParameters, rows: Rows, classes: NDArray[Any], fixed_noise: Floats | None
) -> Training:
    """Before the first round."""
    n_rows, out_of_bag = len(rows.observed), bool(parameters.out_of_bag)
    start = symmetric(INITIAL_RATES[parameters.noise_estimator], rows.n_classes)
    noise_name = "estimate" if fixed_noise is None else fixed_noise.tolist()
    return Training(
        (n_rows, classes.tolist(), noise_name, out_of_bag),
        RowVotes.none_yet(n_rows, rows.n_classes, out_of_bag),
        Progress(start if fixed_noise is None else fixed_noise),
        Randomness(check_random_state(parameters.random_state)),
    )


def resume(parameters: BoostingParameters, begun: Training, training: Training | None) -> Training:
    """After the last round of an earlier fit; fail when one as ``begun`` cannot continue it."""
    if training is None:
        raise ValueError(
            "warm_start continues Algorithm 1 alone, but this model is from a file, which leaves "
            "training out, or has trees or several engines; set warm_start=False to fit anew."
        )
    if begun.fitted_on != training.fitted_on:
        raise ValueError(
            "warm_start continues a fit on the same rows, classes and noise_matrix, but one of "
            "them changed; set warm_start=False to fit anew."
        )
    if (parameters.n_estimators or ROUNDS) < training.n_iter:
        raise ValueError(
            f"warm_start can only add rounds, but n_estimators={parameters.n_estimators} is fewer "
            f"than the {training.n_iter} already run; raise n_estimators."
        )
    # A copy, so that a fit that fails or is interrupted leaves the generator where it was.
    return replace(training, random=copy.deepcopy(training.random))


def run_rounds(
    parameters: BoostingParameters,
    training: Training,
    engine_name: str,
    n_rounds: int,
    rows: Rows,
    checked: Rows | None = None,
) -> Training:
    """Run the rounds that are still to run."""
    pool = pool_of(parameters, engine_name)
    check_number_of_classes(parameters, pool, rows.n_classes)
    checked_scores = None
    if checked is not None:
        checked_scores = training.ensemble.scores(checked.X, parameters.votes, rows.n_classes, 1)
    numbers = range(training.n_iter + 1, n_rounds + 1)
    if training.finished or not numbers:
        progress = replace(training.progress, inferred=None)  # the labels may be others now
        return replace(training, progress=progress, checked_scores=checked_scores)
    loss, progress = parameters.chosen_loss(rows.n_classes), copy.copy(training.progress)
    start = Start(rows, training.votes, training.random, progress.n_rounds, checked, checked_scores)
    engine = engine_for(parameters, loss, pool, start)
    doing = "Boosting" if rows.known is None else "Boosting again, with the answers"
    found = boost(
        engine,
        progress,
        noise_update("none" if rows.known is not None else noise_update_name(parameters), rows),
        parameters.learning_rate or loss.learning_rate,
        track(numbers, len(numbers), doing, enabled=bool(parameters.verbose)),
    )
    return Training(
        training.fitted_on,
        engine.votes,
        progress,
        training.random,
        training.ensemble + ensemble_of(engine, found, rows.n_classes),
        found.n_rounds,
        found.stop_reason,
        found.finished,
        engine.checked_scores,
    )


def read_scores(
    parameters: BoostingParameters, training: Training, rows: Rows, checked: Rows | None
) -> tuple[DecisionRule, VoteCalibration | None]:
    """How scores are to be read, and what out-of-bag votes say of the noise in the labels."""
    loss, noise_matrix = parameters.chosen_loss(rows.n_classes), training.progress.noise_matrix
    if parameters.out_of_bag:
        known = None if noise_update_name(parameters) == "noise-aware" else noise_matrix
        posterior = training.progress.inferred
        if posterior is None or rows.checked is not None:
            posterior = infer(training.votes, rows, known, rows.checked)
        return decide_by_votes(
            loss, parameters.calibration, training.votes, rows, noise_matrix, posterior
        )
    scores = training.votes.scores
    if checked is not None and training.checked_scores is not None:
        rows, scores = checked, training.checked_scores
    return decide_by_sign(loss, parameters.calibration, scores, rows, noise_matrix), None


def fit_rounds(
    parameters: BoostingParameters,
    engine_name: str,
    training: Training,
    rows: Rows,
    checked: Rows | None = None,
    n_rounds: int = ROUNDS,
) -> Fitted:
    """Algorithm 1 with the base learners of one engine, for so many rounds unless told."""
    source = pool_source(rows.X)
    rows = replace(rows, X=for_pool(rows.X))
    checked = None if checked is None else replace(checked, X=for_pool(checked.X))
    n_rounds = parameters.n_estimators or n_rounds
    with threadpool_limits(1, "blas"):  # many small products, for which threads only wait
        training = run_rounds(parameters, training, engine_name, n_rounds, rows, checked)
    rule, reading = read_scores(parameters, training, rows, checked)
    learners = BoostedLearners(training.ensemble, parameters.votes, rows.n_classes, reading, source)
    noise = None if reading is None else reading.posterior
    return Fitted(
        VotingModel(engine_name, learners, rule),
        training.progress.noise_matrix if noise is None else noise.noise_matrix,
        noise,
        None if reading is None else reading.row_scores(training.votes.scores),
        training.n_iter,
        training.stop_reason,
        training,
    )


def warn_of_nothing_learnt(fitted: Fitted, classes: NDArray[Any]) -> None:
    """Say so when no learner was kept, or only the more frequent class was learnt."""
    remedy = "try other base learners or features."
    if fitted.training is not None and not len(fitted.model):
        warnings.warn(
            f"No base learner was kept ({fitted.stop_reason}), so every row is predicted as "
            f"{classes.tolist()[0]!r}; {remedy}",
            stacklevel=3,
        )
    elif fitted.noise is not None and fitted.held_out is not None:
        predicted = fitted.noise.probability(fitted.held_out).argmax(axis=1)
        warn_of_one_class(classes[predicted], remedy, stacklevel=4)
