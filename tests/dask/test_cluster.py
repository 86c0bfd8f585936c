"""Which cluster, how long it lives, and what its workers have."""

import os
import signal
import socket
import subprocess
import sys
import weakref
from contextvars import ContextVar
from types import SimpleNamespace

import distributed
import pandas as pd
import pytest

import dask
from rboost.dask import RBoostClassifier, cluster
from rboost.dask.cluster import VISIBLE_GPUS, Connection, _n_workers, dask_setup
from rboost.dask.collective import run_together
from tests.dask.tables import blocks_of, cluster_of_threads


@pytest.fixture
def handle_interrupts():
    """Sets what handles Ctrl-C, which is ignored where a shell started the tests with &."""
    before = signal.getsignal(signal.SIGINT)
    yield lambda handler: signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("handler", [signal.default_int_handler, signal.SIG_IGN, signal.SIG_DFL])
@pytest.mark.parametrize("already", [set(), {signal.SIGINT}])
def test_handlers_of_signals_are_left_alone_and_the_mask_is_restored(
    handler, already, handle_interrupts
):
    handle_interrupts(handler)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, already)
    try:
        with cluster._interrupts_deferred():
            assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
            assert signal.getsignal(signal.SIGINT) == handler
        assert signal.getsignal(signal.SIGINT) == handler
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before | already
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def test_an_interrupt_meanwhile_is_heard_afterwards(handle_interrupts):
    heard = []
    handle_interrupts(lambda number, _: heard.append(number))
    with cluster._interrupts_deferred():
        signal.raise_signal(signal.SIGINT)  # of this thread; others have masks of their own
        assert heard == []
    assert heard == [signal.SIGINT]


def test_the_client_in_use_is_taken_and_left_open(client):
    with Connection() as taken:
        assert taken is client
    with Connection(client) as taken:
        assert taken is client
    with Connection(client.scheduler.address) as other:
        assert other is not client
        lengths = run_together(
            other,
            blocks_of(other, 2),
            lambda own, communicator: communicator.gather(len(own)),
            tuple,
        )
        assert lengths == [1, 1]
    assert (other.status, client.status) == ("closed", "running")


@pytest.mark.parametrize("address", ["foo bar", "localhost", "http://localhost:8787", ""])
def test_what_is_no_address(address):
    with pytest.raises(ValueError, match="is no address of a Dask scheduler"), Connection(address):
        pass


def test_a_cluster_that_is_not_there(monkeypatch, capfd):
    """One that refuses, and one that listens but is no scheduler."""
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        for port in (1, mute.getsockname()[1]):
            address = f"tcp://127.0.0.1:{port}"
            with pytest.raises(ConnectionError, match=f"answers at {address}"), Connection(address):
                pass
    assert capfd.readouterr().err == ""


@pytest.mark.slow
def test_a_script_that_starts_workers_while_they_import_it_is_told_so(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from rboost.dask.cluster import Connection\nwith Connection('local', 1):\n    print(1)\n"
    )
    run = subprocess.run([sys.executable, script], check=False, capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stdout == ""
    assert run.stderr.count("Traceback") == 1
    assert "call this below `if __name__ == '__main__':`" in run.stderr.splitlines()[-1]


@pytest.fixture
def threads(monkeypatch):
    """Clusters that are started are of threads, and no other is in use."""
    monkeypatch.setattr("rboost.dask.cluster._local_cluster", lambda *_: cluster_of_threads())
    monkeypatch.setattr(distributed.client, "_current_client", ContextVar("none", default=None))
    monkeypatch.setattr(distributed.client, "_global_clients", weakref.WeakValueDictionary())


def test_a_cluster_ends_with_the_last_who_uses_it(threads):
    first = Connection(None, 1)
    second = Connection(None)
    assert second.client is first.client
    first.close()
    first.close()
    assert second.client.submit(len, "two").result() == 3
    second.close()
    assert second.client.status == "closed"


def test_a_client_of_the_user_is_left_open(client):
    Connection(client).close()
    assert client.status == "running"


def test_workers_without_the_device_are_found_out_first(client):
    with pytest.raises((ValueError, ImportError), match="device='cuda' needs"):
        Connection(client, device="cuda")


def test_a_fit_that_fails_leaves_no_cluster(threads, tmp_path, monkeypatch):
    path = tmp_path / "table.parquet"
    pd.DataFrame({"x": [1.0, 2.0], "y": ["a", "a"]}).to_parquet(path)
    clients = []

    def noted(cluster, device):
        connection = Connection(cluster, 1, device)
        clients.append(connection.client)
        return connection

    monkeypatch.setattr("rboost.dask.classifier.Connection", noted)
    with pytest.raises(ValueError, match="class") as error:
        RBoostClassifier(cluster="local").fit(str(path), "y")
    assert error.tb is not None  # which keeps what the fit knew
    assert [client.status for client in clients] == ["closed"]


@pytest.mark.slow
def test_every_worker_of_this_machine_has_a_gpu_of_its_own(monkeypatch):
    monkeypatch.setattr(cluster, "count_gpus", lambda: 2)
    monkeypatch.setattr(cluster, "_check_device", lambda device: None)
    named = {"distributed.nanny.environ": {VISIBLE_GPUS: "GPU-5a,3"}}
    with dask.config.set(named), Connection("local", device="cuda") as client:
        seen = client.run(os.getenv, VISIBLE_GPUS)
    assert sorted(seen.values()) == ["3", "GPU-5a"]


@pytest.mark.parametrize(("named", "own"), [("GPU-5a,3", ["GPU-5a", "3"]), (None, ["0", "1"])])
def test_gpus_are_shared_out(monkeypatch, named, own):
    for name in (0, 1):
        monkeypatch.delenv(VISIBLE_GPUS, raising=False)
        if named:
            monkeypatch.setenv(VISIBLE_GPUS, named)
        dask_setup(SimpleNamespace(name=name))
        assert os.environ[VISIBLE_GPUS] == own[name]


def test_there_are_no_more_workers_than_gpus(monkeypatch):
    monkeypatch.setattr(cluster, "arrays_on", lambda device: (_ for _ in ()).throw(ImportError))
    assert _n_workers(None, 8, "cuda") == 1  # as it cannot be told
    with (
        pytest.raises(ValueError, match="2 workers cannot share 1 GPU, since"),
        Connection("local", 2, "cuda"),
    ):
        pass
    with pytest.raises(ValueError, match="n_workers must be at least 1"), Connection("local", -1):
        pass
