"""Connections that keep the server waiting are ended; who is answered is waited for."""

import re
import resource
import socket
import time
from contextlib import ExitStack, suppress

import httpx
import pytest

from rboost.review.web import connections
from tests.review.clients import enter
from tests.review.servers import Server

SOON = 0.4


@pytest.fixture
def hasty(serve, monkeypatch):
    """A server with little patience."""
    monkeypatch.setattr(connections, "PATIENCE", SOON)
    return serve()


def connect(port, sent=b"", room=None, host="127.0.0.1"):
    one = socket.socket()
    if room is not None:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    one.settimeout(20)
    one.connect((host, port))
    with suppress(ConnectionError):  # it may be ended already
        one.sendall(sent)
    return one


def replied(one):
    """One reply of the page, whole."""
    found = b""
    while b"\r\n\r\n" not in found:
        found += one.recv(2**16)
    head, _, body = found.partition(b"\r\n\r\n")
    length = int(re.search(rb"content-length: (\d+)", head.lower())[1])
    while len(body) < length:
        body += one.recv(2**16)
    return head


def received(one):
    """What comes until the other side ends the connection, which it must."""
    parts = []
    try:
        while part := one.recv(2**16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


@pytest.mark.slow
def test_a_thousand_half_open_connections_do_not_keep_the_page_from_opening(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        server = Server(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(4096, hard)), hard))
    try:
        with ExitStack() as stack, httpx.Client(base_url=server.origin, timeout=20) as client:
            for k in range(1100):
                part = b"GET / HTTP/1.1\r\nHost: x\r\n"[: k % 24]
                stack.enter_context(connect(server.port, part))
            assert client.get("/").status_code == 200
            assert enter(client, server.url).status_code == 200
            assert client.get("/api/about").status_code == 200
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        code, said = server.end()
    assert (code, said.count("Traceback")) == (0, 0)


def test_a_flood_of_requests_whose_replies_nobody_reads_does_not_end_the_page(serve):
    server = serve()
    port = server.access.port
    head = f"Host: 127.0.0.1:{port}\r\n"
    asked = f"GET /api/about HTTP/1.1\r\n{head}X-Rboost: {server.access.session}\r\n\r\n"
    flood = f"GET /review.js HTTP/1.1\r\n{head}\r\n" * 100
    with ExitStack() as stack:
        own = stack.enter_context(connect(port, asked.encode()))
        assert replied(own).startswith(b"HTTP/1.1 200")
        for _ in range(2 * connections.MOST_OPEN):
            stack.enter_context(connect(port, flood.encode(), room=2**12))
        own.sendall(asked.encode())
        assert replied(own).startswith(b"HTTP/1.1 200")
        assert httpx.get(server.origin).status_code == 200  # the newest is not the first to end


def test_nothing_is_said_of_packages_to_install(tmp_path):
    server = Server(tmp_path)
    try:
        headers = {"Connection": "Upgrade", "Upgrade": "websocket"}
        assert httpx.get(server.origin, headers=headers).status_code == 200
    finally:
        _, said = server.end()
    assert "install" not in said


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HT",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        b"POST /api/enter HTTP/1.1\r\nHost: HERE\r\nContent-Type: application/json\r\n"
        b"Content-Length: 9\r\n\r\n{",
        b"GET / HTTP/1.1\r\nHost: HERE\r\n\r\nGET / HT",
    ],
)
def test_a_request_that_does_not_come_is_not_waited_for(hasty, sent):
    own = f"127.0.0.1:{hasty.access.port}".encode()
    with connect(hasty.access.port, sent.replace(b"HERE", own)) as one:
        received(one)
    assert httpx.get(hasty.origin).status_code == 200


def test_a_request_that_comes_byte_by_byte_is_not_waited_for(hasty):
    def trickle(one):
        for byte in b"GET / HTTP/1.1\r\n" * 100:
            one.sendall(bytes([byte]))
            time.sleep(SOON / 10)

    with connect(hasty.access.port) as one, pytest.raises(ConnectionError):
        trickle(one)


def test_content_that_is_cut_short_changes_nothing(serve):
    server = serve()
    port = server.access.port
    head = (
        f"POST /api/answer HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"X-Rboost: {server.access.session}\r\nContent-Length: 500\r\n\r\n"
    )
    content = '{"row": 1, "answer": "keep", "key": "5d3c6c64-2f5e-4f6e-9a55-93d2ddc6a0b1"}'
    with connect(port, (head + content).encode()) as one:
        one.shutdown(socket.SHUT_WR)
        received(one)
    assert httpx.get(server.origin).status_code == 200
    assert server.log().version == 0


def test_a_reply_that_takes_its_time_is_not_cut(hasty):
    find = hasty.review.next_rows
    hasty.review.next_rows = lambda *some: (time.sleep(5 * SOON), find(*some))[1]
    headers = {"X-Rboost": hasty.access.session}
    reply = httpx.get(f"{hasty.origin}/api/next", headers=headers, timeout=20)
    assert len(reply.json()["rows"]) == 1


@pytest.mark.parametrize("is_read", [True, False])
def test_a_long_reply_is_sent_as_long_as_somebody_reads_it(hasty, monkeypatch, is_read):
    content = bytes(20_000_000)
    monkeypatch.setattr("rboost.review.web.api.read_image", lambda *_: (content, "image/gif"))
    port = hasty.access.port
    asked = (
        f"GET /api/image?row=1&column=2 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"X-Rboost: {hasty.access.session}\r\nConnection: close\r\n\r\n"
    )
    found = b""
    with connect(port, asked.encode(), room=2**18) as one:
        for _ in range(20):  # longer than the server is patient
            time.sleep(SOON / 4)
            found += one.recv(2**19, socket.MSG_WAITALL) if is_read else b""
        found += received(one)
    head, _, body = found.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert (len(body) == len(content)) == is_read
