"""How the server starts and ends."""

import socket
import uuid

import httpx
import pytest

from rboost.review import serve
from tests.review.audits import two_classes
from tests.review.servers import Server
from tests.review.web.pages import PageServer


def test_a_port_that_is_taken_is_named(review):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"Port {port} of 127.0.0.1 cannot be used"):
            serve(review, port=port)


@pytest.fixture
def sockets(monkeypatch):
    """Those that would be served, with their addresses."""
    seen = []
    monkeypatch.setattr(
        "rboost.review.web.server._run",
        lambda _, listening, __: seen.append((listening, listening.getsockname())),
    )
    return seen


def test_replies_are_sent_at_once(sockets, review):
    """A reply has two parts; unless the server sends both at once it takes 40 ms longer."""
    serve(review)
    [(listening, address)] = sockets
    assert address[0] == "127.0.0.1"  # other machines are never served
    assert listening.proto == socket.IPPROTO_TCP


def test_a_second_server_of_an_audit_has_another_port(sockets, review):
    serve(review)
    [(_, usual)] = sockets
    with socket.create_server(usual):
        serve(review)
    assert sockets[1][1] != usual


@pytest.mark.slow
def test_two_servers_of_an_audit_and_ctrl_c_that_waits_for_a_fit_and_tells_no_token(tmp_path):
    server, other = Server(tmp_path), PageServer(two_classes(), tmp_path)
    with httpx.Client(base_url=other.origin, follow_redirects=True) as client:
        assert client.get(other.url).status_code == 200
    other.end()
    with httpx.Client(base_url=server.origin, headers={"X-Rboost": "1"}) as client:
        assert client.get(server.url).status_code == 303
        assert client.get(server.url.replace("token=", "token=x")).status_code == 403
        answer = {"row": 1, "answer": "keep", "key": str(uuid.uuid4())}
        assert client.post("/api/answer", json=answer).status_code == 200
        assert client.post("/api/refit", json={}).status_code == 200
        code, said = server.end()
    assert code == 0
    assert "wait for it, or leave it with Ctrl-C" in said
    assert "token" not in said
    assert "Traceback" not in said
    assert list(server.answers()) == [1]
