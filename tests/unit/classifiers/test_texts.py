"""Free text beside other columns: what it adds, how it is weighed, and what explanations say of it."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.special import logsumexp

import tunbridge as tb
from tunbridge.classifiers._rows import Examples
from tunbridge.classifiers._texts import splits, texts_apart
from tunbridge.errors import DataError

WORDS = {
    "spam": ["win", "prize", "free", "call", "now", "claim", "cash", "offer", "urgent", "reward"],
    "ham": ["meet", "noon", "lunch", "home", "later", "thanks", "love", "train", "sleep", "work"],
}
COMMON = ["the", "you", "to", "a", "is", "it", "in", "and", "of", "for"]

MODELS = [
    tb.NaiveBayesClassifier(),
    tb.NaiveBayesClassifier(numeric="gaussian"),
    tb.WeightedNaiveBayesClassifier(),
    tb.SelectiveNaiveBayesClassifier(),
    tb.JoinedNaiveBayesClassifier(),
    tb.TANClassifier(),
    tb.KDBClassifier(),
    tb.SelectiveKDBClassifier(),
    tb.AODEClassifier(),
    tb.A2DEClassifier(),
    tb.MultinetClassifier(),
    tb.BayesForestClassifier(n_networks=3, random_state=0),
    tb.BayesNetClassifier(),
    tb.CalibratedClassifier(),
]
ALONE = [m for m in MODELS if not m.needs_columns]


def named(model):
    return repr(model)


def messages(n=240, seed=0, telling=0.35):
    """Return messages with their length, their sender, and their class."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, "spam", "ham")
    texts = [
        " ".join(rng.choice(WORDS[label] if rng.random() < telling else COMMON) for _ in range(rng.integers(4, 12)))
        + f" number {i}"
        for i, label in enumerate(y)
    ]
    sender = np.where((y == "spam") ^ (rng.random(n) < 0.25), "unknown", "contact")
    frame = {"sender": sender, "message": np.array(texts, object), "length": [float(len(t)) for t in texts]}
    return pd.DataFrame(frame), y


def both(model, X):
    """Return log P(x, c) of the columns alone, and what the texts add."""
    rows = model._rows(X)
    scores = sum(each.scores(rows) for each in model.model_.texts)
    return model.model_.inner.log_joint_rows(rows), scores


