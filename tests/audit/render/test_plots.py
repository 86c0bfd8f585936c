import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from rboost.audit import (
    IssueDistributionDisplay,
    NoiseMatrixDisplay,
    ProjectionDisplay,
    ReviewGainDisplay,
    audit_labels,
)
from rboost.audit.insight.checked import CalibrationBin
from rboost.audit.insight.summary import MOST_ROWS, Budget, project, review_gain
from rboost.audit.render.plots import AnnotatorDisplay, CalibrationDisplay

mpl.use("Agg")

DISPLAYS = [
    NoiseMatrixDisplay, IssueDistributionDisplay, ReviewGainDisplay, ProjectionDisplay,
]  # fmt: skip


def texts(display):
    display.figure_.canvas.draw()
    shown = [*display.ax_.texts, *display.ax_.get_xticklabels(), *display.ax_.get_yticklabels()]
    return [text for text in shown if text.get_text() and text.get_visible()]


def on_new_axes(display, size=(5.2, 3.6)):
    return display.plot(Figure(size, layout="constrained").subplots())


@pytest.mark.parametrize("display", DISPLAYS)
def test_draws_on_given_axes_and_returns_itself(display, small_audit):
    axes = Figure(layout="constrained").subplots()
    drawn = display.from_audit(small_audit)
    assert drawn.plot(axes) is drawn
    assert drawn.ax_ is axes
    assert drawn.figure_ is axes.figure


def test_makes_axes_where_none_are_given(small_audit):
    import matplotlib.pyplot as plt

    drawn = NoiseMatrixDisplay.from_audit(small_audit).plot()
    assert drawn.ax_ in drawn.figure_.axes
    plt.close(drawn.figure_)


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("display", DISPLAYS)
def test_hostile_names_are_drawn_as_they_are(display, hostile_audit):
    drawn = on_new_axes(display.from_audit(hostile_audit))
    drawn.figure_.canvas.draw()
    words = [text.get_text() for text in texts(drawn)]
    assert all("\x1b" not in word and "\x00" not in word for word in words)


@pytest.mark.parametrize("display", DISPLAYS)
def test_no_text_lies_on_another(display, small_audit):
    drawn = on_new_axes(display.from_audit(small_audit))
    boxes = [text.get_window_extent() for text in texts(drawn)]
    overlaps = [(i, j) for i in range(len(boxes)) for j in range(i) if boxes[i].overlaps(boxes[j])]
    assert not overlaps


@pytest.mark.parametrize(("n_classes", "n_texts"), [(2, 8), (10, 200), (11, 121), (20, 400)])
def test_matrix_has_numbers_and_of_few_classes_intervals(n_classes, n_texts):
    noise = np.full((n_classes, n_classes), 0.1 / (n_classes - 1))
    np.fill_diagonal(noise, 0.9)
    display = NoiseMatrixDisplay(noise, np.stack([noise, noise]), range(n_classes))
    drawn = on_new_axes(display, (7.8, 6.12))
    assert len(drawn.ax_.texts) == n_texts
    boxes = [text.get_window_extent() for text in texts(drawn)]
    assert not any(boxes[i].overlaps(boxes[j]) for i in range(len(boxes)) for j in range(i))


def test_rates_that_are_nearly_zero_have_no_number_among_many_classes():
    noise = 0.004 + 0.9 * np.eye(12)
    noise[3, 4] = 0.05
    drawn = on_new_axes(NoiseMatrixDisplay(noise, np.stack([noise, noise]), range(12)))
    assert sorted({text.get_text() for text in drawn.ax_.texts}) == ["5", "90"]


def test_long_names_are_told_apart():
    names = [f"transfer_not_{word}_by_recipient" for word in ("received", "refunded")]
    noise = np.array([[0.9, 0.1], [0.2, 0.8]])
    drawn = on_new_axes(NoiseMatrixDisplay(noise, np.stack([noise, noise]), names))
    shown = [text.get_text() for text in drawn.ax_.get_yticklabels()]
    assert len({*shown}) == 2
    names = ["account_of_a_customer_closed", "account_of_a_customer_opened"]
    drawn = on_new_axes(NoiseMatrixDisplay(noise, np.stack([noise, noise]), names))
    shown = [text.get_text() for text in drawn.ax_.get_yticklabels()]
    assert shown == ["account_…_closed", "account_…_opened"]


def test_of_many_classes_the_largest_confusions_are_drawn():
    n_classes = 150
    names = [f"class {k}" for k in range(n_classes)]
    noise = np.full((n_classes, n_classes), 1e-4)
    noise[3, 7], noise[100, 2] = 0.3, 0.2
    rows = 10 * noise
    rows[100, 2] = 40
    np.fill_diagonal(rows, 1000)
    display = NoiseMatrixDisplay(noise, np.stack([noise / 2, 1.2 * noise]), names, rows)
    drawn = on_new_axes(display, (7.8, 6.1))
    lanes = [text.get_text() for text in drawn.ax_.get_yticklabels()]
    assert lanes[:2] == ["class 100 → class 2", "class 3 → class 7"]
    assert len(lanes) == 20
    assert drawn.ax_.texts[0].get_text() == "20 %, 40 rows"
    boxes = [text.get_window_extent() for text in texts(drawn)]
    assert not any(boxes[i].overlaps(boxes[j]) for i in range(len(boxes)) for j in range(i))
    by_rate = on_new_axes(NoiseMatrixDisplay(noise, np.stack([noise, noise]), names))
    assert by_rate.ax_.get_yticklabels()[0].get_text() == "class 3 → class 7"
    assert by_rate.ax_.texts[0].get_text() == "30 %"
    nothing = np.eye(n_classes)
    assert not on_new_axes(NoiseMatrixDisplay(nothing, np.stack([nothing] * 2), names)).ax_.texts


