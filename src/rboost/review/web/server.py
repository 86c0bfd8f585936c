"""The server of the page: on this machine only, for as long as the person wants."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import webbrowser

from rboost.packages import package
from rboost.review.session import Review

# This machine: no other one can reach it.
HOST = "127.0.0.1"
# Ports that are tried first, so that the same audit has the same address when it can.
FIRST_PORT, N_PORTS = 21_000, 8_000
# Python's interval between switches of threads, so that a fit delays replies by little.
SWITCH_SECONDS = 0.0005


def serve(review: Review, port: int = 0, open_browser: bool = False) -> None:
    """Serve the page of a review, on this machine alone, until Ctrl-C; print its address once.

    The port 0 picks a free one, for the same audit the same again if it is free.
    """
    with _listen(port, review.fingerprint) as listening:
        _run(review, listening, open_browser)
    if review.refit_job.status == "running":
        print("The model is being fitted; wait for it, or leave it with Ctrl-C.", flush=True)
    review.finish()


def _run(review: Review, listening: socket.socket, open_browser: bool) -> None:
    """Serve on a socket until Ctrl-C."""
    uvicorn, _ = package("uvicorn", extra="review"), package("starlette", extra="review")
    from rboost.review.web.app import make_app
    from rboost.review.web.guard import Access

    access = Access(listening.getsockname()[1])
    config = uvicorn.Config(
        make_app(review, access), log_level="warning", access_log=False, lifespan="off",
        ws="none", http="h11", server_header=False, timeout_graceful_shutdown=3,
    )  # fmt: skip
    url = access.url(access.token)
    print(f"Check labels at {url}", flush=True)
    print("The address opens the page once. Ctrl-C ends; every answer is saved.", flush=True)
    if open_browser:
        # Some browsers do not return before they are closed.
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        with contextlib.suppress(KeyboardInterrupt):  # uvicorn passes it on when it has ended
            uvicorn.Server(config).run(sockets=[listening])
    finally:
        sys.setswitchinterval(usual)


def _listen(port: int, fingerprint: str) -> socket.socket:
    """A socket that accepts connections already."""
    usual = FIRST_PORT + int(fingerprint[:8], 16) % N_PORTS
    for candidate in (port,) if port else (usual, 0):
        # By the name of the protocol the server knows to send every reply at once; else the second
        # part of it waits for the other side to confirm the first, 40 ms each time.
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if os.name == "posix":  # elsewhere this would share the port with others
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, candidate))
            listening.listen()
            return listening
        except OSError as error:
            listening.close()
            if candidate != usual or port:
                raise OSError(f"Port {candidate} of {HOST} cannot be used: {error}.") from error
    raise AssertionError("the last candidate is any free port")
