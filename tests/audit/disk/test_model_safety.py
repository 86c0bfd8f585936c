"""What nobody trusts, and what was changed, is refused before it is loaded."""

import functools
import importlib
import io
import json
import os
import struct
import zipfile

import numpy as np
import pytest
import sklearn
import skops.io
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from rboost import RBoostClassifier
from rboost.audit.disk import model_file
from rboost.audit.disk.model_file import load_model, save_model
from rboost.audit.disk.model_types import TRUSTED_TYPES
from tests.audit.disk.models import ABOUT, fitted


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.skops"
    save_model(fitted(RBoostClassifier(max_iter=9, random_state=0))[0], path, ABOUT)
    return path


@pytest.mark.parametrize("name", TRUSTED_TYPES)
def test_every_trusted_name_exists(name):
    module, _, attribute = name.rpartition(".")
    assert hasattr(importlib.import_module(module), attribute)


def rewritten(source, path, change=None, card=None, number=model_file.FORMAT, **more):
    """A copy with a changed schema or card and more members, and the digest that goes with it."""
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    told = json.loads(members.pop(model_file.CARD)) | (card or {})
    if change is not None:
        schema = json.loads(members[model_file.SCHEMA])
        members[model_file.SCHEMA] = json.dumps(change(schema) or schema).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.writestr(model_file.CARD, json.dumps(told))
        for name, content in more.items():
            archive.writestr(name, content)
    model_file.seal(path, number)
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
        with pytest.raises(ValueError, match="is no model file of rboost, or a part of one"):
            load_model(path)
    skops.io.dump(LogisticRegression(), path)
    with pytest.raises(ValueError, match="is no model file of rboost"):
        load_model(path)
    model_file.seal(path)
    with pytest.raises(ValueError, match="holds no model that can be restored"):
        load_model(path)
    with pytest.raises(OSError, match=r"There is no file .*; did you mean"):
        load_model(tmp_path / "modell.skops")


def places(path):
    """A place of every kind of byte in an archive, by its name."""
    content = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        largest = max(members, key=lambda member: member.compress_size)
        directory, end = archive.start_dir, len(content) - 22 - len(archive.comment)
    header = largest.header_offset
    n_name, n_extra = struct.unpack_from("<HH", content, header + 26)
    data = header + 30 + n_name + n_extra
    last = directory + content[directory + 1 :].rfind(b"PK\x01\x02") + 1
    return {
        "signature": header,
        "version": header + 4,
        "flags": header + 6,
        "time": header + 10,
        "date": header + 12,
        "checksum": header + 14,
        "length of the name": header + 26,
        "name": header + 30,
        "first of the content": data,
        "middle of the content": data + largest.compress_size // 2,
        "last of the content": data + largest.compress_size - 1,
        "directory": directory,
        "date in the directory": last + 14,
        "rights in the directory": last + 38,
        "name in the directory": last + 46,
        "end record": end,
        "number of members": end + 8,
        "length of the comment": end + 20,
        "comment": end + 22,
        "format": len(content) - model_file.DIGEST_LENGTH - len(f"{model_file.FORMAT}, SHA-256 "),
        "first of the digest": len(content) - model_file.DIGEST_LENGTH,
        "last of the digest": len(content) - 1,
    }


def is_refused(content, path):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"run rboost audit again"):
        load_model(path)
    return True


def test_a_change_of_any_kind_of_byte_is_noticed(saved, tmp_path):
    content, path = saved.read_bytes(), tmp_path / "model.skops"
    assert content[places(saved)["format"] :].startswith(b"%d, " % model_file.FORMAT)
    for place in places(saved).values():
        for bit in range(8):
            changed = bytearray(content)
            changed[place] ^= 1 << bit
            assert is_refused(changed, path)


def test_bytes_anywhere_are_covered(saved, tmp_path):
    content, random = saved.read_bytes(), np.random.RandomState(0)
    for place in random.randint(0, len(content), 100):
        changed = bytearray(content)
        changed[place] ^= random.randint(1, 256)
        assert is_refused(changed, tmp_path / "model.skops")


@pytest.mark.parametrize("n_bytes", [1, 64, 1000])
def test_bytes_more_or_less_are_noticed(saved, tmp_path, n_bytes):
    content, path = saved.read_bytes(), tmp_path / "model.skops"
    assert is_refused(content + b"\0" * n_bytes, path)
    assert is_refused(b"\0" * n_bytes + content, path)
    assert is_refused(content[:-n_bytes], path)
    assert is_refused(content[n_bytes:], path)
    assert is_refused(content[:500] + content[500 + n_bytes :], path)
    assert is_refused(content + content, path)


def test_files_go_by_their_format_not_by_the_version_of_the_package(saved, tmp_path, monkeypatch):
    path, version = tmp_path / "model.skops", model_file.metadata.version
    monkeypatch.setattr(
        model_file.metadata,
        "version",
        lambda name: "99.0.1" if name == "rboost" else version(name),
    )
    assert load_model(saved)[1] == ABOUT
    newest = model_file.FORMAT
    for number, advice in ((newest - 1, "run rboost audit again"), (newest + 1, "pip install")):
        with pytest.raises(
            ValueError, match=rf"its format is {number}, this one reads {newest}.* {advice}"
        ):
            load_model(rewritten(saved, path, number=number))


def test_other_versions_of_what_it_was_made_with_are_refused(saved, tmp_path):
    path = tmp_path / "model.skops"
    versions = model_file._versions() | {"scikit-learn": "1.2.0"}
    expected = rf"made with scikit-learn 1\.2\.0, but this is scikit-learn {sklearn.__version__}; "
    with pytest.raises(ValueError, match=expected + r"run .* pip install \"scikit-learn==1\.2\.0"):
        load_model(rewritten(saved, path, card={"versions": versions}))


@pytest.mark.parametrize("card", [{"about": [1]}, {"versions": None}])
def test_a_card_made_by_hand(saved, tmp_path, card):
    with pytest.raises(ValueError, match="holds no model that can be restored"):
        load_model(rewritten(saved, tmp_path / "model.skops", card=card))


def test_an_archive_that_would_fill_the_memory(saved, tmp_path, monkeypatch):
    size = saved.stat().st_size
    monkeypatch.setattr(model_file, "MOST_BYTES", 3 * size)
    path = rewritten(saved, tmp_path / "bomb.skops", zeros=b"\0" * 4 * size)
    with pytest.raises(ValueError, match="GB of memory, more than any model of rboost"):
        load_model(path)


def test_nesting_without_end(tmp_path):
    path = tmp_path / "deep.skops"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(model_file.CARD, "[" * 100_000)
    model_file.seal(path)
    with pytest.raises(ValueError, match="holds no model that can be restored"):
        load_model(path)
