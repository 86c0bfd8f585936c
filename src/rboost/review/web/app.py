"""The routes of the page: questions and answers as JSON, and the page's files by their names."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Awaitable, Callable
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
from rboost.review.snapshot import Json
from rboost.review.web.api import ReviewApi
from rboost.review.web.guard import REVIEWER, Access, Guard, as_json

# The page, and what it consists of; other files of this folder are not served.
PAGE = "page.html"
MEDIA_TYPES = {
    ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml",
}  # fmt: skip

Endpoint = Callable[[Request], Awaitable[Response]]


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
        "/api/link": lambda said: {
            "url": access.url(access.invite(said["reviewer"] if access.is_shared else None))
        },
    }
    data = [
        *(Route(path, _endpoint(api, ask)) for path, ask in questions.items()),
        *(Route(path, _endpoint(api, ask), methods=["POST"]) for path, ask in commands.items()),
        Route("/api/image", _endpoint(api, api.image, _image)),
        Route("/api/checked.csv", _endpoint(api, api.export, _download)),
    ]
    files = [path for path in Path(__file__).parent.iterdir() if path.suffix in MEDIA_TYPES]
    public = {"/" if path.name == PAGE else f"/{path.name}": _file(path) for path in files}
    routes = [*data, *(Route(path, endpoint) for path, endpoint in public.items())]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _http_error})
    app.router.redirect_slashes = False
    return Guard(app, access, public)


def _endpoint(
    api: ReviewApi, ask: Callable[[Json], Any], reply: Callable[[Any], Response] = as_json
) -> Endpoint:
    """Answers in a thread, as fits and files take their time; mistakes are a sentence each."""

    async def endpoint(request: Request) -> Response:
        try:
            content = await _content(request)
            return reply(await run_in_threadpool(ask, content))
        except ConflictError as error:
            present = api.describe(error.present) if error.present else None
            return as_json({"error": str(error), "present": present}, 409)
        except LookupError as error:
            return as_json({"error": str(error)}, 404)
        except ValueError as error:
            return as_json({"error": in_one_line(error)}, 422)
        except (sqlite3.Error, OSError) as error:
            failed = "Nothing was saved" if request.method == "POST" else "This cannot be shown"
            return as_json({"error": f"{failed}: {in_one_line(error).rstrip('.')}."}, 503)

    return endpoint


async def _content(request: Request) -> Json:
    """What is asked by the address, or said by the content of a POST.

    In a review that is shared the secret says who it is, whatever the page says.
    """
    content = await _said(request)
    who = getattr(request.state, REVIEWER)
    return content if who is None else {**content, "reviewer": who}


async def _said(request: Request) -> Json:
    if request.method != "POST":
        return {**request.query_params, **request.path_params}
    try:
        content = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "The content is no JSON.") from error
    if not isinstance(content, dict):
        raise HTTPException(400, "The content must be a JSON object.")
    return content


def _image(found: tuple[bytes, str]) -> Response:
    content, media_type = found
    return Response(content, media_type=media_type)


def _download(content: bytes) -> Response:
    headers = {"Content-Disposition": 'attachment; filename="checked.csv"'}
    return Response(content, headers=headers, media_type="text/csv; charset=utf-8")


def _file(path: Path) -> Endpoint:
    content = path.read_bytes()

    async def endpoint(request: Request) -> Response:
        return Response(content, media_type=MEDIA_TYPES[path.suffix])

    return endpoint


async def _http_error(request: Request, error: Exception) -> Response:
    """No such page, a method that it does not take, or content that is no JSON object."""
    assert isinstance(error, HTTPException)
    sentences = {404: "There is no such page.", 405: "This page is not asked that way."}
    return as_json({"error": sentences.get(error.status_code, error.detail)}, error.status_code)
