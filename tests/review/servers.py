"""A server of a review, in a process that tests may kill."""

import os
import re
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from rboost.review import AnswerStore, fingerprint
from tests.review.audits import two_classes

ROOT = Path(__file__).parents[2]


class Server:
    """``rboost review`` of a small table, in a process of its own."""

    def __init__(self, folder, which="two", port=0, open_browser=False, surroundings=None):
        self.folder = folder
        command = [sys.executable, "-m", "tests.review.audits", str(folder), which, str(port)]
        self.process = subprocess.Popen(
            [*command, "open"] if open_browser else command, cwd=ROOT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, **(surroundings or {})},
        )  # fmt: skip
        line = self.process.stdout.readline()
        found = re.search(r"(http://127\.0\.0\.1:(\d+))/#\S+", line)
        assert found, self.process.communicate()[1]
        self.url, self.origin, self.port = found[0], found[1], int(found[2])

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def end(self):
        """Ctrl-C; return the exit code and what was said."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        said = self.process.communicate(timeout=20)
        return self.process.returncode, "".join(said)

    def answers(self):
        path = self.folder / "review.sqlite"
        with closing(AnswerStore(path, fingerprint(two_classes()))) as store:
            return store.log().current
