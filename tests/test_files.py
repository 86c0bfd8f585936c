import errno
import os
import tempfile
from pathlib import Path

import pytest

from rboost.files import (
    atomic_path,
    check_writable,
    no_wider_than,
    open_to_read,
    staged,
    write_atomically,
)

FULL = OSError(errno.ENOSPC, "No space left on device")


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def raising(error):
    def fail(*_, **__):
        raise error

    return fail


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "page.html"
    write_atomically(path, "old")
    with pytest.raises(TypeError):
        write_atomically(path, 3)
    assert path.read_text() == "old"
    write_atomically(path, b"new")
    assert path.read_text() == "new"
    assert names(tmp_path) == ["page.html"]


def mode(path):
    return path.stat().st_mode & 0o777


@pytest.fixture(autouse=True)
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_folders_are_made_and_the_umask_says_who_may_read(tmp_path):
    path = tmp_path / "deep" / "er" / "page.html"
    write_atomically(path, "é")
    assert path.read_bytes() == "é".encode()
    assert (mode(path), mode(path.parent)) == (0o644, 0o755)
    os.umask(0o077)
    write_atomically(tmp_path / "own" / "page.html", "")
    assert (mode(tmp_path / "own" / "page.html"), mode(tmp_path / "own")) == (0o600, 0o700)


def test_a_file_that_was_made_private_stays_so(tmp_path):
    path = tmp_path / "page.html"
    for _ in range(2):
        write_atomically(path, "")
        path.chmod(0o640)
        write_atomically(path, "new")
        assert mode(path) == 0o640
    with staged(tmp_path, ["page.html"]) as stage:
        write_atomically(stage / "page.html", "newer")
    assert (mode(path), path.read_text()) == (0o640, "newer")


@pytest.mark.parametrize(
    ("own", "file", "folder"),
    [
        (0o600, 0o600, 0o700), (0o640, 0o640, 0o750), (0o644, 0o644, 0o755), (0o400, 0o600, 0o700),
        (0o666, 0o644, 0o755), (0o604, 0o604, 0o705), (0o660, 0o640, 0o750), (0o620, 0o600, 0o700),
    ],
)  # fmt: skip
def test_no_more_people_may_read_than_what_it_comes_from(tmp_path, own, file, folder):
    table, other = tmp_path / "table.csv", tmp_path / "public.csv"
    for path, rights in ((table, own), (other, 0o644)):
        path.write_text("a")
        path.chmod(rights)
    out = tmp_path / "audit" / "report.html"
    with no_wider_than([other, table, tmp_path / "missing", tmp_path, Path("-")]):
        write_atomically(out, "")
    assert (mode(out), mode(out.parent)) == (file, folder)
    write_atomically(tmp_path / "later.html", "")  # what is not of the table
    assert mode(tmp_path / "later.html") == 0o644


def test_a_group_that_is_not_ours_says_nothing_of_ours(tmp_path, monkeypatch):
    table, out = tmp_path / "table.csv", tmp_path / "report.html"
    table.write_text("a")
    table.chmod(0o640)
    monkeypatch.setattr(os, "getegid", lambda: table.stat().st_gid + 1)
    with no_wider_than([table]):
        write_atomically(out, "")
    assert mode(out) == 0o600


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("no"), FULL])
def test_what_was_written_so_far_is_removed(tmp_path, error):
    path = tmp_path / "large.csv"
    path.write_text("old")

    def write():
        with atomic_path(path) as temporary:
            temporary.write_text("half of it")
            assert temporary.parent == tmp_path
            raise error

    with pytest.raises(type(error)):
        write()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["large.csv"]


def test_a_pipe_is_not_replaced(tmp_path):
    pipe, plain = tmp_path / "pipe", tmp_path / "plain"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    for path in (pipe, tmp_path / "link"):
        with pytest.raises(OSError, match=f"{path} is a device or a pipe, not a file; name"):
            write_atomically(path, "new")
    assert pipe.is_fifo()
    assert names(tmp_path) == ["link", "pipe"]
    plain.write_text("old")
    (tmp_path / "other").symlink_to(plain)
    write_atomically(tmp_path / "other", "new")
    assert (tmp_path / "other").read_text() == "new"


