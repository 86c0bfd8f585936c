"""Which code is behind a command, and whether it changed."""

import shutil

import pytest

from benchmarks import code
from benchmarks.code import code_fingerprint, code_of


def names(module):
    return {path.stem for path in code_of(module)}


def test_imports_of_imports_count_and_nothing_else():
    found = names("benchmarks.speed")
    assert {"__main__", "timing", "classifier", "inference", "__init__"} <= found
    assert not {"long_servedio", "honesty"} & found


def test_modules_that_are_named_in_strings_count():
    """The command that another process runs, a package that is imported late."""
    assert any(path.name == "cli.py" for path in code_of("benchmarks.scale"))
    assert any("dask" in path.parts for path in code_of("benchmarks.equality"))


def test_templates_count():
    assert any(path.suffix == ".jinja" for path in code_of("benchmarks.paper"))


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A copy of the package, and a way to change a file of it and ask again."""
    folder = tmp_path / "rboost"
    ignored = shutil.ignore_patterns("__pycache__", "*.so")
    shutil.copytree(code.ROOTS["rboost"], folder, ignore=ignored)
    monkeypatch.setitem(code.ROOTS, "rboost", folder)
    fingerprint = code_fingerprint.__wrapped__

    def change(name, old, new):
        path = folder / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    return change, lambda: fingerprint("benchmarks.measure")


def test_the_fingerprint_knows_code_from_docs(copied):
    change, fingerprint = copied
    before = fingerprint()
    change("noise/platt.py", '"""', '"""Another opening. ')
    change("noise/matrix.py", '    """The flip rates', '    """Both flip rates')
    change("noise/platt.py", "\n    # ", "\n    # Another comment: ")
    change("cli.py", "import ", "import  ")
    assert fingerprint() == before
    change("noise/matrix.py", "0.99", "0.98")
    assert fingerprint() != before
