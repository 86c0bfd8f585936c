"""A review that several people share: each answers as oneself alone, and no one else answers."""

import errno
import socket
import ssl
from contextlib import ExitStack
from functools import partial
from time import sleep

import httpx
import pytest

from rboost.review import Review
from rboost.review import serve as serve_review
from rboost.review.leases import Team
from rboost.review.web import connections
from rboost.review.web.app import make_app
from rboost.review.web.guard import MOST_INVITED, NO_ENTRY_SHARED, Access
from rboost.review.web.sharing import Sharing, share
from tests.browser import complaints, open_browser
from tests.certificates import make_certificate
from tests.review.audits import N_ROWS, two_classes
from tests.review.clients import Client, enter, key
from tests.review.web.pages import Page
from tests.review.web.test_connections import connect, received

PORT = 21234
ORIGIN = f"http://review.example:{PORT}"


class Shared:
    """A shared review without a network, and its reviewers."""

    def __init__(self, folder, second_opinions=0.0, **options):
        team = Team(["ann", "bob", "carl"], N_ROWS, second_opinions)
        self.review = Review(two_classes(), folder, team=team)
        self.review.explaining.wait()
        self.access = Access(PORT, team.reviewers, "review.example", **options)
        self.app = make_app(self.review, self.access)

    def stranger(self, origin=ORIGIN):
        return Client(self.app, origin)

    def open(self, who):
        client = self.stranger()
        reply = enter(client, self.access.url(self.access.tokens[who]))
        assert reply.json() == {"session": self.access.secrets[who], "reviewer": who}
        return client


@pytest.fixture
def shared(tmp_path):
    shared = Shared(tmp_path)
    yield shared
    shared.review.finish()


@pytest.fixture
def ann(shared):
    return shared.open("ann")


@pytest.fixture
def bob(shared):
    return shared.open("bob")


def tell(client, path, **content):
    return client.post(path, json={"key": key(), **content})


def keep(client, row, **more):
    return tell(client, "/api/answer", row=row, answer="keep", **more)


def test_every_reviewer_has_a_token_and_a_secret_of_their_own(shared, ann, bob):
    access = shared.access
    assert len({*access.tokens.values(), *access.secrets.values()}) == 6
    assert len({client.headers["X-Rboost"] for client in (ann, bob)}) == 2
    for who in ("ann", "bob"):  # used up
        reply = enter(shared.stranger(), access.url(access.tokens[who]))
        assert (reply.status_code, reply.json()) == (403, {"error": NO_ENTRY_SHARED})
    assert [client.get("/api/about").json()["reviewer"] for client in (ann, bob)] == ["ann", "bob"]


@pytest.mark.parametrize("name", ["bob", "", None, "ann2", ["bob"], 7, "x" * 1000])
def test_the_secret_says_who_answers_whatever_the_page_says(ann, name):
    assert keep(ann, 1, reviewer=name).json()["saved"]["reviewer"] == "ann"
    several = tell(ann, "/api/answers", rows=[2, 3], answer="unsure", reviewer=name)
    assert {each["reviewer"] for each in several.json()["saved"]} == {"ann"}
    undone = tell(ann, "/api/undo", reviewer=name).json()["undone"]
    assert {each["row"] for each in undone} == {2, 3}


def test_nobody_changes_or_takes_back_what_another_person_said(shared, ann, bob):
    saved = keep(bob, 1).json()["saved"]
    for name in ("bob", "ann"):
        assert tell(ann, "/api/undo", number=saved["number"], reviewer=name).status_code == 409
        assert tell(ann, "/api/undo", reviewer=name).status_code == 409  # she has none
        change = {"row": 1, "answer": "unsure", "expects": saved["number"], "reviewer": name}
        assert tell(ann, "/api/answer", **change).status_code == 409
        rows = {"rows": [1], "answer": "unsure", "expects": saved["number"], "reviewer": name}
        assert tell(ann, "/api/answers", **rows).status_code == 409
    assert [answer.reviewer for answer in shared.review.store.log().held.values()] == ["bob"]
    own = keep(ann, 1, reviewer="bob").json()["saved"]  # beside bob's
    assert own["reviewer"] == "ann"
    held = shared.review.store.log().held
    assert held[saved["number"]].reviewer == "bob"