class TestWhatTextsAdd:
    @pytest.mark.parametrize("model", MODELS[:-1], ids=named)
    def test_scores_are_added_with_their_weight(self, model):
        X, y = messages()
        model = tb.classifiers._estimator.unfitted_copy(model).fit(X[:180], y[:180])
        assert model.text_columns_ == ("message",)
        assert model.feature_names_in_.tolist() == list(X)
        assert model.n_features_in_ == 3
        columns, scores = both(model, X[180:])
        expected = columns + scores
        expected -= logsumexp(expected, axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_log_proba(X[180:]), expected, rtol=1e-9, atol=1e-12)

    def test_scores_are_those_of_naive_bayes_of_the_words(self):
        X, y = messages()
        model = tb.NaiveBayesClassifier().fit(X, y)
        (text,) = model.model_.texts
        alone = tb.TextClassifier(counts="log", length="unit", idf=True, smoothing=0.1, class_prior="uniform")
        alone.fit(X["message"], y)
        np.testing.assert_allclose(
            text.scores(model._rows(X)), text.weight * alone.predict_joint_log_proba(X["message"]), rtol=1e-12
        )

    @pytest.mark.parametrize("model", MODELS, ids=named)
    def test_texts_help(self, model):
        X, y = messages(400)
        with_words = tb.classifiers._estimator.unfitted_copy(model).fit(X[:300], y[:300])
        without = tb.classifiers._estimator.unfitted_copy(model).fit(X[:300].drop(columns="message"), y[:300])
        truth = np.arange(100), (y[300:] == "spam").astype(int)
        losses = [-m.predict_log_proba(X[300:])[truth].mean() for m in (with_words, without)]
        assert losses[0] < 0.6 * losses[1]

    @pytest.mark.parametrize("model", ALONE, ids=named)
    def test_texts_alone(self, model):
        X, y = messages(300)
        X = X[["message"]]
        model = tb.classifiers._estimator.unfitted_copy(model).fit(X[:200], y[:200])
        assert model.score(X[200:], y[200:]) > 0.85

    def test_what_must_have_columns_says_so(self):
        X, y = messages(60)
        with pytest.raises(DataError, match="TANClassifier must have a column beside those of free text; got 'message"):
            tb.TANClassifier().fit(X[["message"]], y)
        assert tb.classify(X[["message"]], y, ["nb", "tan"]).name == "nb"

    def test_words_that_tell_nothing_do_no_harm(self):
        X, y = messages(600, telling=0.0)
        truth = np.arange(200), (y[400:] == "spam").astype(int)
        losses = [
            -tb.NaiveBayesClassifier(text=text).fit(X[:400], y[:400]).predict_log_proba(X[400:])[truth].mean()
            for text in (["message"], ["message", "sender"])
        ]
        without = tb.NaiveBayesClassifier().fit(X[:400].drop(columns="message"), y[:400])
        least = -without.predict_log_proba(X[400:])[truth].mean()
        assert losses[0] < least + 0.02
        assert losses[1] < least + 0.02

    def test_the_weight_is_that_of_an_oracle(self):
        """Learned again by hand in every fold, of the weights that are tried the one of the least loss and prior."""
        X, y = messages(300, seed=5)
        X["note"] = [f"{t} {s} second column {i}" for i, (t, s) in enumerate(zip(y[::-1], X["sender"], strict=True))]
        model = tb.NaiveBayesClassifier(numeric="gaussian").fit(X, y)
        rows = texts_apart(tb.NaiveBayesClassifier().fit(X, y), tb.as_table(X))
        target = tb.Variable("class", ["ham", "spam"])
        examples = Examples(rows, (y == "spam").astype(int), target)
        base, scores, classes = [], {"message": [], "note": []}, []
        for train, held in splits(examples, 4):
            labels = np.array(["ham", "spam"])[train.classes]
            frame, new = ({n: part.rows.column(n) for n in ("sender", "length")} for part in (train, held))
            inner = tb.NaiveBayesClassifier(numeric="gaussian").fit(frame, labels)
            base.append(inner.predict_joint_log_proba(new))
            classes.append(held.classes)
            for name, found in scores.items():
                alone = tb.TextClassifier(counts="log", length="unit", idf=True, smoothing=0.1, class_prior="uniform")
                learn, judge = ([p.rows.documents[name].text(i) for i in range(p.n_rows)] for p in (train, held))
                found.append(alone.fit(learn, labels).predict_joint_log_proba(judge))
        base, classes = np.concatenate(base), np.concatenate(classes)
        scores = {name: np.concatenate(found) for name, found in scores.items()}
        tried = np.geomspace(0.01, 32.0, 49)
        weights = dict.fromkeys(scores, 0.3)
        for _ in range(3):
            for name, rest in (("message", "note"), ("note", "message")):
                joint = base + weights[rest] * scores[rest]
                losses = []
                for w in tried:
                    logs = joint + w * scores[name]
                    lost = logsumexp(logs, axis=1) - logs[np.arange(len(classes)), classes]
                    losses.append(lost.sum() + 0.5 * (np.log(w / 0.3) / 0.5) ** 2)
                weights[name] = float(tried[np.argmin(losses)])
        assert {each.name: each.weight for each in model.model_.texts} == pytest.approx(weights)

    def test_copies_of_a_text_are_in_one_fold(self):
        rng = np.random.default_rng(0)
        words = np.array([f"w{i}" for i in range(400)])
        texts = [" ".join(rng.choice(words, 8)) for _ in range(200)] * 4
        y = np.tile(rng.choice(["ham", "spam"], 200), 4)
        X = {"message": texts, "x": rng.normal(size=800).tolist()}
        assert tb.NaiveBayesClassifier().fit(X, y).model_.texts[0].weight < 0.15
        rows = texts_apart(tb.NaiveBayesClassifier().fit(X, y), tb.as_table(X))
        examples = Examples(rows, (y == "spam").astype(int), tb.Variable("class", ["ham", "spam"]))
        held = []
        for train, test in splits(examples, 4):
            both = [{part.rows.documents["message"].text(i) for i in range(part.n_rows)} for part in (train, test)]
            assert not both[0] & both[1]
            held.append(test.n_rows)
        assert sum(held) == 800
        assert max(held) < 250

    def test_texts_that_a_column_repeats_weigh_less(self):
        X, y = messages(500, seed=2)
        alone = tb.NaiveBayesClassifier().fit(X, y).model_.texts[0].weight
        told = np.array([sum(w in WORDS["spam"] for w in t.split()) for t in X["message"]], float)
        beside = tb.NaiveBayesClassifier().fit(X.assign(told=told), y).model_.texts[0].weight
        assert beside < alone

    def test_weights_are_replication(self):
        X, y = messages(120)
        weights = np.where(np.arange(120) < 40, 3.0, 1.0)
        twice = np.repeat(np.arange(120), weights.astype(int))
        a = tb.NaiveBayesClassifier().fit(X, y, sample_weight=weights)
        b = tb.NaiveBayesClassifier().fit(X.iloc[twice], y[twice])
        assert a.model_.texts[0].weight == b.model_.texts[0].weight
        np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-9)

    def test_rows_that_columns_make_impossible_keep_their_words(self):
        X, y = messages()
        X["a"], X["b"] = np.where(y == "spam", "u", "v"), np.where(y == "spam", "u", "v")
        model = tb.NaiveBayesClassifier(smoothing=0).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tb.TunbridgeWarning)
            p = model.predict_proba({"a": "u", "b": "v", "message": "win win prize cash"})
        assert p[0, 1] > 0.9

    def test_the_weight_is_the_best_of_held_out_rows(self):
        """A weight found elsewhere on new rows is not far better."""
        X, y = messages(600, seed=3)
        model = tb.NaiveBayesClassifier().fit(X[:300], y[:300])
        columns, scores = both(model, X[300:])
        truth = np.arange(300), (y[300:] == "spam").astype(int)

        def loss(factor):
            joint = columns + factor * scores
            return -(joint - logsumexp(joint, axis=1, keepdims=True))[truth].mean()

        assert loss(1.0) < min(loss(f) for f in np.geomspace(0.1, 10, 21)) + 0.03
        assert loss(1.0) < min(loss(0.1), loss(10.0)) - 0.02

    def test_missing_texts_add_the_same_to_every_class(self):
        X, y = messages()
        model = tb.NaiveBayesClassifier().fit(X, y)
        empty = X[:5].assign(message=None)
        columns, _ = both(model, empty)
        columns -= logsumexp(columns, axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_log_proba(empty), columns, rtol=1e-9)


