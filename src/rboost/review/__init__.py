"""The page on which a person checks labels, and the store behind it."""

from rboost.review.folder import fingerprint
from rboost.review.session import Review
from rboost.review.store import AnswerStore
from rboost.review.web.server import serve

__all__ = ["AnswerStore", "Review", "fingerprint", "serve"]
