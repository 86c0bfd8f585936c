"""docs/how_to/large_tables.md: its commands run in turn, on fewer rows and a free port."""

import os
import shutil
import socket
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from rboost.cli import main
from rboost.engines.engine import EngineSettings
from tests import pages
from tests.pages import DOCS, ROOT

distributed = pytest.importorskip("distributed")
pytest.importorskip("xgboost")

pytestmark = [pytest.mark.slow, pytest.mark.peers]
PAGE = DOCS / "how_to" / "large_tables.md"
N_ROWS = 600
SCHEDULER = "SCHEDULER"  # stands for a machine of the reader's


def commands(port):
    """The commands of the page, on fewer rows."""
    for _, block in pages.blocks(PAGE, "console"):
        few = block.replace("3000000", str(N_ROWS)).replace("8786", str(port))
        yield from (command for command, _ in pages.commands(few) if SCHEDULER not in block)


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


@contextmanager
def running(command, settings):
    """A process that is there as long as it is needed."""
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, **settings) as process:
        try:
            yield
        finally:
            process.terminate()


def test_commands_run_and_find_the_same(tmp_path, monkeypatch):
    port = free_port()
    make, on_local, scheduler, workers, on_cluster = commands(port)
    paths = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    settings = {"cwd": tmp_path, "env": {**os.environ, **paths, "OMP_NUM_THREADS": "1"}}
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL, **settings)
    with ExitStack() as stack:
        stack.enter_context(running([*scheduler, "--port", str(port), "--no-dashboard"], settings))
        stack.enter_context(running(workers, settings))
        results = []
        monkeypatch.chdir(tmp_path)
        few = partial(EngineSettings, max_iter=10)
        monkeypatch.setattr("rboost.dask.audit.EngineSettings", few)
        for command in (on_local, on_cluster):
            # The command is there; what it does is done here, where trees can be few.
            program = command.pop(0)
            subprocess.run([program, "--help"], check=True, capture_output=True, **settings)
            assert main([*command, "--quiet"]) == 0
            results.append(pd.read_parquet(tmp_path / "found" / "issues"))
            names = {path.name for path in (tmp_path / "found").iterdir()}
            assert names == {"audit.json", "issues", "model.rboost", "suspects.csv"}
            shutil.rmtree(tmp_path / "found")
        pd.testing.assert_frame_equal(*results)
        ((_, script),) = pages.blocks(PAGE, "python")
        with distributed.Client(f"tcp://127.0.0.1:{port}"):
            exec(script, {"__name__": "__main__"})
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "issues"), results[0])
    assert len(pd.read_parquet(tmp_path / "cleaned")) == N_ROWS
