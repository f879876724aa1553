"""Sequence models against plain loops, on random sequences."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
from hypothesis import given, settings, strategies as st

import tunbridge as tb
from oracles.sequences import END, Chain, events
from tunbridge.sequences.contexts import Layout, class_spans, count_contexts
from tunbridge.sequences.reader import read_sequences
from tunbridge.sequences.smoothing import dense_table, estimates_of, levels_of, sparse_table, symbol_scores
from tunbridge.sequences.statistics import bic_scores
from tunbridge.sequences.symbols import rules_of

PLAIN = rules_of(None, None, ignore_case=False)

SYMBOLS = "abc"
sequences = st.lists(st.lists(st.sampled_from([*SYMBOLS, None]), max_size=8), min_size=1, max_size=8)
orders = st.integers(0, 3)
flags = st.booleans()
strengths = st.sampled_from([0.0, 0.5, 1.0, 7.0])


@st.composite
def problems(draw):
    """Return sequences with their classes and weights."""
    X = draw(sequences)
    y = draw(st.lists(st.sampled_from("xyz"), min_size=len(X), max_size=len(X)))
    w = draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 0.25]), min_size=len(X), max_size=len(X)))
    w[0] = 1.0
    return X, y, w


def alphabet_of(X, w):
    return sorted({s for x, v in zip(X, w, strict=True) if v > 0 for s in x if s is not None})


def chains(X, y, w, m, *, order, ends, places=False, classes=None):
    outcomes = [*alphabet_of(X, w), *([END] if ends else [])]
    found = {}
    for c in sorted(set(y) if classes is None else classes):
        rows = [i for i in range(len(X)) if y[i] == c]
        depth = order + 2
        strength = m[c] if isinstance(m, dict) else [m] * depth
        found[c] = Chain(
            [X[i] for i in rows], [w[i] for i in rows], outcomes, strength, order=order, ends=ends, places=places
        )
    return found


def known(x, alphabet):
    return [s if s in alphabet else None for s in x]


def quiet(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tb.errors.TunbridgeWarning)
        return function(*args)


class TestAgainstLoops:
    @given(problems(), sequences, orders, flags, strengths)
    @settings(max_examples=50, deadline=None)
    def test_joint(self, problem, asked, order, ends, m):
        X, y, w = problem
        clf = tb.SequenceClassifier(order=order, ends=ends, smoothing=m).fit(X, y, sample_weight=w)
        found = quiet(clf.predict_joint_log_proba, asked)
        alphabet = alphabet_of(X, w)
        for c, chain in chains(X, y, w, m, order=order, ends=ends).items():
            k = clf.classes_.tolist().index(c)
            expected = [clf.class_log_prior_[k] + chain.log_likelihood(known(x, alphabet)) for x in asked]
            np.testing.assert_allclose(found[:, k], expected, rtol=1e-10, atol=1e-12)

    @given(problems(), st.integers(1, 5), orders, strengths)
    @settings(max_examples=50, deadline=None)
    def test_places(self, problem, length, order, m):
        X, y, w = problem
        X = [[*x, *"abcab"][:length] if x else [] for x in X]
        clf = tb.SequenceClassifier("position", order, smoothing=m).fit(X, y, sample_weight=w)
        asked = [list(x) for x in product("abc", repeat=length)][:40]
        found, alphabet = quiet(clf.predict_joint_log_proba, asked), alphabet_of(X, w)
        for c, chain in chains(X, y, w, m, order=order, ends=False, places=True).items():
            k = clf.classes_.tolist().index(c)
            expected = [clf.class_log_prior_[k] + chain.log_likelihood(known(x, alphabet)) for x in asked]
            np.testing.assert_allclose(found[:, k], expected, rtol=1e-10, atol=1e-12)

    @given(problems(), st.integers(0, 2), flags)
    @settings(max_examples=40, deadline=None)
    def test_automatic_strengths(self, problem, order, ends):
        X, y, w = problem
        clf = tb.SequenceClassifier(order=order, ends=ends).fit(X, y, sample_weight=w)
        for label, chain in chains(X, y, w, clf.strengths_, order=order, ends=ends).items():
            for level, m in enumerate(clf.strengths_[label]):
                best = chain.left_out(level, m)
                for other in (m * 3, m / 3, m * 1.5, m / 1.5):
                    if 1e-3 <= other <= max(1.0, sum(n for c, _, n in chain.events if len(c) >= level)):
                        assert chain.left_out(level, other) <= best + 1e-9 + 1e-6 * abs(best)

    @given(problems(), sequences, orders, flags, flags)
    @settings(max_examples=50, deadline=None)
    def test_tables_agree(self, problem, asked, order, ends, places):
        X, y, w = problem
        if places:
            X, asked = ([[*x, *"abcab"][:4] if x else [] for x in rows] for rows in (X, asked))
        clf = tb.SequenceClassifier("position" if places else "markov", order, ends=ends).fit(X, y, sample_weight=w)
        statistics, model = clf.statistics_, clf._model
        layout = statistics.layout
        pairs = [levels_of(each, layout) for each in statistics.counted]
        both = [(levels, estimates_of(levels, layout.n_outcomes, None)) for levels in pairs]
        if not layout.n_symbols:
            return
        rows, tables = read_sequences(asked), [make(layout, both) for make in (dense_table, sparse_table)]
        for i in range(len(asked)):
            one = model.coded(rows.rows(i, i + 1))
            dense, sparse = (symbol_scores(table, one, len(both)) for table in tables)
            np.testing.assert_allclose(sparse, dense, rtol=1e-12, atol=1e-12)

    @given(problems(), orders, flags, flags)
    @settings(max_examples=40, deadline=None)
    def test_counting_ways_agree(self, problem, order, ends, places):
        from tunbridge.sequences import contexts

        X, y, w = problem
        if places:
            X = [[*x, *"abcab"][:4] if x else [] for x in X]
        rows = read_sequences(X)
        layout = Layout(len(rows.alphabet), order, ends and not places, 4 if places else None)
        one = rows.coded(PLAIN, rows.alphabet)
        spans = class_spans(rows.offsets, np.unique(y, return_inverse=True)[1])
        for weights in (None, np.array(w)):
            ways = [
                count(one, layout, spans, 3, weights, None) for count in (contexts._count_table, contexts._count_keys)
            ]
            for a, b in zip(*ways, strict=True):
                assert a.keys.tolist() == b.keys.tolist()
                np.testing.assert_allclose(a.counts, b.counts, rtol=1e-12)


class TestDistributions:
    @given(problems(), st.integers(0, 2), st.sampled_from([0.5, 3.0]))
    @settings(max_examples=25, deadline=None)
    def test_sequences_of_one_length_sum_to_one(self, problem, order, m):
        X, y, w = problem
        clf = tb.SequenceClassifier(order=order, ends=False, smoothing=m, class_prior="uniform")
        clf.fit(X, y, sample_weight=w)
        if alphabet := alphabet_of(X, w):
            every = [list(x) for x in product(alphabet, repeat=3)]
            likelihood = clf.predict_joint_log_proba(every) - clf.class_log_prior_
            np.testing.assert_allclose(np.exp(likelihood).sum(axis=0), 1.0, rtol=1e-10)

    @given(problems(), st.integers(0, 2))
    @settings(max_examples=25, deadline=None)
    def test_with_ends_beginnings_sum_to_one(self, problem, order):
        """The sequences of at most two symbols, and the beginnings of longer ones, are everything but the empty one."""
        X, y, w = problem
        clf = tb.SequenceClassifier(order=order, smoothing=2.0, class_prior="uniform").fit(X, y, sample_weight=w)
        if not (alphabet := alphabet_of(X, w)):
            return
        whole = [list(x) for n in (1, 2) for x in product(alphabet, repeat=n)]
        total = np.exp(clf.predict_joint_log_proba(whole) - clf.class_log_prior_).sum(axis=0)
        for x in product(alphabet, repeat=3):
            total += np.exp(clf.stream().update(list(x)).log_joint - clf.class_log_prior_)
        for k, (c, chain) in enumerate(chains(X, y, w, 2.0, order=order, ends=True).items()):
            assert clf.classes_[k] == c
            start = ("the beginning",)
            empty = chain.probability((start,) if order else (), END)
            np.testing.assert_allclose(total[k] + empty, 1.0, rtol=1e-10)


class TestCounts:
    @given(problems(), st.integers(1, 7), orders, flags, st.sampled_from(["auto", 1.0]))
    @settings(max_examples=40, deadline=None)
    def test_partial_fit(self, problem, at, order, ends, smoothing):
        X, y, w = problem
        at = min(at, len(X))
        whole = tb.SequenceClassifier(order=order, ends=ends, smoothing=smoothing).fit(X, y, sample_weight=w)
        parts = tb.SequenceClassifier(order=order, ends=ends, smoothing=smoothing)
        parts.partial_fit(X[:at], y[:at], sample_weight=w[:at])
        if at < len(X):
            parts.partial_fit(X[at:], y[at:], sample_weight=w[at:])
        assert parts.alphabet_ == whole.alphabet_
        assert parts.classes_.tolist() == whole.classes_.tolist()
        asked = [[*x, "b"] for x in X]
        np.testing.assert_allclose(
            quiet(parts.predict_joint_log_proba, asked),
            quiet(whole.predict_joint_log_proba, asked),
            rtol=1e-12,
            atol=1e-12,
        )

    @given(problems(), orders, flags, st.sampled_from(["cv", "bic", 2]))
    @settings(max_examples=40, deadline=None)
    def test_weights_are_rows(self, problem, max_order, ends, order):
        X, y, _ = problem
        w = [i % 3 for i in range(1, len(X) + 1)]
        many = [i for i in range(len(X)) for _ in range(w[i])]
        weighted = tb.SequenceClassifier(order=order, max_order=max_order, ends=ends).fit(X, y, sample_weight=w)
        again = tb.SequenceClassifier(order=order, max_order=max_order, ends=ends)
        again.partial_fit([X[i] for i in many], [y[i] for i in many], classes=sorted(set(y)))
        assert weighted.order_ == again.order_
        assert weighted.alphabet_ == again.alphabet_
        np.testing.assert_allclose(
            list(weighted.order_scores_.values()), list(again.order_scores_.values()), rtol=1e-12
        )
        np.testing.assert_allclose(
            quiet(weighted.predict_log_proba, X), quiet(again.predict_log_proba, X), rtol=1e-9, atol=1e-12
        )

    @given(problems(), st.integers(0, 3), flags)
    @settings(max_examples=40, deadline=None)
    def test_bic(self, problem, order, ends):
        """The BIC of an order is that of a chain of that order."""
        X, _y, w = problem
        rows = read_sequences(X)
        layout = Layout(len(rows.alphabet), order, ends)
        spans = class_spans(rows.offsets, np.zeros(len(X), np.int64))
        one = count_contexts(rows.coded(PLAIN, rows.alphabet), layout, spans, 1, np.array(w))[0]
        bic, symbols = bic_scores(layout, levels_of(one, layout)), [*rows.alphabet, *([END] if ends else [])]
        for k in range(order + 1):
            chain = Chain(X, w, symbols, [0.0] * (k + 1), order=k, ends=ends)
            likelihood = sum(b * chain.log_likelihood(x) for x, b in zip(X, w, strict=True) if b > 0)
            n, size = chain.count(()), len(rows.alphabet)
            contexts = size**k + (sum(size**a for a in range(k)) if ends else 0)
            penalty = 0.5 * np.log(max(1, n)) * contexts * max(0, len(symbols) - 1)
            np.testing.assert_allclose(bic[k], likelihood - penalty, rtol=1e-10, atol=1e-10)

    @given(problems(), st.integers(0, 2), flags)
    @settings(max_examples=40, deadline=None)
    def test_cross_validation(self, problem, max_order, ends):
        """What is left out is scored by chains that are learned from the rest."""
        X, y, w = problem
        clf = tb.SequenceClassifier(order="cv", max_order=max_order, ends=ends, smoothing=1)
        clf.fit(X, y, sample_weight=w)
        fold = read_sequences(X).keys(0) % np.uint64(5)
        outcomes = [*alphabet_of(X, w), *([END] if ends else [])]
        for k in range(max_order + 1):
            expected = 0.0
            for i in (i for i in range(len(X)) if w[i] > 0):
                joint = []
                for c, prior in zip(clf.classes_, clf.class_log_prior_, strict=True):
                    rest = [j for j in range(len(X)) if y[j] == c and fold[j] != fold[i]]
                    learned = [X[j] for j in rest], [w[j] for j in rest]
                    chain = Chain(*learned, outcomes, [1.0] * (k + 1), order=k, ends=ends)
                    joint.append(prior + chain.log_likelihood(X[i]))
                expected += w[i] * (joint[clf.classes_.tolist().index(y[i])] - np.logaddexp.reduce(joint))
            np.testing.assert_allclose(clf.order_scores_[k], expected, rtol=1e-9, atol=1e-9)


class TestPieces:
    @given(problems(), st.lists(st.text(SYMBOLS, max_size=5), min_size=1, max_size=5), orders, flags)
    @settings(max_examples=50, deadline=None)
    def test_pieces_are_the_whole(self, problem, pieces, order, ends):
        X, y, w = problem
        clf = tb.SequenceClassifier(order=order, ends=ends).fit(X, y, sample_weight=w)
        stream = clf.stream()
        for piece in pieces:
            quiet(stream.update, piece)
        whole = quiet(clf.predict_joint_log_proba, ["".join(pieces)])[0]
        np.testing.assert_allclose(stream.finish().log_joint, whole, rtol=1e-12, atol=1e-12)
        assert stream.n_symbols == len("".join(pieces))

    @given(problems(), sequences, orders, flags)
    @settings(max_examples=40, deadline=None)
    def test_weights_of_symbols_add_up(self, problem, asked, order, ends):
        X, y, w = problem
        y[0], y[-1], w[-1] = "x", "y", 1.0
        if len(X) < 2:
            return
        clf = tb.SequenceClassifier(order=order, ends=ends).fit(X, y, sample_weight=w)
        log_joint = quiet(clf.predict_joint_log_proba, asked)
        for row, told in enumerate(quiet(clf.explain, asked, "x", "y")):
            np.testing.assert_allclose(told.log_odds, log_joint[row, 0] - log_joint[row, 1], rtol=1e-9, atol=1e-9)
            assert len(told.weights) == len(asked[row]) == told.n_symbols
            np.testing.assert_allclose(told.cumulative[-1] + told.end, told.log_odds, rtol=1e-9, atol=1e-9)


def test_a_long_sequence_is_cut_without_a_trace(monkeypatch):
    from tunbridge.sequences import contexts, symbols

    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("acgt"), n)) for n in (5000, 0, 3, 700)]
    y = ["x", "y", "y", "y"]
    whole = tb.SequenceClassifier(order=3).fit(X, y)
    expected = whole.predict_joint_log_proba(X)
    monkeypatch.setattr(symbols, "PIECE", 64)
    monkeypatch.setattr(contexts, "PIECE", 64)
    monkeypatch.setattr(contexts.cut_spans, "__defaults__", (64,))
    for n_jobs in (1, 2, 5):
        cut = tb.SequenceClassifier(order=3, n_jobs=n_jobs).fit(X, y)
        for a, b in zip(cut.statistics_.counted, whole.statistics_.counted, strict=True):
            assert a.keys.tolist() == b.keys.tolist()
            assert a.counts.tolist() == b.counts.tolist()
        np.testing.assert_allclose(cut.predict_joint_log_proba(X), expected, rtol=1e-12)


def test_events_of_the_loops():
    """The oracle itself: order 2 with ends, and a symbol that is unknown."""
    start = ("the beginning",)
    assert events(["a", None, "b", "c"], 2, ends=True, places=False) == [
        ((start,), "a"),
        ((), "b"),
        (("b",), "c"),
        (("c", "b"), END),
    ]