class TestInvariance:
    def test_frames_of_any_kind(self):
        X, y = messages()
        model = tb.NaiveBayesClassifier().fit(X[:180], y[:180])
        expected = model.predict_proba(X[180:])
        arrow = pa.Table.from_pandas(X[180:].reset_index(drop=True))
        others = [arrow, arrow.to_reader(), tb.as_table(arrow), {n: X[n][180:].tolist() for n in X}]
        for other in others:
            np.testing.assert_array_equal(model.predict_proba(other), expected)
        for train in (tb.as_table(X[:180]), {n: X[n][:180].tolist() for n in X}):
            again = tb.NaiveBayesClassifier().fit(train, y[:180])
            np.testing.assert_array_equal(again.predict_proba(X[180:]), expected)
        for one in (X.iloc[200].to_dict(), X.iloc[200]):
            np.testing.assert_array_equal(model.predict_proba(one), expected[20:21])
            assert model.explain(one).texts
        for empty in (np.nan, None):
            np.testing.assert_array_equal(
                model.predict_proba(X[:3].assign(message=empty)), model.predict_proba(X[:3].assign(message=""))
            )
        assert model.predict_proba(X[:3].assign(message=1)).shape == (3, 2)

    def test_the_order_of_rows_and_columns_does_not_matter(self):
        X, y = messages()
        order = np.random.default_rng(1).permutation(len(y))
        a = tb.NaiveBayesClassifier().fit(X, y).predict_proba(X)
        b = tb.NaiveBayesClassifier().fit(X.iloc[order][["length", "message", "sender"]], y[order])
        np.testing.assert_allclose(b.predict_proba(X[["length", "message", "sender"]]), a, rtol=1e-9, atol=1e-12)

    def test_batches_are_merged(self):
        X, y = messages()
        model = tb.NaiveBayesClassifier(numeric="gaussian").partial_fit(X[:160], y[:160]).partial_fit(X[160:], y[160:])
        (text,) = model.model_.texts
        alone = tb.TextClassifier(counts="log", length="unit", idf=True, smoothing=0.1, class_prior="uniform")
        alone.fit(X["message"], y)
        np.testing.assert_allclose(
            text.scores(model._rows(X)), text.weight * alone.predict_joint_log_proba(X["message"]), rtol=1e-9
        )

    def test_kinds_stay_those_of_the_first_batch(self):
        X, y = messages(100)
        model = tb.NaiveBayesClassifier(numeric="gaussian", categorical=["message"]).partial_fit(X[:8], y[:8])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tb.TunbridgeWarning)
            model.partial_fit(X[8:], y[8:])
        assert model.text_columns_ == ()
        short = tb.NaiveBayesClassifier(numeric="gaussian").partial_fit(X[:8], y[:8])
        assert short.text_columns_ == ()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tb.TunbridgeWarning)
            short.partial_fit(X[8:], y[8:])
        assert len(short.variables_) == 3

    def test_streams_are_read_once(self):
        X, y = messages(200)
        model = tb.NaiveBayesClassifier(numeric="gaussian").partial_fit(X[:160], y[:160])
        model.partial_fit(pa.Table.from_pandas(X[160:]).to_reader(), y[160:])
        assert model.class_count_.sum() == 200

    def test_averages_of_models(self):
        X, y = messages(200)
        members = {"a": tb.NaiveBayesClassifier(), "b": tb.TANClassifier()}
        model = tb.BayesOptimalClassifier(members).fit(X[:150], y[:150])
        assert model.score(X[150:], y[150:]) > 0.85
        assert model.estimators_["a"].predict_proba(X[150:]).shape == (50, 2)
        with pytest.raises(DataError, match="must take the same columns as text; 'a' has text='auto', 'b' has None"):
            tb.BayesOptimalClassifier({**members, "b": tb.TANClassifier(text=None)}).fit(X, y)
        fitted = [(n, m.fit(X, y)) for n, m in members.items()]
        with pytest.raises(DataError, match="prefit must have no free text; 'a' learned from 'message'"):
            tb.BayesOptimalClassifier(fitted, prefit=True).fit(X, y)
        assert tb.classify(X[["message"]], y, ["nb", "bayes-optimal"]).name == "nb"

    def test_a_later_batch_may_have_a_new_class(self, tmp_path):
        X, y = messages()
        model = tb.NaiveBayesClassifier().partial_fit(X[:160], y[:160])
        later = np.where(np.arange(80) < 8, "news", y[160:])
        model.partial_fit(X[160:], later)
        assert model.classes_.tolist() == ["ham", "news", "spam"]
        model.save(tmp_path / "m.tb")
        np.testing.assert_array_equal(tb.load(tmp_path / "m.tb").predict_proba(X), model.predict_proba(X))

    @pytest.mark.parametrize("model", MODELS, ids=named)
    def test_a_file_predicts_and_explains_alike(self, model, tmp_path):
        X, y = messages(120)
        model = tb.classifiers._estimator.unfitted_copy(model).fit(X, y)
        model.save(tmp_path / "m.tb")
        again = tb.load(tmp_path / "m.tb")
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.feature_names_in_.tolist() == list(X)
        assert str(again.explain(X[:1])[0]) == str(model.explain(X[:1])[0])
        assert again.describe() == model.describe()

    def test_threads_do_not_matter(self):
        X, y = messages(2000)
        one, two = (tb.NaiveBayesClassifier(n_jobs=n).fit(X, y).predict_proba(X) for n in (1, 2))
        np.testing.assert_array_equal(one, two)

    def test_rows_without_a_class_count(self):
        X, y = messages(400)
        labels = y.astype(object)
        labels[60:] = None
        model = tb.SemiSupervisedClassifier(max_iter=5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tb.TunbridgeWarning)
            model.fit(X, labels)
        assert model.text_columns_ == ("message",)
        assert np.mean(model.predict(X) == y) > 0.85


