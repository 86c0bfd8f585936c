"""Reports for tests that look at something else."""


def without_pictures(monkeypatch):
    """Leave out the pictures, which are a third of the time that a small audit takes."""
    monkeypatch.setattr("rboost.audit.render.report.draw", lambda *_: "data:,")
