import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from rboost.audit import LabelAudit, audit_labels
from rboost.audit.insight.summary import ASSUMPTIONS
from rboost.audit.render.report import Origin
from rboost.audit.render.text import MOST_DOUBTED
from rboost.audit.wording import percent
from tests.audit.reports import without_pictures


class Outline(HTMLParser):
    """Elements of a page with their attributes, and its text."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.words = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    def named(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def html(small_audit):
    return small_audit.to_html(title="Trees <1>")


@pytest.fixture(scope="module")
def hostile_html(hostile_audit):
    return hostile_audit.to_html(hostile_audit.suspects(n=40), "</title><script>")


def test_sections_stand_in_their_order(html):
    ids = [attributes["id"] for attributes in Outline(html).named("h2")]
    assert ids == [
        "summary", "suspects", "unlabelled", "matrix", "distribution", "gain", "concentration",
        "projection", "columns", "calibration", "quality", "next",
    ]  # fmt: skip


def test_of_many_classes_those_that_matter_are_seen_at_once():
    random, n_classes = np.random.RandomState(0), 30
    label = np.repeat(np.arange(n_classes), 10)
    probability = 0.01 + 0.99 * np.eye(n_classes)[np.where(random.rand(300) < 0.9, label, 7)]
    names = np.array([f"class {k:02}" for k in range(n_classes)])
    page = Outline(
        audit_labels(
            pd.DataFrame({"x": random.rand(300)}), names[label],
            probabilities=probability / probability.sum(axis=1, keepdims=True),
        ).to_html()
    )  # fmt: skip
    assert page.text.count("10 more classes") == 2
    assert "The most frequent kinds of wrong labels: true class → label given" in page.text
    [picture] = [one for one in page.named("img") if one["alt"].startswith("Bars of the wrong")]
    drawn = base64.b64decode(picture["src"].partition("base64,")[2]).decode()
    assert "class 07 → class" in drawn


@pytest.mark.slow
def test_the_same_audit_gives_the_same_bytes(small_audit, html):
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "black"}):
        assert small_audit.to_html(title="Trees <1>") == html


def test_is_accessible(html):
    page = Outline(html)
    assert page.named("html")[0]["lang"] == "en"
    assert len(page.named("h1")) == len(page.named("main")) == 1
    assert page.named("a")[0]["href"] == "#main"
    assert all(len(image["alt"]) > 40 for image in page.named("img"))
    assert len(page.named("img")) == 5
    assert all("scope" in heading for heading in page.named("th"))
    assert len(page.named("caption")) == len(page.named("table"))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [link["href"][1:] for link in page.named("a")]
    assert set(links) <= set(ids)


def test_policy_allows_the_page_itself_and_nothing_else(html):
    page = Outline(html)
    policy = next(m["content"] for m in page.named("meta") if "http-equiv" in m)
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        inside = re.findall(rf"<{tag}>(.*?)</{tag}>", html, flags=re.DOTALL)
        assert len(inside) == 1
        digest = base64.b64encode(hashlib.sha256(inside[0].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert all(image["src"].startswith("data:image/") for image in page.named("img"))
    assert not re.search(r"""(src|href)=["']?(https?:|//)""", html)
    assert not any(name.startswith("on") for _, found in page.elements for name in found)


def test_every_suspect_is_listed_with_its_suggestion(small_audit, html):
    body = re.search(r'id="suspects-table">.*?<tbody>(.*?)</tbody>', html, re.DOTALL).group(1)
    suspects = small_audit.suspects()
    names = re.findall(r'<th scope="row".*?><bdi>(.*?)</bdi>', body)
    assert names == [str(name) for name in small_audit.ids[suspects.rows]]
    assert body.count("<details>") == len(suspects)
    assert body.count("<dt>") == 3 * len(suspects)


def test_says_what_it_knows_in_words(small_audit, html):
    text = Outline(html).text
    assert "150 rows and 3 classes" in text
    assert "5 rows without a label" in text
    assert "10 labels were checked by a person" in text
    assert all(assumption in text for assumption in ASSUMPTIONS)
    assert ("Take care." in text) == small_audit.summary().is_uncertain


def test_says_how_columns_were_read_and_what_people_found(small_audit, html):
    text = Outline(html).text
    for one in small_audit.columns:
        assert f"{one.name} number {percent(one.importance)}" in text
    assert "10 checked labels" in text
    assert "rboost review FOLDER" in text


def test_says_where_it_comes_from_and_the_real_commands(small_audit):
    origin = Origin(
        "trees <1>.csv", "2026-01-31 12:00 UTC", "9.9", 7, "forest",
        {"review": "rboost review 'my dir'", "again": "rboost audit '<script>'", "clean": "-"},
        (("who", "context"),),
    )  # fmt: skip
    html = small_audit.to_html(origin=origin)
    text = Outline(html).text
    assert "150 rows of trees <1>.csv · made 2026-01-31 12:00 UTC" in text
    assert "rboost 9.9, model forest, seed 7" in text
    assert "rboost review 'my dir'" in text
    assert "rboost audit '<script>'" in text
    assert "<span>audit</span> <span>" in html  # lines end between words, not at hyphens
    assert "who context" in text
    assert len(Outline(html).named("script")) == 1


def test_one_way_to_write_percentages(html):
    text = Outline(html[html.index("<main") : html.index("</main>")]).text
    assert "100.0" not in text
    assert not re.search(r"\d%", text)