def test_distribution_counts_every_unchecked_label_once(small_audit):
    display = IssueDistributionDisplay.from_audit(small_audit)
    assert display.counts.shape == (3, 10)
    assert display.counts.sum() == 135
    assert display.counts[:, 5:].sum() == small_audit.suspects().n_probable


def test_bars_are_as_high_as_their_numbers():
    display = on_new_axes(
        IssueDistributionDisplay(np.array([[900, 50, 5, 1], [700, 0, 10, 25]]), "ab")
    )
    heights = np.array([bar.get_height() for bar in display.ax_.containers[0]])
    np.testing.assert_allclose(heights / heights[1], [0, 1, 0.1, 0.02])
    other = np.array([bar.get_height() for bar in display.ax_.containers[1]])
    np.testing.assert_allclose(other / heights[1], [0, 0, 0.2, 0.5])
    assert {"900", "700", "50", "25"} <= {text.get_text() for text in display.ax_.texts}


def test_predicted_shares_are_drawn_beside_those_found():
    bins = [
        CalibrationBin(0.0, 0.1, 50, 3, 0.02, 0.01, 0.1),
        CalibrationBin(0.9, 1.0, 9, 2, 0.95, 0.1, 0.6),
    ]
    drawn = on_new_axes(CalibrationDisplay(bins))
    np.testing.assert_allclose([bar.get_height() for bar in drawn.ax_.patches], [3 / 50, 2 / 9])
    np.testing.assert_allclose(drawn.ax_.lines[0].get_ydata(), [0.02, 0.95])
    assert [one.is_consistent for one in bins] == [True, False]


def test_distribution_of_many_classes_shows_those_with_most_wrong_labels(small_audit):
    display = IssueDistributionDisplay.from_audit(small_audit, most_classes=2)
    assert display.n_left_out == 1
    expected = [
        np.nansum(small_audit.issue_probability[small_audit.labels.given == k]) for k in range(3)
    ]
    assert small_audit.classes[np.argmin(expected)] not in display.classes


@pytest.mark.parametrize("n_suspects", [0, 30, 5000])
def test_gain_of_a_large_table_shows_what_can_be_checked(n_suspects):
    display = ReviewGainDisplay(review_gain(np.linspace(0, 1, 100_000)), n_suspects)
    drawn = on_new_axes(display)
    assert drawn.ax_.get_xlim()[1] == pytest.approx(1.02 * max(500, 4 * n_suspects))


@pytest.mark.parametrize("is_known", [True, False])
def test_gain_names_a_number_only_where_the_list_is_known(is_known):
    budgets = [Budget(50, 30.0, 0.6, 0.5, 12.0, 44.0)]
    gain = review_gain(np.linspace(0, 1, 200))
    drawn = on_new_axes(ReviewGainDisplay(gain, 100, budgets, is_known))
    assert [text.get_text() for text in drawn.ax_.texts] == [
        "50 → 30" if is_known else "50 → 12–44"
    ]
    named = [text.get_text() for text in drawn.ax_.get_legend().get_texts()]
    assert "90 % interval" in named
    assert ("100 suspects → 75" in named) == is_known


def test_projection_is_always_the_same_and_has_all_suspects(small_audit):
    suspects = small_audit.suspects()
    rows = small_audit.standardized, small_audit.labels, suspects
    first, second = project(*rows), project(*rows)
    np.testing.assert_array_equal(first[1], second[1])
    display = ProjectionDisplay.from_audit(small_audit)
    np.testing.assert_array_equal(display.points, first[1])
    assert set(first[0][display.is_suspect]) == set(suspects.rows)
    assert len(display.points) == 145
    assert 0 < display.explained <= 1


def test_projection_samples_rows_of_a_large_table_with_one_column(small_model):
    random = np.random.RandomState(0)
    y = random.randint(0, 2, 5000)
    audit = audit_labels((y + 0.5 * random.randn(5000))[:, np.newaxis], y, model="linear")
    rows, points, explained = project(audit.standardized, audit.labels, audit.suspects(n=10))
    assert len(rows) == MOST_ROWS + 10
    assert explained == pytest.approx(1)
    assert not points[:, 1].any()


def test_shares_of_annotators_end_at_all_of_them_and_notes_stand_beside():
    accuracy = np.array([0.57, 0.75, 0.97])
    interval = np.array([accuracy - 0.06, np.minimum(accuracy + 0.06, 1)])
    names = ["dora", "carl", "ann"]
    drawn = on_new_axes(AnnotatorDisplay(accuracy, interval, [203, 280, 300], names, 0.77))
    drawn.figure_.canvas.draw()
    ends = drawn.ax_.spines["bottom"].get_bounds()
    assert ends == (0, 1)
    assert [tick.get_text() for tick in drawn.ax_.get_xticklabels()][-1] == "100 %"
    end = drawn.ax_.transData.transform((1, 0))[0]  # of the dashed line, too
    assert all(text.get_window_extent().x0 > end for text in drawn.ax_.texts)
    assert [text.get_text() for text in drawn.ax_.texts][1] == "75 %, 280 labels"
