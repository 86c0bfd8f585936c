"""What turns columns and L into held-out scores: the engines, by name.

pool        Algorithm 1 with learners of three kinds
linear      Algorithm 1 with robust logistic regression
logistic    robust logistic regression with soft labels, for texts and wide tables
trees       boosted trees on the likelihood, by LightGBM
xgboost     the same by XGBoost, on a CPU, a GPU or many machines
"""

from rboost.engines.engine import LINEAR, LOGISTIC, POOL, TREES, XGBOOST, Engine
from rboost.engines.logistic import fit_logistic
from rboost.engines.pool import fit_linear, fit_pool
from rboost.engines.trees import fit_trees
from rboost.engines.xgboost import fit_xgboost

__all__ = ["ENGINES", "LINEAR", "LOGISTIC", "POOL", "TREES", "XGBOOST", "Engine"]

# In the order in which they are fitted: trees start with the noise that the pool has found.
ENGINES: dict[str, Engine] = {
    LINEAR: fit_linear,
    LOGISTIC: fit_logistic,
    POOL: fit_pool,
    TREES: fit_trees,
    XGBOOST: fit_xgboost,
}