def test_hostile_texts_stay_texts(hostile_html):
    page = Outline(hostile_html)
    assert len(page.named("script")) == len(page.named("style")) == 1
    assert "window.pwned" not in re.search(r"<script>(.*?)</script>", hostile_html, re.DOTALL)[1]
    assert not page.named("b")
    assert not page.named("i")
    assert "<script>window.pwned=4</script>" in page.text
    hostile_html.encode()  # no half of a pair
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u2028]", hostile_html)


def test_pictures_are_well_formed_whatever_the_names(hostile_html):
    from xml.etree import ElementTree as ET

    for image in Outline(hostile_html).named("img"):
        ET.fromstring(base64.b64decode(image["src"].split(",")[1]))


@pytest.mark.slow
def test_long_texts_and_many_columns_leave_the_page_small(hostile_html, small_model):
    assert len(hostile_html.encode()) < 1_000_000
    random = np.random.RandomState(0)
    y = random.randint(0, 2, 600)
    X = pd.DataFrame(random.randn(600, 100) + y[:, np.newaxis]).rename(columns="<{}>".format)
    X["long"] = ["<" * 10_000] * 600
    audit = audit_labels(
        X, np.where(random.rand(600) < 0.1, 1 - y, y), model="linear", check_columns=False
    )
    html = audit.to_html(audit.suspects(n=550))
    assert len(html.encode()) < 3_000_000
    text = Outline(html).text
    assert "500 suspects are shown; 50 more are not." in text
    assert "more columns not shown" in text


def test_no_suspects_and_no_missing_labels(small_model):
    random = np.random.RandomState(0)
    y = random.randint(0, 2, 60)
    audit = audit_labels(random.randn(60, 2) + 6 * y[:, np.newaxis], y, model=small_model)
    text = Outline(audit.to_html(audit.suspects(n=0))).text
    assert "No label is listed." in text
    assert "Rows without a label" not in text


def test_bands_and_unusual_rows_are_said_of_each_suspect(small_audit, monkeypatch):
    without_pictures(monkeypatch)
    suspects = small_audit.suspects()
    fit = np.array(["fits no class", "between classes", *[""] * (len(small_audit) - 2)], object)
    monkeypatch.setattr(
        LabelAudit, "row_fit", lambda _, rows: fit[np.searchsorted(np.sort(rows), rows)]
    )
    body = re.search(r"<tbody>(.*?)</tbody>", small_audit.to_html(), re.DOTALL).group(1)
    bands = re.findall(r'class="bands"><span>(.*?)</span>', body)
    assert bands == suspects.bands
    assert {"probably wrong", "worth a look"} == {*bands}
    assert body.count('class="fit">fits no class') == body.count('"fit">between classes') == 1


def test_finds_are_intervals_where_the_list_is_not_known(small_audit, monkeypatch):
    without_pictures(monkeypatch)
    for low, is_known in ((0.7, True), (0.1, False)):
        ends = (low, 0.9, "model")
        monkeypatch.setattr(LabelAudit, "precision_interval", lambda *_, ends=ends: ends)
        text = Outline(replace(small_audit).to_html()).text  # a new one computes its budgets anew
        assert ("Expected finds by rows checked" in text) == is_known
        assert ("cannot be told yet, and neither can this" in text) == (not is_known)
        found = text[text.index("nds by rows checked") :]
        assert f" {10 * low:.0f} to 9 " in found
        assert ("10 1 to 9 20 2 to 18" in found) == (not is_known)


def test_without_a_model_the_report_says_so_and_reasons_rest_on_the_rows_alone(small_audit):
    audit = replace(small_audit, model=None)
    text = Outline(audit.to_html()).text
    assert "How much each column matters is not known" in text
    assert any(one.reasons for one in audit.explain_all(audit.suspects().rows))
    assert "against_given_label" in audit.to_frame().columns
    assert "strongest reason" in audit.to_text()


def test_answers_to_look_at_again_are_listed_by_row(small_audit):
    assert "Answers to look at again" not in small_audit.to_html()
    x = np.concatenate([[9.0], np.random.RandomState(0).normal(size=299)])
    labels = np.where(x > 0, "high", "low")
    said = [*np.where(np.arange(40) == 0, "low", labels[:40]), *[None] * 260]
    ids = [f"<b>{k}</b>" for k in range(300)]
    audit = audit_labels(
        pd.DataFrame({"x": x}), labels, y_checked=said, ids=ids, model="linear", check_columns=False
    )
    page = audit.to_html()
    section = page[page.index('<h2 id="doubted">') :].partition("</section>")[0]
    (row,) = re.findall(r"<tbody>\n(.*)\n</tbody>", section)
    assert re.findall(r"<bdi>(.*?)</bdi>", row) == ["&lt;b&gt;0&lt;/b&gt;", "high", "low"]
    assert '<a href="#doubted">' in page


def test_all_answers_to_look_at_again_are_listed_by_row_a_page_at_a_time(small_audit, monkeypatch):
    without_pictures(monkeypatch)
    audit = replace(small_audit)
    rows = np.flatnonzero(audit.labels.is_checked & (audit.labels.given >= 0))
    vars(audit)["doubtful_answers"] = rows
    assert len(rows) > MOST_DOUBTED
    page = audit.to_html()
    assert f"and {len(rows) - MOST_DOUBTED} other rows" in page  # of which the sentence names few
    section = page[page.index('<h2 id="doubted">') :].partition("</section>")[0]
    assert '<table class="paged">' in section
    assert f"<caption>{len(rows)} answers, the least likely first</caption>" in section
    named = re.findall(r'<th scope="row"><bdi>(.*?)</bdi>', section)
    assert named == [str(name) for name in audit.ids[rows]]
