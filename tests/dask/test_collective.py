"""What workers say of each other, and what they leave unsaid."""

import os
import threading

import numpy as np
import pytest

from rboost.dask import cluster, collective
from rboost.dask.cluster import run_together
from rboost.dask.collective import WorkerLostError


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("/src/collective/result.cc:83: [histogram.h:197]:\n\n- [loop.cc:102]: Encountered EOF. "
         "The other end is likely closed.", WorkerLostError),
        ("/src/collective/comm.cu:45: Multiple processes within communication group running on "
         "same CUDA device is not supported", ValueError),
        ("/src/collective/result.cc:83:\n- [comm.cu:45]: Multiple processes within communication "
         "group running on same CUDA device is not supported", ValueError),
        ("/src/objective/objective.cc:21: Unknown objective", collective.xgboost_core.XGBoostError),
    ],
)  # fmt: skip
def test_errors_of_xgboost_are_told_apart(client, message, kind, monkeypatch):
    def fail(own, communicator):
        raise collective.xgboost_core.XGBoostError(message)

    monkeypatch.setattr(cluster, "ATTEMPTS", 1)
    with pytest.raises((ConnectionError, ValueError, kind)) as raised:
        run_together(client, client.map(np.ones, [1, 2]), fail, tuple)
    if kind is WorkerLostError:
        assert isinstance(raised.value.__cause__, kind)
    else:
        assert type(raised.value) is kind
        assert kind is not ValueError or "share a GPU" in str(raised.value)


def test_several_workers_of_a_process_leave_standard_error_as_it_was():
    before, both = os.fstat(2), threading.Barrier(2, timeout=10)
    first_out = threading.Event()

    def join(is_first):
        with collective._without_ranks():
            both.wait()
            if not is_first:
                first_out.wait(10)
        first_out.set()

    threads = [threading.Thread(target=join, args=(is_first,)) for is_first in (True, False)]
    saved = os.dup(2)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert os.path.samestat(os.fstat(2), before)
    finally:
        os.dup2(saved, 2)
        os.close(saved)
