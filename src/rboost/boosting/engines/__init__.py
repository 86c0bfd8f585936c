"""Who runs the rounds: the native core where it can, else scikit-learn's classifiers one by one."""

from rboost.boosting.engine import Engine, Start
from rboost.boosting.engines.learners import LearnerEngine
from rboost.boosting.engines.linear import linear_engine
from rboost.boosting.learners import BaseLearner
from rboost.boosting.parameters import BoostingParameters
from rboost.losses import Loss


def engine_for(
    parameters: BoostingParameters, loss: Loss, pool: list[BaseLearner], start: Start
) -> Engine:
    """The fastest engine that can run these rounds."""
    linear = None
    if start.rows.known is None:  # the native core takes labels, no probabilities
        linear = linear_engine(parameters, loss, pool, start)
    return LearnerEngine(parameters, loss, pool, start) if linear is None else linear
