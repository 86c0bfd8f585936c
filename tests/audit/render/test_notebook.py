"""What a notebook and a Python prompt show of an audit."""

import html
import re
from dataclasses import replace

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

from rboost.audit import audit_labels

mpl.use("Agg")

PLOTS = ["plot_noise_matrix", "plot_distribution", "plot_gain", "plot_projection"]


def test_printing_an_audit_says_what_was_found_in_a_few_lines(small_audit):
    shown = repr(small_audit)
    summary = small_audit.summary()
    assert "array" not in shown
    assert len(shown.splitlines()) <= 6
    assert all(len(line) <= 110 for line in shown.splitlines())
    assert f"'tree': 150 rows, 3 classes, {summary.n_suspects} suspects" in shown
    assert "90 % interval" in shown
    assert "report()" in shown


def test_parts_of_an_audit_are_short_too(small_audit):
    suspects = small_audit.suspects()
    explanation = small_audit.explain(suspects.rows[0])
    for part in (suspects, small_audit.summary(), explanation):
        assert len(repr(part)) < 600
        assert "array" not in repr(part)
    assert f"{len(suspects)} rows ({suspects.rows[0]}, " in repr(suspects)
    assert f"row {suspects.rows[0]} is labelled {explanation.given!r}" in repr(explanation)


def test_a_notebook_shows_sentences_and_ten_rows(small_audit):
    shown = small_audit._repr_html_()
    suspects = small_audit.suspects()
    assert "The table has 150 rows" in shown
    assert shown.count("<tr>") == 1 + min(10, len(suspects))
    assert f">{small_audit.ids[suspects.rows[0]]}</td>" in shown
    assert f"{len(suspects) - 10} more suspects" in shown


def test_every_name_and_cell_is_escaped(hostile_audit):
    for shown in (hostile_audit._repr_html_(), hostile_audit.report()._repr_html_()):
        assert not re.search(r"<(?!/?(?:div|p|table|thead|tbody|tr|th|td|code|iframe)[ >])", shown)
        assert "\x1b" not in shown
        assert "\x00" not in shown
    assert "\x1b" not in repr(hostile_audit)


def test_an_audit_without_suspects_is_shown(small_audit):
    nothing_wrong = replace(
        small_audit, labels=small_audit.labels.with_checked(small_audit.labels.given)
    )
    assert "<table>" not in nothing_wrong._repr_html_()
    assert "0 suspects" in repr(nothing_wrong)


@pytest.mark.slow
def test_the_report_is_shown_in_a_frame_that_reaches_nothing(small_audit, tmp_path):
    report = small_audit.report(title="Trees")
    frame = report._repr_html_()
    assert frame.count("<iframe") == 1
    assert 'sandbox="allow-scripts"' in frame
    (inside,) = re.findall(r'srcdoc="([^"]*)"', frame)
    assert html.unescape(inside) == small_audit.to_html(title="Trees")
    assert report.save(tmp_path / "new" / "report.html").read_text() == report.html
    assert len(repr(report)) < 100


@pytest.mark.parametrize("name", PLOTS)
@pytest.mark.parametrize("layout", ["constrained", None])
def test_plots_draw_on_given_axes(small_audit, name, layout):
    axes = Figure(layout=layout).subplots()
    display = getattr(small_audit, name)(ax=axes)
    assert display.ax_ is axes
    assert display.figure_ is axes.figure
    display.figure_.canvas.draw()


@pytest.mark.parametrize("name", PLOTS)
def test_plots_make_axes_of_their_own(small_audit, name):
    import matplotlib.pyplot as plt

    display = getattr(small_audit, name)()
    assert display.ax_ in display.figure_.axes
    plt.close(display.figure_)


@pytest.mark.slow
def test_groups_are_drawn_where_there_are_any(small_audit, small_model):
    with pytest.raises(ValueError, match=r"context\.$"):
        small_audit.plot_groups()
    labels = small_audit.labels.classes[small_audit.labels.given.clip(0)]
    grouped = audit_labels(
        small_audit.table, labels, context=["xy"[i % 2] for i in range(150)], model=small_model
    )
    display = grouped.plot_groups(ax=Figure().subplots())
    assert len(display.names) == 2
