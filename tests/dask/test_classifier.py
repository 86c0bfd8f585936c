"""RBoostClassifier on a cluster: the answers are those of one process, however rows are spread."""

import pickle
import subprocess
import sys

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from rboost import RBoostClassifier as InMemory
from rboost.dask import RBoostClassifier
from tests.dask.tables import cut, make_table, on_a_cluster, write_files

N_ROWS = 500
CUTS = [0, 0, 120, 330]


def table(n_classes=2):
    """Numbers, words, dates, missing values, and labels that they tell of, some of them wrong."""
    random = np.random.RandomState(1)
    frame = make_table(N_ROWS).drop(columns=["id", "y"])
    told = np.nan_to_num(frame["number"]) + frame["whole"] / 4 + (frame["word"] == "red")
    true = np.digitize(told, np.quantile(told, np.arange(1, n_classes) / n_classes))
    wrong = random.uniform(size=N_ROWS) < 0.15
    observed = np.where(wrong, (true + 1) % n_classes, true)
    frame["y"] = np.array(["no", "perhaps", "yes"] if n_classes == 3 else ["no", "yes"])[observed]
    frame["weight"] = random.choice([1.0, 2.0, 3.0], N_ROWS)
    # A partition without one of the classes.
    return frame.iloc[np.argsort(frame["y"] != "yes", kind="stable")].reset_index(drop=True)


FRAME = table()
FEATURES = FRAME.drop(columns=["y", "weight"])
X = np.random.RandomState(2).standard_normal((N_ROWS, 3))
Y = (X[:, 0] + 0.3 * np.random.RandomState(3).standard_normal(N_ROWS) > 0).astype(int)


def model(**parameters):
    return RBoostClassifier(**{"max_iter": 10, "random_state": 0} | parameters)


def in_memory(**parameters):
    return InMemory(
        engines="xgboost", **{"max_iter": 10, "random_state": 0, "n_jobs": 1} | parameters
    )


def arrays(n_chunk=130):
    return da.from_array(X, chunks=(n_chunk, 2)), da.from_array(Y, chunks=n_chunk)


def assert_same(found, expected, rows):
    assert_array_equal(found.classes_, expected.classes_)
    assert_allclose(found.noise_matrix_, expected.noise_matrix_, atol=1e-9)
    assert_allclose(found.noise_interval_, expected.noise_interval_, atol=1e-6)
    issues = found.label_issue_probability_.compute()
    assert_allclose(issues, np.asarray(expected.label_issue_probability_), atol=1e-6)
    assert_array_equal(found.predict(rows), expected.predict(rows))
    assert_allclose(found.predict_proba(rows), expected.predict_proba(rows), atol=1e-9)
    assert_allclose(found.feature_importances_, expected.feature_importances_)
    for name in ("n_iter_", "stop_reason_", "n_features_in_"):
        assert getattr(found, name) == getattr(expected, name)


@pytest.fixture(scope="module")
def of_frame(client):
    return model(cluster=client).fit(cut(FRAME, CUTS), "y", "weight")


@pytest.fixture(scope="module")
def of_array(client):
    return model(cluster=client).fit(*arrays())


def test_words_dates_missing_values_and_empty_partitions(of_frame):
    assert FRAME["y"].iloc[:120].nunique() == 1
    expected = in_memory().fit(FEATURES, FRAME["y"], FRAME["weight"])
    assert_same(of_frame, expected, FEATURES)
    assert_array_equal(of_frame.feature_names_in_, expected.feature_names_in_)


def test_arrays_with_weights_and_trusted_rows(client):
    dX, dy = arrays()
    weight = FRAME["weight"].to_numpy()
    trusted = {"X_trusted": X[:40], "y_trusted": (X[:40, 0] > 0).astype(int)}
    given = {"learning_rate": 0.3, "random_state": 3}
    found = model(**given).fit(dX, dy, da.from_array(weight, chunks=70), **trusted)
    assert_same(found, in_memory(**given).fit(X, Y, weight, **trusted), X)
    assert not hasattr(found, "feature_names_in_")


