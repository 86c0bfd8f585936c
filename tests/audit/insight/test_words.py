"""Words that speak for one of two classes, and what is counted without them."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rboost.audit import audit_labels
from rboost.audit.fit import learn_features
from rboost.audit.insight import words as module
from rboost.audit.insight.words import (
    MOST_WORDS,
    ReadText,
    Word,
    bayes_weights,
    change_of_counts,
    find_words,
    read_texts,
    strongest_words,
)
from rboost.table.columns import read_column
from rboost.table.features import LONGEST_PARTS, learn_terms

TELLING = {"transfer": ["transfer", "pending"], "card": ["card", "arrived"]}
FILLER = ["my", "the", "is", "still", "why", "has", "please", "not", "today", "it"]


def written(text):
    return [text[start:end] for start, end in find_words(text)]


def without(text, spans):
    for start, end in spans[::-1]:
        text = text[:start] + text[end:]
    return text


def messages(n_rows=300, seed=0):
    """Messages of two classes, of which each has two words of its own, and their classes."""
    random = np.random.RandomState(seed)
    true = random.choice(list(TELLING), n_rows)
    texts = [
        " ".join(random.permutation([*random.choice(FILLER, 5), *TELLING[own], f"n{k}"])) + "?"
        for k, own in enumerate(true)
    ]
    return pd.DataFrame({"message": texts}), true.astype(object)


@cache
def audited(model):
    table, y = messages()
    y[:20] = np.where(y[:20] == "card", "transfer", "card")
    if model != "rboost":  # which reads such short texts by engines that hardly see single words
        table["amount"] = np.random.RandomState(1).normal(size=len(table)).round(2)
    table.loc[25, "message"], y[30] = None, None
    return audit_labels(table, y, model=model, check_columns=False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Why isn't my card (here)?!", ["Why", "isn't", "my", "card", "here"]),
        ("wow !!! 😀", ["wow", "!!!", "😀"]),
        ("card-arrival/today", ["card-arrival/today"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("我的卡在哪里?", ["我的", "卡在", "哪里", "?"]),
        ("ที่นี่", ["ที่นี่"]),
        ("iPhone修理 ok", ["iPhone", "修理", "ok"]),
        (" \n", []),
    ],
)
def test_words_stand_between_spaces_and_signs(text, expected):
    assert written(text) == expected


texts = st.text(alphabet="ab ab ab.?'我的สี\n😀Σ", max_size=30)


@given(st.lists(texts, min_size=2, max_size=4), st.data())
def test_what_is_counted_without_words_is_what_the_rest_counts(drawn, data):
    terms = learn_terms(read_column([*drawn, *drawn, "a b a b", "ab ba", "a b ba", "ab ab b"] * 2))
    groups = []
    for text in drawn:
        spans = find_words(text)
        chosen = data.draw(st.lists(st.lists(st.booleans(), min_size=len(spans)), max_size=2))
        groups.append(
            [own for one in chosen if (own := [s for s, c in zip(spans, one, strict=False) if c])]
        )
    each = [(text, spans) for text, own in zip(drawn, groups, strict=True) for spans in own]
    if each:
        expected = terms.count([without(*one) for one in each]) - terms.count(
            [text for text, _ in each]
        )
        found = change_of_counts(terms, drawn, groups)
        assert_allclose(found.toarray(), expected.toarray())


def occluded(table, lead):
    """The words of all texts of a table of one column."""
    features = learn_features(table)
    return features, read_texts(features, 0, table.iloc[:, 0].tolist(), lead)


def linear(weights):
    return lambda features, each: features.texts[0] @ weights


def test_a_contribution_is_the_fall_of_the_score_without_the_word():
    table, _ = messages(60)
    table.loc[0, "message"] = "card card pending"
    features = learn_features(table)
    terms = features.encoder.columns[0].terms
    weights = np.random.RandomState(0).normal(size=len(terms))
    found = read_texts(features, 0, table["message"].tolist(), linear(weights))
    for text, words in zip(table["message"], found, strict=True):
        assert words == tuple(sorted(words, key=lambda word: word.start))
        for word in words:
            name = text[word.start : word.end]
            places = [span for span in find_words(text) if text[slice(*span)] == name]
            rest = terms.weigh(read_column([text, without(text, places)])) @ weights
            assert_allclose(word.contribution, rest[0] - rest[1], rtol=1e-4, atol=1e-6)
    assert len({word.contribution for word in found[0][:2]}) == 1


def test_in_a_long_text_the_words_that_matter_are_found():
    random = np.random.RandomState(0)
    rare = [f"w{k}" for k in range(400)]
    table = pd.DataFrame({"text": [" ".join(random.permutation(rare)[:250]) for _ in range(45)]})
    features = learn_features(table)
    terms = features.encoder.columns[0].terms
    weights = np.zeros(len(terms))
    weights[terms.words.index("w7")], weights[terms.words.index("w390")] = 3.0, -5.0
    calls = []

    def lead(features, each):
        calls.append(len(each))
        return linear(weights)(features, each)

    found = read_texts(features, 0, table["text"].tolist(), lead)
    for text, words in zip(table["text"], found, strict=True):
        named = {text[word.start : word.end]: word.contribution for word in words}
        expected = {"w7", "w390"} & set(text[:LONGEST_PARTS].split())
        assert set(named) == expected
        assert all((named[name] > 0) == (name == "w7") for name in expected)
    assert sum(calls) <= len(table) * (1 + 2 * MOST_WORDS)


@pytest.mark.parametrize("last", ["pending", "isn't", "pend!!!"])
def test_a_word_that_is_read_in_part_is_left_out(last):
    # Up to each of its characters but the last.
    texts = [f"{last} m".rjust(LONGEST_PARTS + 2 + k) for k in range(1, len(last))]
    table = pd.DataFrame(
        {"text": [*texts, *[f"{last} one two three four k{k}" for k in range(40)]]}
    )
    features = learn_features(table)
    weights = np.ones(features.texts[0].shape[1])
    found = read_texts(features, 0, table["text"].tolist(), linear(weights))
    assert found[: len(texts)] == [()] * len(texts)
    assert all(found[len(texts) :])


def test_texts_are_read_alike_alone_and_together(monkeypatch):
    table, _ = messages(50)
    features = learn_features(table)
    lead = linear(np.random.RandomState(0).normal(size=features.texts[0].shape[1]))
    together = read_texts(features, 0, table["message"].tolist(), lead)
    monkeypatch.setattr(module, "BLOCK_TEXTS", 7)
    assert read_texts(features, 0, table["message"].tolist(), lead) == together


@pytest.mark.parametrize(
    "model", ["rboost", "linear", pytest.param("forest", marks=pytest.mark.slow)]
)
def test_words_of_a_class_speak_for_it_whatever_the_model(model):
    audit = audited(model)
    # Trees see texts in a few directions alone, in which words are less distinct.
    least = 0.7 if model == "forest" else 0.95
    right = []
    for one in audit.explain_all(np.arange(20)):
        (text,) = one.texts
        assert text.column == "message"
        assert text.text == audit.table["message"][one.row]
        right.append(bool({*one.words[:1]} & {*TELLING[one.suggested]}))
        assert len(one.words) <= 3
    assert np.mean(right) >= least


def test_without_a_model_words_are_those_of_naive_bayes():
    table, y = messages()
    true = (y == "transfer").astype(int)
    y[:20] = np.where(y[:20] == "card", "transfer", "card")
    given = np.column_stack([1 - true, true]) * 0.9 + 0.05
    audit = audit_labels(table, y, probabilities=given, check_columns=False)
    assert audit.model is None
    for one in audit.explain_all(np.arange(20)):
        assert {*one.words[:2]} == {*TELLING[one.suggested]}


def test_without_a_model_texts_may_share_no_term():
    words = [chr(0xAC00 + k) for k in range(400)]
    table = pd.DataFrame({"text": [" ".join(words[8 * k : 8 * k + 8]) for k in range(50)]})
    y = np.arange(50) % 2
    given = np.column_stack([1 - y, y]) * 0.9 + 0.05
    y[0] = 1
    audit = audit_labels(table, y, probabilities=given, check_columns=False)
    assert audit.features.texts[0].shape == (50, 0)
    (text,) = audit.explain(0).texts
    assert text.words == ()


def test_weights_are_0_where_no_row_is_labelled_rightly():
    terms = learn_features(messages(60)[0]).texts[0]
    assert not bayes_weights(terms, np.full(60, -1), 3).any()
    assert bayes_weights(terms, np.full(60, -1), 3).shape == (terms.shape[1], 3)


def test_rows_without_a_text_or_a_label_have_no_words():
    audit = audited("linear")
    assert audit.explain(25).texts == ()
    (text,) = audit.explain(30).texts
    assert text.text == audit.table["message"][30]
    assert text.words == ()
    assert audit.explain(30).words == []


def test_the_strongest_words_are_named_once():
    text = "pay Pay card the my not"
    contributions = [2.0, 2.0, 4.0, 0.5, 1.5, -6.0]
    words = tuple(
        Word(*span, own) for span, own in zip(find_words(text), contributions, strict=True)
    )
    other = ReadText("b", "big", (Word(0, 3, 3.0),))
    assert strongest_words([ReadText("a", text, words), other]) == ["card", "big", "pay"]
    assert strongest_words([ReadText("a", text, words)]) == ["card", "pay", "my"]
    assert strongest_words([ReadText("a", text, words[5:])]) == []
    assert strongest_words([]) == []


@given(st.text(alphabet="ab .\n", max_size=30), st.integers(0, 30))
def test_the_parts_of_a_text_are_the_text(text, end):
    read = ReadText(
        "a", text, tuple(Word(*span, (-1.0) ** k) for k, span in enumerate(find_words(text)))
    )
    assert "".join(part for part, _ in read.parts()) == text
    assert "".join(part for part, _ in read.parts(end)) == text[:end]
    for k, span in enumerate(find_words(text[:end])[:-1]):
        assert (text[slice(*span)], ("suggested", "given")[k % 2]) in read.parts(end)
