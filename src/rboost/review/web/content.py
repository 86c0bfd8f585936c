"""Parts of what the page sends, each of the right kind, or a ValueError of one sentence."""

from __future__ import annotations

import uuid
from typing import Any, TypeGuard

from rboost.review.snapshot import Json

LONGEST_COMMENT, LONGEST_NAME, LONGEST_SEARCH = 2000, 100, 200
# Rows that one question may leave out, that are described at once, and answered at once.
MOST_SKIPPED, MOST_DESCRIBED, MOST_SIMILAR, MOST_ANSWERED = 1000, 10, 50, 50


def whole(content: Json, name: str) -> int:
    """A whole number of the content that a database can hold."""
    value = content.get(name)
    if not _is_whole(value):
        raise ValueError(f"{name} must be a whole number.")
    return value


def whole_or_none(content: Json, name: str) -> int | None:
    """The same where it may be left out."""
    return None if content.get(name) is None else whole(content, name)


def _is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def key(content: Json) -> str:
    """The name of a request, by which a second try is known."""
    try:
        return str(uuid.UUID(content.get("key")))
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError("key must be a UUID.") from error


def reviewer(content: Json) -> str:
    """Who asks or answers; empty if nobody was named."""
    return " ".join(_text(content, "reviewer", LONGEST_NAME).split())


def comment(content: Json) -> str:
    """What else is said of a row."""
    return _text(content, "comment", LONGEST_COMMENT).strip()


def search(content: Json) -> str:
    """The text to look for."""
    found = _text(content, "text", LONGEST_SEARCH).strip()
    if not found:
        raise ValueError("text must not be empty; write what to look for.")
    return found


def _text(content: Json, name: str, longest: int) -> str:
    """Text that can be written to a file: without halves of characters, and without NUL."""
    value = content.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text.")
    if len(value) > longest:
        raise ValueError(f"{name} must have at most {longest} characters, not {len(value)}.")
    return value.encode(errors="replace").decode().replace("\0", " ")


def rows(content: Json) -> list[int]:
    """Different rows, at least one."""
    found = content.get("rows")
    if not isinstance(found, list) or not all(map(_is_whole, found)):
        raise ValueError("rows must be a list of whole numbers.")
    if not 0 < len(found) <= MOST_ANSWERED:
        raise ValueError(f"rows must name 1 to {MOST_ANSWERED} rows, not {len(found)}.")
    if len(set(found)) < len(found):
        raise ValueError("rows must name every row once.")
    return found


def number(query: Json, name: str) -> int | None:
    """A whole number of the address, not negative; None where it is left out."""
    text = query.get(name) or ""
    if text and not is_digits(text):
        raise ValueError(f"{name} must be a whole number.")
    return int(text) if text else None


def count(query: Json, default: int, most: int) -> int:
    """How many rows are asked for."""
    found = number(query, "count")
    found = default if found is None else found
    if not 1 <= found <= most:
        raise ValueError(f"count must be between 1 and {most}.")
    return found


def skipped(query: Json) -> set[int]:
    """Rows that are to be left out."""
    parts = query["skip"].split(",") if query.get("skip") else []
    if len(parts) > MOST_SKIPPED or not all(map(is_digits, parts)):
        raise ValueError(f"skip must hold at most {MOST_SKIPPED} positions, with commas.")
    return set(map(int, parts))


def is_digits(text: str) -> bool:
    """Whether a text is a whole number that is not negative."""
    return text.isascii() and text.isdigit() and len(text) < 19