def test_a_noise_matrix_that_is_known(client):
    known = [[0.9, 0.1], [0.2, 0.8]]
    found = model(noise_matrix=known).fit(*arrays())
    assert_allclose(found.noise_matrix_, known)
    expected = in_memory(noise_matrix=known).fit(X, Y)
    issues = found.label_issue_probability_.compute()
    assert_allclose(issues, expected.label_issue_probability_, atol=1e-6)


def test_files_and_columns_by_name(client, tmp_path):
    write_files(FRAME, tmp_path, [100, 400])
    found = model().fit(str(tmp_path / "*.parquet"), "y", "weight")
    expected = in_memory().fit(FEATURES, FRAME["y"], FRAME["weight"])
    assert_same(found, expected, FEATURES)


@pytest.mark.slow
def test_four_workers_give_what_one_process_does():
    """With three classes, and partitions without rows."""
    given, frame = {"max_iter": 4}, table(3)
    rows = frame.drop(columns=["y", "weight"])
    with on_a_cluster(n_workers=4) as four:
        cuts = [0, 50, 60, 60, 300, 420]
        found = model(cluster=four, **given).fit(cut(frame, cuts), "y", "weight")
        expected = in_memory(**given).fit(rows, frame["y"], frame["weight"])
        assert_same(found, expected, rows)


def test_rows_without_a_label(client):
    """Even where one of the workers has no others; one worker finds what two do."""
    frame = FRAME.assign(y=FRAME["y"].where(np.arange(N_ROWS) < 250))
    given = cut(frame, [250]), "y", "weight"
    found = model().fit(*given)
    issues = found.label_issue_probability_.compute()
    assert_array_equal(np.isnan(issues), np.arange(N_ROWS) >= 250)
    with on_a_cluster() as one:
        alone = model(cluster=one).fit(*given)
        alone.label_issue_probability_ = alone.label_issue_probability_.compute()
    assert_same(found, alone, FEATURES)


def test_weights_of_0_leave_rows_out(client):
    """What their labels are does not matter."""
    dX, _ = arrays()
    weight = np.where(np.arange(N_ROWS) % 5, 1.0, 0.0)
    other = np.where(weight == 0, 1 - Y, Y)
    one, two = (
        model().fit(dX, da.from_array(labels, chunks=99), da.from_array(weight, chunks=99))
        for labels in (Y, other)
    )
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert_array_equal(one.noise_matrix_, two.noise_matrix_)


@pytest.mark.parametrize("table", [FEATURES, FRAME], ids=["features", "what was fitted"])
def test_predictions_of_frames_and_files_are_computed_where_they_lie(of_frame, tmp_path, table):
    folder = write_files(table, tmp_path, [0, 7, 300])
    sources = (cut(table, CUTS), str(tmp_path / "*.parquet"), folder, sorted(folder.iterdir()))
    for method in ("predict", "predict_proba"):
        predict = getattr(of_frame, method)
        for given in sources:
            expected = predict(FEATURES)
            assert isinstance(expected, np.ndarray)
            found = predict(given)
            assert isinstance(found, da.Array)
            assert found.dtype == expected.dtype
            if method == "predict":
                assert_array_equal(found.compute(), expected)
            else:
                assert_allclose(found.compute(), expected, atol=1e-7)


def test_arrays_are_no_tables_of_other_columns(of_frame):
    with pytest.raises(ValueError, match="features"):
        of_frame.predict(arrays()[0]).compute()


def test_the_model_is_once_in_the_graph_of_predictions(of_frame):
    graph = of_frame.predict(cut(FEATURES, [100, 200, 300])).dask
    holding = [key for key, task in graph.items() if len(pickle.dumps(task)) > 10_000]
    assert len(holding) == 1


def test_predictions_of_arrays_know_their_shape(of_array):
    dX, dy = arrays(77)
    assert of_array.predict(dX).shape == (N_ROWS,)
    assert of_array.predict_proba(dX).shape == (N_ROWS, 2)
    assert_allclose(of_array.predict_proba(dX).compute(), of_array.predict_proba(X), atol=1e-7)
    assert_array_equal(of_array.predict_proba(X.tolist()), of_array.predict_proba(X))
    assert of_array.score(dX, dy) == of_array.score(X, Y) > 0.85


