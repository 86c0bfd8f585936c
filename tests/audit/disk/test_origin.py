import shlex
from pathlib import Path

import pytest

from rboost.audit.disk.folder import make_origin
from rboost.audit.disk.request import Request


@pytest.fixture
def origin():
    request = Request(
        Path("my data.csv"), "is it?", id="the key", drop=("a b", "c"), context=("who",),
        model="linear", seed=3, check_columns=False,
    )  # fmt: skip
    record = {"request": request.as_dict(), "rboost": "1.2", "budget": 50}
    return make_origin(Path("out/it's"), request, record, has_model=True)


def test_commands_are_those_that_one_types(origin):
    assert shlex.split(origin.commands["review"]) == ["rboost", "review", "out/it's"]
    assert shlex.split(origin.commands["again"]) == [
        "rboost", "audit", "my data.csv", "--label", "is it?", "--id", "the key",
        "--drop", "a b", "c", "--context", "who", "--model", "linear", "--seed", "3",
        "--budget", "50", "--no-column-check", "--trusted", "out/it's/checked.csv",
        "--out", "out/it's-again",
    ]  # fmt: skip
    assert shlex.split(origin.commands["predict"])[2] == "out/it's"


def test_columns_that_were_no_features_are_named_with_the_reason(origin):
    assert [name for name, _ in origin.left_aside] == ["is it?", "the key", "a b", "c", "who"]
    assert (origin.data, origin.seed, origin.version) == ("my data.csv", 3, "1.2")
    assert origin.made.endswith("UTC")
