"""Every example of the gallery runs, without a warning, and draws."""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

GALLERY = Path(__file__).resolve().parents[1] / "examples" / "gallery"
EXAMPLES = sorted(GALLERY.rglob("*.py"))

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_runs_and_draws(path, monkeypatch):
    plt.switch_backend("Agg")
    monkeypatch.setattr(plt, "show", lambda: None)
    try:
        runpy.run_path(str(path), run_name="__main__")
        drawn = [plt.figure(number) for number in plt.get_fignums()]
        assert drawn
        for figure in drawn:
            figure.canvas.draw()  # what matplotlib has to say of a layout it says here
    finally:
        plt.close("all")


def test_is_a_gallery():
    # Sphinx-Gallery runs what is called so, and no file of another name.
    assert all(path.name.startswith("plot_") for path in EXAMPLES)
    assert len(EXAMPLES) >= 10