def test_errors_of_the_block_pass_unless_the_disk_is_full(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"), atomic_path(tmp_path / "a"):
        (tmp_path / "nowhere").read_text()
    with (
        pytest.raises(OSError, match=r"^The disk is full, so .*big was not written; free some"),
        atomic_path(tmp_path / "big"),
    ):
        raise FULL


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_disk_that_is_full_only_at_the_end(tmp_path, monkeypatch, call):
    monkeypatch.setattr(os, call, raising(FULL))
    with pytest.raises(OSError, match="The disk is full"):
        write_atomically(tmp_path / "page.html", "text")
    assert names(tmp_path) == []


def test_a_name_as_long_as_names_may_be(tmp_path):
    path = tmp_path / ("x" * 250 + ".csv")
    write_atomically(path, "a")
    assert path.read_text() == "a"
    with pytest.raises(OSError, match="is too long for a file; choose a shorter one"):
        write_atomically(tmp_path / ("x" * 300), "a")
    assert names(tmp_path) == [path.name]


def test_a_file_in_the_place_of_a_folder_and_the_reverse(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OSError, match="cannot be a folder, since a file is in its place"):
            check_writable(folder)
        with pytest.raises(OSError, match="cannot be a folder, since a file is in its place"):
            write_atomically(folder / "page.html", "")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="is a folder, not a file; name a file"):
        write_atomically(tmp_path / "folder", "")
    assert names(tmp_path) == ["file", "folder"]


def test_a_good_folder_is_made_and_left_empty(tmp_path):
    check_writable(tmp_path / "new" / "folder")
    assert names(tmp_path / "new" / "folder") == []


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.EROFS, "Nothing can be written to the folder .*out; choose another one"),
        (errno.EACCES, "Nothing can be written to the folder .*out; choose another one"),
        (errno.ENOSPC, "The disk is full"),
        (errno.EDQUOT, "The disk is full"),
    ],
)
def test_a_folder_that_takes_no_files(tmp_path, monkeypatch, number, sentence):
    failing = raising(OSError(number, os.strerror(number)))
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", failing)
    with pytest.raises(OSError, match=sentence) as caught:
        check_writable(tmp_path / "out")
    assert "Errno" not in str(caught.value)


@pytest.mark.skipif(not Path("/proc/1").exists(), reason="needs a folder that nobody can write to")
def test_a_folder_that_even_the_superuser_cannot_make():
    with pytest.raises(OSError, match=r"/proc/"):
        check_writable(Path("/proc/rboost"))


def test_a_file_that_is_missing_names_the_closest(tmp_path):
    (tmp_path / "Customers.csv").write_text("a")
    with pytest.raises(OSError, match=r"no file .*custmers.csv; did you mean .*Customers\.csv\?"):
        open_to_read(tmp_path / "custmers.csv")
    with pytest.raises(OSError, match=r"There is no file .*; check its name and folder"):
        open_to_read(tmp_path / "unlike.parquet")
    for folder in (tmp_path / "nowhere", tmp_path / "Customers.csv"):
        with pytest.raises(OSError, match=r"There is no folder .*, so no file a.csv in it"):
            open_to_read(folder / "a.csv")


def test_what_is_no_file_or_may_not_be_read(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    for path, kind in ((tmp_path, "a folder"), (tmp_path / "pipe", "a device or a pipe")):
        with pytest.raises(OSError, match=f"is {kind}, not a file; name a file"):
            open_to_read(path)
    path = tmp_path / "mine.csv"
    path.write_text("a")
    with open_to_read(path) as file:
        assert file.read() == b"a"
    for number, words in ((errno.EACCES, "may not be read"), (errno.EIO, "cannot be read")):
        monkeypatch.setattr(Path, "open", raising(OSError(number, os.strerror(number))))
        with pytest.raises(OSError, match=rf"mine.csv {words}"):
            open_to_read(path)