class TestWhichColumns:
    def test_columns_of_few_different_texts_are_categories(self):
        X, y = messages()
        X["message"] = np.where(y == "spam", "win a free prize", "meet me at noon")
        assert tb.NaiveBayesClassifier().fit(X, y).text_columns_ == ()

    def test_what_is_asked_for(self):
        X, y = messages()
        for settings in ({"text": None}, {"categorical": ["message"]}):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", tb.TunbridgeWarning)
                model = tb.NaiveBayesClassifier(**settings).fit(X, y)
            assert model.text_columns_ == ()
            assert len(model.variables_) == 3
        assert tb.NaiveBayesClassifier(text=["sender"]).fit(X, y).text_columns_ == ("sender",)

    def test_comments_that_are_mostly_empty(self):
        X, y = messages(1000)
        X.loc[np.arange(1000) % 7 > 0, "message"] = None
        assert tb.NaiveBayesClassifier().fit(X, y).text_columns_ == ("message",)

    def test_what_has_no_names(self):
        X, y = messages(60)
        with pytest.raises(DataError, match="text must name columns of the data; these have no names"):
            tb.NaiveBayesClassifier(text=["x1"]).fit(X.to_numpy(object), y)

    def test_a_classifier_for_a_column(self):
        X, y = messages()
        for kind in ("nb-svm", "bernoulli"):
            model = tb.NaiveBayesClassifier(text={"message": tb.TextClassifier(kind)}).fit(X[:180], y[:180])
            assert model.score(X[180:], y[180:]) > 0.85

    @pytest.mark.parametrize(
        ("asked", "told"),
        [
            ("message", "got 'message'. For one column give a list: text=\\['message'\\]"),
            (["mesage"], "text must name columns of the data; got 'mesage'. Did you mean 'message'"),
            (["length"], "text must name columns of texts; column 'length' holds none"),
            ({"message": "nb-svm"}, "the classifier of the text 'message' must be a TextClassifier; got 'nb-svm'"),
            (3, "text must be 'auto', None, a list of columns, or a mapping"),
            ({"message": tb.TextClassifier("nb")}, "model must be"),
        ],
    )
    def test_wrong_settings(self, asked, told):
        X, y = messages(60)
        with pytest.raises(DataError, match=told):
            tb.NaiveBayesClassifier(text=asked).fit(X, y)


