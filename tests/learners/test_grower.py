"""What is relied on of scikit-learn's private tree grower: this fails when scikit-learn changes."""

import re
from pathlib import Path

import numpy as np

import rboost
from rboost.learners._grower import BinMapper, TreeGrower, value_of_bins, value_of_raw

VALUES = np.array([[0.0], [1.0], [2.0], [3.0], [np.nan]])
TARGETS = np.array([-1.0, -1.0, 1.0, 1.0, 1.0])


def grown():
    mapper = BinMapper(4, subsample=10, random_state=0, n_threads=1).fit(VALUES)
    bins = mapper.transform(VALUES)
    grower = TreeGrower(
        bins,
        (-TARGETS).astype(np.float32),
        np.ones(5, dtype=np.float32),
        max_leaf_nodes=None,
        max_depth=None,
        min_samples_leaf=1,
        min_gain_to_split=1e-10,
        min_hessian_to_split=1e-10,
        n_bins=4,
        n_bins_non_missing=np.array([len(cuts) + 1 for cuts in mapper.bin_thresholds_]),
        has_missing_values=np.array([True]),
        feature_fraction_per_split=1.0,
        rng=np.random.default_rng(0),
        n_threads=1,
    )
    grower.grow()
    return mapper, bins, grower


def test_bins_are_small_numbers_by_column_and_missing_values_have_the_last():
    mapper, bins, _ = grown()
    assert bins.dtype == np.uint8
    assert bins.flags.f_contiguous
    assert bins[-1, 0] == 3
    cuts = mapper.bin_thresholds_[0]
    np.testing.assert_array_equal(bins[:-1, 0], np.searchsorted(cuts, VALUES[:-1, 0]))


def test_leaves_know_their_rows_and_what_they_say():
    _, _, grower = grown()
    rows = np.concatenate([np.asarray(leaf.sample_indices) for leaf in grower.finalized_leaves])
    np.testing.assert_array_equal(np.sort(rows), np.arange(5))
    for leaf in grower.finalized_leaves:
        np.testing.assert_allclose(leaf.value, TARGETS[leaf.sample_indices].mean())
    assert grower.root.sum_gradients == -1
    assert grower.root.sum_hessians == 5


def test_values_that_are_set_are_those_predicted():
    mapper, bins, grower = grown()
    for number, leaf in enumerate(grower.finalized_leaves):
        leaf.value = number + 0.5
    tree = grower.make_predictor(mapper.bin_thresholds_)
    raw = value_of_raw(tree, VALUES, 1)
    np.testing.assert_array_equal(value_of_bins(tree, bins, 3, 1), raw)
    for number, leaf in enumerate(grower.finalized_leaves):
        np.testing.assert_array_equal(raw[leaf.sample_indices], number + 0.5)


def test_nodes_have_the_fields_that_are_read():
    mapper, _, grower = grown()
    nodes = grower.make_predictor(mapper.bin_thresholds_).nodes
    assert {"is_leaf", "gain", "feature_idx", "bin_threshold"} <= set(nodes.dtype.names)
    # The gain of the root is counted from a prediction of 0: Σ g²/h of the leaves.
    np.testing.assert_allclose(nodes["gain"][0], 5)


def test_private_parts_are_imported_in_one_place():
    package = Path(rboost.__file__).parent
    imported = re.compile(r"^\s*(from|import) .*_hist_gradient", re.MULTILINE)
    users = [path.name for path in package.rglob("*.py") if imported.search(path.read_text())]
    assert users == ["_grower.py"]
