"""Workers of this machine, each with a GPU of its own."""

import os
from types import SimpleNamespace

import pytest

import dask
from rboost.dask import gpus
from rboost.dask.cluster import _n_workers, connected


@pytest.mark.slow
def test_every_worker_of_this_machine_has_a_gpu_of_its_own(monkeypatch):
    monkeypatch.setattr(gpus, "count", lambda: 2)
    named = {"distributed.nanny.environ": {gpus.VISIBLE: "GPU-5a,3"}}
    with dask.config.set(named), connected("local", device="cuda") as client:
        seen = client.run(os.getenv, gpus.VISIBLE)
    assert sorted(seen.values()) == ["3", "GPU-5a"]


@pytest.mark.parametrize(("named", "own"), [("GPU-5a,3", ["GPU-5a", "3"]), (None, ["0", "1"])])
def test_gpus_are_shared_out(monkeypatch, named, own):
    for name in (0, 1):
        monkeypatch.delenv(gpus.VISIBLE, raising=False)
        if named:
            monkeypatch.setenv(gpus.VISIBLE, named)
        gpus.dask_setup(SimpleNamespace(name=name))
        assert os.environ[gpus.VISIBLE] == own[name]


def test_there_are_no_more_workers_than_gpus(monkeypatch):
    monkeypatch.setattr(gpus, "arrays_on", lambda device: (_ for _ in ()).throw(ImportError))
    assert _n_workers(None, 8, "cuda") == 1  # as it cannot be told
    with (
        pytest.raises(ValueError, match="2 workers cannot share 1 GPU, since"),
        connected("local", 2, "cuda"),
    ):
        pass
    with pytest.raises(ValueError, match="n_workers must be at least 1"), connected("local", -1):
        pass
