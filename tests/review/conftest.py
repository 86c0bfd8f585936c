"""A review of a small audit, and who asks it."""

from contextlib import closing

import pytest

from rboost.review import AnswerStore, Review
from tests.review.audits import two_classes
from tests.review.clients import Page


@pytest.fixture
def review(tmp_path):
    return Review(two_classes(), tmp_path)


@pytest.fixture
def page(review):
    return Page(review)


@pytest.fixture(scope="session")
def unanswered(tmp_path_factory):
    """The page of a review for those who ask, and whose answers are refused."""
    return Page(Review(two_classes(), tmp_path_factory.mktemp("review")))


@pytest.fixture(scope="session")
def reader(unanswered):
    return unanswered.open()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "review.sqlite"


@pytest.fixture
def store(path):
    with closing(AnswerStore(path, "audit")) as store:
        yield store


@pytest.fixture
def client(page):
    return page.open()
