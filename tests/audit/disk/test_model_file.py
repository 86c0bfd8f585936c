import functools
import importlib
import io
import json
import os
import struct
import zipfile

import numpy as np
import pandas as pd
import pytest
import sklearn
import skops.io
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from skrub import TableVectorizer
from threadpoolctl import threadpool_limits

from rboost import NoiseCalibratedClassifier, RBoostClassifier, RobustLogisticRegression
from rboost.audit import model_file
from rboost.audit.disk.model_file import load_model, save_model
from rboost.audit.disk.trusted import TRUSTED_TYPES
from rboost.boosting import ALGORITHM_1

ABOUT = {"label": "churn", "classes": ["no", "yes"], "größe": 1.5}


def customers(n_rows, random):
    """Numbers, whole numbers, categories, dates, booleans and text, with missing values."""
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.randint(0, 900, n_rows), "D")
    age = random.normal(size=n_rows)
    frame = pd.DataFrame(
        {
            "age": np.where(random.uniform(size=n_rows) < 0.1, np.nan, age),
            "visits": pd.array(random.choice([1, 2, None], n_rows), dtype="Int64"),
            "city": random.choice(["Paris", "Rome", None], n_rows),
            "since": days.strftime("%Y-%m-%d"),
            "active": random.uniform(size=n_rows) < 0.5,
            "note": [f"note {number * 7 % 101} of {number}" for number in range(n_rows)],
        }
    )
    labels = np.where(age + 0.3 * random.normal(size=n_rows) > 0, "yes", "no")
    return frame, labels


def algorithm_1():
    return RBoostClassifier(RobustLogisticRegression(), **{**ALGORITHM_1, "n_estimators": 5})


MODELS = {
    "default": lambda: RBoostClassifier(n_estimators=9, random_state=np.random.RandomState(0)),
    "linear": lambda: RBoostClassifier(RobustLogisticRegression(), n_estimators=5, random_state=0),
    "isotonic": lambda: RBoostClassifier(n_estimators=6, calibration="isotonic", random_state=0),
    "logistic": lambda: RBoostClassifier(n_estimators=6, calibration="logistic", random_state=0),
    "algorithm 1": algorithm_1,
    "forest": lambda: NoiseCalibratedClassifier(RandomForestClassifier(5, random_state=0)),
    "histogram": lambda: NoiseCalibratedClassifier(HistGradientBoostingClassifier(max_iter=3)),
}


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


def fitted(classifier, n_rows=300):
    frame, labels = customers(n_rows, np.random.RandomState(0))
    steps = [("vectorizer", TableVectorizer()), ("imputer", SimpleImputer())]
    return Pipeline([*steps, ("classifier", classifier)]).fit(frame, labels), frame


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.skops"
    save_model(fitted(MODELS["default"]())[0], path, ABOUT)
    return path


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_predicts_the_same(tmp_path, name):
    model, frame = fitted(MODELS[name]())
    save_model(model, tmp_path / "model.skops", ABOUT)
    loaded, about = load_model(tmp_path / "model.skops")
    assert about == ABOUT
    np.testing.assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))


def test_a_large_table_has_other_learners(tmp_path):
    random = np.random.RandomState(0)
    X = random.normal(size=(12_000, 5))
    model = RBoostClassifier(n_estimators=6, random_state=0).fit(X, X[:, 0] > 0)
    save_model(model, tmp_path / "model.skops", {})
    loaded, _ = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert (tmp_path / "model.skops").stat().st_size < 500_000


def test_the_training_is_left_out_of_the_file_only(tmp_path):
    X = np.random.RandomState(0).normal(size=(80, 3))
    model = RBoostClassifier(n_estimators=6, random_state=0, warm_start=True).fit(X, X[:, 0] > 0)
    save_model(model, tmp_path / "model.skops", {})
    loaded, _ = load_model(tmp_path / "model.skops")
    assert not hasattr(loaded, "label_issue_probability_")
    with pytest.raises(ValueError, match="warm_start cannot continue a model from a file"):
        loaded.fit(X, X[:, 0] > 0)
    assert model.set_params(n_estimators=9).fit(X, X[:, 0] > 0).n_iter_ == 9


@pytest.mark.parametrize("name", TRUSTED_TYPES)
def test_every_trusted_name_exists(name):
    module, _, attribute = name.rpartition(".")
    assert hasattr(importlib.import_module(module), attribute)


def rewritten(source, path, change=None, card=None, digest=True):
    """A copy with a changed schema or card, and the digest that goes with it."""
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    told = json.loads(members.pop(model_file.CARD)) | (card or {})
    if change is not None:
        schema = json.loads(members[model_file.SCHEMA])
        members[model_file.SCHEMA] = json.dumps(change(schema) or schema).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        if digest:
            told["digest"] = model_file._digest(archive, told)
        archive.writestr(model_file.CARD, json.dumps(told))
    return path


def schema_of(value):
    """What skops writes for a value."""
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(value))) as archive:
        return json.loads(archive.read("schema.json"))


