"""``rboost audit`` and ``rboost predict``: what they write, and what mistakes end in."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rboost.audit.disk.folder import read_audit, rerun
from rboost.audit.disk.record import read_record
from rboost.cli import main

N_ROWS = 120
FILES = {"audit.json", "model.skops", "report.html", "rows.npz", "suspects.csv"}
HOSTILE = ["<script>alert(1)</script>", "=HYPERLINK(1)", "\x1b[31mred", "naïve, “quoted”\nline"]


def make_table(n_rows=N_ROWS, seed=0):
    random = np.random.RandomState(seed)
    amount = random.standard_normal(n_rows)
    likes = amount + 0.2 * random.standard_normal(n_rows) > 0
    wrong = random.uniform(size=n_rows) < 0.1
    return pd.DataFrame(
        {
            "key": [f"k{i:04}" for i in range(n_rows)],
            "amount": amount,
            "kind": random.choice(["a", "b", None], n_rows),
            "note": random.choice(HOSTILE, n_rows),
            "since": pd.date_range("2020-01-01", periods=n_rows).astype(str),
            "empty": np.nan,
            "churn": np.where(likes ^ wrong, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "table.csv"
    make_table().to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def audited(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    arguments = ["--label", "churn", "--id", "key", "--out", str(folder), "--quiet"]
    assert main(["audit", str(data), "--model", "linear", *arguments]) == 0
    return folder


def run(capsys, *arguments):
    """The exit code and what was said on standard error."""
    code = main([str(one) for one in arguments])
    return code, capsys.readouterr().err


def refused(capsys, *arguments):
    """The sentence in which a command ends; nothing else may be said."""
    code, said = run(capsys, *arguments)
    assert code == 2
    assert said.startswith("rboost: ")
    assert said.count("\n") == 1
    assert "Traceback" not in said
    return said


def test_an_audit_writes_all_its_files(audited):
    assert {path.name for path in audited.iterdir()} == FILES
    record = json.loads((audited / "audit.json").read_text())
    assert record["summary"]["n_rows"] == N_ROWS
    assert record["classes"] == ["no", "yes"]


def test_a_suspicious_column_is_named_on_screen_in_the_report_and_in_the_record(tmp_path, capsys):
    table = make_table(300)
    table.assign(left=table["churn"].map({"yes": 1, "no": 0})).to_csv(
        tmp_path / "t.csv", index=False
    )
    arguments = ["audit", str(tmp_path / "t.csv"), "--label", "churn", "--model", "linear"]
    arguments += ["--quiet", "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert not said.err  # as it is said on standard output
    assert " ".join(said.out.split()).count("leave it out (--drop left)") == 1
    assert "leave it out (--drop left)" in (tmp_path / "out" / "report.html").read_text()
    (found,) = read_audit(tmp_path / "out").column_warnings
    assert (found.column, found.kind) == ("left", "copy")
    again = rerun(tmp_path / "out", {0: 1}, read_record(tmp_path / "out"))
    assert again.column_warnings == read_audit(tmp_path / "out").column_warnings == (found,)
    assert main([*arguments, "--no-column-check"]) == 0
    assert "--drop" not in capsys.readouterr().out


def test_rows_drawn_at_random_say_how_many_labels_are_wrong(data, tmp_path, capsys):
    table = pd.read_csv(data).iloc[:40]
    table.loc[:1, "churn"] = table.loc[:1, "churn"].map({"yes": "no", "no": "yes"})
    table[["key", "churn"]].to_csv(tmp_path / "trusted.csv", index=False)
    arguments = ["audit", data, "--label", "churn", "--id", "key", "--model", "linear", "--quiet"]
    arguments += ["--out", tmp_path / "out"]
    trusted = ["--trusted", tmp_path / "trusted.csv"]
    assert "--trusted" in refused(capsys, *arguments, "--trusted-random")
    for options, n_drawn in (([], None), (["--trusted-random"], 40)):
        assert main([str(one) for one in (*arguments, *trusted, *options)]) == 0
        said = " ".join(capsys.readouterr().out.split())
        found = read_audit(tmp_path / "out").summary()
        record = json.loads((tmp_path / "out" / "audit.json").read_text())["summary"]
        sentence = "Of 40 labels drawn at random and checked, 2 were wrong"
        if n_drawn is None:
            assert found.random_checks is record["random_checks"] is None
        else:
            assert (found.random_checks.n_checked, found.random_checks.n_wrong) == (40, 2)
            assert record["random_checks"]["high"] == pytest.approx(found.random_checks.high)
        for text in (said, (tmp_path / "out" / "report.html").read_text()):
            assert (sentence in text) == (n_drawn is not None)
        assert record["predictive_check"]["n_checked"] == 40


def test_suspects_name_rows_labels_and_reasons(audited, data):
    suspects = pd.read_csv(audited / "suspects.csv")
    table = pd.read_csv(data).set_index("key")
    values = [name for name in table.columns if name != "churn"]
    assert list(suspects.columns) == [
        "key", "given_label", "suggested_label", "probability_wrong", "probability_suggested",
        "against_given_label", "nearest_agreeing_rows", *values,
    ]  # fmt: skip
    np.testing.assert_allclose(suspects["amount"], table.loc[suspects["key"], "amount"])
    assert len(suspects)
    assert (table.loc[suspects["key"], "churn"].to_numpy() == suspects["given_label"]).all()
    assert suspects["against_given_label"].str.contains("amount").mean() > 0.5
    for neighbours, label in zip(
        suspects["nearest_agreeing_rows"], suspects["suggested_label"], strict=True
    ):
        assert (table.loc[neighbours.split(", "), "churn"] == label).all()


def test_an_audit_that_is_read_back_is_the_same(audited, data):
    again = read_audit(audited)
    suspects = pd.read_csv(audited / "suspects.csv")
    found = again.to_frame()
    assert found["key"].tolist() == suspects["key"].tolist()
    np.testing.assert_allclose(found["probability_wrong"], suspects["probability_wrong"])


def test_predictions_follow_the_rows(audited, data, tmp_path, capsys):
    out = tmp_path / "predictions.csv"
    assert main(["predict", str(audited / "model.skops"), str(data), "--out", str(out)]) == 0
    predicted = pd.read_csv(out)
    assert predicted["key"].tolist() == pd.read_csv(data)["key"].tolist()
    np.testing.assert_allclose(predicted["p(no)"] + predicted["p(yes)"], 1, atol=1e-5)
    capsys.readouterr()
    assert main(["predict", str(audited / "model.skops"), str(data)]) == 0
    assert capsys.readouterr().out == out.read_text()


def test_a_row_that_a_person_confirmed_is_never_flagged(audited, data, tmp_path):
    suspect = pd.read_csv(audited / "suspects.csv").iloc[0]
    checked = tmp_path / "checked.csv"
    checked.write_text(f"key,checked_label\n{suspect['key']},{suspect['given_label']}\n")
    folder = tmp_path / "again"
    arguments = ["--label", "churn", "--id", "key", "--out", str(folder), "--quiet"]
    arguments += ["--trusted", str(checked), "--budget", "100", "--model", "linear"]
    assert main(["audit", str(data), *arguments]) == 0
    assert suspect["key"] not in set(pd.read_csv(folder / "suspects.csv")["key"])
    assert read_audit(folder).labels.is_checked.sum() == 1


def test_further_trusted_rows_count_too(data, tmp_path):
    trusted = tmp_path / "trusted.csv"
    make_table(30, seed=9).drop(columns="key").to_csv(trusted, index=False)
    folder = tmp_path / "audit"
    arguments = ["--label", "churn", "--id", "key", "--out", str(folder), "--quiet"]
    arguments += ["--trusted", str(trusted), "--model", "linear"]
    assert main(["audit", str(data), *arguments]) == 0
    again = read_audit(folder)
    assert len(again) == N_ROWS + 30
    assert again.labels.is_checked.sum() == 30


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t.assign(churn="yes"), "two classes are needed"),
        (lambda t: t.assign(churn=t["key"]), "like an id"),
        (lambda t: t.assign(churn=t["amount"]), "like an id"),
        (lambda t: t.assign(churn=np.nan), "is empty in every row"),
        (lambda t: t[["key", "churn"]], "no column left besides the label"),
        (lambda t: t[["key", "empty", "churn"]], "No column says anything"),
        (lambda t: t.rename(columns={"churn": "Churned"}), "did you mean 'Churned'"),
        (lambda t: t.groupby("churn").head(8), "at least 20 are needed"),
        (lambda t: t.iloc[:0], "no rows"),
        (lambda t: t.assign(key="same"), "in more than one row"),
    ],
)
def test_a_table_that_cannot_be_audited_is_refused(change, says, tmp_path, capsys):
    path, out = tmp_path / "table.csv", tmp_path / "out"
    change(make_table()).to_csv(path, index=False)
    assert says in refused(capsys, "audit", path, "--label", "churn", "--id", "key", "--out", out)
    assert not out.exists() or not list(out.iterdir())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--budget", "0"], "--budget must be at least 1"),
        (["--seed", "-1"], "--seed must not be negative"),
        (["--model", "magic"], "There is no model 'magic'"),
        (["--drop", "nothing"], "There is no column 'nothing'"),
        (["--id", "nothing"], "There is no column 'nothing'"),
        (["--trusted", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_wrong_options_are_refused(arguments, says, data, tmp_path, capsys):
    options = ["--label", "churn", "--out", tmp_path / "out", "--quiet"]
    assert says in refused(capsys, "audit", data, *options, *arguments)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("key,checked_label\nk9999,yes\n", "names a row 'k9999'"),
        ("key,checked_label\nk0001,maybe\n", "has the label 'maybe'"),
        ("name,checked_label\nk0001,yes\n", "neither the column 'key'"),
        ("key,other\nk0001,yes\n", "There is no column 'churn'"),
        ("key,checked_label\nk0001,yes\nk0001,no\n", "twice, with different labels"),
        ("key,checked_label\nk0001,\n", "has no label in any row"),
    ],
)
def test_a_file_of_trusted_rows_must_fit(content, says, data, tmp_path, capsys):
    trusted = tmp_path / "checked.csv"
    trusted.write_text(content)
    options = ["--label", "churn", "--id", "key", "--out", tmp_path / "out", "--quiet"]
    assert says in refused(capsys, "audit", data, *options, "--trusted", trusted)
    assert not (tmp_path / "out").exists()


def test_a_place_that_is_no_folder_is_refused_before_the_work(data, tmp_path, capsys):
    place = tmp_path / "file"
    place.write_text("here already")
    said = refused(capsys, "audit", data, "--label", "churn", "--out", place)
    assert "choose another folder" in said
    assert place.read_text() == "here already"


def test_a_full_disk_leaves_the_earlier_audit(audited, data, tmp_path, capsys, monkeypatch):
    folder = tmp_path / "audit"
    options = ["--label", "churn", "--id", "key", "--out", folder, "--model", "linear", "--quiet"]
    assert run(capsys, "audit", data, *options)[0] == 0
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rboost.io.files._flush", full)
    assert "disk is full" in refused(capsys, "audit", data, *options, "--seed", "1")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL], ids=["TERM", "KILL"])
def test_a_killed_run_leaves_nothing_behind(sent, tmp_path):
    data, out = tmp_path / "table.csv", tmp_path / "out"
    make_table(3000).to_csv(data, index=False)
    code = "import sys; from rboost.cli import main; sys.exit(main(sys.argv[1:]))"
    options = ["audit", str(data), "--label", "churn", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *options], stderr=subprocess.PIPE, text=True
    )
    while not out.exists():  # the folder is made before the work
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(sent)
    _, said = process.communicate(timeout=60)
    assert process.returncode != 0
    if sent == signal.SIGTERM:
        assert process.returncode == 130
        assert "nothing was written" in said
    assert not out.exists() or not list(out.iterdir())


def test_files_that_do_not_belong_together_are_refused(audited, tmp_path, capsys):
    folder = tmp_path / "copy"
    folder.mkdir()
    for path in audited.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "rows.npz").write_bytes((audited / "rows.npz").read_bytes() + b"more")
    assert "does not belong to" in refused(capsys, "review", folder)
    (folder / "audit.json").write_text("{}")
    assert "is damaged" in refused(capsys, "review", folder)
    assert "holds no audit" in refused(capsys, "review", tmp_path)


def test_a_table_that_changed_since_is_refused(tmp_path, capsys):
    data, out = tmp_path / "table.csv", tmp_path / "out"
    make_table().to_csv(data, index=False)
    options = ["--label", "churn", "--out", out, "--model", "linear", "--quiet"]
    assert run(capsys, "audit", data, *options)[0] == 0
    data.write_text(data.read_text().replace("yes", "no", 1))
    assert "changed since it was audited" in refused(capsys, "review", out)


def test_predictions_need_the_columns_and_an_honest_model(audited, data, tmp_path, capsys):
    fewer, model = tmp_path / "fewer.csv", audited / "model.skops"
    pd.read_csv(data).drop(columns="amount").to_csv(fewer, index=False)
    assert "lacks the column 'amount'" in refused(capsys, "predict", model, fewer)
    content, changed = model.read_bytes(), tmp_path / "changed.skops"
    for place in range(0, len(content), len(content) // 20):
        changed.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert "again" in refused(capsys, "predict", changed, data)
    assert refused(capsys, "predict", data, data)


def test_a_reader_of_a_pipe_may_have_seen_enough(audited, data):
    code = "import sys; from rboost.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "predict", str(audited / "model.skops"), str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        os.close(os.dup(process.stdout.fileno()))
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_hostile_cells_stay_text_everywhere(audited):
    page = (audited / "report.html").read_text()
    assert "<script>alert(1)" not in page
    assert "\x1b" not in page
    cells = pd.read_csv(audited / "suspects.csv").astype(str).to_numpy().ravel()
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)


def test_a_huge_cell_and_odd_columns_are_no_obstacle(tmp_path, capsys):
    table = make_table()
    table.loc[0, "note"] = "x" * 10_000_000
    path = tmp_path / "table.csv"
    table.columns = ["key", "amount", "amount", "", "since", "empty", "churn"]
    path.write_bytes(b"\xef\xbb\xbf" + table.to_csv(index=False).encode())
    out = tmp_path / "out"
    options = ["--label", "churn", "--out", out, "--model", "linear", "--quiet"]
    code, said = run(capsys, "audit", path, *options)
    assert code == 0, said
    assert Path(out / "report.html").stat().st_size < 3_000_000


def test_nothing_that_was_there_before_is_overwritten(audited, data, tmp_path, capsys):
    model = audited / "model.skops"
    for out in (model, data):
        assert "would be overwritten" in refused(capsys, "predict", model, data, "--out", out)
    folder = tmp_path / "foreign"
    folder.mkdir()
    table = folder / "suspects.csv"
    table.write_bytes(data.read_bytes())
    options = ["--label", "churn", "--out", folder, "--quiet"]
    assert "would be overwritten" in refused(capsys, "audit", table, *options)
    assert "is not of an audit" in refused(capsys, "audit", data, *options)
    assert table.read_bytes() == data.read_bytes()


def test_columns_keep_their_type_from_audit_to_prediction(tmp_path, capsys):
    """A new file may lack the one value that made a column text."""
    random = np.random.RandomState(0)
    table = pd.DataFrame(
        {"answer": random.choice(["TRUE", "FALSE", "maybe"], 200, p=[0.5, 0.4, 0.1])}
    )
    table["size"] = random.standard_normal(200)
    wrong = random.uniform(size=200) < 0.1
    table["churn"] = np.where((table["answer"] == "TRUE") ^ wrong, "yes", "no")
    data, new, out = tmp_path / "data.csv", tmp_path / "new.csv", tmp_path / "out"
    table.to_csv(data, index=False)
    options = ["--label", "churn", "--out", out, "--model", "linear", "--quiet"]
    assert run(capsys, "audit", data, *options)[0] == 0
    rows = table[table["answer"] != "maybe"]
    rows.to_csv(new, index=False)
    predictions = tmp_path / "predictions.csv"
    assert run(capsys, "predict", out / "model.skops", new, "--out", predictions)[0] == 0
    predicted = pd.read_csv(predictions)["predicted churn"].to_numpy()
    assert np.mean((predicted == "yes") == (rows["answer"] == "TRUE")) > 0.95
    rows.assign(size="large").to_csv(new, index=False)
    assert "has text such as 'large'" in refused(capsys, "predict", out / "model.skops", new)


def test_a_few_words_among_numbers_are_missing_numbers(tmp_path, capsys):
    table = make_table()
    table["amount"] = table["amount"].astype(object)
    table.loc[3, "amount"] = "unknown"
    path, out = tmp_path / "table.csv", tmp_path / "out"
    table.to_csv(path, index=False)
    options = ["--label", "churn", "--id", "key", "--out", out, "--model", "linear", "--quiet"]
    code, said = run(capsys, "audit", path, *options)
    assert code == 0
    assert "1 cells in the column 'amount' of numbers that are none, such as 'unknown'" in said
    assert "amount" in pd.read_csv(out / "suspects.csv")["against_given_label"].str.cat()


def test_columns_that_say_nothing_are_named(audited):
    assert json.loads((audited / "audit.json").read_text())["summary"]["unused_columns"] == [
        "empty"
    ]


def test_context_columns_are_kept(data, tmp_path, capsys):
    folder = tmp_path / "audit"
    arguments = ["--label", "churn", "--out", str(folder), "--quiet", "--model", "linear"]
    context = ["--context", "kind", "--context", "since", "--drop", "key"]
    assert main(["audit", str(data), *arguments, *context]) == 0
    assert "Labels by kind, since" in capsys.readouterr().out
    record = json.loads((folder / "audit.json").read_text())
    assert record["request"]["context"] == ["kind", "since"]
    groups = record["summary"]["groups"]
    assert sum(group["n_rows"] for group in groups) == N_ROWS
    audit = read_audit(folder)
    assert [one["name"] for one in groups] == list(audit.groups.names)
    assert audit.summary().as_dict()["groups"] == groups
    assert not {"kind", "since", "key"} & set(audit.table.columns)


def test_label_as_context_fails(data, tmp_path, capsys):
    code, said = run(
        capsys, "audit", data, "--label", "churn", "--context", "churn", "--out", tmp_path / "x"
    )
    assert code != 0
    assert "is the label" in said


def test_several_files_are_audited_as_one_table(audited, data, tmp_path, capsys):
    table, out = pd.read_csv(data), tmp_path / "out"
    for number, rows in enumerate((slice(0, 50), slice(50, None))):
        part = table[rows][table.columns[:: 1 - 2 * number]]  # the second in reverse
        part.to_csv(tmp_path / f"part{number}.csv", index=False)
    options = ["--label", "churn", "--id", "key", "--out", out, "--model", "linear", "--quiet"]
    assert run(capsys, "audit", tmp_path / "part*.csv", *options)[0] == 0
    assert (out / "suspects.csv").read_text() == (audited / "suspects.csv").read_text()
    assert "part0.csv (and 1 more)" in (out / "report.html").read_text()
    again = read_audit(out)
    assert list(again.ids) == table["key"].tolist()
    assert rerun(out, {60: 1}, read_record(out)).labels.checked[60] == 1
    new = tmp_path / "new.parquet"
    parts = [tmp_path / "part1.csv", tmp_path / "part0.csv"]
    assert run(capsys, "predict", out / "model.skops", *parts, "--out", new)[0] == 0
    assert pd.read_parquet(new)["key"].tolist() == [*table["key"][50:], *table["key"][:50]]
    assert "named twice" in refused(capsys, "audit", parts[0], parts[0], "--label", "churn")
    table.drop(columns="kind").to_csv(parts[0], index=False)
    assert "has no column 'kind', which" in refused(capsys, "audit", *parts, "--label", "churn")
    with pytest.raises(ValueError, match="changed since it was audited"):
        read_audit(out)


def test_standard_input_is_kept_for_the_review(audited, data, tmp_path, capsys, monkeypatch):
    def pipe():
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data.read_bytes())))

    out = tmp_path / "out"
    options = ["--label", "churn", "--id", "key", "--out", out, "--model", "linear", "--quiet"]
    pipe()
    assert run(capsys, "audit", "-", *options)[0] == 0
    assert (out / "suspects.csv").read_text() == (audited / "suspects.csv").read_text()
    assert (out / "stdin_table").read_bytes() == data.read_bytes()
    assert "Label audit of standard input" in (out / "report.html").read_text()
    assert read_record(out)["request"]["data"] == ["-"]
    assert len(read_audit(out).ids) == N_ROWS
    assert rerun(out, {3: 1}, read_record(out)).labels.checked[3] == 1
    assert len(read_audit(out).ids) == N_ROWS
    pipe()
    assert main(["predict", str(out / "model.skops"), "-"]) == 0
    assert capsys.readouterr().out.count("\n") == N_ROWS + 1
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "standard input is empty" in refused(capsys, "audit", "-", *options)
    assert (out / "stdin_table").read_bytes() == data.read_bytes()


def test_an_audit_of_one_file_by_an_earlier_version_is_read(audited, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(audited, out)
    record = read_record(out)
    record["request"]["data"] = record["request"]["data"][0]
    (out / "audit.json").write_text(json.dumps(record))
    assert len(read_audit(out).ids) == N_ROWS
    assert rerun(out, {3: 1}, record).labels.checked[3] == 1


def test_predictions_in_an_excel_file(audited, data, tmp_path, capsys):
    out = tmp_path / "predictions.xlsx"
    assert run(capsys, "predict", audited / "model.skops", data, "--out", out)[0] == 0
    assert pd.read_excel(out)["key"].tolist() == pd.read_csv(data)["key"].tolist()
    said = refused(capsys, "predict", audited / "model.skops", data, "--out", tmp_path / "a.doc")
    assert "must end with .csv" in said