class TestExplanations:
    @pytest.mark.parametrize("model", MODELS, ids=named)
    def test_words_and_columns_add_up(self, model):
        X, y = messages(150)
        model = tb.classifiers._estimator.unfitted_copy(model).fit(X, y)
        for row, told in zip(model.predict_proba(X[:8]), model.explain(X[:8]), strict=True):
            p = dict(zip(model.classes_.tolist(), row.tolist(), strict=True))
            assert told.log_odds == pytest.approx(np.log(p[told.label] / p[told.against]), abs=1e-6)
            assert {"sender", "length", "message"} <= {e.feature for e in told.evidence} | set(told.texts)

    def test_one_list(self):
        X, y = messages()
        told = tb.NaiveBayesClassifier().fit(X, y).explain({"message": "win win lunch", "sender": "contact"})
        values = {(e.feature, e.value): e.weight for e in told.evidence}
        assert {("message", "win × 2"), ("message", "lunch"), ("sender", "contact")} <= set(values)
        assert list(map(abs, values.values())) == sorted(map(abs, values.values()), reverse=True)
        assert "message  win × 2" in str(told)
        assert "[win" in str(told)
        assert "<mark" in told._repr_html_()
        spans = told.to_dict()["texts"]["message"]["spans"]
        words = sum(w for (name, _), w in values.items() if name == "message")
        assert sum(s["weight"] for s in spans) == pytest.approx(words)

    def test_the_rest_of_many_words_is_one_line(self):
        X, y = messages()
        model = tb.NaiveBayesClassifier().fit(X, y)
        told = model.explain({"message": " ".join(WORDS["spam"] + WORDS["ham"])})
        shown = [row for row in told.rows() if row[0] == "message"]
        assert len(shown) == 13
        assert shown[-1][1] == "… 8 other words"
        assert sum(w for _, _, w in told.rows()[:-1]) == pytest.approx(told.log_odds)

    def test_importance_and_what_if(self):
        X, y = messages(400)
        model = tb.NaiveBayesClassifier().fit(X, y)
        for method in ("information", "weight"):
            told = model.importance(method)
            assert next(iter(told)) == "message"
            assert told["message"] > told["sender"] > 0
        assert 0.2 < model.importance()["message"] < 0.69
        case = {"message": "lunch lunch lunch at noon", "sender": "unknown"}
        found = model.what_if(case)
        (to_contact,) = [c for c in found.changes if c.feature == "sender" and c.new_value == "contact"]
        p = model.predict_proba({**case, "sender": "contact"})[0]
        assert to_contact.probability == pytest.approx(p[model.classes_.tolist().index(to_contact.label)])

    def test_a_nomogram_says_what_it_leaves_out(self):
        X, y = messages()
        tb.plots.draw_off_screen()
        axes = tb.plots.nomogram(tb.NaiveBayesClassifier().fit(X, y))
        assert axes.get_title(loc="left") == "spam rather than ham, without the words of 'message'"

    def test_describe(self):
        X, y = messages()
        told = tb.NaiveBayesClassifier().fit(X, y).describe()
        assert "features   3: 'sender', 'message', 'length'" in told
        assert "message  text                   " in told
        assert "different words, weight" in told


def test_damaged_texts_in_a_file_are_refused():
    X, y = messages(60)
    content = tb.NaiveBayesClassifier().fit(X, y).to_content()
    (text,) = content["statistics"]["texts"]
    for wrong in ({"weight": -1.0}, {"weight": float("inf")}, {"column": "sender"}, {"position": 7}, {"position": -1}):
        content["statistics"]["texts"] = [text | wrong]
        with pytest.raises(ValueError, match="texts"):
            tb.NaiveBayesClassifier.from_content(content)
