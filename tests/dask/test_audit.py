"""audit_labels on a cluster: noise, suspects, tables that are written where they lie."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rboost.dask import audit_labels
from rboost.engines.engine import EngineSettings
from tests.dask.tables import cut, on_a_cluster, write_files

N_ROWS, CUTS = 800, [0, 200, 200, 500]


def make():
    """A column tells the class; a tenth of the labels are wrong, every thirtieth is missing."""
    random = np.random.RandomState(0)
    true = random.uniform(size=N_ROWS) < 0.5
    number = random.standard_normal(N_ROWS) + 5 * true
    wrong = random.uniform(size=N_ROWS) < 0.1
    frame = pd.DataFrame(
        {
            "number": np.where(random.uniform(size=N_ROWS) < 0.05, np.nan, number),
            "word": np.where(random.uniform(size=N_ROWS) < 0.8, np.where(true, "a", "b"), None),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.randint(0, 90, N_ROWS), "D"),
            "key": [f"row {k}" for k in range(N_ROWS)],
            "y": np.where(true ^ wrong, "yes", "no"),
        }
    )
    frame.loc[np.arange(N_ROWS) % 30 == 0, "y"] = None
    return frame, true, wrong


FRAME, TRUE, WRONG = make()
KNOWN = FRAME["y"].notna().to_numpy()


def audited(X, client):
    """An audit with few trees."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rboost.dask.audit.EngineSettings", partial(EngineSettings, max_iter=30))
        return audit_labels(X, "y", drop=("key",), cluster=client)


@pytest.fixture(scope="module")
def audit(client):
    return audited(cut(FRAME, CUTS), client)


@pytest.fixture(scope="module")
def issues(audit):
    return audit.issue_probability.compute()


def test_the_noise_and_the_wrong_labels_are_found(audit, issues):
    assert audit.classes.tolist() == ["no", "yes"]
    assert audit.label_name == "y"
    assert (audit.n_rows, audit.n_labelled) == (N_ROWS, KNOWN.sum())
    assert_allclose(audit.noise_matrix, [[0.9, 0.1], [0.1, 0.9]], atol=0.04)
    low, high = audit.noise_interval
    assert np.all((low <= audit.noise_matrix) & (audit.noise_matrix <= high))
    assert_array_equal(np.isnan(issues), ~KNOWN)
    assert issues[WRONG & KNOWN].mean() > 0.8
    assert issues[~WRONG & KNOWN].mean() < 0.05


def test_shares_are_those_of_the_rows(audit, issues):
    assert_allclose(audit.expected_wrong, np.nansum(issues))
    mean, low, high = audit.wrong_share
    assert_allclose(mean, np.nanmean(issues))
    assert low <= mean <= high
    assert low - 0.02 < WRONG[KNOWN].mean() < high + 0.02
    summary = audit.summary(audit.suspects(50))
    assert_allclose(summary.expected_wrong, audit.expected_wrong)


@pytest.mark.parametrize("n", [1, 40, 5000])
def test_suspects_are_the_rows_of_the_largest_probabilities(audit, issues, n):
    found = audit.suspects(n)
    order = np.argsort(-np.where(KNOWN, issues, -1), kind="stable")[: min(n, KNOWN.sum())]
    assert_array_equal(found["row"], order + 1)
    assert_array_equal(found["probability"], issues[order])
    assert_array_equal(found["key"], FRAME["key"].to_numpy()[order])
    assert_array_equal(found["label"], FRAME["y"].to_numpy()[order])
    assert np.all(found["suggested"] != found["label"])


def test_issues_of_all_rows_are_written(audit, issues, tmp_path):
    paths = audit.write_issues(tmp_path / "issues")
    assert len(paths) == len(CUTS) + 1
    written = pd.read_parquet(tmp_path / "issues")
    assert_array_equal(written["row"], np.arange(N_ROWS) + 1)
    assert_array_equal(written["probability"], issues)
    assert_array_equal(written["label"].isna(), ~KNOWN)
    likeliest = np.where(TRUE, "yes", "no")
    assert np.mean(written["suggested"][~KNOWN] == likeliest[~KNOWN]) > 0.9


@pytest.mark.parametrize("how", ["relabel", "drop", "weigh"])
def test_the_cleaned_table_is_written(audit, issues, tmp_path, how):
    audit.clean(tmp_path / "clean", how)
    written = pd.read_parquet(tmp_path / "clean")
    assert set(FRAME.columns) < set(written.columns)
    right = np.where(TRUE, "yes", "no")[written["key"].str.removeprefix("row ").astype(int)]
    if how == "weigh":
        assert written["key"].tolist() == FRAME["key"].tolist()
    else:
        assert np.mean((written["y"] == right)[written["y"].notna()]) > 0.97
    if how == "drop":
        assert len(written) < N_ROWS


def test_the_model_scores_rows_in_memory(audit):
    found = audit.model.predict(FRAME.drop(columns=["y", "key"]))
    assert np.mean(found == np.where(TRUE, "yes", "no")) > 0.97


def test_however_rows_are_spread_the_audit_is_the_same(audit, issues, tmp_path):
    folder = write_files(FRAME, tmp_path, [100, 700])
    with on_a_cluster() as one, audited(folder, one) as other:
        assert_allclose(other.noise_matrix, audit.noise_matrix, atol=1e-9)
        assert_allclose(other.issue_probability.compute(), issues, atol=1e-6)
        assert_array_equal(other.suspects(30)["row"], audit.suspects(30)["row"])


@pytest.mark.parametrize(
    ("parameters", "says"),
    [({"device": "gpu"}, "device must be one of 'cpu', 'cuda', not 'gpu'"),
     ({"random_state": None}, "random_state"), ({"drop": ("nothing",)}, "nothing")],
)  # fmt: skip
def test_mistakes_are_told_before_anything_is_read(client, parameters, says):
    with pytest.raises(ValueError, match=says):
        audit_labels(cut(FRAME, []), "y", cluster=client, **parameters)
