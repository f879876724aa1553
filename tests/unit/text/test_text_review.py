"""Text at its edges: tiny smoothing, documents that do not count, settings that change, hostile files."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

import tunbridge as tb
from oracles.text import by_kernels, named, ngrams_of
from tunbridge.errors import FormatError, MemoryForecastError
from tunbridge.formats import write_model
from tunbridge.text import tokens as tokens_module
from tunbridge.text.nb_svm import log_count_ratios
from tunbridge.text.text_classifier import MODELS
from tunbridge.text.tokens import Tokens

TEXTS = ["cheap pills now", "cheap watches", "meeting at noon", "lunch at noon", "cheap lunch"]
CLASSES = ["spam", "spam", "ham", "ham", "ham"]


# Numbers at their limits


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("smoothing", [1e-310, 1e-20, 1e200])
def test_smoothing_may_be_tiny_or_huge(model, smoothing):
    clf = tb.TextClassifier(model, smoothing=smoothing).fit(TEXTS, CLASSES)
    assert np.isfinite(clf.predict_joint_log_proba(TEXTS)).all()
    if smoothing < 1:
        assert clf.predict(TEXTS).tolist() == CLASSES


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("weights", [[1e17] * 5, [0.1, 0.2, 0.3, 0.7, 0.9]])
def test_what_is_left_of_weights_is_never_less_than_nothing(model, weights):
    texts, classes, weights = TEXTS * 3, CLASSES * 3, weights * 3
    clf = tb.TextClassifier(model, smoothing=1e-18).fit(texts, classes, sample_weight=weights)
    assert clf.predict(TEXTS).tolist() == CLASSES


def test_complement_is_exact_where_a_word_is_nearly_all_in_one_class():
    """1 − n/(n + a) would lose every digit of a."""
    texts, weights = ["cheap", "noon", "noon"], [1e15, 1.0, 1e3]
    clf = tb.TextClassifier("complement", class_prior="uniform").fit(texts, ["a", "b", "b"], sample_weight=weights)
    found = clf.predict_joint_log_proba(["cheap"])[0]
    n, rest = 1e15, 1001.0
    expected = [-math.log(1 / (rest + 2)), -math.log((n + 1) / (n + 2))]
    np.testing.assert_allclose(found - math.log(0.5), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("options", [{"beta": 0.5}, {"smoothing": tb.MEstimate(2, "marginal")}, {"ngrams": (5, 6)}])
def test_nb_svm_without_words_says_the_prior(options):
    clf = tb.TextClassifier("nb-svm", min_documents=50, **options).fit(TEXTS, CLASSES)
    np.testing.assert_allclose(clf.predict_proba(["cheap", ""]), [[0.6, 0.4]] * 2, rtol=1e-12)


# Smoothing of NB-SVM


def test_ratios_by_the_rule():
    d, a = np.array([[3.0, 0.0, 2.0], [1.0, 1.0, 0.0]]), np.array([0.3, 0.9])
    found = log_count_ratios(csr_array(d), a)
    for w, c in product(range(2), range(3)):
        inside = (d[w, c] + a[w]) / (d[:, c].sum() + a.sum())
        outside = (d[w].sum() - d[w, c] + a[w]) / (d.sum() - d[:, c].sum() + a.sum())
        assert found[w, c] == pytest.approx(math.log(inside / outside), rel=1e-6)


def test_the_m_estimate_of_nb_svm_is_shared_by_the_words():
    """Equal for all words, m p_w is a number, m over theirs; by how common they are it is another."""
    n_words = len({word for text in TEXTS for word in text.split()})
    found = [
        tb.TextClassifier("nb-svm", smoothing=rule).fit(TEXTS, CLASSES).predict_proba(TEXTS)
        for rule in (tb.MEstimate(n_words * 0.5), 0.5, tb.MEstimate("n_states"), 1.0, tb.MEstimate(4, "marginal"))
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
    np.testing.assert_allclose(found[2], found[3], rtol=1e-12)
    assert (
        np.abs(found[4] - tb.TextClassifier("nb-svm", smoothing=0.5).fit(TEXTS, CLASSES).predict_proba(TEXTS)).max()
        > 1e-3
    )


# Weights


@pytest.mark.parametrize("options", [{}, {"beta": 0.5, "min_documents": 3}, {"counts": "raw", "length": 5}], ids=str)
def test_weights_of_nb_svm_are_replication(options):
    texts, classes = [*TEXTS, "noon pills", "cheap meeting at noon"], [*CLASSES, "spam", "ham"]
    weights = [2, 1, 3, 0, 2, 2, 1]
    clf = tb.TextClassifier("nb-svm", tol=1e-9, max_iter=1000, **options)
    weighted = clf.fit(texts, classes, sample_weight=weights).predict_proba(texts)
    often = np.repeat(np.arange(7), weights)
    repeated = clf.fit([texts[i] for i in often], [classes[i] for i in often]).predict_proba(texts)
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-3)  # the gap is quadratic in the way that is left


@pytest.mark.parametrize("smoothing", [1.0, tb.MEstimate(2, "marginal")])
def test_unlabelled_documents_without_weight_bring_no_words(smoothing):
    some = [*CLASSES[:-1], None]
    clf = tb.SemiSupervisedClassifier(tb.TextClassifier(smoothing=smoothing), unlabelled_weight=1.0)
    without = clf.fit(TEXTS, some).predict_proba(TEXTS)
    more = clf.fit([*TEXTS, "unheard of"], [*some, None], sample_weight=[1, 1, 1, 1, 1, 0]).predict_proba(TEXTS)
    np.testing.assert_array_equal(more, without)


@pytest.mark.parametrize("model", ["multinomial", "bernoulli"])
def test_expected_counts_do_not_depend_on_the_size_of_pieces(model, monkeypatch):
    clf = tb.SemiSupervisedClassifier(tb.TextClassifier(model), unlabelled_weight=0.7)
    some = ["spam", None, "ham", None, None]
    whole = clf.fit(TEXTS, some).predict_proba(TEXTS)
    monkeypatch.setattr("tunbridge.classifiers.wrappers.semi_supervised._BYTES_AT_ONCE", 200)
    np.testing.assert_allclose(clf.fit(TEXTS, some).predict_proba(TEXTS), whole, rtol=1e-10)


# Settings that change after documents have been counted


CHANGES = [
    (
        {"counts": "log"},
        "counts must not change between calls of partial_fit; got 'log' after 'raw'. Call fit to start again",
    ),
    ({"length": 3}, "length must not change between calls of partial_fit; got 3 after None"),
    ({"idf": True}, "idf must not change between calls of partial_fit; got True after False"),
    ({"model": "bernoulli"}, "counts must not change between calls of partial_fit; got 'binary' after 'raw'"),
    ({"tokens": "letters"}, "tokens must not change between calls of partial_fit; got 'letters' after 'words'"),
    ({"ngrams": 2}, "ngrams must not change between calls of partial_fit; got 2 after 1"),
    ({"lower_case": False}, "lower_case must not change between calls of partial_fit; got False after True"),
    ({"shortest": 1}, "shortest must not change between calls of partial_fit; got 1 after 2"),
    ({"n_buckets": 9}, "n_buckets must not change between calls of partial_fit; got 9 after 0"),
]


@pytest.mark.parametrize(("change", "told"), CHANGES, ids=lambda value: str(value) if isinstance(value, dict) else None)
def test_counts_of_two_kinds_are_not_mixed(change, told, tmp_path):
    clf = tb.TextClassifier().fit(TEXTS, CLASSES)
    before = clf.predict_proba(TEXTS)
    clf.set_params(**change)
    with pytest.raises(tb.DataError, match=told):
        clf.partial_fit(TEXTS, CLASSES)
    if "model" not in change:
        clf.save(tmp_path / "model.tb")
        for each in (clf, tb.load(tmp_path / "model.tb")):  # documents are read as those were that were learned from
            np.testing.assert_array_equal(each.predict_proba(TEXTS), before)
            assert each.explain("cheap noon").n_words == 2
    clf.fit(TEXTS, CLASSES)


def test_what_follows_from_counts_may_change():
    further = tb.TextClassifier().fit(TEXTS, CLASSES).set_params(model="complement", smoothing=0.5, stop_words=1)
    whole = tb.TextClassifier("complement", smoothing=0.5, stop_words=1).fit(TEXTS * 2, CLASSES * 2)
    np.testing.assert_allclose(
        further.partial_fit(TEXTS, CLASSES).predict_proba(TEXTS), whole.predict_proba(TEXTS), rtol=1e-12
    )


def test_counts_alone_are_no_linear_model(tmp_path):
    clf = tb.TextClassifier().fit(TEXTS, CLASSES)
    clf.set_params(model="nb-svm").save(tmp_path / "model.tb")
    with pytest.raises(FormatError, match="its linear weights do not belong to its words"):
        tb.load(tmp_path / "model.tb")


# Parameters


@pytest.mark.parametrize("model", ["multinomial", "nb-svm"])
@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"idf": "yes"}, "idf must be one of 'auto', True, False; got 'yes'"),
        ({"lower_case": "no"}, "lower_case must be one of True, False; got 'no'"),
        ({"penalty": 0}, "penalty must be greater than 0; got 0"),
        ({"centre": "half"}, "centre must be a number; got 'half'"),
        ({"max_iter": 0}, "max_iter must be at least 1; got 0"),
        ({"tol": 0}, "tol must be greater than 0; got 0"),
        ({"ngrams": 10**30}, "ngrams must be at most 2³⁰; got 1000000"),
        ({"shortest": 2**31}, "shortest must be at most 2³⁰; got 2147483648"),
    ],
    ids=str,
)
def test_parameters_are_checked_whether_they_are_used_or_not(model, parameters, told):
    with pytest.raises(tb.DataError, match=told):
        tb.TextClassifier(model, **parameters).fit(TEXTS, CLASSES)


def test_a_set_of_stop_words_is_saved_in_order(tmp_path):
    for words in ({"at", "now", "noon", "lunch"}, frozenset(["now", "noon", "at", "lunch"])):
        tb.TextClassifier(stop_words=words).fit(TEXTS, CLASSES).save(tmp_path / "model.tb")
        assert tb.load(tmp_path / "model.tb").stop_words == ["at", "lunch", "noon", "now"]


def test_what_wraps_it_needs_all_documents_at_once():
    for clf in (tb.CalibratedClassifier(tb.TextClassifier()), tb.SemiSupervisedClassifier(tb.TextClassifier())):
        with pytest.raises(tb.DataError, match="got an iterator of batches, but all are needed at once"):
            clf.fit(iter([(TEXTS, CLASSES)]))


def test_a_model_without_a_joint_distribution_is_named():
    with pytest.raises(tb.DataError, match=r"joint distribution.*TextClassifier\(.*model='nb-svm'.*\) has none"):
        tb.SemiSupervisedClassifier(tb.TextClassifier("nb-svm")).fit(TEXTS, [*CLASSES[:-1], None])


# n-grams


@pytest.mark.parametrize("kernels", [False, True])
@pytest.mark.parametrize("units", ["words", "characters"])
def test_there_are_no_longer_ngrams_than_documents(kernels, units):
    texts = ["ham and eggs", "", "spam", "at noon at noon"]
    with by_kernels(kernels):
        found = Tokens(units, 2, 2**30).count(pa.array(texts, pa.large_string()))
    for text, counts in zip(texts, named(found, found.vocabulary), strict=True):
        assert list(counts) == list(dict.fromkeys(ngrams_of(text, units=units, low=2, high=20)))


def test_the_forecast_knows_how_long_documents_are(monkeypatch):
    monkeypatch.setattr(tokens_module, "_PIECE_BYTES", 100)
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "100000")
    short, long = pa.array(["at noon"] * 100, pa.large_string()), pa.array(["at noon " * 88], pa.large_string())
    assert Tokens(high=10**9).count(short).counts.sum() == 300
    with pytest.raises(MemoryForecastError, match="the words of 1 documents"):
        Tokens(high=10**9).count(long)


# Hostile files


@pytest.mark.parametrize("part", ["tokens", "weighting", "column", "documents"])
def test_hostile_statistics_are_refused(part, tmp_path):
    content = tb.TextClassifier(idf=True).fit({"text": TEXTS}, CLASSES).to_content()
    statistics = content["statistics"]
    wrong = {
        "tokens": [None, {}, {"units": "syllables"}, {**statistics["tokens"], "n_buckets": -1}],
        "weighting": [None, {"counts": "cubic"}, {**statistics["weighting"], "length": -2.0}],
        "column": [3, ["text"]],
        "documents": [statistics["documents"] * 100],
    }
    for value in wrong[part]:
        if part in ("tokens", "weighting") and value == {}:
            continue  # as it is by default
        write_model(tmp_path / "model.tb", "text", {**content, "statistics": {**statistics, part: value}})
        with pytest.raises(FormatError, match="its content does not fit"):
            tb.load(tmp_path / "model.tb")


def test_a_hostile_background_is_refused(tmp_path):
    clf = tb.SemiSupervisedClassifier(tb.TextClassifier(idf=True)).fit(TEXTS, [*CLASSES[:-1], None])
    content = clf.to_content()
    inner = content["statistics"]["estimator"]["content"]["statistics"]
    good = inner["background"]
    wrong = [
        {"documents": -good["documents"]},
        {"documents": good["documents"] * 100},
        {"amounts": -good["amounts"]},
        {"n_documents": -1.0},
        {"n_documents": math.nan},
    ]
    for part in wrong:
        inner["background"] = {**good, **part}
        write_model(tmp_path / "model.tb", "semi-supervised", content)
        with pytest.raises(FormatError, match=r"background does not belong|at least 0|a number was expected"):
            tb.load(tmp_path / "model.tb")


@pytest.mark.parametrize("kind", [np.float16, np.float64])
def test_linear_weights_are_of_the_kind_that_kernels_take(kind, tmp_path):
    content = tb.TextClassifier("nb-svm").fit(TEXTS, CLASSES).to_content()
    linear = content["statistics"]["linear"]
    content["statistics"]["linear"] = {**linear, "weights": linear["weights"].astype(kind)}
    try:
        write_model(tmp_path / "model.tb", "text", content)
    except (TypeError, ValueError):
        pytest.skip("files do not hold such numbers")
    with pytest.raises(FormatError, match="an array of float32 was expected"):
        tb.load(tmp_path / "model.tb")
