"""The classifier of documents: streams, extremes, priors, what wraps it, what it refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tunbridge as tb
from oracles.text import by_kernels
from tunbridge.errors import MemoryForecastError
from tunbridge.text import naive as scores_module, tokens as tokens_module

TEXTS = ["cheap pills now", "cheap watches", "meeting at noon", "lunch at noon", "cheap lunch"]
CLASSES = ["spam", "spam", "ham", "ham", "ham"]
MODELS = ["multinomial", "bernoulli", "complement", "normalised-complement", "nb-svm"]
NAIVE = MODELS[:-1]


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(11)
    y = rng.integers(0, 4, 1500)
    words = np.where(rng.random((1500, 30)) < 0.3, 1000 + 50 * y[:, None], 0) + rng.zipf(1.3, (1500, 30)) % 900
    return [" ".join(f"Wörd{w}" for w in row) for row in words], y


# How work is done changes nothing


@pytest.mark.parametrize("model", MODELS)
def test_pieces_and_threads_change_nothing(corpus, model, monkeypatch):
    X, y = corpus
    whole = tb.TextClassifier(model, n_jobs=1).fit(X, y).predict_proba(X)
    monkeypatch.setattr(tokens_module, "_PIECE_BYTES", 5000)
    monkeypatch.setattr(scores_module, "_PIECE_ROWS", 7)
    cut = tb.TextClassifier(model, n_jobs=3).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(cut, whole)


@pytest.mark.parametrize("model", NAIVE)
@pytest.mark.parametrize("options", [{}, {"n_buckets": 300}, {"tokens": "characters", "ngrams": 3}])
def test_compiled_and_plain_ways_agree(corpus, model, options):
    X, y = corpus[0][:150], corpus[1][:150]
    found = []
    for kernels in (False, True):
        with by_kernels(kernels):
            found.append(tb.TextClassifier(model, **options).fit(X, y).predict_joint_log_proba(X))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_a_document_scores_the_same_in_any_company(corpus):
    X, y = corpus
    clf = tb.TextClassifier().fit(X, y)
    together = clf.predict_proba(X[:700])
    np.testing.assert_array_equal(np.concatenate([clf.predict_proba(X[:1]), clf.predict_proba(X[1:700])]), together)


def test_order_of_documents_does_not_matter(corpus):
    X, y = corpus
    order = np.random.default_rng(0).permutation(len(X))
    mixed = tb.TextClassifier(stop_words=20).fit([X[i] for i in order], y[order])
    plain = tb.TextClassifier(stop_words=20).fit(X, y)
    np.testing.assert_allclose(mixed.predict_proba(X), plain.predict_proba(X), rtol=1e-10)


# Streams


def batches(X, y, size=2):
    for start in range(0, len(X), size):
        yield X[start : start + size], y[start : start + size]


@pytest.mark.parametrize("model", NAIVE)
def test_a_stream_of_batches_is_the_whole(model):
    options = {"idf": True, "counts": "log", "length": 3} if model != "bernoulli" else {}
    whole = tb.TextClassifier(model, **options).fit(TEXTS, CLASSES)
    stream = tb.TextClassifier(model, **options).fit(batches(TEXTS, CLASSES))
    np.testing.assert_allclose(stream.predict_proba(TEXTS), whole.predict_proba(TEXTS), rtol=1e-12)
    assert stream.classes_.tolist() == ["ham", "spam"]


def test_streams_of_every_shape():
    whole = tb.TextClassifier().fit(TEXTS, CLASSES, sample_weight=[1, 2, 3, 1, 0]).predict_proba(TEXTS)
    weighted = [(TEXTS[:2], CLASSES[:2], [1, 2]), (pa.array(TEXTS[2:]), CLASSES[2:], [3, 1, 0])]
    found = tb.TextClassifier().fit(iter(weighted)).predict_proba(TEXTS)
    np.testing.assert_allclose(found, whole, rtol=1e-12)
    frame = pd.DataFrame({"text": TEXTS, "kind": CLASSES})
    frames = (frame.iloc[a:b] for a, b in ((0, 2), (2, 5)))
    clf = tb.TextClassifier().fit(frames, "kind")
    plain = tb.TextClassifier().fit(TEXTS, CLASSES).predict_proba(TEXTS)
    np.testing.assert_allclose(clf.predict_proba(frame), plain, rtol=1e-12)
    assert (clf.target_name_, clf.score(frame)) == ("kind", 1.0)
    record_batches = iter(pa.Table.from_pandas(frame).to_batches(max_chunksize=2))
    np.testing.assert_allclose(tb.TextClassifier().fit(record_batches, "kind").predict_proba(TEXTS), plain, rtol=1e-12)


def test_further_batches_of_a_stream_add_to_what_was_learned():
    clf = tb.TextClassifier().fit(TEXTS[:2], CLASSES[:2])
    clf.partial_fit(batches(TEXTS[2:], CLASSES[2:], 1))
    np.testing.assert_allclose(
        clf.predict_proba(TEXTS), tb.TextClassifier().fit(TEXTS, CLASSES).predict_proba(TEXTS), rtol=1e-12
    )


def test_an_empty_batch_in_a_stream_adds_nothing():
    parts = [(TEXTS, CLASSES), ([], []), (TEXTS, CLASSES)]
    found = tb.TextClassifier().fit(iter(parts)).predict_proba(TEXTS)
    np.testing.assert_array_equal(found, tb.TextClassifier().fit(TEXTS * 2, CLASSES * 2).predict_proba(TEXTS))


def test_a_stream_that_breaks_leaves_what_was_learned():
    def broken():
        yield ["new words"], ["other"]
        raise OSError("the line is dead")

    clf = tb.TextClassifier().fit(TEXTS, CLASSES)
    before = clf.predict_proba(TEXTS)
    for learn in (clf.fit, clf.partial_fit):
        with pytest.raises(OSError, match="the line is dead"):
            learn(broken())
        np.testing.assert_array_equal(clf.predict_proba(TEXTS), before)


@pytest.mark.parametrize(
    ("stream", "options", "told"),
    [
        ([], {}, "an iterator must have at least one batch of documents; got none."),
        (TEXTS, {}, r"a batch must be \(texts, y\) or \(texts, y, weights\), or a frame if y names.* got 'cheap"),
        ([(TEXTS,)], {}, r"a batch must be \(texts, y\)"),
        ([(TEXTS, CLASSES)], {"sample_weight": [1]}, "sample_weight must come with the batches, as"),
        ([(TEXTS, CLASSES[:2])], {}, "y must have a class for each row; got 2 classes for 5 rows"),
        ([(TEXTS, CLASSES, [1])], {}, "weights"),
    ],
    ids=["none", "texts", "no classes", "weights beside", "too few classes", "too few weights"],
)  # fmt: skip
def test_streams_that_do_not_fit(stream, options, told):
    with pytest.raises(tb.DataError, match=told):
        tb.TextClassifier().fit(iter(stream), **options)


def test_nb_svm_needs_all_documents_at_once():
    clf = tb.TextClassifier("nb-svm")
    assert not hasattr(clf, "partial_fit")
    with pytest.raises(tb.DataError, match="nb-svm must have all documents at once; got an iterator of batches"):
        clf.fit(batches(TEXTS, CLASSES))


def test_further_documents_are_cut_as_those_before():
    for before, after in ((0, 50), (50, 0)):
        clf = tb.TextClassifier(n_buckets=before).fit(TEXTS, CLASSES).set_params(n_buckets=after)
        with pytest.raises(tb.DataError, match="n_buckets must not change between calls"):
            clf.partial_fit(TEXTS, CLASSES)


def test_new_words_and_classes_arrive():
    clf = tb.TextClassifier().partial_fit(TEXTS, CLASSES, classes=["ham", "spam", "news"])
    assert clf.classes_.tolist() == ["ham", "news", "spam"]
    np.testing.assert_array_equal(clf.predict_proba(["cheap", "unknown"])[:, 1], 0.0)
    clf.partial_fit(["election results", "cheap election"], ["news", "politics"])
    assert clf.classes_.tolist() == ["ham", "news", "politics", "spam"]
    assert clf.predict(["results of the election"]).tolist() == ["news"]


# Documents that say nothing, or too much


@pytest.mark.parametrize("model", MODELS)
def test_without_known_words_the_prior_answers(model):
    clf = tb.TextClassifier(model, class_prior={"spam": 0.2, "ham": 0.8}).fit(TEXTS, CLASSES)
    found = clf.predict_proba(["", None, "all unknown here", "! ?", "a b c"])
    np.testing.assert_allclose(found, np.tile([0.8, 0.2], (5, 1)), rtol=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_documents_without_words_teach_the_prior(model):
    clf = tb.TextClassifier(model).fit(["", None, "?"], ["a", "a", "b"])
    np.testing.assert_allclose(clf.predict_proba(["anything", ""]), [[2 / 3, 1 / 3]] * 2, rtol=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_when_every_word_is_stopped_the_prior_answers(model):
    clf = tb.TextClassifier(model, min_documents=1000).fit(TEXTS, CLASSES)
    np.testing.assert_allclose(clf.predict_proba(TEXTS), np.tile([0.6, 0.4], (5, 1)), rtol=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_long_documents_do_not_underflow(model):
    clf = tb.TextClassifier(model).fit(TEXTS, CLASSES)
    long = ["cheap pills " * 300_000, "noon meeting " * 300_000]
    found = clf.predict_proba(long)
    assert np.isfinite(found).all()
    assert clf.predict(long).tolist() == ["spam", "ham"]
    assert np.isfinite(clf.predict_joint_log_proba(long)).all()


def test_long_words_are_words():
    long = "x" * 3_000_000
    clf = tb.TextClassifier().fit([long, f"{long}y", "short"], ["a", "b", "b"])
    assert clf.predict([long, long + "y"]).tolist() == ["a", "b"]


def test_many_features_do_not_underflow():
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{k}" for k in rng.integers(0, 200_000, 4000)) for _ in range(40)]
    for model in NAIVE:
        found = tb.TextClassifier(model).fit(texts, [0, 1] * 20).predict_proba([" ".join(texts)])
        assert np.isfinite(found).all()


def test_a_class_without_weight_is_known_and_never_chosen():
    for model in NAIVE:
        clf = tb.TextClassifier(model).fit(TEXTS, CLASSES, sample_weight=[0, 0, 1, 1, 1])
        assert clf.classes_.tolist() == ["ham", "spam"]
        np.testing.assert_array_equal(clf.predict_proba([*TEXTS, ""]), np.tile([1.0, 0.0], (6, 1)))


def test_one_bucket_tells_nothing_but_lengths():
    clf = tb.TextClassifier(n_buckets=1).fit(TEXTS, CLASSES)
    np.testing.assert_allclose(clf.predict_proba(["anything at all", ""]), np.tile([0.6, 0.4], (2, 1)), rtol=1e-12)


# Classes


@pytest.mark.parametrize("labels", [[2, 2, 1, 1, 1], [True, True, False, False, False], [2.0, 2.0, -1.0, -1.0, -1.0]])
def test_classes_of_every_kind(labels):
    clf = tb.TextClassifier().fit(TEXTS, labels)
    assert clf.classes_.tolist() == sorted(set(labels))
    assert clf.predict(["cheap pills"]).tolist() == labels[:1]


def test_the_name_of_a_series_is_the_name_of_the_target():
    clf = tb.TextClassifier().fit(TEXTS, pd.Series(CLASSES, name="kind"))
    assert clf.statistics_.target.name == "kind"
    assert clf.score({"text": TEXTS, "kind": CLASSES}) == 1.0


def test_priors_shift_what_is_predicted():
    asked = ["cheap lunch"]
    plain, spam = (tb.TextClassifier(class_prior=p).fit(TEXTS, CLASSES) for p in (None, [0.001, 0.999]))
    assert plain.predict(asked).tolist() == ["ham"]
    assert spam.predict(asked).tolist() == ["spam"]
    ratio = spam.predict_proba(asked)[0] / plain.predict_proba(asked)[0]
    np.testing.assert_allclose(ratio[1] / ratio[0], (0.999 / 0.4) / (0.001 / 0.6), rtol=1e-10)


def test_losses_decide():
    clf = tb.TextClassifier().fit(TEXTS, CLASSES)
    asked = ["cheap meeting pills"]
    assert clf.predict(asked).tolist() == ["spam"]
    assert clf.decide(asked, {"ham": {"spam": 10.0}}).tolist() == ["ham"]
    assert clf.decide(asked, reject=0.01).tolist() == [None]


# Each parameter changes the result


@pytest.mark.parametrize(
    "change",
    [
        {"model": "bernoulli"}, {"model": "complement"}, {"model": "normalised-complement"}, {"model": "nb-svm"},
        {"tokens": "characters"}, {"tokens": "letters"}, {"tokens": "words and marks"}, {"ngrams": 2},
        {"ngrams": (2, 2)}, {"lower_case": False}, {"shortest": 1}, {"shortest": 5}, {"n_buckets": 5},
        {"min_documents": 2}, {"min_count": 3}, {"stop_words": 1}, {"stop_words": ["cheap"]}, {"counts": "log"},
        {"counts": "binary"}, {"length": 1}, {"length": "unit"}, {"idf": True}, {"smoothing": 0.1},
        {"smoothing": tb.MEstimate(3)}, {"smoothing": tb.MEstimate(3, "marginal")}, {"class_prior": "uniform"},
        {"class_prior": [0.8, 0.1, 0.1]},
    ],
    ids=str,
)  # fmt: skip
def test_each_parameter_changes_the_result(change):
    texts = [*TEXTS, "Cheap CHEAP pills pills 24 now! a", "noon, noon at 12 a a", "cheap news at 12 now"]
    classes = [*CLASSES, "spam", "ham", "news"]
    plain = tb.TextClassifier().fit(texts, classes).predict_proba(texts)
    changed = tb.TextClassifier(**change).fit(texts, classes).predict_proba(texts)
    assert np.abs(plain - changed).max() > 1e-3


@pytest.mark.parametrize("change", [{"penalty": 3.0}, {"centre": 0.0}, {"beta": 0.2}, {"smoothing": 0.1}], ids=str)
def test_each_parameter_of_nb_svm_changes_the_result(change):
    plain = tb.TextClassifier("nb-svm").fit(TEXTS, CLASSES).predict_proba(TEXTS)
    changed = tb.TextClassifier("nb-svm", **change).fit(TEXTS, CLASSES).predict_proba(TEXTS)
    assert np.abs(plain - changed).max() > 1e-3


def test_auto_is_what_the_model_is_used_with():
    for model, usual in (("multinomial", ("raw", None, False)), ("bernoulli", ("binary", None, False))):
        told = dict(zip(("counts", "length", "idf"), usual, strict=True))
        auto, said = (tb.TextClassifier(model, **o).fit(TEXTS, CLASSES) for o in ({}, told))
        np.testing.assert_array_equal(auto.predict_proba(TEXTS), said.predict_proba(TEXTS))


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"model": "multinomal"}, r"model must be one of .*; got 'multinomal'. Did you mean 'multinomial'\?"),
        ({"ngrams": (1, 2, 3)}, r"ngrams must be a number or \(fewest, most\); got \(1, 2, 3\)"),
        ({"ngrams": []}, r"ngrams must be a number or \(fewest, most\); got \[\]"),
        ({"ngrams": 0}, "ngrams must be at least 1; got 0"),
        ({"ngrams": (2, 1)}, r"ngrams must be \(fewest, most\) units; got \(2, 1\)"),
        ({"smoothing": 0}, "smoothing must be above 0 for words: most documents have some .*; got 0"),
        ({"smoothing": tb.MEstimate(0)}, "smoothing must be above 0 for words"),
        ({"smoothing": -1}, "smoothing must be at least 0; got -1"),
        ({"smoothing": None}, r"smoothing must be a number \(Laplace's γ\), MEstimate or Laplace; got None"),
        ({"smoothing": tb.MEstimate(2, {"spam": 1.0})}, "p of the m-estimate must be 'uniform' or"),
        ({"model": "bernoulli", "smoothing": tb.MEstimate(2, "marginal")}, "must be 'uniform' for bernoulli; got"),
        ({"class_prior": [1.0]}, "class_prior must have one probability for each of 2 classes"),
        ({"class_prior": "equal"}, "class_prior must be one of 'uniform'; got 'equal'"),
        ({"model": "bernoulli", "counts": "raw"}, "counts, length and idf must be 'auto' for bernoulli"),
        ({"model": "bernoulli", "length": 5}, "counts, length and idf must be 'auto' for bernoulli"),
        ({"model": "bernoulli", "idf": True}, "counts, length and idf must be 'auto' for bernoulli"),
        ({"beta": 2}, "beta must be at most 1; got 2"),
        ({"column": 3}, "column must be the name of the column of documents; got 3"),
        ({"n_jobs": 0}, "n_jobs must be an integer other than 0, or None; got 0"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else None,
)  # fmt: skip
def test_parameters_that_cannot_be(parameters, told):
    with pytest.raises(tb.DataError, match=told):
        tb.TextClassifier(**parameters).fit(TEXTS, CLASSES)


def test_memory_is_forecast_before_text_is_read(monkeypatch):
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1e7")
    long = ["spam and eggs " * 300_000, "ham"]
    told = r"the words of 2 documents would need 16.0 MiB, and the limit is 9.5 MiB. Pass the documents in batches"
    with pytest.raises(MemoryForecastError, match=told):
        tb.TextClassifier().fit(long, ["a", "b"])
    halves = [(["spam and eggs " * 150_000], ["a"])] * 2 + [(["ham"], ["b"])]
    assert tb.TextClassifier().fit(iter(halves)).predict(["ham"]).tolist() == ["b"]


def test_a_what_if_needs_columns():
    with pytest.raises(tb.DataError, match="what_if must have features in columns; a text has none"):
        tb.TextClassifier().fit(TEXTS, CLASSES).what_if(TEXTS)


# Around it


def test_documents_without_a_class_help():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 400)
    said = np.where(rng.random((400, 15)) < 0.7, y[:, None], 1 - y[:, None])
    numbers = rng.integers(10, 60, (400, 15))
    texts = [" ".join(f"{'ab'[c]}{k}" for c, k in zip(*row, strict=True)) for row in zip(said, numbers, strict=True)]
    some = [int(c) if i < 6 else -1 for i, c in enumerate(y)]
    alone = tb.TextClassifier().fit(texts[:6], y[:6]).score(texts, y)
    clf = tb.SemiSupervisedClassifier(tb.TextClassifier()).fit(texts, some)
    assert clf.score(texts, y) > alone + 0.05


@pytest.mark.parametrize("model", MODELS[2:])
def test_models_that_are_no_joint_distribution_learn_from_no_unlabelled_documents(model):
    with pytest.raises(tb.DataError):
        tb.SemiSupervisedClassifier(tb.TextClassifier(model)).fit(TEXTS, ["a", "b", "a", -1, -1])


def test_calibration_pulls_long_documents_from_the_extremes(corpus):
    X, y = [f"{text} {text} {text}" for text in corpus[0]], np.where(np.arange(1500) % 3, corpus[1], 0)
    plain = tb.TextClassifier().fit(X[:1000], y[:1000])
    calibrated = tb.CalibratedClassifier(tb.TextClassifier(), random_state=0).fit(X[:1000], y[:1000])
    losses = [-clf.predict_log_proba(X[1000:])[np.arange(500), y[1000:]].mean() for clf in (plain, calibrated)]
    assert losses[1] < losses[0]


# Real documents


def test_sms_spam_is_found(shared_data):
    frame = pd.read_csv(shared_data / "text" / "sms_spam.csv")
    clf = tb.TextClassifier().fit(frame.iloc[::2], "label")
    assert clf.score(frame.iloc[1::2]) > 0.98
