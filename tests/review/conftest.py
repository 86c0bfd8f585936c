"""A review of a small audit, and who asks it."""

import pytest

from rboost.review import open_review
from tests.review.audits import rerun, two_classes
from tests.review.clients import Page


@pytest.fixture
def page(tmp_path):
    return Page(open_review(two_classes(), tmp_path, rerun))


@pytest.fixture
def client(page):
    return page.open()
