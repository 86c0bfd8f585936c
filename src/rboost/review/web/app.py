"""The routes of the page: questions and answers as JSON, and the page's files by their names."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rboost.review.background import in_one_line
from rboost.review.session import Review
from rboost.review.store import ConflictError
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
    routes = [
        Route("/api/about", _question(api.about)),
        Route("/api/next", _question(api.next)),
        Route("/api/rows/{row}", _question(api.row)),
        Route("/api/progress", _question(api.progress)),
        Route("/api/answers", _question(api.answers)),
        Route("/api/answer", _command(api.answer), methods=["POST"]),
        Route("/api/undo", _command(api.undo), methods=["POST"]),
        Route("/api/refit", _command(api.refit), methods=["POST"]),
        Route("/checked.csv", _question(api.export)),
        *(Route(path, _file(*about)) for path, about in FILES.items()),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _http_error})
    app.router.redirect_slashes = False
    return Guard(app, access)


def _question(ask: Callable[[Json], Any]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        return await _reply(ask, {**request.query_params, **request.path_params})

    return endpoint


def _command(ask: Callable[[Json], Any]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        try:
            content = json.loads(await request.body())
        except (ValueError, RecursionError):
            return as_json({"error": "The content is no JSON."}, 400)
        if not isinstance(content, dict):
            return as_json({"error": "The content must be a JSON object."}, 400)
        return await _reply(ask, content)

    return endpoint


async def _reply(ask: Callable[[Json], Any], question: Json) -> Response:
    """Answer in a thread, as fits and files take their time; mistakes are one sentence each."""
    try:
        found = await run_in_threadpool(ask, question)
    except ConflictError as error:
        sentence, row = str(error), error.present
        return as_json({"error": sentence, "present": asdict(row) if row else None}, 409)
    except LookupError as error:
        return as_json({"error": str(error)}, 404)
    except ValueError as error:
        return as_json({"error": in_one_line(error)}, 422)
    except (sqlite3.Error, OSError) as error:
        return as_json({"error": f"Nothing was saved: {in_one_line(error)}."}, 503)
    if isinstance(found, bytes):
        headers = {"Content-Disposition": 'attachment; filename="checked.csv"'}
        return Response(found, headers=headers, media_type="text/csv; charset=utf-8")
    return as_json(found)


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
