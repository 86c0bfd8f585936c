"""One small cluster for all tests, as its processes take long to start, and an audit on it."""

import contextlib
import io
import multiprocessing

import pytest

pytest.importorskip("distributed")
pytest.importorskip("xgboost")

from distributed.utils import get_mp_context

import dask
from rboost.dask.cluster import Connection
from tests.dask.audits import TABLE, arguments, run, write_parts


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """These tests come first and in one piece, so that one process starts the cluster, and once."""
    items.sort(key=lambda item: not item.nodeid.startswith("tests/dask/"))


@pytest.fixture(scope="package", autouse=True)
def workers_start_at_once():
    """They are copies of a process that has imported what they need, which takes seconds.

    Scripts and commands that tests run start theirs as everybody does.
    """
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context()  # at its first call Dask names modules of its own, in place of ours
        multiprocessing.set_forkserver_preload(["distributed", "rboost.dask", "dask.dataframe"])
        yield


@pytest.fixture(scope="package")
def client():
    """The client of a cluster of two workers on this machine, which is in use from then on."""
    with Connection("local", n_workers=2) as client:
        yield client


@pytest.fixture(autouse=True)
def all_workers_are_back(request):
    """An earlier test may have killed one; now and then its nanny dies with it."""
    if "client" in request.fixturenames:
        client = request.getfixturevalue("client")
        try:
            client.wait_for_workers(2, timeout=30)
        except TimeoutError:
            client.cluster.scale(len(client.cluster.workers) + 1)
            client.wait_for_workers(2, timeout=120)


@pytest.fixture(scope="package")
def data(tmp_path_factory):
    """A file without rows and one of a single class are as good as any."""
    first, rest = TABLE[TABLE["churn"] == "yes"][:200], TABLE
    rest = rest.drop(first.index)
    return write_parts(tmp_path_factory.mktemp("data"), first, rest[:0], rest[:400], rest[400:])


@pytest.fixture(scope="package")
def audited(client, data, tmp_path_factory):
    """The folder of an audit by two workers, with the cleaned table inside."""
    out = tmp_path_factory.mktemp("audits") / "out"
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        assert run(arguments(client, data, out, "--cleaned", str(out / "cleaned"))) == 0
    assert not said.getvalue()  # as it was told to be quiet
    return out
