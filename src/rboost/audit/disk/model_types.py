"""Types that a model file may hold besides those that skops trusts; everything else is refused.

The lists name what fitted models of this package really hold, one by one. A new kind of model needs
its types added here, and ``tests/audit/disk/test_model_file.py`` says which.
"""

from __future__ import annotations

TRUSTED_TYPES: tuple[str, ...] = (
    "rboost.audit.scorers.TableModel",
    "rboost.calibration.IsotonicCalibration",
    "rboost.calibration.LogisticCalibration",
    "rboost.calibration.PlattCalibration",
    "rboost.calibration.SoftmaxCalibration",
    "rboost.encoding.Levels",
    "rboost.encoding.TableEncoder",
    "rboost.engines.learners.Ensemble",
    "rboost.engines.linear.LinearLearners",
    "rboost.engines.pool.BoostedLearners",
    "rboost.engines.stack.Stack",
    "rboost.engines.trees.BoostedTrees",
    "rboost.learners.forest.Forest",
    "rboost.learners.kernel.RandomKernelClassifier",
    "rboost.learners.logistic.RobustLogisticRegression",
    "rboost.model.algorithm_1.AdaRBoostClassifier",
    "rboost.model.classifier.RBoostClassifier",
    "rboost.model.fit.StackedModel",
    "rboost.noise.answers.LearntFromAnswers",
    "rboost.noise.class_model.Fit",
    "rboost.noise.class_model.Kind",
    "rboost.noise.class_model.Layout",
    "rboost.noise.classes.ClassesPosterior",
    "rboost.noise.posterior.FlippedOrGuessed",
    "rboost.noise.posterior.NoiseAwarePlatt",
    "rboost.noise.posterior.Steepening",
    "rboost.wrappers.calibrated.NoiseCalibratedClassifier",
    "numpy.dtype",
    # Trees are numbers that compiled code follows blindly; see ``rboost.audit.disk.tree_checks``.
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
    "skrub._apply_to_each_col.ApplyToEachCol",
    "skrub._check_input.CheckInputDataFrame",
    "skrub._clean_categories.CleanCategories",
    "skrub._clean_null_strings.CleanNullStrings",
    "skrub._dataframe._common.is_any_date",
    "skrub._dataframe._common.is_categorical",
    "skrub._dataframe._common.is_numeric",
    "skrub._datetime_encoder.DatetimeEncoder",
    "skrub._drop_uninformative.DropUninformative",
    "skrub._duration_to_float.DurationToFloat",
    "skrub._select_cols.Drop",
    "skrub._string_encoder.StringEncoder",
    "skrub._table_vectorizer.PassThrough",
    "skrub._table_vectorizer.ShortReprDict",
    "skrub._table_vectorizer.TableVectorizer",
    "skrub._table_vectorizer._created_by_predicate",
    "skrub._to_datetime.ToDatetime",
    "skrub._to_float.ToFloat",
    "skrub._to_str.ToStr",
    "skrub.selectors._base.All",
    "skrub.selectors._base.And",
    "skrub.selectors._base.Cols",
    "skrub.selectors._base.Filter",
    "skrub.selectors._base.Sub",
    "skrub.selectors._selectors._cardinality_below",
)

# The ways in which skops makes objects that our models need. Left out are those that call or bind
# something (partial, method, operator) and random generators, whose state is not checked.
TRUSTED_LOADERS = (
    "DTypeNode", "DictNode", "FunctionNode", "JsonNode", "ListNode", "LossNode", "NdArrayNode",
    "ObjectNode", "TreeNode", "TupleNode", "TypeNode",
)  # fmt: skip
