"""Reports for tests that look at something else."""

from rboost.audit.render.report import Picture

NAMES = ("matrix", "distribution", "gain", "projection", "groups", "promises")


def without_pictures(monkeypatch):
    """Leave out the pictures, which are a third of the time that a small audit takes."""
    pictures = dict.fromkeys(NAMES, Picture("data:,", "", 1.0))
    monkeypatch.setattr("rboost.audit.render.report.draw_pictures", lambda *_: pictures)
