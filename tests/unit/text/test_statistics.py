"""What is kept of documents: added up, merged, written and read."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

import tunbridge as tb
from oracles.text import by_kernels
from tunbridge.errors import FormatError
from tunbridge.formats import write_model
from tunbridge.text.statistics import TextStatistics

TEXTS = ["spam spam egg", "egg ham", "", "tea ham ham", "spam"]
CLASSES = ["b", "a", "a", "c", "b"]
WORDS = ["spam", "egg", "ham", "tea"]
AMOUNTS = [[0, 3, 0], [1, 1, 0], [1, 0, 2], [0, 0, 1]]
DOCUMENTS = [[0, 2, 0], [1, 1, 0], [1, 0, 1], [0, 0, 1]]


def learned(texts=TEXTS, classes=CLASSES, weights=None, **options):
    return tb.TextClassifier(**options).fit(texts, classes, sample_weight=weights).statistics_


def assert_equal(a, b, words=None):
    """Compare statistics word by word, in whatever order these stand."""
    assert (a.target, sorted(a.vocabulary.names())) == (b.target, sorted(b.vocabulary.names()))
    order = [b.vocabulary.names().index(w) for w in a.vocabulary.names()]
    np.testing.assert_allclose(a.class_weight, b.class_weight, rtol=1e-14)
    np.testing.assert_allclose(a.occurrences, b.occurrences[order], rtol=1e-14)
    np.testing.assert_allclose(a.amounts.toarray(), b.amounts.toarray()[order], rtol=1e-14)
    np.testing.assert_allclose(a.documents.toarray(), b.documents.toarray()[order], rtol=1e-14)


@pytest.mark.parametrize("kernels", [False, True])
def test_words_by_class(kernels):
    with by_kernels(kernels):
        found = learned()
    assert found.vocabulary.names() == WORDS
    assert found.target.states == ("a", "b", "c")
    assert found.class_weight.tolist() == [2, 2, 1]
    assert found.occurrences.tolist() == [3, 2, 3, 1]
    assert found.amounts.toarray().tolist() == AMOUNTS
    assert found.documents.toarray().tolist() == DOCUMENTS
    assert found.variables == ()


@pytest.mark.parametrize("kernels", [False, True])
def test_weights_multiply_documents(kernels):
    with by_kernels(kernels):
        found = learned(weights=[2, 0.5, 1, 0, 1], counts="log")
    assert found.vocabulary.names() == ["spam", "egg", "ham"]  # the only text with tea counts nothing
    assert found.class_weight.tolist() == [1.5, 3, 0]
    assert found.occurrences.tolist() == [5, 2.5, 0.5]
    two, one = np.log(3), np.log(2)
    expected = [[0, 2 * two + one, 0], [0.5 * one, 2 * one, 0], [0.5 * one, 0, 0]]
    np.testing.assert_allclose(found.amounts.toarray(), expected, rtol=1e-14)
    assert found.documents.toarray().tolist() == [[0, 3, 0], [0.5, 2, 0], [0.5, 0, 0]]


def test_both_ways_are_equal_to_the_last_bit():
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{k}" for k in rng.zipf(1.5, 30) % 200) for _ in range(300)]
    classes, weights = rng.integers(0, 5, 300), rng.random(300)
    found = []
    for kernels in (False, True):
        with by_kernels(kernels):
            found.append(learned(texts, classes, weights, counts="log", length="unit"))
    for name in ("amounts", "documents"):
        a, b = (getattr(each, name) for each in found)
        for part in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(a, part), getattr(b, part))
            assert getattr(a, part).dtype == getattr(b, part).dtype
    np.testing.assert_array_equal(found[0].occurrences, found[1].occurrences)


def test_places_take_four_bytes():
    first = learned()
    for found in (first, first.merge(first), TextStatistics.from_content(first.content())):
        assert (found.amounts.indices.dtype, found.amounts.indptr.dtype) == (np.int32, np.int32)


@pytest.mark.parametrize("cut", range(6))
@pytest.mark.parametrize("n_buckets", [0, 3, 1000])
def test_merged_is_learned_together(cut, n_buckets):
    parts = [learned(TEXTS[a:b], CLASSES[a:b], n_buckets=n_buckets) for a, b in ((0, cut), (cut, 5)) if a < b]
    whole = learned(n_buckets=n_buckets)
    assert_equal(parts[0].merge(parts[-1]) if len(parts) == 2 else parts[0], whole)
    if len(parts) == 2:
        assert_equal(parts[1].merge(parts[0]), whole)


def test_merging_changes_neither_side():
    a, b = learned(TEXTS[:2], CLASSES[:2]), learned(TEXTS[2:], CLASSES[2:])
    before = copy.deepcopy((a.content(), b.content()))
    a.merge(b)
    for old, new in zip(before, (a.content(), b.content()), strict=True):
        for name in ("class_weight", "hashes", "occurrences", "starts", "classes", "amounts", "documents"):
            np.testing.assert_array_equal(old[name], new[name])


def test_classes_of_one_kind_only():
    with pytest.raises(tb.DataError, match="classes must be of one kind, all text or all numbers"):
        learned().merge(learned(classes=[1, 2, 2, 1, 1]))


def test_the_column_is_kept():
    a, b = learned({"text": TEXTS}), learned()
    assert (a.merge(b).column, b.merge(a).column, b.merge(b).column) == ("text", "text", None)


# Files


@pytest.mark.parametrize("options", [{}, {"n_buckets": 50}, {"counts": "log", "length": 10.0, "idf": True}])
def test_statistics_come_back_from_a_file(options, tmp_path):
    clf = tb.TextClassifier(stop_words=["tea"], ngrams=(1, 2), **options).fit({"text": TEXTS}, CLASSES)
    clf.save(tmp_path / "model.tb")
    same = tb.load(tmp_path / "model.tb")
    assert (same.ngrams, same.stop_words, same.statistics_.column) == ((1, 2), ["tea"], "text")
    assert same.statistics_.vocabulary.names() == clf.statistics_.vocabulary.names()
    assert_equal(same.statistics_, clf.statistics_)
    asked = [*TEXTS, "spam ham unknown"]
    np.testing.assert_array_equal(same.predict_proba(asked), clf.predict_proba(asked))
    same.partial_fit(["tea egg", "new"], ["a", "d"])
    clf.partial_fit(["tea egg", "new"], ["a", "d"])
    np.testing.assert_array_equal(same.predict_proba(asked), clf.predict_proba(asked))


def variants(value):
    """Give what could stand in the place of a part of a file, none of which fits."""
    yield from (None, "text", 3, [])
    if isinstance(value, np.ndarray):
        yield from (value.reshape(-1, 1), value.astype(str), value.astype(np.float32))
        if value.size:
            yield from (value[:-1], np.concatenate([value, value[-1:]]))
        if value.dtype == np.float64 and value.size:
            yield from (np.full_like(value, np.nan), np.full_like(value, np.inf), -value - 1)


PARTS = ["target", "class_weight", "hashes", "pool", "ends", "occurrences", "starts", "classes", "amounts", "documents"]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("n_buckets", [0, 50])
def test_damaged_content_is_refused(part, n_buckets, tmp_path):
    clf = tb.TextClassifier(n_buckets=n_buckets).fit(TEXTS, CLASSES)
    content, path = clf.to_content(), tmp_path / "model.tb"
    given = content["statistics"][part]
    for k, wrong in enumerate(variants(given)):
        if part in ("pool", "ends") and n_buckets and isinstance(wrong, np.ndarray) and wrong.dtype == given.dtype:
            continue  # both are empty
        bad = {**content, "statistics": {**content["statistics"], part: wrong}}
        write_model(tmp_path / f"{k}.tb", "text", bad)
        with pytest.raises(FormatError, match="must hold a model of kind 'text'; its content does not fit"):
            tb.load(tmp_path / f"{k}.tb")
    write_model(path, "text", content)
    tb.load(path)


@pytest.mark.parametrize(
    ("part", "wrong"),
    [
        ("starts", [0, 1, 3, 5, 7]),
        ("starts", [0, 3, 1, 5, 6]),
        ("starts", [1, 1, 3, 5, 6]),
        ("classes", [1, 0, 1, 0, 2, 3]),
        ("classes", [1, 0, 1, 0, -1, 2]),
        ("ends", [4, 7, 10, 14]),
        ("ends", [4, 3, 10, 13]),
        ("pool", list(b"spam\xe9gghamtea")),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(part, wrong, tmp_path):
    content = tb.TextClassifier().fit(TEXTS, CLASSES).to_content()
    array = content["statistics"][part]
    content["statistics"][part] = np.array(wrong, array.dtype)
    assert len(wrong) == len(array)
    assert not np.array_equal(wrong, array)
    write_model(tmp_path / "model.tb", "text", content)
    with pytest.raises(FormatError, match="do not belong together"):
        tb.load(tmp_path / "model.tb")


def test_damaged_linear_weights_are_refused(tmp_path):
    """Kernels trust the number of words: it must be that of the weights."""
    content = tb.TextClassifier("nb-svm").fit(TEXTS, CLASSES).to_content()
    linear = content["statistics"]["linear"]
    weights, intercept = linear["weights"], linear["intercept"]
    wrong = {
        "weights": [weights[:-1], weights[:, :-1], weights[0], weights.astype(str), weights * np.nan, None],
        "intercept": [intercept[:-1], intercept[:, None], intercept * np.inf, "text"],
        "log_shares": [intercept[:, None], intercept * np.nan, intercept.astype(np.int64)],
    }
    for part, value in ((part, value) for part, values in wrong.items() for value in values):
        bad = {**content, "statistics": {**content["statistics"], "linear": {**linear, part: value}}}
        write_model(tmp_path / "model.tb", "text", bad)
        with pytest.raises(FormatError, match="its content does not fit"):
            tb.load(tmp_path / "model.tb")


def test_a_word_must_not_end_within_a_character(tmp_path):
    content = tb.TextClassifier().fit(["näh ßa", "x"], ["a", "b"]).to_content()
    assert content["statistics"]["ends"].tolist() == [4, 7]
    content["statistics"]["ends"] = np.array([2, 7])
    write_model(tmp_path / "model.tb", "text", content)
    with pytest.raises(FormatError, match="its words do not belong together"):
        tb.load(tmp_path / "model.tb")


def test_a_missing_part_is_named(tmp_path):
    content = tb.TextClassifier().fit(TEXTS, CLASSES).to_content()
    for part in ("hashes", "amounts", "background"):
        less = {k: v for k, v in content["statistics"].items() if k != part}
        write_model(tmp_path / "model.tb", "text", {**content, "statistics": less})
        with pytest.raises(FormatError, match=f"its content does not fit .*{part}"):
            tb.load(tmp_path / "model.tb")


def test_parameters_of_a_file_are_checked(tmp_path):
    content = tb.TextClassifier().fit(TEXTS, CLASSES).to_content()
    for wrong in ({"shortest": 0}, {"tokens": "syllables"}, {"unknown": 1}):
        write_model(tmp_path / "model.tb", "text", {**content, "parameters": {**content["parameters"], **wrong}})
        with pytest.raises(FormatError):
            tb.load(tmp_path / "model.tb")


def test_records_are_frozen():
    with pytest.raises(AttributeError):
        learned().column = "x"
    assert replace(learned(), column="x").column == "x"