def test_the_key_of_anothers_request_repeats_nothing(ann, bob):
    content = {"row": 1, "answer": "keep", "key": key()}
    assert bob.post("/api/answer", json=content).status_code == 200
    assert ann.post("/api/answer", json={**content, "reviewer": "bob"}).status_code == 409


def test_questions_are_asked_as_oneself_too(ann, bob):
    keep(bob, 1)
    for query in ("reviewer=bob", "reviewer=bob&reviewer=bob", "reviewer=ann&reviewer=bob"):
        row = ann.get(f"/api/rows/1?{query}").json()["row"]
        assert (row["present"], row["others"]) == (None, [])
        assert ann.get(f"/api/answers?{query}").json()["answers"] == []
        assert ann.get(f"/api/about?{query}").json()["reviewer"] == "ann"
    mine = [row["row"] for row in ann.get("/api/next?count=5&reviewer=bob").json()["rows"]]
    theirs = [row["row"] for row in bob.get("/api/next?count=5&reviewer=ann").json()["rows"]]
    assert not {*mine} & {*theirs}
    assert len(mine) == len(theirs) == 5
    similar = bob.get(f"/api/similar?row={theirs[0]}&count=50&reviewer=ann").json()["rows"]
    assert not {row["row"] for row in similar} & {*mine}


def test_further_links_are_for_oneself_and_use_up_no_others(shared, ann, bob):
    urls = [tell(ann, "/api/link", reviewer="bob").json()["url"] for _ in range(MOST_INVITED + 5)]
    assert urls[-1].startswith(f"{ORIGIN}/#")
    assert enter(shared.stranger(), urls[0]).status_code == 403
    assert enter(shared.stranger(), urls[-1]).json()["reviewer"] == "ann"
    carl = shared.access.url(shared.access.tokens["carl"])
    assert enter(shared.stranger(), carl).json()["reviewer"] == "carl"


