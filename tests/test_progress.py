import io
import itertools
import sys
import types

import pytest

from rboost import progress
from rboost.progress import track


@pytest.fixture
def clock(monkeypatch):
    """A clock that only moves when it is told to."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


class Terminal(io.StringIO):
    def isatty(self):
        return True


def kernel_stream():
    """Standard error in a notebook: no terminal, and its class is ipykernel's."""
    stream = types.new_class("OutStream", (io.StringIO,))
    stream.__module__ = "ipykernel.iostream"
    return stream()


def counted(clock, n=4, seconds=1.0, total=None):
    for item in track(range(n), total or n, "Counting trees", enabled=True):
        clock[0] += seconds
        yield item


def test_items_pass_through(capsys):
    assert list(track(range(3), 3, "Counting", enabled=False)) == [0, 1, 2]
    assert capsys.readouterr().err == ""


def test_elsewhere_only_the_last_line_is_written(capsys, clock):
    assert list(counted(clock)) == [0, 1, 2, 3]
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("Counting trees ██")
    assert captured.err.endswith("4/4, 4.0 s\n")
    assert "\r" not in captured.err


@pytest.mark.parametrize("stream", [Terminal(), kernel_stream()], ids=["terminal", "notebook"])
def test_a_bar_moves_in_place(stream, clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream)
    assert list(counted(clock)) == [0, 1, 2, 3]
    first, *drawn = stream.getvalue().split("\r")
    assert first == ""
    assert [line.split("░ ")[-1].split("█ ")[-1].split(",")[0] for line in drawn] == [
        "1/4", "2/4", "3/4", "4/4", "4/4",
    ]  # fmt: skip
    assert all(line.startswith("Counting trees") for line in drawn)
    # Each line covers the one before; the last is the only one that ends.
    assert all(len(a.rstrip()) <= len(b.rstrip("\n")) for a, b in itertools.pairwise(drawn))
    assert stream.getvalue().count("\n") == 1


def test_what_is_done_at_once_shows_no_bar(capsys, clock):
    list(counted(clock, seconds=0.05))
    assert capsys.readouterr().err == ""


def test_a_loop_that_ends_early_says_so(capsys, clock):
    list(counted(clock, n=3, total=80))
    assert capsys.readouterr().err == "Counting trees: ended after 3 of at most 80, 3.0 s\n"
