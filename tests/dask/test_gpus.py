"""Workers of this machine, each with a GPU of its own."""

import os

import pytest

from rboost.dask import gpus
from rboost.dask.cluster import connected


@pytest.mark.parametrize("named", [None, "GPU-5a,3"])
def test_every_worker_of_this_machine_has_a_gpu_of_its_own(named, monkeypatch):
    monkeypatch.setattr(gpus, "count", lambda: 2)
    if named:
        monkeypatch.setenv(gpus.VISIBLE, named)
    else:
        monkeypatch.delenv(gpus.VISIBLE, raising=False)
    with connected("local", device="cuda") as client:
        seen = client.run(os.getenv, gpus.VISIBLE)
    assert sorted(seen.values()) == sorted((named or "0,1").split(","))


def test_there_are_no_more_workers_than_gpus(monkeypatch):
    monkeypatch.setattr(gpus, "arrays_on", lambda device: (_ for _ in ()).throw(ImportError))
    with connected("local", device="cuda") as client:
        assert len(client.nthreads()) == 1  # as it cannot be told
    with (
        pytest.raises(ValueError, match="2 workers cannot share 1 GPU, since"),
        connected("local", 2, "cuda"),
    ):
        pass
    with pytest.raises(ValueError, match="n_workers must be at least 1"), connected("local", -1):
        pass
