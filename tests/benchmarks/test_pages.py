"""Pages say where their figures come from, and whether the code is still the same."""

import re
import subprocess

from benchmarks import pages
from benchmarks.code import code_fingerprint
from benchmarks.figures import without_origin
from benchmarks.pages import read_origin, write_page


def written(path):
    write_page(path, "# A page\n\n", "benchmarks.speed", ["--only", "fit", "a b"], ["joblib"])
    return path.read_text(encoding="utf-8")


def test_a_page_names_command_code_machine_and_day(tmp_path):
    text = written(tmp_path / "page.md")
    assert text.startswith("# A page\n\n## ")
    assert re.search(r"\d cores, \d+ GiB of memory; Python 3.*, rboost .*, joblib \d", text)
    origin = read_origin(text)
    assert origin.module == "benchmarks.speed"
    assert origin.arguments == " --only fit 'a b'"
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", origin.date)
    assert origin.code == code_fingerprint("benchmarks.speed")
    assert origin.is_current


def test_a_page_is_older_when_its_code_changes(tmp_path, monkeypatch):
    origin = read_origin(written(tmp_path / "page.md"))
    monkeypatch.setattr(pages, "code_fingerprint", lambda module: "other")
    assert not origin.is_current


def test_code_that_is_not_committed_is_told(tmp_path, monkeypatch):
    def git(*arguments):
        settings = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *settings, *arguments], cwd=tmp_path, check=True)

    monkeypatch.setattr(pages, "ROOT", tmp_path)
    assert read_origin(written(tmp_path / "page.md")).commit == "no commit"
    git("init", "-q")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("")
    git("add", "src")
    git("commit", "-q", "-m", "first")
    assert re.fullmatch(r"commit \w+", read_origin(written(tmp_path / "page.md")).commit)
    (tmp_path / "src" / "a.py").write_text("a = 1")
    assert read_origin(written(tmp_path / "page.md")).commit.endswith(" with changes")


def test_pages_are_listed_with_what_writes_them_anew(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    folder = tmp_path / "docs" / "some"
    (tmp_path / "docs" / "text.md").parent.mkdir()
    (tmp_path / "docs" / "text.md").write_text("# No figures")
    written(folder / "new.md")
    old = written(folder / "old.md")
    (folder / "old.md").write_text(old.replace(code_fingerprint("benchmarks.speed"), "abc"))
    pages.main()
    new_line, old_line, command = capsys.readouterr().out.splitlines()
    assert new_line.startswith("docs/some/new.md: current (")
    assert old_line.startswith("docs/some/old.md: older than its code (")
    assert command == "    python -m benchmarks.speed --only fit 'a b'"


def test_pages_without_an_origin_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    folder = tmp_path / "docs"
    written(folder / "some" / "new.md")
    (folder / "some" / "unknown.md").write_text("# Figures")
    (folder / "benchmarks.md").write_text("[a](some/new.md), [b](some/unknown.md), [c](text.md)")
    assert list(without_origin()) == ["docs/some/unknown.md"]
