"""A file that is no model, or was made to do harm, ends in one sentence."""

import json
import resource
import subprocess
import sys
import tracemalloc
import warnings
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rboost
from benchmarks.fuzz.forging import ODD, START, Forged, odd_arrays, outcome
from rboost import RBoostClassifier
from rboost.saving import load, load_with_notes
from rboost.saving.file import (
    FORMAT,
    MAGIC,
    SPARE_BYTES,
    compressed,
    read_content,
    with_checksum,
)
from tests.saving.models import fitted

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
NAMES = ["default", "default, 3 classes", "answers, 3 classes", "linear", "frame", "context",
         "algorithm 1, in turn", "algorithm 1, rLR", "algorithm 1, isotonic", "rLR, 3 classes",
         "forest", "logistic regression, 3 classes", "calibrated rBoost"]  # fmt: skip


@pytest.fixture(scope="module", params=NAMES)
def written(request, tmp_path_factory):
    """The bytes of a file, and rows."""
    path = tmp_path_factory.mktemp("model") / "model.rboost"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, X = fitted(request.param)
    model.save(path)
    return path.read_bytes(), X


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The bytes of a file of a default model."""
    path = tmp_path_factory.mktemp("model") / "model.rboost"
    fitted("default")[0].save(path)
    return path.read_bytes()


def test_any_value_of_the_document_may_be_anything(written):
    content, X = written
    whole, random = Forged(content), np.random.RandomState(0)
    assert isinstance(outcome(whole.content(), X), np.ndarray)
    places = whole.places()
    refused = 0
    for number in random.permutation(len(places) * len(ODD))[:250]:
        keys, odd = places[number // len(ODD)], ODD[number % len(ODD)]
        refused += isinstance(outcome(whole.replaced(keys, odd).content(), X), str)
    assert refused > 150


def test_no_value_of_the_document_may_be_missing_or_new(written):
    content, X = written
    whole = Forged(content)
    for keys in [keys for keys in whole.places() if keys[0] == "model"][::3]:
        changed = whole.copy()
        inner = changed.document
        for key in keys[:-1]:
            inner = inner[key]
        free = "settings" in keys or isinstance(inner, list)
        if isinstance(inner, dict) and not free:
            own = inner.pop(keys[-1])
            assert isinstance(outcome(changed.content(), X), str)
            inner |= {keys[-1]: own, "more": 1}
            assert isinstance(outcome(changed.content(), X), str)


@pytest.mark.parametrize(
    "name",
    ["default", "algorithm 1, in turn", "rLR, 3 classes", "logistic regression, 3 classes"],
)
def test_no_file_says_how_much_of_the_machine_is_used(name, tmp_path):
    model, X = fitted(name)
    model.save(tmp_path / "model.rboost")
    whole = Forged((tmp_path / "model.rboost").read_bytes())
    places = [keys for keys in whole.places() if keys[-1] == "settings"]
    assert places
    for keys in places:
        for setting, value in [("n_jobs", 2), ("n_jobs", 10**15), ("verbose", 1), ("estimator", 1)]:
            said = outcome(whole.replaced((*keys, setting), value).content(), X)
            assert "a setting is one that no file has" in said


def test_any_array_may_hold_anything(written):
    content, X = written
    whole, random = Forged(content), np.random.RandomState(0)
    for number in range(len(whole.blocks)):
        own = list(odd_arrays(whole.array(number), random))
        for place in random.permutation(len(own))[:8]:
            changed = whole.copy()
            changed.put(number, own[place])
            outcome(changed.content(), X)


def test_arrays_and_parts_may_not_be_used_twice(written):
    content, X = written
    whole = Forged(content)
    references = [keys for keys in whole.places() if keys[-1] == "array"]
    for keys in references[::2]:
        for number in (references.index(keys) - 1, len(references), -1, 10**6):
            assert isinstance(outcome(whole.replaced(keys, number).content(), X), str)
    changed = whole.copy()
    changed.document["arrays"].append(["f8", [1], 8, False])
    changed.blocks.append(b"\0" * 8)
    assert "belongs to nothing" in outcome(changed.content(), X)


def tree_arrays(content):
    """Numbers of arrays of every forest in a file, by their fields."""
    whole = Forged(content)
    found = []

    def look(part):
        if isinstance(part, dict):
            if "roots" in part:
                found.append({name: own["array"] for name, own in part.items()
                              if isinstance(own, dict) and "array" in own})  # fmt: skip
            for own in part.values():
                look(own)
        elif isinstance(part, list):
            for own in part:
                look(own)

    look(whole.document["model"])
    return whole, found


def test_every_node_of_every_tree_leads_on(plain):
    X = fitted("default")[1]
    whole, forests = tree_arrays(plain)
    assert len(forests) == 2
    for forest in forests:
        n_leaves = len(whole.array(forest["votes" if "votes" in forest else "leaf_value"]))
        n_nodes = len(whole.array(forest["left"]))
        bad = {
            "left": [n_nodes, -n_leaves - 1, 0, -(2**31), 2**31 - 1],
            "right": [n_nodes, -n_leaves - 1, 0],
            "roots": [n_nodes, -n_leaves - 1, 1],
            "feature": [-1, 4, 2**31 - 1],
        }
        for name, values in bad.items():
            for value in values:
                changed, array = whole.copy(), whole.array(forest[name])
                array[0] = value
                changed.put(forest[name], array)
                said = outcome(changed.content(), X)
                assert "do not fit together" in said or "out of range" in said


def test_trees_do_not_share_nodes_which_would_unfold_into_much_memory(plain):
    whole, forests = tree_arrays(plain)
    for forest in forests:
        changed = whole.copy()
        roots = whole.array(forest["roots"])
        changed.put(forest["roots"], np.repeat(roots[:1], 60 * len(roots)))
        assert isinstance(outcome(changed.content(), fitted("default")[1]), str)
        changed = whole.copy()
        left, right = whole.array(forest["left"]), whole.array(forest["right"])
        left[0] = right[0]
        changed.put(forest["left"], left)
        assert isinstance(outcome(changed.content(), fitted("default")[1]), str)


def test_all_parts_of_an_ensemble_are_given_the_same_columns(tmp_path):
    model, X = fitted("algorithm 1, in turn")
    model.save(tmp_path / "model.rboost")
    whole = Forged((tmp_path / "model.rboost").read_bytes())
    ensemble = whole.document["model"]["_ensemble"]
    trees = next(part for part in ensemble["parts"] if "roots" in part)
    ensemble["parts"].sort(key=lambda part: part is trees)
    trees["n_columns"] = 10**6
    number = trees["feature"]["array"]
    whole.put(number, np.full_like(whole.array(number), 10**6 - 1))
    assert "do not fit together" in outcome(whole.content(), X)


@pytest.mark.parametrize("field", ["category_set", "set_starts", "bitset"])
def test_sets_of_categories_lead_somewhere(tmp_path, field):
    model, frame = fitted("frame, trees")
    model.save(tmp_path / "model.rboost")
    whole, (forest,) = tree_arrays((tmp_path / "model.rboost").read_bytes())
    array = whole.array(forest[field])
    assert len(array) > 1
    changes = {
        "category_set": [len(whole.array(forest["set_starts"])) - 1, -2],
        "set_starts": [1, -1, 2**31 - 1],
        "bitset": [],
    }[field]
    for value in changes:
        changed, own = whole.copy(), array.copy()
        own[0] = value
        changed.put(forest[field], own)
        said = outcome(changed.content(), frame)
        assert "do not fit together" in said or "out of range" in said
    changed = whole.copy()
    changed.put(forest[field], array[:1])
    assert isinstance(outcome(changed.content(), frame), str)


# --- bytes


def is_refused(content, path):
    path.write_bytes(content)
    with pytest.raises(ValueError, match="run rboost audit again, or save the model again") as one:
        load(path)
    assert "\n" not in str(one.value)
    return str(one.value)


def test_a_change_of_any_byte_is_noticed(plain, tmp_path):
    random = np.random.RandomState(0)
    for place in [*range(START + 20), *random.randint(START, len(plain), 60)]:
        changed = bytearray(plain)
        changed[place] ^= 1 << random.randint(8)
        assert is_refused(changed, tmp_path / "model.rboost")


@pytest.mark.parametrize("n_bytes", [1, 64, 1000])
def test_bytes_more_or_less_are_noticed(plain, tmp_path, n_bytes):
    path = tmp_path / "model.rboost"
    for changed in (
        plain + b"\0" * n_bytes, b"\0" * n_bytes + plain, plain[:-n_bytes], plain[n_bytes:],
        plain[:500] + plain[500 + n_bytes :], plain + plain,
    ):  # fmt: skip
        assert is_refused(changed, path)


def test_a_part_of_a_file_is_refused_wherever_it_ends(plain, tmp_path):
    for end in [*range(START + 2), *range(START, len(plain), len(plain) // 40)]:
        assert is_refused(plain[:end], tmp_path / "model.rboost")


def test_files_of_others(tmp_path):
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", "{}")
        archive.comment = b"rboost model, format 7, SHA-256 " + b"0" * 64
    old = path.read_bytes()
    for content in (old, b"", b"text", b"PK\x05\x06", b"\x80\x04\x95", MAGIC):
        assert "is no model file of this rboost" in is_refused(content, path)
    with pytest.raises(OSError, match="There is no file"):
        load(tmp_path / "none.rboost")


def test_formats(plain, tmp_path):
    path = tmp_path / "model.rboost"
    path.write_bytes(Forged(plain).content(number=FORMAT + 1))
    with pytest.raises(ValueError, match=r"made by a newer rboost \(its format is .* pip install"):
        load(path)


@pytest.mark.parametrize("text", [
    b"", b"{", b"null", b"[]", b"{}", b"[" * 100_000, b'{"a":' * 100_000, b"1" * 5000, b"\xff",
    b'{"made_with":{},"about":{},"arrays":[],"model":{}}',
    b'{"made_with":{},"about":[],"arrays":[],"model":{"is":"rboost"}}',
    b'{"made_with":{},"about":{},"arrays":[],"model":{"is":["rboost"]}}',
    b'{"made_with":{},"about":{},"arrays":[],"model":{"is":"os.system"}}',
])  # fmt: skip
def test_documents_of_others(text, tmp_path):
    assert is_refused(with_checksum(FORMAT, text, b""), tmp_path / "model.rboost")


# --- memory


def bomb(n_bytes, length, is_compressed=True):
    """A file whose first array claims to be far longer than the file."""
    shape = [n_bytes // 8]
    block = zlib.compress(b"\0" * min(n_bytes, 2**27), 9)[:length].ljust(length, b"\0")
    document = {"made_with": {}, "about": {}, "model": {"is": "rboost"},
                "arrays": [["f8", shape, length, is_compressed]]}  # fmt: skip
    return with_checksum(FORMAT, json.dumps(document).encode(), block)


@pytest.mark.parametrize("content", [
    bomb(2**40, 1000), bomb(2**27, 2**17), bomb(2**60, 10, is_compressed=False),
    with_checksum(FORMAT, b"[" + b"[]," * 2**21 + b"[]]", b""),
    with_checksum(FORMAT, b"[" + b"0," * 2**21 + b"0]", b""),
    with_checksum(FORMAT, b'["' + b"\\\"" * 2**21, b""),
], ids=["terabyte", "ratio", "raw", "lists", "numbers", "quotes"])  # fmt: skip
def test_no_file_takes_far_more_memory_than_its_length(content):
    tracemalloc.start()
    with pytest.raises(ValueError, match="holds no model that can be read"):
        read_content(content, Path("model.rboost"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * len(content) + 2 * SPARE_BYTES


@pytest.mark.parametrize("name", ["default", "frame", "rLR"])
def test_an_honest_file_takes_little_memory(name, tmp_path):
    path = tmp_path / "model.rboost"
    fitted(name)[0].save(path)
    load(path)  # imports what it needs
    tracemalloc.start()
    load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * path.stat().st_size + SPARE_BYTES


def document(arrays=(), about="{}", model='{"is":"rboost"}'):
    described = json.dumps([one for one, _ in arrays])
    text = f'{{"made_with":{{}},"about":{about},"arrays":{described},"model":{model}}}'
    return with_checksum(FORMAT, text.encode(), b"".join(block for _, block in arrays))


def zeros(n, dtype="f8"):
    """An array that is compressed as far as any may be."""
    raw = bytes(n * np.dtype(dtype).itemsize)
    block = compressed(raw)
    return [dtype, [n], len(block), True], block


def listed(form, n):
    return '{"x":[' + ",".join(form % k for k in range(n)) + "]}"


@pytest.mark.parametrize("content", [
    document([zeros(2**20)]), document([zeros(2**21, "b1")]), document([zeros(1000)] * 1000),
    document(about='{"x":"😀' + "a" * 2**20 + '"}'), document(about=listed('"%x"', 2**17)),
    document(about=listed('"word%06d"', 2**17)), document(about=listed("%d.5", 2**17)),
    document(about="{" + ",".join(f'"a name {k}":0' for k in range(2**16)) + "}"),
    document(about="1" + "e" * 2**20), document(about='["' + "\\" * 2**20),
], ids=["zeros", "truths", "many", "sign", "letters", "words", "numbers", "members", "tail",
        "escapes"])  # fmt: skip
def test_what_is_read_before_it_is_refused_takes_no_more_memory(content):
    tracemalloc.start()
    with pytest.raises(ValueError, match="holds no model that can be read"):
        read_content(content, Path("model.rboost"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 9 * len(content) + 2 * SPARE_BYTES


@pytest.mark.parametrize("shape", [[0, 2**40], [2**52, 0], [0, 2**21, 2]])
def test_an_array_of_nothing_claims_no_sizes(shape):
    content = document([(["f8", shape, 0, False], b"")])
    with pytest.raises(ValueError, match="an array of nothing is large"):
        read_content(content, Path("model.rboost"))


@pytest.mark.parametrize("text", [
    '{"made_with":{},"made_with":{},"about":{},"arrays":[],"model":{"is":"rboost"}}',
    '{"made_with":{},"about":{"a":1,"\\u0061":2},"arrays":[],"model":{"is":"rboost"}}',
    '{"made_with":{},"about":{},"arrays":[],"model":{"is":"x","is":"rboost"}}',
])  # fmt: skip
def test_no_field_is_there_twice(text):
    with pytest.raises(ValueError, match="a field is there twice"):
        read_content(with_checksum(FORMAT, text.encode(), b""), Path("model.rboost"))


def test_one_array_for_all_fields(plain):
    """99 kB with one array referenced fifty times took 10 GB before models were data."""
    whole = Forged(plain)
    for keys in [keys for keys in whole.places() if keys[-1] == "array"]:
        whole = whole.replaced(keys, 0)
    assert "missing or used twice" in outcome(whole.content(), None)


# --- small parts of a file that stand for much memory


def member(whole, kind):
    """The first part of a kind in a file, wherever it is."""

    def look(part):
        if isinstance(part, dict) and part.get("is") == kind:
            return part
        inner = part.values() if isinstance(part, dict) else part
        found = (look(own) for own in inner if isinstance(own, (dict, list)))
        return next(filter(None, found), None)

    return look(whole.document["model"])


def forge(name, tmp_path, kind, change):
    """A file of a model in which a part was changed, and what it ends in."""
    model, X = fitted(name)
    model.save(tmp_path / "model.rboost")
    whole = Forged((tmp_path / "model.rboost").read_bytes())
    change(whole, member(whole, kind))
    return outcome(whole.content(), X)


def with_array(field, make):
    """Another array in a field of a part."""

    def change(whole, part):
        number = part[field]["array"]
        whole.put(number, make(whole.array(number)))

    return change


def as_table_of_dates(whole, part):
    part["parts"] = ["month"] * 10**5


def as_twins(whole, part):
    part["columns"][0] |= {"name": part["columns"][1]["name"]}


def as_long_names(whole, part):
    part["classes_"]["values"][0] = "x" * 10**6


def without_columns(whole, part):
    part["columns"] = []


def of_many_components(whole, part):
    """Kernel machines whose random directions would take a gigabyte."""
    for field, axis, n in (("coef", 1, 30_000), ("medians", 1, 30_000), ("center", 1, 30_000),
                           ("scale", 1, 30_000)):  # fmt: skip
        number = part[field]["array"]
        whole.put(number, np.take(whole.array(number), np.zeros(n, int), axis), is_short=True)


def without_roots(whole, part):
    for field in ("feature", "threshold", "left", "right", "nan_left", "roots"):
        number = part[field]["array"]
        whole.put(number, whole.array(number)[:0])


@pytest.mark.parametrize(
    ("name", "kind", "change"),
    [
        ("texts", "text terms", with_array("components", lambda a: np.repeat(a[:1], 9, axis=0))),
        ("frame", "column", as_table_of_dates),
        ("frame", "table encoder", as_twins),
        ("frame", "table encoder", without_columns),
        ("default, 3 classes", "rboost", as_long_names),
        ("default, 3 classes", "layout", with_array("overlapping", lambda a: np.repeat(a, 99, 0))),
        ("default", "voting kernels", of_many_components),
        ("default, 3 classes", "voting trees", without_roots),
    ],
    ids=["directions", "parts of dates", "twins", "no columns", "names", "overlaps", "kernels",
         "no roots"],
)  # fmt: skip
def test_small_parts_that_stand_for_much(name, kind, change, tmp_path):
    assert "holds no model that can be read: " in forge(name, tmp_path, kind, change)


def test_many_words_are_paid_for_by_their_length(tmp_path):
    model, _ = fitted("frame")
    model.save(tmp_path / "model.rboost")
    whole = Forged((tmp_path / "model.rboost").read_bytes())
    columns = whole.document["model"]["_encoder"]["columns"]
    next(own["levels"] for own in columns if own["levels"])["words"] = [""] * 10**6
    assert "far more memory than its length" in outcome(whole.content(), None)


def test_signs_of_json_within_words_take_no_more_memory_than_others(tmp_path):
    X = pd.DataFrame({"tags": [f"{k},[{k}" + "{:,[" * 40 for k in range(4000)] * 2})
    X["x"] = np.arange(len(X))
    y = X["x"] > 4000
    model = RBoostClassifier(engines="trees", max_iter=20, random_state=0).fit(X, y)
    model.save(tmp_path / "model.rboost")
    loaded = load(tmp_path / "model.rboost")
    np.testing.assert_array_equal(loaded.predict(X[:9]), model.predict(X[:9]))


PREDICTS = """
import resource, sys, rboost, numpy
limit = 3 * 2**30
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
model = rboost.load(sys.argv[1])
print(model.predict_proba(numpy.zeros((5, 4))).shape)
"""


@pytest.mark.slow
def test_a_file_is_read_within_a_limit_of_memory_and_without_scikit_learns_trees(plain, tmp_path):
    assert resource.RLIMIT_AS is not None
    path = tmp_path / "model.rboost"
    path.write_bytes(plain)
    command = [sys.executable, "-c", PREDICTS, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(5, 2)"


def test_files_larger_than_any_model(plain, tmp_path, monkeypatch):
    monkeypatch.setattr("rboost.saving.file.MOST_BYTES", len(plain) - 1)
    assert "larger than any model" in is_refused(plain, tmp_path / "model.rboost")


def test_what_was_said_about_a_model_is_json(plain, tmp_path):
    path = tmp_path / "model.rboost"
    path.write_bytes(plain)
    assert load_with_notes(path)[1] == {}
    assert rboost.load is load