def test_what_is_stored_needs_no_cluster(of_frame, of_array):
    for fitted, rows in ((of_frame, FEATURES), (of_array, X)):
        copy = pickle.loads(pickle.dumps(fitted))
        assert_array_equal(copy.predict_proba(rows), fitted.predict_proba(rows))
        assert copy.cluster is None
        assert not hasattr(copy, "label_issue_probability_")
        assert_array_equal(fitted.model_.predict_proba(rows), fitted.predict_proba(rows))


def test_a_clone_is_on_the_same_cluster(client):
    own = model(cluster=client, random_state=np.random.RandomState(0))
    copy = clone(own)
    assert copy.cluster is client
    assert copy.random_state is not own.random_state
    assert copy.get_params().keys() == own.get_params().keys()
    assert clone(model(cluster="local")).cluster == "local"


def mistakes():
    dX, dy = arrays()
    pair = da.from_array(np.arange(N_ROWS) % 2, chunks=130)
    return {
        "an array in memory": ((X, Y), {}, TypeError, "Dask"),
        "one class": ((dX, pair * 0), {}, ValueError, "class"),
        "rows that differ": ((dX, dy[:-1]), {}, ValueError, "rows"),
        "no such column": ((cut(FRAME, []), "z"), {}, ValueError, "z"),
        "an infinite number": ((da.where(dX > 3, np.inf, dX), dy), {}, ValueError, "infinite"),
        "trusted columns": (
            (dX, dy), {"X_trusted": X[:5, :2], "y_trusted": Y[:5]}, ValueError, "column 'x2'"
        ),
        "trusted names": (
            (cut(FRAME, []), "y", "weight"),
            {"X_trusted": FEATURES[["word"]][:5], "y_trusted": FRAME["y"][:5]},
            ValueError, "columns",
        ),
        "no trusted labels": ((dX, dy), {"X_trusted": X[:5]}, ValueError, "y_trusted"),
    }  # fmt: skip


@pytest.mark.parametrize("case", mistakes())
def test_a_mistake_is_one_sentence_and_leaves_the_model_as_it_was(client, of_array, case):
    given, more, kind, says = mistakes()[case]
    before = dict(vars(of_array))
    with pytest.raises(kind, match=says) as raised:
        of_array.fit(*given, **more)
    assert "\n" not in str(raised.value)
    assert vars(of_array) == before


@pytest.mark.parametrize("parameters", [{"device": "gpu"}, {"max_iter": 0}])
def test_parameters_are_checked_first(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        model(**parameters).fit(None, None)


def test_trusted_columns_are_taken_by_name(client):
    labels = FRAME["y"][:40]
    one, other = (
        model().fit(cut(FRAME, [200]), "y", "weight", X_trusted=rows, y_trusted=labels)
        for rows in (FEATURES[:40], FEATURES[:40][FEATURES.columns[::-1]])
    )
    assert_array_equal(one.noise_matrix_, other.noise_matrix_)
    assert_allclose(one.predict_proba(FEATURES), other.predict_proba(FEATURES), atol=1e-9)


SCRIPT = """
import gc, os
import dask.array as da
import numpy as np
from rboost.dask import RBoostClassifier

def fit():
    X = np.random.RandomState(0).standard_normal((200, 2))
    given = da.from_array(X, chunks=(100, 2)), da.from_array(X[:, 0] > 0, chunks=100)
    return RBoostClassifier(max_iter=5, random_state=0).fit(*given)

def workers(fitted):
    return set(fitted._connection.client.run(os.getpid).values())

if __name__ == "__main__":
    first = fit()
    pids, expected = workers(first), first.label_issue_probability_.compute()
    second = fit()
    assert workers(second) == pids
    del first
    gc.collect()
    assert np.array_equal(second.label_issue_probability_.compute(), expected)
    del second
    gc.collect()
    for pid in pids:
        try:
            os.kill(pid, 0)
            print(pid)
        except ProcessLookupError:
            pass
    print("ended")
"""


@pytest.mark.slow
def test_a_cluster_of_its_own_ends_with_the_last_model_on_it(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py"], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")
