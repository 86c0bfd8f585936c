"""A cluster ends with the last who needs it."""

import weakref
from contextvars import ContextVar

import distributed
import pandas as pd
import pytest

from rboost.dask import RBoostClassifier
from rboost.dask.connection import Connection
from tests.dask.tables import cluster_of_threads


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
