"""Text: compiled and plain ways agree bit for bit, and both with dicts and loops; how work is cut changes nothing."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.feature_extraction.text import CountVectorizer

import tunbridge as tb
from oracles.text import PlainText, by_kernels, fnv, named, ngrams_of
from tunbridge.text import tokens as tokens_module
from tunbridge.text.tokens import UNITS, Tokens

ODD = "aAbBzZ019_ .,!?-'\n\t\r\x00\x1c\u00a0\u2028\u3000éÉİıẞßΣσςα\u0301\u0345😀ǅﬁKΩ中日\u200d\ufeff\U0010ffff"
"""Characters that are cut, joined, lowered and encoded in every way there is."""

texts = st.one_of(
    st.none(),
    st.text(st.sampled_from(ODD), max_size=40),
    st.text(max_size=20),
    st.lists(st.sampled_from(["spam", "Ham", "ΟΔΟΣ", "x", "naïve", "a_b", "42"]), max_size=12).map(" ".join),
    st.integers(1, 300).map(lambda n: "Wörter" * n),
)
cuts = st.builds(
    lambda units, low, more, lower, shortest: {
        "units": units, "low": low, "high": low + more, "lower_case": lower, "shortest": shortest,
    },
    st.sampled_from(UNITS), st.integers(1, 3), st.integers(0, 2), st.booleans(), st.integers(1, 4),
)  # fmt: skip
some_texts = st.lists(texts, max_size=8)


def as_arrow(given):
    return pa.array(given, pa.large_string())


def counted(given, cut, *, kernels, n_buckets=0, n_jobs=None):
    with by_kernels(kernels):
        return Tokens(**cut, n_buckets=n_buckets).count(as_arrow(given), n_jobs)


def assert_same(a, b):
    for name in ("starts", "words", "counts"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        assert getattr(a, name).dtype == getattr(b, name).dtype
    np.testing.assert_array_equal(a.vocabulary.hashes, b.vocabulary.hashes)
    assert a.vocabulary.names() == b.vocabulary.names()


@settings(deadline=None)
@given(some_texts, cuts)
def test_words_are_those_of_plain_python(documents, cut):
    expected = [Counter(ngrams_of(text, **cut)) for text in documents]
    order = list(dict.fromkeys(w for text in documents for w in ngrams_of(text, **cut)))
    for kernels in (False, True):
        found = counted(documents, cut, kernels=kernels)
        assert named(found, found.vocabulary) == expected
        assert found.vocabulary.names() == order
        assert found.vocabulary.hashes.tolist() == [fnv(w.encode()) for w in order]


@settings(deadline=None)
@given(some_texts, cuts, st.integers(0, 50))
def test_kernels_and_plain_python_agree_bit_for_bit(documents, cut, n_buckets):
    plain = counted(documents, cut, kernels=False, n_buckets=n_buckets)
    assert_same(counted(documents, cut, kernels=True, n_buckets=n_buckets), plain)


@settings(deadline=None)
@given(some_texts, cuts, st.integers(1, 50))
def test_buckets_hold_the_words_whose_hash_falls_into_them(documents, cut, n_buckets):
    found = counted(documents, cut, kernels=True, n_buckets=n_buckets)
    expected = [Counter(f"#{fnv(w.encode()) % n_buckets}" for w in ngrams_of(text, **cut)) for text in documents]
    assert named(found, found.vocabulary) == expected


@settings(deadline=None)
@given(some_texts, cuts, st.integers(1, 60), st.sampled_from([1, 3]))
def test_how_work_is_cut_changes_nothing(documents, cut, piece_bytes, n_jobs):
    whole = counted(documents, cut, kernels=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens_module, "_PIECE_BYTES", piece_bytes)
        patch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1e9")
        assert_same(counted(documents, cut, kernels=True, n_jobs=n_jobs), whole)


@settings(deadline=None)
@given(st.lists(texts.filter(lambda t: t is not None), max_size=6), cuts)
def test_words_are_those_of_scikit_learn(documents, cut):
    k = cut["shortest"]
    pattern = {
        "words": rf"(?u)\b\w{{{k},}}\b",
        "letters": rf"[^\W\d_]{{{k},}}",
        "words and marks": rf"\w{{{k},}}|[^\w\s]",
    }
    by_character = cut["units"] == "characters"
    analyse = CountVectorizer(
        analyzer="char" if by_character else "word",
        lowercase=cut["lower_case"],
        ngram_range=(cut["low"], cut["high"]),
        token_pattern=pattern.get(cut["units"]),
    ).build_analyzer()
    if by_character:  # scikit-learn keeps a tab or a new line that stands alone
        documents = [" ".join(text.split()) for text in documents]
    found = counted(documents, cut, kernels=True)
    assert named(found, found.vocabulary) == [Counter(analyse(text)) for text in documents]


@settings(deadline=None)
@given(texts.filter(lambda t: t is not None), cuts)
def test_places_of_ngrams_are_where_they_stand(text, cut):
    for ngram, start, end in Tokens(**cut).ngrams(text):
        inside = text[start:end]
        if cut["units"] == "characters":
            assert "".join(inside.split()) == "".join(ngram.decode().split())
        else:
            assert ngrams_of(inside, **(cut | {"lower_case": False}))[-1:] == [ngram.decode()]


# Models

WORDS = ["spam", "egg", "ham", "Spam", "toast", "x", "tea"]
documents_of = st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), min_size=2, max_size=8)
MODELS = ("multinomial", "bernoulli", "complement", "normalised-complement")


@st.composite
def collections(draw):
    """Return documents, their classes and weights; some weights are 0, but not the first."""
    documents = draw(documents_of)
    classes = draw(st.lists(st.sampled_from("abc"), min_size=len(documents), max_size=len(documents)))
    weights = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=len(documents), max_size=len(documents)))
    weights[0] = 1.5
    return documents, classes, weights


options = st.fixed_dictionaries({
    "how": st.sampled_from(["raw", "log", "binary"]),
    "length": st.sampled_from([None, "unit", 10.0]),
    "idf": st.booleans(),
    "added": st.sampled_from([1.0, 0.25, 3.0]),
})  # fmt: skip


def ours(model, option, **further):
    if model == "bernoulli":
        return tb.TextClassifier(model, smoothing=option["added"], **further)
    counting = {"counts": option["how"], "length": option["length"], "idf": option["idf"]}
    return tb.TextClassifier(model, smoothing=option["added"], **counting, **further)


def oracle(model, option, **further):
    return PlainText(
        model, **(option if model != "bernoulli" else {"how": "binary", "added": option["added"]}), **further
    )


@settings(deadline=None)
@given(collections(), st.sampled_from(MODELS), options, st.booleans())
def test_scores_are_those_of_plain_loops(data, model, option, kernels):
    documents, classes, weights = data
    asked = [*documents, "spam egg Spam spam unknown", "unknown", ""]
    expected = oracle(model, option).fit(documents, classes, weights)
    with by_kernels(kernels):
        found = ours(model, option).fit(documents, classes, sample_weight=weights).predict_joint_log_proba(asked)
    np.testing.assert_allclose(found, [expected.log_joint(text) for text in asked], rtol=1e-10, atol=1e-10)


@settings(deadline=None)
@given(collections(), st.sampled_from(["multinomial", "complement"]), st.sampled_from([0.5, 4.0]))
def test_m_estimate_with_the_shares_of_words(data, model, m):
    documents, classes, weights = data
    clf = tb.TextClassifier(model, smoothing=tb.MEstimate(m, "marginal"))
    found = clf.fit(documents, classes, sample_weight=weights).predict_joint_log_proba(documents)
    expected = PlainText(model, added=("marginal", m)).fit(documents, classes, weights)
    np.testing.assert_allclose(found, [expected.log_joint(text) for text in documents], rtol=1e-10, atol=1e-10)


@settings(deadline=None)
@given(collections(), st.floats(1.5, 4), st.floats(1.5, 4), st.sets(st.sampled_from(["spam", "Tea", "none"])))
def test_selection_is_that_of_plain_loops(data, min_documents, min_count, stopped):
    documents, classes, weights = data
    clf = tb.TextClassifier(min_documents=min_documents, min_count=min_count, stop_words=stopped)
    found = clf.fit(documents, classes, sample_weight=weights).predict_joint_log_proba(documents)
    lower = {word.lower() for word in stopped}
    expected = PlainText("multinomial", min_documents=min_documents, min_count=min_count, stopped=lower)
    expected.fit(documents, classes, weights)
    np.testing.assert_allclose(found, [expected.log_joint(text) for text in documents], rtol=1e-10, atol=1e-10)


places = st.lists(st.integers(0, 8), max_size=3)


def split_at(data, cuts):
    """Return the batches of a collection between some places."""
    places = sorted({0, *cuts, len(data[0])})
    return [tuple(part[a:b] for part in data) for a, b in pairwise(places)]


@settings(deadline=None)
@given(
    collections(), st.lists(st.integers(0, 8), max_size=3), st.sampled_from(MODELS), options, st.sampled_from([0, 5])
)
def test_batches_add_up_however_they_are_cut(data, where, model, option, n_buckets):
    documents, classes, weights = data
    batches = split_at(data, [p for p in where if p < len(documents)])
    clf = ours(model, option, n_buckets=n_buckets, stop_words=1)
    whole = clf.fit(documents, classes, sample_weight=weights).predict_joint_log_proba(documents)
    parts = ours(model, option, n_buckets=n_buckets, stop_words=1)
    for some, labels, shares in batches:
        parts.partial_fit(some, labels, sample_weight=shares)
    np.testing.assert_allclose(parts.predict_joint_log_proba(documents), whole, rtol=1e-10, atol=1e-10)
    assert parts.classes_.tolist() == clf.classes_.tolist()
    assert sorted(parts.statistics_.vocabulary.names()) == sorted(clf.statistics_.vocabulary.names())
    stream = ours(model, option, n_buckets=n_buckets, stop_words=1).fit(iter(batches))
    np.testing.assert_array_equal(stream.predict_joint_log_proba(documents), parts.predict_joint_log_proba(documents))


@settings(deadline=None)
@given(collections(), st.sampled_from(MODELS), options)
def test_a_document_twice_is_a_weight_of_two(data, model, option):
    documents, classes, _ = data
    twice = ours(model, option).fit(documents + documents[:2], classes + classes[:2])
    weights = [2.0, 2.0] + [1.0] * (len(documents) - 2)
    weighted = ours(model, option).fit(documents, classes, sample_weight=weights)
    found = weighted.predict_joint_log_proba(documents)
    np.testing.assert_allclose(found, twice.predict_joint_log_proba(documents), rtol=1e-10, atol=1e-10)


@settings(deadline=None)
@given(collections(), st.sampled_from(MODELS), options, st.booleans())
def test_probabilities_sum_to_one(data, model, option, kernels):
    documents, classes, weights = data
    with by_kernels(kernels):
        clf = ours(model, option).fit(documents, classes, sample_weight=weights)
        found = clf.predict_proba([*documents, None, "nothing known", " spam" * 5000])
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    assert (found >= 0).all()


@settings(deadline=None)
@given(some_texts, st.integers(0, 5))
def test_keys_follow_from_what_documents_hold(documents, seed):
    reader = tb.TextClassifier().reader()
    rows = reader.learned(None, documents, None)
    keys = rows.keys(seed)
    backwards = reader.learned(None, documents[::-1], None).keys(seed)
    np.testing.assert_array_equal(keys, backwards[::-1])
    held = [frozenset(Counter(ngrams_of(text)).items()) for text in documents]
    for i, j in combinations(range(len(held)), 2):
        assert (keys[i] == keys[j]) == (held[i] == held[j])


@settings(deadline=None)
@given(some_texts, st.data())
def test_some_rows_are_those_documents(documents, data):
    rows = tb.TextClassifier().reader().learned(None, documents, None)
    n = len(documents)
    where = data.draw(st.lists(st.integers(0, n - 1), max_size=6) if n else st.just([]))
    taken = rows.take(np.array(where, np.int64))
    whole = named(rows, rows.vocabulary)
    assert named(taken, taken.vocabulary) == [whole[i] for i in where]
    assert [taken.text(k) for k in range(len(where))] == [documents[i] or "" for i in where]
    mask = np.array([i in where for i in range(n)], np.bool_)
    kept = rows.take(mask).take(np.arange(int(mask.sum()))[::-1])
    assert [kept.text(k) for k in range(kept.n_rows)] == [documents[i] or "" for i in np.flatnonzero(mask)[::-1]]
