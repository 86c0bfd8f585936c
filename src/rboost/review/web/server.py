"""The server of the page: on this machine only, unless it is shared, for as long as one wants."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
import tempfile
import threading
import warnings
import webbrowser
from collections.abc import Iterator
from pathlib import Path

from rboost.packages import package
from rboost.review.session import Review
from rboost.review.web.sharing import Sharing

# This machine: no other one can reach it.
HOST = "127.0.0.1"
# Connections that the system holds until they are accepted.
MOST_WAITING = 1024
# Python's interval between switches of threads, so that a fit delays replies by little.
SWITCH_SECONDS = 0.0005


def serve(
    review: Review, port: int = 0, open_browser: bool = False, sharing: Sharing | None = None
) -> None:
    """Serve the page of a review, on this machine alone, until Ctrl-C; print its address once.

    The port 0 picks a free one, another for every run: what a server of another user left in the
    browser for an address, such as a service worker, would see the page of the next one there.
    With ``sharing`` the review's team reaches it, each reviewer by a link of their own.
    """
    if (review.team is None) != (sharing is None):
        raise ValueError("A review is shared by a team, and by no one else; pass both or neither.")
    if sharing is not None and open_browser:
        raise ValueError("Of a shared review each reviewer opens their own link; leave --open out.")
    if sharing is not None and sharing.warning is not None:
        warnings.warn(sharing.warning, UserWarning, stacklevel=2)
    with _listen(port, sharing) as listening:
        _run(review, listening, open_browser, sharing)
    if review.refit_job.status == "running":
        print("The model is being fitted; wait for it, or leave it with Ctrl-C.", flush=True)
    review.finish()
    if not review.store.is_there:
        raise FileNotFoundError(
            f"{review.store.path} was moved, removed or replaced during the review; no answer was "
            "saved since then."
        )


def _run(
    review: Review, listening: socket.socket, open_browser: bool, sharing: Sharing | None = None
) -> None:
    """Serve on a socket until Ctrl-C."""
    uvicorn, _ = package("uvicorn", extra="review"), package("starlette", extra="review")
    from rboost.review.web.app import make_app
    from rboost.review.web.connections import settings
    from rboost.review.web.guard import Access

    port, url = listening.getsockname()[1], ""
    if sharing is None or review.team is None:
        access, options = Access(port), settings()
        url = access.url(access.token)
        print(f"Check labels at {url}", flush=True)
        print("The address opens the page once. Ctrl-C ends; every answer is saved.", flush=True)
    else:
        people, tls = review.team.reviewers, sharing.tls
        access = Access(port, people, sharing.host, is_secure=tls is not None)
        options = settings(tls, len(people))
        print("Each reviewer checks labels by a link of their own, which opens once:", flush=True)
        for who in people:
            print(f"{who}: {access.url(access.tokens[who])}", flush=True)
        print("Ctrl-C ends; every answer is saved.", flush=True)
    config = uvicorn.Config(make_app(review, access), **options)
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        with (
            contextlib.suppress(KeyboardInterrupt),  # uvicorn passes it on when it has ended
            _opened(url, review.checked_csv.parent) if open_browser else contextlib.nullcontext(),
        ):
            uvicorn.Server(config).run(sockets=[listening])
    finally:
        sys.setswitchinterval(usual)


@contextlib.contextmanager
def _opened(url: str, folder: Path) -> Iterator[None]:
    """Open an address by a file that only this user may read, and remove the file in the end.

    All users see what programs are started with, so that the token must not be there. Browsers that
    are confined can read the folder of an audit rather than one for temporary files.
    """
    descriptor, name = tempfile.mkstemp(".html", "open-review-", folder)
    with open(descriptor, "w", encoding="ascii") as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={url}">')
    path = Path(name).resolve()
    try:
        # Some browsers do not return before they are closed.
        threading.Thread(target=webbrowser.open, args=(path.as_uri(),), daemon=True).start()
        yield
    finally:
        path.unlink(missing_ok=True)


class _Listening(socket.socket):
    """Lets many connections wait, though the server accepts few at a time."""

    def listen(self, backlog: int = 0) -> None:
        super().listen(max(backlog, MOST_WAITING))


def _listen(port: int, sharing: Sharing | None = None) -> socket.socket:
    """A socket that accepts connections already: of this machine, unless the review is shared."""
    host, family = HOST, socket.AF_INET
    if sharing is not None:
        host, family = sharing.address, sharing.family
    # By the name of the protocol the server knows to send every reply at once; else the second
    # part of it waits for the other side to confirm the first, 40 ms each time.
    listening = _Listening(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":  # elsewhere this would share the port with others
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRNOTAVAIL:
            raise OSError(
                f"{host} is no address of this machine; pass the one by which reviewers reach it."
            ) from error
        raise OSError(f"Port {port} of {host} cannot be used: {error}.") from error
    return listening
