"""Audits on disk: read back as they were, fitted again with answers, safe from each other."""

import io
import json
import os
import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from rboost.audit.disk.folder import (
    FORMAT,
    MODEL,
    REPORT,
    SUSPECTS,
    audit_into,
    column_warnings,
    read_audit,
    read_record,
    write_refitted,
)
from rboost.audit.disk.request import Request, read_inputs
from rboost.files import file_digest, staged
from rboost.review.session import Review
from tests.audit.disk.refits import refit
from tests.audit.reports import without_pictures

CLASSES = ("a", "b", "c")


def make_table(path, n_rows=90, seed=0, n_classes=3):
    random = np.random.RandomState(seed)
    true = np.arange(n_rows) % n_classes
    table = pd.DataFrame({"key": [f"1.{k:02}0" for k in range(n_rows)]})
    table["x"] = true + 0.2 * random.standard_normal(n_rows)
    table["y"] = np.where(true == 1, 2.0, -2.0) + 0.2 * random.standard_normal(n_rows)
    wrong = random.uniform(size=n_rows) < 0.1
    table["label"] = np.array(CLASSES)[np.where(wrong, (true + 1) % n_classes, true)]
    table.to_csv(path, index=False)
    return table


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch):
    without_pictures(monkeypatch)


@pytest.fixture
def request_(tmp_path):
    make_table(tmp_path / "table.csv")
    return Request(tmp_path / "table.csv", "label", id="key", model="linear", check_columns=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What was asked for, found and written."""
    place = tmp_path_factory.mktemp("made")
    make_table(place / "table.csv")
    request = Request(place / "table.csv", "label", id="key", model="linear", check_columns=False)
    audit, _ = audit_into(place / "out", request)
    return request, audit, place / "out"


@pytest.fixture
def folder(made, tmp_path):
    """A copy of what was written."""
    return shutil.copytree(made[2], tmp_path / "out")


@pytest.mark.parametrize(
    ("model", "n_classes"), [("linear", 2), pytest.param("rboost", 3, marks=pytest.mark.slow)]
)
def test_what_is_read_back_is_what_was_found(request_, tmp_path, model, n_classes):
    make_table(request_.data, n_classes=n_classes)
    audit, _ = audit_into(tmp_path / "out", replace(request_, model=model))
    again = read_audit(tmp_path / "out")
    assert again.ids.tolist() == audit.ids.tolist()
    assert again.ids[1] == "1.010"  # ids stay as they are written
    assert_allclose(again.inference.posterior, audit.inference.posterior)
    assert_allclose(again.features.values, audit.features.values)
    assert_allclose(again.noise_matrix, audit.noise_matrix)
    predicted = again.model.predict_proba(audit.table)
    np.testing.assert_array_equal(predicted, audit.model.predict_proba(audit.table))
    assert again.summary() == audit.summary()


def test_columns_left_aside_and_texts_are_read_back(request_, tmp_path):
    table = make_table(request_.data)
    table["same"] = 1
    table["story"] = [f"once {k} upon {k * k} a time" for k in range(len(table))]
    table.to_csv(request_.data, index=False)
    audit, _ = audit_into(tmp_path / "out", request_)
    again = read_audit(tmp_path / "out")
    assert again.unused_columns == audit.unused_columns == ("same",)
    assert "same" not in again.model.encoder.names
    rows = audit.suspects().rows
    assert again.explain_all(rows) == audit.explain_all(rows)
    fewer = audit.table.drop(columns="same")
    assert_allclose(again.model.predict_proba(fewer), audit.model.probability(audit.features))


def test_folders_go_by_their_format_not_by_the_version_of_the_package(folder):
    record = json.loads((folder / "audit.json").read_text())
    for change, problem in (
        ({"rboost": "99.0.1"}, None),
        ({"format": FORMAT + 1}, "made by a newer rboost .* pip install --upgrade rboost"),
        ({"format": FORMAT - 1}, "made by an older rboost .* run rboost audit again"),
        ({"format": None}, "is damaged; run rboost audit again"),
        ({"classes": [[]]}, "is damaged; run rboost audit again"),
        ({"budget": 10**400}, "is damaged; run rboost audit again"),
    ):
        (folder / "audit.json").write_text(json.dumps(record | change))
        if problem is None:
            assert len(read_audit(folder)) == 90
        else:
            with pytest.raises(ValueError, match=problem):
                read_audit(folder)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Every row is predicted")  # as all answers say the same
@pytest.mark.filterwarnings("ignore::rboost.audit.AnswersContradictWarning")
def test_a_class_of_which_all_rows_were_checked_can_be_learnt(made, folder):
    rows = np.flatnonzero(made[1].labels.given == 2)
    again = refit(folder, dict.fromkeys(rows.tolist(), 2))
    assert again.labels.is_checked.sum() == len(rows)
    assert np.isfinite(again.inference.posterior).all()
    nobody = refit(folder, dict.fromkeys(rows.tolist(), 0))
    assert nobody.classes.tolist() == list(CLASSES)  # answers must not rename classes
    assert np.isfinite(nobody.model.predict_proba(nobody.table)).all()


@pytest.mark.slow
def test_another_audit_in_the_folder_is_not_overwritten(made, folder, tmp_path):
    opened, audit = read_record(folder), read_audit(folder)
    make_table(tmp_path / "other.csv", seed=1)
    audit_into(folder, replace(made[0], data=tmp_path / "other.csv"))
    before = (folder / "audit.json").read_bytes()
    with pytest.raises(ValueError, match="holds another audit by now"):
        write_refitted(folder, opened, audit.refit({"1.000": "b"}))
    assert (folder / "audit.json").read_bytes() == before


def reviewed(folder):
    """The review of a folder as the command opens it."""
    save = partial(write_refitted, folder, read_record(folder))
    return Review(read_audit(folder), folder, save)


def refit_by(review):
    review.refit()
    review.refit_job.wait()
    assert review.refit_job.error is None


@pytest.mark.parametrize("how", ["deleted", "changed"])
def test_a_review_needs_the_table_only_when_it_is_opened(how, request_, tmp_path):
    folder, table = tmp_path / "out", request_.data
    expected, _ = audit_into(folder, request_)
    content = table.read_bytes()
    review = reviewed(folder)
    if how == "deleted":
        table.unlink()
    else:
        table.write_text("something else")
    review.answer("one", 2, "keep", None)
    refit_by(review)
    review.finish()
    fitted = review.snapshot.fitted
    assert_allclose(fitted.scores, expected.refit({"1.020": expected.labels.written[2]}).scores)
    with pytest.raises((ValueError, OSError), match=str(table)):
        read_audit(folder)
    table.write_bytes(content)  # of which the folder is the audit
    again = read_audit(folder)
    assert_allclose(again.scores, fitted.scores)
    assert again.summary() == fitted.summary()
    assert np.flatnonzero(again.labels.is_checked).tolist() == [2]


def test_what_people_said_survives_a_new_fit_and_the_disk(request_, tmp_path):
    """Also what is too rare to be a class, and that an answer was taken back."""
    table = pd.read_csv(request_.data, dtype=str)
    table.loc[table.index[-2:], "label"] = "oak"
    table.to_csv(request_.data, index=False)
    (tmp_path / "checked.csv").write_text("key,checked_label\n1.000, A\n1.010,oak\n")
    folder = tmp_path / "out"
    with pytest.warns(UserWarning, match="'oak' of 'label': fewer than 5 rows"):
        audit_into(folder, replace(request_, trusted=tmp_path / "checked.csv"))
    review = reviewed(folder)
    review.answer("one", 4, "keep", None)
    refit_by(review)
    said = dict(enumerate(["a", "oak", "", "", review.snapshot.fitted.labels.written[4]]))
    for labels in (review.snapshot.fitted.labels, read_audit(folder).labels):
        assert dict(enumerate(labels.said[:5])) == said
        assert not any(labels.said[5:])
    review.undo("two")
    review.answer("three", 5, "keep", None)
    refit_by(review)
    review.finish()
    said = read_audit(folder).labels.said
    assert np.flatnonzero(said != "").tolist() == [0, 1, 5]
    np.testing.assert_array_equal(said, review.snapshot.fitted.labels.said)


def test_an_answer_that_is_taken_back_is_no_answer_although_the_trusted_file_has_it(made, folder):
    review = reviewed(folder)
    review.answer("one", 2, "keep", None)
    review.answer("two", 3, "keep", None)
    review.finish()
    audit_into(folder, replace(made[0], trusted=folder / "checked.csv"))
    again = reviewed(folder)
    assert np.flatnonzero(again.snapshot.fitted.labels.said != "").tolist() == [2, 3]
    again.undo("three")
    refit_by(again)
    again.finish()
    assert np.flatnonzero(read_audit(folder).labels.said != "").tolist() == [2]


def test_all_that_several_people_said_is_trusted_and_kept(made, folder):
    """As checked.csv of a review, or a file of one line a person, and in the folder itself."""
    lines = [
        ("1.000", "a", "ann"),
        ("1.000", "b", "bob"),
        ("1.010", "b", "ann"),
        ("1.010", "b", ""),
    ]
    (folder / "checked.csv").write_text(
        "key,checked_label,reviewer\n" + "".join(",".join(line) + "\n" for line in lines)
    )
    audit, _ = audit_into(folder, replace(made[0], trusted=folder / "checked.csv"))
    said = {(0, "ann", 0), (0, "bob", 1), (1, "ann", 1), (1, "", 1)}
    assert audit.labels.answers.said == said
    review = reviewed(folder)
    review.answer("one", 2, "keep", None, reviewer="cy")
    review.exporting.wait()
    written = pd.read_csv(folder / "checked.csv", dtype=str, keep_default_na=False)
    assert sorted(zip(written["key"], written["reviewer"], strict=True)) == sorted(
        [(key, who) for key, _, who in lines] + [("1.020", "cy")]
    )
    refit_by(review)
    review.finish()
    again, fitted = read_audit(folder), review.snapshot.fitted
    assert again.labels.answers.said == said | {(2, "cy", int(fitted.labels.given[2]))}
    assert again.reviewer_errors == pytest.approx(fitted.reviewer_errors)
    assert_allclose(again.inference.posterior, fitted.inference.posterior, atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*model.rboost could not be written")
def test_an_audit_whose_model_could_not_be_kept_is_fitted_again(request_, tmp_path, monkeypatch):
    def fail(*_):
        raise RecursionError("too deep")

    with monkeypatch.context() as patched:
        patched.setattr("rboost.audit.disk.folder.save", fail)
        made, _ = audit_into(tmp_path / "out", request_)
    again = refit(tmp_path / "out", {0: 1})
    assert_allclose(again.scores, made.refit({"1.000": "b"}).scores)
    assert (tmp_path / "out" / MODEL).exists()


def test_a_refit_whose_model_cannot_be_kept_changes_nothing(made, folder, monkeypatch):
    def fail(*_):
        raise ValueError("too large")

    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    opened, audit = read_record(folder), read_audit(folder)
    monkeypatch.setattr("rboost.audit.disk.folder.save", fail)
    with pytest.raises(ValueError, match="too large"):
        write_refitted(folder, opened, audit)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert MODEL in before


@pytest.mark.slow
def test_a_second_round_keeps_the_answers_of_the_first(made, folder):
    """checked.csv in the folder may be trusted and written again."""
    request_ = made[0]
    (folder / "checked.csv").write_text(
        "key,checked_label,drawn_at_random\n1.000,b,yes\n1.010,b,\n"
    )
    trusting = replace(request_, trusted=folder / "checked.csv")
    audit_into(folder, trusting)
    review = reviewed(folder)
    review.answer("one", 2, "keep", None)
    review.exporting.wait()
    written = pd.read_csv(folder / "checked.csv", dtype=str, keep_default_na=False)
    review.refit()
    review.finish()
    assert dict(zip(written["key"], written["drawn_at_random"], strict=True))["1.000"] == "yes"
    assert np.flatnonzero(read_audit(folder).labels.at_random).tolist() == [0]
    assert sorted(written["key"]) == ["1.000", "1.010", "1.020"]
    assert read_inputs(trusting)["y_checked"][2] is not None
    audit_into(folder, trusting)  # no warning that it does not know the answers
    with pytest.warns(UserWarning, match="does not know"):
        audit_into(folder, request_)


def test_a_column_called_row_names_no_rows(tmp_path):
    table = make_table(tmp_path / "table.csv").drop(columns="key")
    table.insert(0, "row", np.arange(len(table)) * 3)
    table.to_csv(tmp_path / "table.csv", index=False)
    table.head(8).to_csv(tmp_path / "more.csv", index=False)
    inputs = read_inputs(Request(tmp_path / "table.csv", "label", trusted=tmp_path / "more.csv"))
    assert not any(inputs["y_checked"])
    assert len(inputs["X_trusted"]) == 8


@pytest.mark.parametrize("labels", [("TRUE", "FALSE"), ("1.0", "0.0"), ("1", "0"), ("-1", "+1")])
def test_labels_of_trusted_rows_are_those_of_the_table(labels, tmp_path):
    table = make_table(tmp_path / "table.csv")
    table["label"] = np.where(table["label"] == "a", *labels)
    table.to_csv(tmp_path / "table.csv", index=False)
    trusted = tmp_path / "checked.csv"
    trusted.write_text(f"key,checked_label\n1.000,{labels[0]}\n1.010,{labels[0]}\n")
    inputs = read_inputs(Request(tmp_path / "table.csv", "label", id="key", trusted=trusted))
    assert inputs["y_checked"][:2] == [inputs["y"][0]] * 2


def test_a_stage_of_a_run_that_goes_on_is_left_alone(tmp_path):
    running, killed = tmp_path / f".stage-{os.getpid()}-x", tmp_path / ".stage-999999999-x"
    running.mkdir()
    killed.mkdir()
    (tmp_path / "old").write_text("of an earlier run, which had one more file")
    with staged(tmp_path, ("b", "a", "old")) as stage:
        for name in "ba":
            (stage / name).write_text(name)
        assert not (tmp_path / "b").exists()
    assert (tmp_path / "a").read_text() + (tmp_path / "b").read_text() == "ab"
    assert running.exists()
    assert not killed.exists()
    assert not (tmp_path / "old").exists()
    assert not stage.exists()


def test_a_stage_that_fails_leaves_everything_as_it_was(tmp_path):
    (tmp_path / "a").write_text("before")

    def fail():
        with staged(tmp_path, ("b", "a", "old")) as stage:
            (stage / "a").write_text("after")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "before"


@pytest.mark.slow
@pytest.mark.parametrize("name", [MODEL, REPORT])
def test_what_was_found_is_kept_if_a_file_cannot_be_made(name, request_, tmp_path, monkeypatch):
    """Whatever fails last must not lose what was found before it."""

    def fail(*_, **__):
        raise RecursionError("too deep")

    if name == MODEL:
        monkeypatch.setattr("rboost.audit.disk.folder.save", fail)
    else:
        monkeypatch.setattr("rboost.audit.result.render_report", fail)
    folder = tmp_path / "audit"
    with pytest.warns(
        UserWarning, match=f"{name} could not be written, but everything else was: too deep"
    ):
        made, _ = audit_into(folder, request_)
    assert not (folder / name).exists()
    assert len(pd.read_csv(folder / SUSPECTS)) == len(made.to_frame())
    monkeypatch.undo()
    again = read_audit(folder)
    np.testing.assert_allclose(again.issue_probability, made.issue_probability)
    assert (again.model is None) == (name == MODEL)


@pytest.mark.slow
def test_probabilities_of_another_model_are_read_kept_and_audited_again(request_, tmp_path):
    table = make_table(request_.data)
    near = -((table["x"].to_numpy()[:, None] - np.arange(3)) ** 2) / 0.5
    P = np.exp(near) / np.exp(near).sum(axis=1, keepdims=True)
    columns = {name: P[:, k] for k, name in enumerate(CLASSES)}
    frame = pd.DataFrame({"key": table["key"], **columns})
    path = tmp_path / "p.csv"
    frame.iloc[::-1].to_csv(path, index=False)  # rows are found by their names
    request = replace(request_, model="rboost", probabilities=path)
    made, _ = audit_into(tmp_path / "out", request)
    assert made.model is None
    assert not (tmp_path / "out" / MODEL).exists()
    in_order = made.scores
    path.unlink()  # a copy is kept
    again = read_audit(tmp_path / "out")
    assert_allclose(again.issue_probability, made.issue_probability)
    answered = refit(tmp_path / "out", {0: 1, 1: 1, 2: 2})
    assert_allclose(answered.scores, in_order)
    assert answered.labels.checked[:3].tolist() == [1, 1, 2]
    pd.concat([frame, frame.iloc[:1]]).to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"has the row '1\.000' twice"):
        read_inputs(request)
    frame.iloc[1:].to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"has no row '1\.000' in its column 'key'; add it"):
        read_inputs(request)
    frame.drop(columns="key").iloc[1:].to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"has 89 rows, but .* has 90; pass one for each"):
        read_inputs(request)


# --- folders that were made to do harm


def vouched(folder, name, content):
    """A forged file, for which audit.json vouches."""
    (folder / name).write_bytes(content)
    record = json.loads((folder / "audit.json").read_text())
    record["files"][name] = file_digest(folder / name)
    (folder / "audit.json").write_text(json.dumps(record))


def rows_file(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


ROWS_OF_IT = {
    "scores": np.zeros((90, 3)),
    "at_random": np.zeros(90, bool),
    "answers": np.array([[3, 1, 2], [3, 0, 1]]),
    "reviewers": np.array(["ann", "bob"]),
}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, None),
        ({"scores": np.zeros((90, 2))}, "is damaged"),
        ({"scores": np.zeros(90)}, "is damaged"),
        ({"scores": np.array(0.0)}, "is damaged"),
        ({"scores": np.full((90, 3), np.nan)}, "is damaged"),
        ({"scores": np.full((90, 3), np.inf)}, "is damaged"),
        ({"scores": np.zeros((90, 3), complex)}, "is damaged"),
        ({"scores": np.zeros((90, 3), "S8")}, "is damaged"),
        ({"scores": np.zeros((90, 3), object)}, "is damaged"),
        ({"scores": np.zeros((9, 3))}, "is of another table"),
        ({"answers": np.array([[3, 1, 3]])}, "is damaged"),
        ({"answers": np.array([[3, 2, 1]])}, "is damaged"),
        ({"answers": np.array([[90, 1, 1]])}, "is damaged"),
        ({"answers": np.array([[-1, 1, 1]])}, "is damaged"),
        ({"answers": np.array([[3, 1]])}, "is damaged"),
        ({"answers": np.array([[3, 1, 0.5]])}, "is damaged"),
        ({"reviewers": np.array([1, 2])}, "is damaged"),
        ({"at_random": np.full(90, 2)}, "is damaged"),
        ({"more": np.zeros(2**24)}, "is damaged"),  # 128 MB, packed to 130 kB
    ],
)
def test_forged_rows_end_in_a_sentence(folder, change, problem):
    vouched(folder, "rows.npz", rows_file(**ROWS_OF_IT | change))
    if problem is None:
        assert len(read_audit(folder)) == 90
        return
    with pytest.raises(ValueError, match=rf"rows\.npz {problem}; run rboost audit again\.$"):
        read_audit(folder)


def test_rows_without_an_array_or_with_a_shape_that_is_none(folder):
    whole = rows_file(**ROWS_OF_IT)
    few = rows_file(scores=ROWS_OF_IT["scores"])
    plain = io.BytesIO()
    np.savez(plain, **ROWS_OF_IT)
    shapes = [
        plain.getvalue().replace(b"(90, 3), ", other)
        for other in (b"(-9, 3), ", b"(2**9,), ", b"(9e9,3), ")
    ]
    for content in (few, b"", whole[:-9], whole[:200], b"PK\x05\x06" + bytes(18), *shapes):
        vouched(folder, "rows.npz", content)
        with pytest.raises(ValueError, match=r"rows\.npz is damaged; run rboost audit again"):
            read_audit(folder)


WARNING = {"column": "x", "kind": "copy", "rate": 0.1, "other_rate": 0.2, "value": "", "alike": []}


@pytest.mark.parametrize(
    "change",
    [
        {"format": float("inf")}, {"format": 1e999}, {"budget": -1}, {"budget": "x"},
        {"budget": True}, {"budget": 1.5},
        *({"summary": {"column_warnings": own}} for own in (
            [1], {"a": 1}, "x", 5, None, [{}], [WARNING | {"more": 1}], [WARNING | {"rate": "x"}],
            [WARNING | {"alike": None}], [WARNING | {"alike": [1]}], [WARNING | {"kind": []}],
        )),
    ],
)  # fmt: skip
def test_forged_records_end_in_a_sentence(folder, change):
    record = json.loads((folder / "audit.json").read_text())
    (folder / "audit.json").write_text(json.dumps(record | change))
    with pytest.raises(ValueError, match=r"audit\.json is damaged; run rboost audit again\.$"):
        read_record(folder)


def test_a_warning_of_a_column_is_read_back(folder):
    record = json.loads((folder / "audit.json").read_text())
    record["summary"]["column_warnings"] = [WARNING]
    (folder / "audit.json").write_text(json.dumps(record))
    assert column_warnings(read_record(folder))[0].column == "x"


def test_the_model_of_another_audit_is_refused(folder, tmp_path):
    make_table(tmp_path / "other.csv", n_classes=2)
    other = Request(tmp_path / "other.csv", "label", id="key", model="linear", check_columns=False)
    audit_into(tmp_path / "other", other)
    vouched(folder, MODEL, (tmp_path / "other" / MODEL).read_bytes())
    with pytest.raises(ValueError, match=r"model\.rboost is of another table"):
        read_audit(folder)