class Unknown:
    pass


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (os.system, "posix.system"),
        (eval, "builtins.eval"),
        (Unknown(), "Unknown"),
        (functools.partial(os.system, "touch executed"), "functools.partial"),
        (FunctionTransformer(os.system), "posix.system"),
        (LogisticRegression().fit, "by MethodNode"),
        (np.random.RandomState(0), "by RandomStateNode"),
    ],
)
def test_what_is_not_trusted_is_refused(saved, tmp_path, monkeypatch, value, named):
    monkeypatch.chdir(tmp_path)
    state = schema_of(value)

    def hide(schema):
        schema["content"]["content"]["memory"] = state

    path = rewritten(saved, tmp_path / "bad.skops", hide)
    with pytest.raises(ValueError, match=rf"needs .*{named}.*, which rboost does not trust"):
        load_model(path)
    assert sorted(os.listdir(tmp_path)) == ["bad.skops"]


def test_a_model_that_could_not_be_loaded_is_not_saved(tmp_path):
    model = Pipeline([("odd", FunctionTransformer(os.getcwd)), ("model", LogisticRegression())])
    with pytest.raises(ValueError, match=r"posix\.getcwd, which rboost does not trust"):
        save_model(model, tmp_path / "model.skops", {})
    assert os.listdir(tmp_path) == []


def test_a_schema_of_an_older_skops_or_of_something_else(saved, tmp_path):
    path = tmp_path / "bad.skops"
    with pytest.raises(ValueError, match="written by another version of skops"):
        load_model(rewritten(saved, path, lambda schema: schema | {"protocol": 0}))
    plain = schema_of({"a": 1})
    with pytest.raises(ValueError, match="holds no classifier but dict"):
        load_model(rewritten(saved, path, lambda _: plain))
    with pytest.raises(ValueError, match="holds no model that can be restored"):
        load_model(rewritten(saved, path, lambda s: s["content"].clear()))


def test_files_that_are_no_models(saved, tmp_path):
    content, path = saved.read_bytes(), tmp_path / "model.skops"
    for bad in (b"", b"text", content[: len(content) // 2], content[100:300], b"PK\x05\x06"):
        path.write_bytes(bad)
        with pytest.raises(ValueError, match="is no model file of rboost, or only a part of one"):
            load_model(path)
    skops.io.dump(LogisticRegression(), path)
    with pytest.raises(ValueError, match="was not made by rboost; run rboost audit again"):
        load_model(path)
    with pytest.raises(OSError, match=r"There is no file .*; did you mean"):
        load_model(tmp_path / "modell.skops")


@pytest.mark.parametrize("at", [0.1, 0.4, 0.7])
def test_a_flipped_bit_is_noticed(saved, tmp_path, at):
    content = bytearray(saved.read_bytes())
    with zipfile.ZipFile(saved) as archive:
        largest = max(archive.infolist(), key=lambda member: member.compress_size)
    # Of what a member holds; headers have bits that mean nothing, such as those of the date.
    header = largest.header_offset
    n_name, n_extra = struct.unpack_from("<HH", content, header + 26)
    content[header + 30 + n_name + n_extra + int(at * largest.compress_size)] ^= 4
    (tmp_path / "model.skops").write_bytes(content)
    with pytest.raises(ValueError, match=r"damaged|only a part|was not made"):
        load_model(tmp_path / "model.skops")


def test_changes_and_other_versions_are_refused(saved, tmp_path):
    path = tmp_path / "model.skops"
    with pytest.raises(ValueError, match="was changed or damaged since it was made"):
        load_model(rewritten(saved, path, card={"about": {}}, digest=False))
    with pytest.raises(ValueError, match=r"has format 2, made by rboost .*, which reads format 1"):
        load_model(rewritten(saved, path, card={"format": 2}))
    versions = model_file._versions() | {"scikit-learn": "1.2.0"}
    expected = rf"made with scikit-learn 1\.2\.0, but this is scikit-learn {sklearn.__version__}; "
    with pytest.raises(ValueError, match=expected + r"run .* pip install \"scikit-learn==1\.2\.0"):
        load_model(rewritten(saved, path, card={"versions": versions}))
    with pytest.raises(ValueError, match="is damaged"):
        load_model(rewritten(saved, path, card={"about": [1]}))


def test_an_archive_that_would_fill_the_memory(saved, tmp_path, monkeypatch):
    monkeypatch.setattr(model_file, "MOST_BYTES", 3 * saved.stat().st_size)
    path = tmp_path / "bomb.skops"
    path.write_bytes(saved.read_bytes())
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", b"\0" * 4 * saved.stat().st_size)
    with pytest.raises(ValueError, match="GB of memory, more than any model of rboost"):
        load_model(path)


def test_nesting_without_end(saved, tmp_path):
    path = tmp_path / "deep.skops"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(model_file.CARD, "[" * 100_000)
    with pytest.raises(ValueError, match="is damaged"):
        load_model(path)
