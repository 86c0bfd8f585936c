"""The page on which a person checks labels, and the store behind it."""

from rboost.review.server import serve
from rboost.review.session import Review, fingerprint, open_review
from rboost.review.store import AnswerStore

__all__ = ["AnswerStore", "Review", "fingerprint", "open_review", "serve"]
