"""Files written whole or not at all, and for whom; folders checked, errors of paths explained."""

from __future__ import annotations

import contextlib
import difflib
import errno
import hashlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from io import BufferedReader
from pathlib import Path

# What the system says when there is no room left: on the disk, in the user's share of it, in what a
# file may hold there.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# What it says of a place that may not be written to.
FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace a file by its new content, or leave it as it was."""
    data = content.encode() if isinstance(content, str) else content
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a file to write in pieces, which replaces ``path`` when the block ends well.

    It lies in the same folder, which is made if need be. When the block fails or is interrupted,
    it is removed, and ``path`` is what it was. Only files are replaced, no devices or pipes.

    Examples
    --------
    >>> from rboost.files import atomic_path
    >>> folder = getfixture("tmp_path")
    >>> with atomic_path(folder / "large.bin") as temporary, temporary.open("wb") as file:
    ...     written = file.write(b"one piece"), file.write(b", another")
    >>> (folder / "large.bin").read_bytes()
    b'one piece, another'
    """
    with _or_no_folder(path.parent):
        with _explained(path):
            check_is_file(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            # Writers go by the ending of the name, so it stays; the rest is cut to a length.
            name = f".{path.name[:40]}.{secrets.token_hex(4)}{path.suffix[:20]}"
            temporary = path.with_name(name)
            temporary.touch(exist_ok=False)  # with the rights that the umask leaves
        try:
            with _explained(path, only_full=True):
                yield temporary
                _flush(temporary)
            with _explained(path):
                _replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


STAGE = ".stage-"


@contextlib.contextmanager
def staged(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield an empty folder whose entries move into ``folder`` together when the block ends well.

    ``names`` are those of all files that there may be: those of an earlier run that are not
    written again are removed. The first of them is moved last, so that where it is new, all others
    are. What killed runs left behind is removed first: the name of a stage has the number of
    its process.
    """
    for left in folder.glob(f"{STAGE}*"):
        if not _is_running(left.name.removeprefix(STAGE).partition("-")[0]):
            shutil.rmtree(left, ignore_errors=True)
    with _explained(folder / "output"):
        stage = Path(tempfile.mkdtemp(dir=folder, prefix=f"{STAGE}{os.getpid()}-"))
    try:
        yield stage
        with _explained(folder / "output"):
            for name in reversed(names):
                if (folder / name).is_dir():  # which nothing can replace
                    os.replace(folder / name, stage / f"earlier {name}")
                if (stage / name).exists():
                    _replace(stage / name, folder / name)
                else:
                    (folder / name).unlink(missing_ok=True)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _replace(new: Path, path: Path) -> None:
    """Put a file in the place of another, which then no more people may read than before."""
    with contextlib.suppress(FileNotFoundError):
        allowed = stat.S_IRWXU | stat.S_IMODE(path.stat().st_mode)
        new.chmod(stat.S_IMODE(new.stat().st_mode) & allowed)
    os.replace(new, path)


@contextlib.contextmanager
def no_wider_than(paths: Iterable[Path]) -> Iterator[None]:
    """Let nobody read or write what the block writes who may not do so with these files.

    It is the umask of the process that is changed, so that this holds for folders and databases,
    and for processes that are started, too. ``-`` is standard input.
    """
    hidden = 0
    for path in paths:
        with contextlib.suppress(OSError):  # who reads the file explains what is wrong
            hidden |= _hidden(os.stat(0 if str(path) == "-" else path))
    before = os.umask(0o077)
    os.umask(before | hidden)
    try:
        yield
    finally:
        os.umask(before)


def _hidden(status: os.stat_result) -> int:
    """The umask that leaves no more rights than a file has; that of a pipe says nothing."""
    if not stat.S_ISREG(status.st_mode):
        return 0
    others, group = status.st_mode & 7, status.st_mode >> 3 & 7
    if status.st_gid != getattr(os, "getegid", int)():  # new files are of another group
        group &= others
    # Folders need the right to execute where files need none.
    masks = [7 if not rights & 4 else 2 & ~rights for rights in (group, others)]
    return masks[0] << 3 | masks[1]


def _is_running(process: str) -> bool:
    """Whether there is a process with this number."""
    try:
        os.kill(int(process), 0)
    except (ValueError, ProcessLookupError):
        return False
    except OSError:
        return True  # it is there, but another user's
    return True


def _flush(path: Path) -> None:
    """Return when the content of a file is on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def check_writable(folder: Path) -> None:
    """Make the folder if need be, and fail with one sentence when files cannot be written there.

    A file is really written and removed: permissions do not show that a disk is full or read-only,
    and do not hold for the superuser.
    """
    with _explained(folder / "output"):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".rboost.") as file:
            file.write(b"\0" * 4096)
            file.flush()
            os.fsync(file.fileno())


@contextlib.contextmanager
def writable(folder: Path) -> Iterator[None]:
    """A folder to write to, as of ``check_writable``; if the block fails, no empty one is left."""
    with _or_no_folder(folder):
        check_writable(folder)
        yield


@contextlib.contextmanager
def _or_no_folder(folder: Path) -> Iterator[None]:
    """Remove the folders that the block has made, if it fails and they are empty."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            for path in new:
                path.rmdir()
        raise


@contextlib.contextmanager
def _explained(path: Path, only_full: bool = False) -> Iterator[None]:
    """Turn errors of writing ``path`` into one sentence with the remedy.

    With ``only_full``, only errors of a full disk are explained.
    """
    try:
        yield
    except OSError as error:
        sentence = _sentence(path, error)
        if sentence is None or (only_full and error.errno not in FULL):
            raise
        raise type(error)(sentence) from error


def _sentence(path: Path, error: OSError) -> str | None:
    if path.parent.name.startswith(STAGE):  # say where the file was to be
        path = path.parent.parent / path.name
    folder = path.parent
    if error.errno == errno.EFBIG:
        return (
            f"{path} was not written, since files there may not be so large (ulimit -f, or the "
            "file system); choose another folder."
        )
    if error.errno in FULL:
        return (
            f"The disk is full, so {path} was not written; free some space there or choose another "
            "folder, and run the same command again."
        )
    if error.errno in FORBIDDEN:
        return f"Nothing can be written to the folder {folder}; choose another one."
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        return f"{folder} cannot be a folder, since a file is in its place; choose another folder."
    if error.errno == errno.ENAMETOOLONG:
        return f"The name {path.name[:40]}… is too long for a file; choose a shorter one."
    return None


def check_is_file(path: Path) -> None:
    """Fail if something else than a file is there.

    A device or a pipe may never end, opening a pipe waits for its other end, and what replaces one
    takes it from all programs.
    """
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a device or a pipe"
        raise OSError(f"{path} is {kind}, not a file; name a file.")


def open_to_read(path: Path) -> BufferedReader:
    """Open a file, or fail with one sentence that says why it cannot be read."""
    check_is_file(path)
    try:
        return path.open("rb")
    except FileNotFoundError as error:
        raise FileNotFoundError(_missing(path)) from error
    except NotADirectoryError as error:
        raise NotADirectoryError(_missing(path)) from error
    except OSError as error:
        if error.errno in FORBIDDEN:
            raise PermissionError(
                f"{path} may not be read; change its permissions or copy it to a place of yours."
            ) from error
        raise OSError(
            f"{path} cannot be read ({error.strerror}); check the path and the disk."
        ) from error


def file_digest(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with open_to_read(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files_digest(paths: Sequence[Path]) -> str:
    """The SHA-256 of a file, or of those of several in their order."""
    digests = [file_digest(path) for path in paths]
    return (
        digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    )


def _missing(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"There is no folder {folder}, so no file {path.name} in it; check the path."
    with contextlib.suppress(OSError):
        names = {entry.name.lower(): entry.name for entry in folder.iterdir() if entry.is_file()}
        near = difflib.get_close_matches(path.name.lower(), names, n=1)
        if near:
            return f"There is no file {path}; did you mean {folder / names[near[0]]}?"
    return f"There is no file {path}; check its name and folder."