@pytest.mark.parametrize("path", ["/api/about", "/api/next", "/api/checked.csv", "/api/nothing"])
def test_two_secrets_tokens_and_halves_open_nothing(shared, ann, bob, path):
    secrets = [client.headers["X-Rboost"] for client in (ann, bob)]
    stranger = shared.stranger()
    both = [("X-Rboost", secret) for secret in secrets]
    assert stranger.get(path, headers=both).status_code == 403
    for given in (",".join(secrets), secrets[0][:-1], shared.access.tokens["carl"], "", "ann"):
        assert stranger.get(path, headers={"X-Rboost": given}).status_code == 403
    assert shared.open("carl").get("/api/about").status_code == 200


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", f"127.0.0.1:{PORT}", f"localhost:{PORT}", "review.example", "review.example:1",
     f"review.example.:{PORT}", f"evil.example:{PORT}", f"review.example:{PORT}.evil.example", ""],
)  # fmt: skip
def test_only_the_name_that_was_passed_is_answered(shared, ann, host):
    reply = ann.get("/api/about", headers={"Host": host})
    assert (reply.status_code, "review.example" in reply.text) == (421, True)
    token = {"X-Rboost": shared.access.tokens["carl"], "Host": host}
    assert shared.stranger().post("/api/enter", json={}, headers=token).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": f"https://review.example:{PORT}"},
        {"Origin": "http://review.example"},
        {"Origin": f"http://127.0.0.1:{PORT}"},
        {"Origin": f"{ORIGIN}.evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_other_origins_change_nothing(shared, ann, headers):
    content = {"row": 1, "answer": "keep", "key": key()}
    assert ann.post("/api/answer", json=content, headers=headers).status_code == 403
    assert shared.review.store.log().version == 0
    assert ann.post("/api/answer", json=content, headers={"Origin": ORIGIN}).status_code == 200


def test_with_tls_the_origin_is_https(tmp_path):
    shared = Shared(tmp_path, is_secure=True)
    assert shared.access.url("x") == f"https://review.example:{PORT}/#x"
    client = shared.stranger(f"https://review.example:{PORT}")
    assert enter(client, shared.access.url(shared.access.tokens["ann"])).status_code == 200
    content = {"row": 1, "answer": "keep", "key": key()}
    for origin, status in ((ORIGIN, 403), (f"https://review.example:{PORT}", 200)):
        reply = client.post("/api/answer", json=content, headers={"Origin": origin})
        assert reply.status_code == status
    shared.review.finish()


@pytest.mark.parametrize(("port", "is_secure"), [(80, False), (443, True)])
def test_ports_that_browsers_leave_out(port, is_secure):
    access = Access(port, ["ann"], "Review.example", is_secure)
    assert access.is_own_host(["review.example"])
    assert access.is_own_host([f"review.example:{port}"])
    assert access.is_own_origin([f"http{'s' * is_secure}://review.example"])
    assert not access.is_own_origin([f"http{'s' * (not is_secure)}://review.example"])


def test_a_second_opinion_is_independent_of_the_first(tmp_path):
    shared = Shared(tmp_path, second_opinions=1.0)
    ann, bob = shared.open("ann"), shared.open("bob")
    [row] = [each["row"] for each in ann.get("/api/next").json()["rows"]]
    saved = keep(ann, row).json()["saved"]
    shared.review.updating.wait()
    assert row not in [each["row"] for each in ann.get("/api/next?count=10").json()["rows"]]
    [seen] = bob.get("/api/next?opinion=1").json()["rows"]
    assert (seen["row"], seen["why"], seen["independent"]) == (row, "second", True)
    for each in (seen, bob.get(f"/api/rows/{row}?opinion=1").json()["row"]):
        assert not {"opinion", "neighbours", "sentence"} & {*each}
        assert (each["present"], each["others"]) == (None, [])
    assert bob.get("/api/answers").json() == {"answers": [], "unsure": []}
    tell(bob, "/api/answer", row=row, answer="change", label=1 - saved["label"])
    progress = bob.get("/api/progress").json()["agreement"]
    assert len(progress["disagreements"]) == 1
    carl = shared.open("carl").get("/api/progress").json()["agreement"]
    assert (carl["agreed"], carl["disagreements"]) == (0, [])
    told = bob.get(f"/api/rows/{row}?opinion=1").json()["row"]
    assert [each["reviewer"] for each in told["others"]] == ["ann"]
    assert "opinion" in told
    shared.review.finish()


def test_nobody_is_told_what_others_said_by_other_ways(shared, ann, bob):
    """Neither in the file of the answers nor by the labels of similar rows."""
    keep(ann, 40)
    for row in range(40):
        keep(bob, row, comment="bob's remark")
    shared.review.updating.wait()
    shared.review.explaining.wait()
    table = ann.get("/api/checked.csv").text
    assert len(table.splitlines()) == 2
    assert "bob" not in table
    rows = [ann.get(f"/api/rows/{row}?opinion=1").json()["row"] for row in range(41, 60)]
    beside = [near for row in rows for near in row["neighbours"]]
    assert {near["row"] for near in beside} & {*range(40)}
    assert {near["row"] for near in beside if near["is_checked"]} <= {40}


def test_reviewers_are_not_told_of_folders(ann, shared):
    assert str(shared.review.checked_csv.parent) not in ann.get("/api/about").text


@pytest.mark.parametrize(
    "host",
    ["0.0.0.0", "::", "[::]", "*", "", "0", "127.1", "0x7f000001", "2130706433", "224.0.0.1",
     "http://review.example", "review.example:80", "a b", "a/b", "a\nb", "ä.example", "fe80::1%lo",
     "user@127.0.0.1", "-a.example", "a..b", "#", "x" * 300],
)  # fmt: skip
def test_what_cannot_stand_in_a_link_is_refused_with_the_remedy(host):
    with pytest.raises(ValueError, match="pass the name or address by which reviewers") as error:
        share(host)
    assert str(error.value).count(".\n") == 0


@pytest.mark.parametrize(
    ("host", "name", "address"),
    [
        ("127.0.0.2", "127.0.0.2", "127.0.0.2"),
        ("LocalHost", "localhost", "127.0.0.1"),
        ("0:0:0:0:0:0:0:1", "[::1]", "::1"),
        ("[::1]", "[::1]", "::1"),
        ("2001:DB8::0:1", "[2001:db8::1]", "2001:db8::1"),
    ],
)
def test_names_and_addresses_of_machines(host, name, address):
    found = share(host)
    assert (found.host, found.address) == (name, address)


def test_what_is_not_encrypted_or_not_reached_is_said():
    unencrypted = Sharing("team.example", "192.0.2.1", socket.AF_INET)
    assert "Without --cert nothing is encrypted" in unencrypted.warning
    assert "Only this machine reaches localhost (127.0.0.1);" in share("localhost").warning


def test_a_name_that_is_not_known_is_refused(monkeypatch):
    def fail(*_, **__):
        raise socket.gaierror

    monkeypatch.setattr("socket.getaddrinfo", fail)
    with pytest.raises(ValueError, match=r"nobody\.invalid is no name .*; pass the name"):
        share("nobody.invalid")


def test_an_address_of_another_machine_is_not_listened_on(shared, monkeypatch):
    def fail(*_):
        raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")

    monkeypatch.setattr("rboost.review.web.server._Listening.bind", fail)
    elsewhere = Sharing("192.0.2.1", "192.0.2.1", socket.AF_INET)
    with (
        pytest.warns(UserWarning, match="--cert"),
        pytest.raises(OSError, match=r"192\.0\.2\.1 is no address of this machine; pass"),
    ):
        serve_review(shared.review, sharing=elsewhere)


def test_a_review_is_shared_by_its_team_alone(shared, tmp_path):
    with pytest.raises(ValueError, match="both or neither"):
        serve_review(shared.review)
    review = Review(two_classes(), tmp_path / "alone")
    with pytest.raises(ValueError, match="both or neither"):
        serve_review(review, sharing=share("127.0.0.1"))
    review.finish()


def test_one_address_is_listened_on(shared, monkeypatch, capsys):
    seen = []

    def look(self, sockets):
        [listening] = sockets
        seen.append(listening.getsockname())
        with pytest.raises(ConnectionRefusedError), socket.socket() as one:
            one.connect(("127.0.0.1", seen[0][1]))

    monkeypatch.setattr("uvicorn.Server.run", look)
    with pytest.warns(UserWarning, match="Only this machine"):
        serve_review(shared.review, sharing=share("127.0.0.2"))
    [(address, port)] = seen
    assert address == "127.0.0.2"
    said = capsys.readouterr().out
    links = [line for line in said.splitlines() if "http" in line]
    starts = [f"{who}: http://127.0.0.2:{port}/#" for who in ("ann", "bob", "carl")]
    assert [line[: len(start)] for line, start in zip(links, starts, strict=True)] == starts


# ---- TLS ----


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def secure(serve, certificate):
    """A shared review that is served over TLS."""
    sharing = share("127.0.0.2", *certificate)
    return serve(sharing=sharing, team=Team(["ann", "bob"], N_ROWS, 0))


def test_reviewers_answer_over_tls(secure, certificate):
    assert secure.origin == f"https://127.0.0.2:{secure.access.port}"
    trusted = ssl.create_default_context(cafile=certificate[0])
    for who, row in (("ann", 1), ("bob", 2)):
        headers = {"Origin": secure.origin}
        with httpx.Client(base_url=secure.origin, verify=trusted, headers=headers) as client:
            assert "Check labels" in client.get("/").text
            assert enter(client, secure.urls[who]).json()["reviewer"] == who
            assert keep(client, row).status_code == 200
            big = client.get("/review.js")
            assert (big.status_code, len(big.content)) == (200, int(big.headers["content-length"]))
    with httpx.Client() as client, pytest.raises(httpx.ConnectError, match=r"(?i)certificate"):
        client.get(secure.origin)
    assert [(each.row, each.reviewer) for each in secure.answers()] == [(1, "ann"), (2, "bob")]


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_what_never_begins_tls_does_not_keep_the_page_from_opening(
    secure, certificate, sent, monkeypatch
):
    n_open = connections.MOST_OPEN + 2 * connections.OF_A_BROWSER
    opened = partial(connect, secure.access.port, sent, host=secure.host)
    with ExitStack() as stack:
        first = stack.enter_context(opened())
        for _ in range(3 * n_open):
            stack.enter_context(opened())
        assert b"HTTP" not in received(first)  # it was ended, and nothing was said in the clear
        trusted = ssl.create_default_context(cafile=certificate[0])
        with httpx.Client(base_url=secure.origin, verify=trusted) as client:
            assert enter(client, secure.urls["ann"]).status_code == 200
            assert client.get("/api/about").status_code == 200
    sleep(0.1)
    assert len(secure._server.server_state.connections) <= 1


def test_a_handshake_that_does_not_come_is_not_waited_for(monkeypatch, secure):
    monkeypatch.setattr(connections, "PATIENCE", 0.3)
    for sent in (b"", b"\x16\x03\x01\x02"):
        with connect(secure.access.port, sent, host=secure.host) as one:
            assert received(one) == b""


@pytest.mark.parametrize("is_read", [True, False])
def test_over_tls_too_a_reply_is_sent_as_long_as_somebody_reads_it(
    secure, certificate, is_read, monkeypatch
):
    monkeypatch.setattr(connections, "PATIENCE", 0.4)
    content = bytes(20_000_000)
    monkeypatch.setattr("rboost.review.web.api.read_image", lambda *_: (content, "image/gif"))
    trusted = ssl.create_default_context(cafile=certificate[0])
    asked = (
        f"GET /api/image?row=1&column=2 HTTP/1.1\r\nHost: 127.0.0.2:{secure.access.port}\r\n"
        f"X-Rboost: {secure.access.secrets['ann']}\r\nConnection: close\r\n\r\n"
    )
    found = 0
    plain = connect(secure.access.port, room=2**18, host=secure.host)
    with trusted.wrap_socket(plain, server_hostname="127.0.0.2") as one:
        one.sendall(asked.encode())
        try:
            for _ in range(20):  # longer than the server is patient
                sleep(0.1)
                target = found + 2**19 if is_read else 0
                while found < target and (part := one.recv(2**16)):
                    found += len(part)
            while part := one.recv(2**16):
                found += len(part)
        except (ConnectionError, ssl.SSLError):
            assert not is_read
    assert (found > len(content)) == is_read


def test_a_key_that_is_not_the_certificates_is_refused(certificate, tmp_path):
    cert, own_key = certificate
    with pytest.raises(ValueError, match="no certificate with its key"):
        share("127.0.0.1", own_key, cert)
    with pytest.raises(ValueError, match="without --key"):
        share("127.0.0.1", cert)
    with pytest.raises(FileNotFoundError, match=r"nothing\.pem"):
        share("127.0.0.1", tmp_path / "nothing.pem")
    both = tmp_path / "both.pem"
    both.write_bytes(cert.read_bytes() + own_key.read_bytes())
    assert share("127.0.0.1", both).tls is not None


# ---- In a browser ----


@pytest.mark.slow
@pytest.mark.browser
def test_two_reviewers_in_one_browser_on_another_machine_stay_apart(serve):
    """Without TLS a page of another machine is no secure context: it has fewer functions."""
    sharing = Sharing("review.example", "127.0.0.2", socket.AF_INET)
    server = serve(sharing=sharing, team=Team(["ann", "bob <i>"], N_ROWS, 0))
    answer_at = "--host-resolver-rules=MAP review.example 127.0.0.2"
    with open_browser(more=(answer_at,)) as browser:
        ann = Page(browser, server.urls["ann"])
        assert not ann.run("return isSecureContext")
        assert (ann.at("reviewer").get_attribute("value"), ann.at("reviewer").is_enabled()) == (
            "ann", False
        )  # fmt: skip
        of_ann, first = ann.row(), browser.current_window_handle
        ann.answer("k")
        browser.switch_to.new_window("tab")
        bob = Page(browser, server.urls["bob <i>"])
        assert bob.at("reviewer").get_attribute("value") == "bob <i>"
        of_bob = bob.row()
        bob.answer("u")
        browser.switch_to.window(first)
        of_ann = [of_ann, ann.row()]
        ann.answer("u")
        browser.refresh()
        ann.ready()
        of_ann.append(ann.row())
        ann.answer("k")
        ann.click("#link-button")
        ann.until(lambda: ann.at("link-text").get_attribute("value"))
        assert "answers as ann" in ann.text("link")
        # One header has no effect without TLS, which the browser says.
        assert all("Cross-Origin-Opener-Policy" in one for one in complaints(browser))
    assert [(each.row, each.reviewer) for each in server.answers()] == [
        (of_ann[0], "ann"), (of_bob, "bob <i>"), (of_ann[1], "ann"), (of_ann[2], "ann")
    ]  # fmt: skip
