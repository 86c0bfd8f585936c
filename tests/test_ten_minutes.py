"""docs/ten_minutes.md: its commands run one after the other, and print what the page shows."""

import runpy

import pandas as pd
import pytest

from tests.pages import DOCS, ROOT, run_page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where all commands of the page have run."""
    folder = tmp_path_factory.mktemp("ten_minutes")
    run_page(DOCS / "ten_minutes.md", folder)
    return folder


def test_the_page_leads_to_a_better_table(folder):
    truth = runpy.run_path(str(ROOT / "examples" / "customers.py"))["make_customers"]()[1]
    given, clean = (
        pd.read_csv(folder / name, index_col="customer")["churn"]
        for name in ("customers.csv", "clean.csv")
    )
    truth = truth[given.index]
    assert 0.07 < (given != truth).mean() < 0.1  # as the page says
    # Fifty answers are few: more than half of the errors are mended, and hardly a right label lost.
    assert (clean != truth).sum() < (given != truth).sum() / 2
    assert (clean == truth)[clean != given].mean() > 0.95


def test_python_says_what_the_command_says(folder):
    by_command = pd.read_csv(folder / "clean.csv")
    in_python = pd.read_csv(folder / "clean_too.csv")
    assert (by_command["churn"] == in_python["churn"]).mean() > 0.99
    assert (folder / "report.html").stat().st_size > 100_000
