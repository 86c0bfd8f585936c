"""A table and its audit for all tests; who changes the folder takes a copy."""

import shutil

import pytest

from rboost.cli import main
from tests.audit.reports import without_pictures
from tests.cli.tables import make_table


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch):
    without_pictures(monkeypatch)


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "table.csv"
    make_table().to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def audited(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    arguments = ["--label", "churn", "--id", "key", "--out", str(folder), "--quiet"]
    assert main(["audit", str(data), "--model", "linear", *arguments]) == 0
    return folder


@pytest.fixture
def folder(audited, tmp_path):
    """A copy of the audit."""
    return shutil.copytree(audited, tmp_path / "audit")
