"""A function that runs on all workers at once, whatever happens to them."""

import os
import signal
import time

import numpy as np
import pytest

from rboost.dask.cluster import run_together

STEPS = 30


def blocks_of(client, n_blocks):
    """Blocks that hold their number, spread over the workers."""
    workers = sorted(client.nthreads())
    return [
        client.submit(
            np.full, 3, float(number), pure=False,
            workers=workers[number % len(workers)], allow_other_workers=True,
        )
        for number in range(n_blocks)
    ]  # fmt: skip


def add_up(blocks, together, start, total, pause):
    """Sums over all blocks, one a step, with a checkpoint after each."""
    for step in range(start, STEPS):
        total = total + step * together.sum(np.sum(blocks, axis=0))
        together.tell({"step": step + 1, "total": total, "pid": os.getpid()})
        time.sleep(pause)
    return total, start


class Checkpoint:
    """The last thing told, from which the next attempt starts."""

    def __init__(self, pause=0.05, when=None):
        self.step, self.total, self.starts, self.pause, self.when = 0, np.zeros(3), [], pause, when

    def arguments(self):
        self.starts.append(self.step)
        return self.step, self.total, self.pause

    def listen(self, message):
        self.step, self.total = message["step"], message["total"]
        if self.when and self.step > 5:
            action, self.when = self.when, None
            action(message)


def results(outcomes):
    return [outcome.future.result() for outcome in outcomes]


def expected(n_blocks):
    return np.full(3, sum(range(STEPS)) * sum(range(n_blocks)), dtype=float)


def test_every_worker_has_its_blocks_in_order_and_the_same_sums(client):
    blocks = blocks_of(client, 5)

    def numbers(own, together):
        arrays = [
            np.array(2.5),
            np.ones((2, 3, 4)) / 3,
            np.empty((0, 2)),
            np.full((4, 1), 0.1)[::2],
        ]
        sums = [together.sum(array * (together.rank + 1)) for array in arrays]
        return [block[0] for block in own], sums, together.gather((together.rank, None))

    outcomes = run_together(client, blocks, numbers, tuple)
    parts = results(outcomes)
    assert sorted(number for outcome in outcomes for number in outcome.blocks) == list(range(5))
    for outcome, (own, sums, gathered) in zip(outcomes, parts, strict=True):
        assert own == outcome.blocks == sorted(outcome.blocks)
        assert gathered == [(0, None), (1, None)]
        for mine, first in zip(sums, parts[0][1], strict=True):
            np.testing.assert_array_equal(mine, first)
    assert [array.shape for array in parts[0][1]] == [(), (2, 3, 4), (0, 2), (2, 1)]
    np.testing.assert_allclose(parts[0][1][1], 1.0)


def test_all_that_is_told_arrives_in_order_while_the_function_runs(client):
    told = []

    def tell(own, together):
        for number in range(4):
            together.sum(np.ones(1))
            together.tell({"number": number, "model": bytes(2_000_000), "at": time.time()})
            time.sleep(0.4)
        together.tell({"number": 4, "model": b"", "at": time.time()})
        return together.n_threads

    def listen(message):
        told.append((message["number"], len(message["model"]), time.time() - message["at"]))

    threads = results(run_together(client, blocks_of(client, 2), tell, tuple, listen))
    assert threads == list(client.nthreads().values())
    assert [number for number, _, _ in told] == list(range(5))
    assert {size for _, size, _ in told} == {2_000_000, 0}
    assert max(delay for _, _, delay in told) < 1.2  # not only at the end


def test_an_error_of_the_function_is_raised_at_once_as_it_is(client):
    def fail(own, together):
        for step in range(10**6):
            together.sum(np.ones(1))
            if together.rank == 1 and step == 3:
                raise ValueError("a class is missing")

    started = time.monotonic()
    with pytest.raises(ValueError, match="a class is missing"):
        run_together(client, blocks_of(client, 2), fail, tuple)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_worker_costs_an_attempt(client, victim):
    """Rank 0 is the one that also runs XGBoost's tracker and tells the checkpoints."""
    pids = client.run(os.getpid)

    def kill(message):
        others = set(pids.values()) - {message["pid"]}
        os.kill(message["pid"] if victim == 0 else others.pop(), signal.SIGKILL)

    checkpoint = Checkpoint(when=kill)
    outcomes = run_together(
        client, blocks_of(client, 4), add_up, checkpoint.arguments, checkpoint.listen
    )
    assert len(checkpoint.starts) == 2
    assert checkpoint.starts[1] > 5
    assert len(outcomes) == 2  # the worker that came back takes part
    for total, start in results(outcomes):
        np.testing.assert_array_equal(total, expected(4))
        assert start == checkpoint.starts[1]
