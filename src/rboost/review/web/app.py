"""The routes of the page: questions and answers as JSON, and the page's files by their names."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rboost.review.answers import ConflictError
from rboost.review.background import in_one_line
from rboost.review.session import Review
from rboost.review.web.access import Access
from rboost.review.web.api import ReviewApi
from rboost.review.web.guard import Guard, as_json
from rboost.review.web.rows import Json

# The files of the page; nothing else is served.
SCRIPTS = (
    "ahead", "choices", "find", "keys", "panel", "progress", "review", "row", "settings",
    "similar", "talk", "words",
)  # fmt: skip
FILES = {
    "/": ("page.html", "text/html"),
    **{f"/{name}.js": (f"{name}.js", "text/javascript") for name in SCRIPTS},
    "/review.css": ("review.css", "text/css"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}


def make_app(review: Review, access: Access) -> Guard:
    """The page of a review, guarded."""
    api = ReviewApi(review)
    questions = {
        "/api/about": api.about,
        "/api/next": api.next,
        "/api/rows/{row}": api.row,
        "/api/find": api.find,
        "/api/similar": api.similar,
        "/api/progress": api.progress,
        "/api/answers": api.answers,
    }
    commands = {
        "/api/answer": api.answer,
        "/api/answers": api.answer_all,
        "/api/undo": api.undo,
        "/api/refit": api.refit,
        "/api/link": lambda _: {"url": access.url(access.invite())},
    }
    talk = Talk(api)
    routes = [
        *(Route(path, talk.question(ask)) for path, ask in questions.items()),
        *(Route(path, talk.command(ask), methods=["POST"]) for path, ask in commands.items()),
        Route("/api/image", talk.question(api.image, _image)),
        Route("/checked.csv", talk.question(api.export, _download)),
        *(Route(path, _file(*about)) for path, about in FILES.items()),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _http_error})
    app.router.redirect_slashes = False
    return Guard(app, access)


class Talk:
    """Turns what the api answers, or the mistake that it finds, into replies."""

    def __init__(self, api: ReviewApi) -> None:
        self.api = api

    def question(
        self, ask: Callable[[Json], Any], reply: Callable[[Any], Response] = as_json
    ) -> Callable[[Request], Any]:
        """What is asked by an address."""

        async def endpoint(request: Request) -> Response:
            asked = {**request.query_params, **request.path_params}
            return await self._answer(ask, asked, reply, "This cannot be shown")

        return endpoint

    def command(self, ask: Callable[[Json], Any]) -> Callable[[Request], Any]:
        """What is told by the content of a request."""

        async def endpoint(request: Request) -> Response:
            try:
                content = json.loads(await request.body())
            except (ValueError, RecursionError):
                return as_json({"error": "The content is no JSON."}, 400)
            if not isinstance(content, dict):
                return as_json({"error": "The content must be a JSON object."}, 400)
            return await self._answer(ask, content, as_json, "Nothing was saved")

        return endpoint

    async def _answer(
        self,
        ask: Callable[[Json], Any],
        question: Json,
        reply: Callable[[Any], Response],
        failed: str,
    ) -> Response:
        """Answer in a thread, as fits and files take their time; mistakes are a sentence each.

        ``failed`` says what did not happen if a file cannot be read or written.
        """
        try:
            return reply(await run_in_threadpool(ask, question))
        except ConflictError as error:
            present = self.api.describe(error.present) if error.present else None
            return as_json({"error": str(error), "present": present}, 409)
        except LookupError as error:
            return as_json({"error": str(error)}, 404)
        except ValueError as error:
            return as_json({"error": in_one_line(error)}, 422)
        except (sqlite3.Error, OSError) as error:
            return as_json({"error": f"{failed}: {in_one_line(error)}."}, 503)


def _image(found: tuple[bytes, str]) -> Response:
    content, media_type = found
    return Response(content, media_type=media_type)


def _download(content: bytes) -> Response:
    headers = {"Content-Disposition": 'attachment; filename="checked.csv"'}
    return Response(content, headers=headers, media_type="text/csv; charset=utf-8")


async def _http_error(request: Request, error: Exception) -> Response:
    """No such page, or a method that it does not take."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    sentence = {404: "There is no such page.", 405: "This page is not asked that way."}
    return as_json({"error": sentence.get(status, "This cannot be answered.")}, status)


def _file(name: str, media_type: str) -> Callable[[Request], Any]:
    content = (Path(__file__).parent / name).read_bytes()

    async def endpoint(request: Request) -> Response:
        return Response(content, media_type=media_type)

    return endpoint
