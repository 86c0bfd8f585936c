"""Cases about the page of a review: requests that make little sense."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import anyio
import httpx

from benchmarks.fuzz import world
from benchmarks.fuzz.mutations import ODD, damaged
from benchmarks.fuzz.outcome import Failed
from rboost.review import Review
from rboost.review.web.app import make_app
from rboost.review.web.guard import Access

PORT, N_REQUESTS = 21234, 12
PATHS = (
    "/api/about", "/api/next", "/api/rows/1", "/api/rows/-1", "/api/rows/999999", "/api/rows/x",
    "/api/progress", "/api/answers", "/api/checked.csv", "/", "/review.js", "/../page.html", "/api",
    "/api/find", "/api/similar", "/api/image", "/api/link",
    "/api/rows/１", "/api/rows/" + "9" * 30, "/api/answer", "/api/nothing", "//", "/api/rows/",
)  # fmt: skip
QUESTIONS = (
    "order", "skip", "opinion", "class", "text", "row", "column", "count", "given", "suggested",
    "reviewer",
)  # fmt: skip
POSTS = (
    *["/api/answer"] * 6, *["/api/answers"] * 2, "/api/undo", "/api/undo", "/api/refit",
    "/api/link", "/api/x",
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    None, 0, 1, 2, 5, 99, -1, 1.5, 1e400, True, "", "1", "keep", "x" * 500, [], {}, [1], {"a": 1},
    2**63, 10**30, "\ud800", "\x00", "😀",
)  # fmt: skip


def answers(random: Random, folder: Path) -> None:
    """A review, opened anew, and a few requests; none may end in an error of the server."""
    audit = replace(world.audit(), scorer=None)  # thousands of new fits would take hours
    review = Review(audit, folder)
    access = Access(PORT)
    app = make_app(review, access)
    (folder / "requests.txt").write_text("")
    requests = [_request(random) for _ in range(N_REQUESTS)]

    async def ask() -> None:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(
            transport=transport, base_url=f"http://127.0.0.1:{PORT}"
        ) as client:
            client.headers["X-Rboost"] = access.session
            for method, path, options in requests:
                with (folder / "requests.txt").open("a") as log:
                    log.write(f"{method} {path} {options!r}\n")
                reply = await client.request(method, path, **options)
                _check(method, path, reply)

    try:
        anyio.run(ask)
    finally:
        review.finish()  # which still writes into the folder


def _request(random: Random) -> tuple[str, str, dict[str, Any]]:
    if random.random() < 0.35:
        query = {
            name: random.choice(
                ("1", "0", "suspicion", "random", "", "x", "1,2", "1,,2", *ODD[:45])
            )
            for name in random.sample(QUESTIONS, 3)
        }
        return "GET", random.choice(PATHS), {"params": query}
    path = random.choice(POSTS)
    content: dict[str, Any] = {
        "key": str(uuid.UUID(int=random.getrandbits(128))),
        "row": random.randrange(110),
        "answer": random.choice(("keep", "keep", "change", "unsure")),
    }
    if path == "/api/answers":
        content["rows"] = [random.randrange(110) for _ in range(random.choice((0, 1, 3, 60)))]
    if content["answer"] == "change":
        content["label"] = random.choice((0, 1, 1, 2))
    for _ in range(random.choice((0, 1, 1, 2))):
        name = random.choice(
            ("key", "row", "rows", "answer", "label", "expects", "number", "comment", "reviewer")
        )
        content[name] = random.choice(ODD_VALUES)
    body = json.dumps(content).encode()
    if random.random() < 0.15:
        body = damaged(body, random)
    headers = {"Origin": f"http://127.0.0.1:{PORT}", "Content-Type": "application/json"}
    if random.random() < 0.1:
        headers[random.choice(list(headers))] = random.choice(("", "x", "null", "text/plain"))
    return "POST", path, {"content": body, "headers": headers}


def _check(method: str, path: str, reply: httpx.Response) -> None:
    if reply.status_code >= 500:
        raise Failed(f"{method} {path} ended in {reply.status_code}: {reply.text[:200]}")
    if reply.status_code >= 400 and path.startswith("/api/"):
        sentence = reply.json()["error"]
        if not sentence.endswith(".") or "\n" in sentence:
            raise Failed(f"{method} {path} says no sentence: {sentence[:200]!r}")
