"""Tools for makers."""

import subprocess
import sys

from tests.pages import ROOT
from tools.count_lines import by_room, python_lines

SOURCE = '''"""A docstring
of two lines."""

import os  # an import counts


# a comment does not
class Some:
    "Nor this one."

    text = """what is a value
    counts, blank lines in it too

    """

    async def wait(self):
        """Not this."""
        return os.name
'''


def test_lines_of_code_leave_out_what_only_explains(tmp_path):
    (tmp_path / "some.py").write_text(SOURCE)
    # import, class, four lines of text, def, return
    assert python_lines(tmp_path / "some.py") == 8
    (tmp_path / "empty.py").write_text("")
    assert python_lines(tmp_path / "empty.py") == 0


def test_rooms_are_counted_apart(tmp_path):
    for name in ("one.py", "room/two.py", "room/inner/three.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a = 1\n\nb = 2\n")
    (tmp_path / "room" / "text.md").write_text("no code")
    assert by_room(tmp_path) == {".": (2, 1), "room": (2, 1), "room/inner": (2, 1)}


def test_totals_alone():
    command = [sys.executable, "tools/count_lines.py", "--totals"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    package, native = done.stdout.splitlines()
    assert package.startswith("src/rboost: ")
    assert native.startswith("src/native: ")
