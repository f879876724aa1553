from __future__ import annotations

import csv
import html as html_module
import io
import json
import re
from dataclasses import replace
from math import inf, log

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.decisions import Evidence
from tunbridge.errors import DataError
from tunbridge.text.explanation import ABSENT, INTERCEPT, TextExplanation
from tunbridge.text.marked import Segment, Span, runs, wrapped

TEXTS = [
    "Cheap pills now, cheap!",
    "cheap watches; win a watch now",
    "WIN cash now: İstanbul trip",
    "meeting at noon",
    "lunch at noon? meeting moved",
    "see you at lunch in İzmir now",
    "the match was won at noon",
    "goal! what a match",
]
CLASSES = ["spam"] * 3 + ["ham"] * 3 + ["sport"] * 2
NEW = [
    "Cheap lunch, CHEAP match at noon!",
    "İSTANBUL: win a trip now now now",
    "  zebra  ",
    "",
    "İİ won İzmir\n\n at\tnoon 😀 goal",
]
SETTINGS = [
    {},
    {"ngrams": 2},
    {"ngrams": (2, 3)},
    {"tokens": "characters", "ngrams": (1, 3)},
    {"tokens": "characters", "ngrams": 4, "lower_case": False},
    {"tokens": "words and marks"},
    {"n_buckets": 7},
    {"n_buckets": 16, "ngrams": 2},
    {"counts": "log"},
    {"counts": "binary", "ngrams": 2},
    {"idf": True, "counts": "log"},
    {"length": 1.0},
    {"model": "bernoulli"},
    {"model": "bernoulli", "ngrams": (1, 2), "min_documents": 2},
    {"model": "complement"},
    {"model": "normalised-complement", "tokens": "characters", "ngrams": 2},
    {"model": "nb-svm"},
    {"model": "nb-svm", "ngrams": 2},
    {"stop_words": ["now"], "min_count": 1},
    {"class_prior": "uniform"},
]


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def fitted(**settings) -> tb.TextClassifier:
    return tb.TextClassifier(**settings).fit(TEXTS, CLASSES)


def difference(clf, text: str, told: TextExplanation) -> float:
    found = clf.predict_log_proba([text])[0]
    states = clf.classes_.tolist()
    return float(found[states.index(told.label)] - found[states.index(told.against)])


def shares_of_places(clf, told: TextExplanation) -> dict[int, float]:
    """Return what each character of the text (in small letters) has, dealt n-gram by n-gram; the slow way."""
    tokens = clf._tokens()
    small = told.text.lower() if tokens.lower_case else told.text
    where = [i for i, c in enumerate(told.text) for _ in (c.lower() if tokens.lower_case else c)]
    units = [(a, b) for _, a, b in replace(tokens, low=1, high=1).ngrams(small)]
    weights = {e.feature: e.weight / e.value for e in told.words}
    found: dict[int, float] = {}
    for ngram, a, b in tokens.ngrams(small):
        inside = [(c, d) for c, d in units if a <= c and d <= b]
        if ngram.decode() in weights:
            for c, _ in inside:
                found[where[c]] = found.get(where[c], 0.0) + weights[ngram.decode()] / len(inside)
    return found


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("text", NEW, ids=range(len(NEW)))
def test_everything_adds_up(settings, text):
    clf = fitted(**settings)
    for label, against in ((None, None), ("ham", None), ("sport", "spam")):
        told = clf.explain(text, label=label, against=against)
        assert told.text == text
        assert told.log_odds == pytest.approx(difference(clf, text, told), rel=1e-10, abs=1e-10)
        words = sum(e.weight for e in told.words)
        assert sum(span.weight for span in told.spans) == pytest.approx(words, rel=1e-10, abs=1e-10)
        assert told.prior + words + sum(e.weight for e in told.further) == pytest.approx(told.log_odds, abs=1e-10)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("text", NEW, ids=range(len(NEW)))
def test_places_are_in_order_and_have_their_shares(settings, text):
    clf = fitted(**settings)
    told = clf.explain(text, label="spam", against="ham")
    ends = [0, *(span.end for span in told.spans)]
    assert all(end <= span.start < span.end <= len(text) for end, span in zip(ends, told.spans, strict=False))
    oracle = shares_of_places(clf, told)
    assert {span.start: span.weight for span in told.spans} == pytest.approx(oracle, rel=1e-10, abs=1e-12)


def test_weights_are_those_of_the_textbook():
    told = fitted().explain("Cheap lunch, CHEAP match at noon!", label="spam", against="ham")
    words = {label: [] for label in ("spam", "ham", "sport")}
    for text, label in zip(TEXTS, CLASSES, strict=True):
        words[label] += re.findall(r"\w\w+", text.lower())
    vocabulary = {word for each in words.values() for word in each}

    def share(word: str, label: str) -> float:
        return (words[label].count(word) + 1) / (len(words[label]) + len(vocabulary))

    assert {e.feature: e.value for e in told.words} == {"cheap": 2, "lunch": 1, "match": 1, "at": 1, "noon": 1}
    for word, times, weight in told.words:
        assert weight == pytest.approx(times * log(share(word, "spam") / share(word, "ham")), rel=1e-12)
    assert told.prior == 0.0
    assert told.unknown == ()
    assert [abs(e.weight) for e in told.words] == sorted((abs(e.weight) for e in told.words), reverse=True)


def test_of_the_bernoulli_model_the_absent_words_speak_in_one_line():
    told = fitted(model="bernoulli").explain("cheap cheap noon", label="spam", against="ham")
    found = [set(re.findall(r"\w\w+", text.lower())) for text in TEXTS]

    def present(word: str, label: str) -> float:
        own = [words for words, c in zip(found, CLASSES, strict=True) if c == label]
        return (sum(word in words for words in own) + 1) / (len(own) + 2)

    weights = {e.feature: (e.value, e.weight) for e in told.words}
    assert weights["cheap"] == (2, pytest.approx(log(present("cheap", "spam") / present("cheap", "ham")), rel=1e-12))
    absent = sorted(set.union(*found) - {"cheap", "noon"})
    said = sum(log((1 - present(word, "spam")) / (1 - present(word, "ham"))) for word in absent)
    assert told.further == (Evidence(ABSENT, len(absent), pytest.approx(said, rel=1e-10)),)
    assert told.n_words == len(told.evidence) - 1 == 2
    assert re.search(rf"words that are not there\s+{len(absent)}\s", str(told))


def test_an_intercept_is_told():
    clf = fitted()
    clf._model = replace(clf._model, weights=replace(clf._model.weights, base=np.array([0.25, 1.0, 0.0])))
    told = clf.explain("cheap lunch", label="spam", against="ham")
    assert told.further == (Evidence(INTERCEPT, 1, 0.75),)
    assert told.log_odds == pytest.approx(difference(clf, "cheap lunch", told), rel=1e-12)
    assert clf.explain("zebra").further == ()


def test_letters_that_grow_in_small_keep_their_places():
    told = fitted().explain("İİ win İstanbul, İzmir", label="spam", against="ham")
    assert [told.text[s.start : s.end] for s in told.spans] == ["win", "stanbul", "zmir"]
    told = fitted(tokens="characters").explain("xİn", label="spam", against="ham")
    assert [told.text[s.start : s.end] for s in told.spans] == ["İ", "n"]  # of two characters, i and a dot, one place
    known = {e.feature: e.weight for e in told.words}
    assert set(known) == {"i", "\u0307", "n"}
    assert told.spans[0].weight == pytest.approx(known["i"] + known["\u0307"], rel=1e-12)
    assert told.unknown == ("x",)


def test_what_is_unknown_is_named_once_and_weighs_nothing():
    told = fitted(ngrams=(2, 2)).explain("Zebra at noon, ZEBRA lunch", label="ham")
    assert told.unknown == ("zebra", "lunch")  # «lunch» is known in other pairs only
    assert [told.text[s.start : s.end] for s in told.spans] == ["at", "noon"]
    assert told.spans[0].weight == told.spans[1].weight == pytest.approx(told.words[0].weight / 2, rel=1e-12)
    assert str(told).endswith("not used: 'zebra', 'lunch'")
    assert "now" in fitted(stop_words=["now"]).explain("now").unknown


def test_words_that_share_a_bucket_are_told_apart():
    clf = fitted(n_buckets=1)
    told = clf.explain("cheap cheap lunch", label="spam", against="ham")
    assert [(e.feature, e.value) for e in told.words] == [("cheap", 2), ("lunch", 1)]
    assert told.words[0].weight == pytest.approx(2 * told.words[1].weight, rel=1e-12)


def test_one_text_or_several():
    clf = fitted()
    assert isinstance(clf.explain("cheap"), TextExplanation)
    several = clf.explain(["cheap", None, "noon"])
    assert [each.text for each in several] == ["cheap", "", "noon"]
    assert several[0] == clf.explain("cheap")
    assert clf.explain([]) == []
    assert several[0].label == clf.predict(["cheap"])[0]


def test_rows_that_are_taken_keep_their_texts():
    clf = fitted()
    batch = clf._rows(TEXTS).take(np.array([6, 0]))
    told = clf._explained(batch, None, None)
    assert [each.text for each in told] == [TEXTS[6], TEXTS[0]]
    assert told[1] == clf.explain(TEXTS[0])


def test_wrong_questions():
    with pytest.raises(DataError, match="an explanation must compare two classes; the model knows only 'a'"):
        tb.TextClassifier().fit(["cheap", "pills"], ["a", "a"]).explain("cheap")
    with pytest.raises(DataError, match="two different classes; got 'ham' against 'ham'"):
        fitted().explain("cheap", label="ham", against="ham")
    with pytest.raises(DataError, match="Did you mean 'ham'"):
        fitted().explain("cheap", label="hamm")
    with pytest.raises(DataError, match="what_if must have features in columns; a text has none"):
        fitted().what_if("cheap")


def test_texts_without_words():
    clf = fitted()
    told = clf.explain(" \n")
    assert told.evidence == told.spans == told.unknown == ()
    assert "The text is empty: the prior decides." in str(told)
    assert "The text is empty: the prior decides." in told.to_html()
    assert "The text has no known word: the prior decides." in str(clf.explain("zebra"))
    assert clf.explain("zebra").log_odds == clf.explain("zebra").prior
    assert tb.TextClassifier().fit(["", "?"], ["a", "b"]).explain("word").unknown == ("word",)


@pytest.mark.parametrize("inner", [{}, {"model": "bernoulli"}, {"model": "complement", "ngrams": 2}], ids=str)
@pytest.mark.parametrize("method", ["platt", "isotonic", "temperature"])
def test_calibration_is_a_line_behind_the_words(inner, method):
    clf = tb.CalibratedClassifier(tb.TextClassifier(**inner), method=method, folds=2).fit(TEXTS, CLASSES)
    told = clf.explain(NEW[0])
    assert isinstance(told, TextExplanation)
    assert told.further[-1][:2] == ("calibration", method)
    assert told.log_odds == pytest.approx(difference(clf, NEW[0], told), rel=1e-9, abs=1e-9)
    assert sum(s.weight for s in told.spans) == pytest.approx(sum(e.weight for e in told.words), rel=1e-10)
    assert re.search(rf"(?m)^calibration +{method} +[+-]", str(told))


def test_documents_without_a_class():
    clf = tb.SemiSupervisedClassifier(tb.TextClassifier()).fit([*TEXTS, *NEW], [*CLASSES, *[None] * len(NEW)])
    told = clf.explain(NEW[0])
    assert isinstance(told, TextExplanation)
    assert told.log_odds == pytest.approx(difference(clf, NEW[0], told), rel=1e-10)


def test_json():
    told = fitted().explain(NEW[1])
    found = json.loads(json.dumps(told.to_dict(), allow_nan=False))
    assert found["text"] == NEW[1]
    assert found["spans"][0] == told.spans[0]._asdict()
    assert found["evidence"][0] == {"feature": "now", "value": 3, "weight": told.words[0].weight}
    assert found["log_odds"] == told.log_odds
    assert found["n_words"] == len(found["evidence"]) == 4
    assert found["unknown"] == list(told.unknown) == []
    sure = replace(told, prior=inf)
    assert json.loads(json.dumps(sure.to_dict(), allow_nan=False))["log_odds"] == "Infinity"


# What is printed


def told_of(text: str, *spans: tuple[int, int, float], **more) -> TextExplanation:
    words = tuple(Evidence(text[a:b].lower(), 1, w) for a, b, w in spans)
    fields = {"label": "spam", "against": "ham", "prior": 0.5, "probabilities": {"spam": 0.75, "ham": 0.25}}
    fields |= {"evidence": words, "spans": tuple(Span(*s) for s in spans), "unknown": (), "n_words": len(words)}
    return TextExplanation(**(fields | {"text": text} | more))


def test_terminal():
    told = told_of("Win  cash,\nnot lunch", (0, 3, 2.0), (5, 9, 1.2), (11, 14, 0.1), (15, 20, -0.9))
    assert str(told).splitlines() == [
        "spam rather than ham: P(spam) = 0.75",
        "",
        "  [Win +2.0] [cash +1.2], not [lunch -0.9]",
        "",
        "word   times   weight    odds ×",
        "prior           +0.50      1.65  +++",
        "win        1    +2.00      7.39  ++++++++++++",
        "cash       1    +1.20      3.32  +++++++",
        "lunch      1    -0.90     0.407  -----",
        "not        1    +0.10      1.11  +",
        "sum             +2.90      18.2",
    ]
    assert repr(told) == str(told)


def test_of_many_words_the_heaviest_for_and_against_are_shown():
    text = " ".join(f"w{i:02d}" for i in range(40))
    told = told_of(text, *((4 * i, 4 * i + 3, (40 - i) / 10 * (1 if i < 30 else -1)) for i in range(40)))
    table = str(told).split("word", 1)[1]
    assert re.findall(r"(?m)^w\d\d", table) == [f"w{i:02d}" for i in (0, 1, 2, 3, 4, 5, 30, 31, 32, 33, 34, 35)]
    rest = sum(e.weight for i, e in enumerate(told.words) if 6 <= i < 30 or i >= 36)
    assert re.search(rf"… 28 others +\+{rest:.2f} ", table)
    assert f"{told.log_odds:+.2f}" in table.splitlines()[-1]


def test_a_long_text_is_cut_to_its_most_telling_parts(monkeypatch):
    filling = "lorem ipsum dolor sit amet " * 60
    text = f"{filling}winner {filling}claim {filling}"
    places = [(text.index(word), text.index(word) + len(word), w) for word, w in (("winner", 3.0), ("claim", -2.0))]
    for width in (40, 80, 100):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = str(told_of(text, *places)).splitlines()
        shown = " ".join(line.strip() for line in lines[2 : lines.index("", 2)])
        assert re.fullmatch(r"… ([a-z ]+) \[winner \+3\.0\] [a-z ]+ … [a-z ]+ \[claim -2\.0\] [a-z ]+ …", shown)
        assert not re.search(r"… (?!lorem|ipsum|dolor|sit|amet)", shown)  # words are whole
        assert all(len(line) < width for line in lines[2 : lines.index("", 2)])
    assert len(str(told_of(text))) < 1500
    assert len(str(told_of("x" * 10_000, (0, 10_000, 1.0)))) < 1500


def test_short_texts_are_not_cut():
    text = "lorem ipsum dolor sit amet " * 20
    told = told_of(text, (6, 11, 1.0))
    assert "…" not in str(told)
    assert str(told).count("lorem") == 20


def test_texts_cannot_steer_the_terminal():
    told = told_of("a \x1b[31mred\x07 word\u202e", (2, 10, 1.0), unknown=("\x1b[2J",))
    assert "\x1b" not in str(told)
    assert "\x07" not in str(told)
    assert "\u202e" not in str(told)
    assert "\u200d" in str(told_of("👩\u200d🚀"))
    assert "\x1b" not in told.to_rich().plain


def test_wide_characters_take_two_columns():
    lines = wrapped([Segment("東京タワー " * 10)], 25)
    assert {"".join(s.shown for s in line) for line in lines} == {"東京タワー 東京タワー"}
    long = ["".join(s.shown for s in line) for line in wrapped([Segment("京" * 100)], 40)]
    assert "".join(long) == "京" * 100
    assert all(2 * len(line) <= 40 for line in long)


def test_characters_that_touch_are_marked_together():
    text = "ab, c"
    spans = [Span(i, i + 1, w) for i, w in enumerate([1.0, -0.5, 0.25, 9.0, 2.0])]
    assert runs(text, spans) == [Span(0, 3, 0.75), Span(4, 5, 2.0)]
    many = [Span(i, i + 1, 1.0 if i < 20 else -1.0) for i in range(40)]
    assert runs("x" * 40, many) == [Span(0, 20, 20.0), Span(20, 40, -20.0)]


def test_ends_of_character_n_grams_can_be_seen():
    told = fitted(tokens="characters", ngrams=(3, 3)).explain("at noon", label="ham", against="spam")
    assert re.search(r"(?m)^(at␣|t n|␣no)  +1 ", str(told))
    assert any(e.feature == "at " for e in told.words)


def test_infinite_and_huge_weights():
    told = told_of("win", (0, 3, 900.0), prior=-inf)
    assert re.search(r"prior +-inf +0  -{12}", str(told))
    assert re.search(r"win +1 +\+900.00 +e\^900", str(told))
    assert told.log_odds == -inf
    assert "+900" in told.to_html()


def test_colours():
    rich = pytest.importorskip("rich.console")
    told = told_of("Win cash, not lunch", (0, 3, 2.0), (4, 8, 0.4), (10, 13, 0.1), (14, 19, -0.9))
    text = told.to_rich()
    assert text.plain == str(told)
    styles = {text.plain[span.start : span.end].strip(): str(span.style) for span in text.spans}
    assert styles["[Win +2.0]"] == "bold blue"
    assert styles["[lunch -0.9]"] == "bold dark_orange"
    assert styles["cash"] == "blue"  # weighs too little for brackets
    assert "not" not in styles
    assert styles["-----"] == "bold dark_orange"
    console = rich.Console(file=io.StringIO(), width=80)
    console.print(text)
    assert console.file.getvalue().rstrip("\n") == str(told)


def test_html():
    told = told_of('Win <b>"cash"</b>\n & lunch', (0, 3, 2.0), (8, 12, 1.0), (21, 26, -0.5), label="a<b", **CLASSED)
    page = told.to_html()
    assert told._repr_html_() == page
    assert '<mark style="background:rgba(30,120,255,0.55);color:inherit" title="+2.00 a&lt;b">Win</mark>' in page
    assert re.search(r'rgba\(255,130,0,0\.\d+\);color:inherit" title="-0.50 ham">lunch</mark>', page)
    assert "<b>" not in page
    text = re.search(r"pre-wrap.*?>(.*?)</div>", page, re.DOTALL)[1]
    assert html_module.unescape(re.sub("<[^>]*>", "", text)) == told.text
    assert "http" not in page
    whole = told.to_html(full_page=True)
    assert whole.startswith("<!doctype html>")
    assert "<title>a&lt;b rather than ham: P(a&lt;b) = 0.75</title>" in whole
    assert page in whole


CLASSED = {"probabilities": {"a<b": 0.75, "ham": 0.25}}


def test_words_of_a_message(shared_data):
    with open(shared_data / "text" / "sms_spam.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    texts, labels = [row["text"] for row in rows], [row["label"] for row in rows]
    clf = tb.TextClassifier().fit(texts[200:], labels[200:])
    told = clf.explain(texts[:200])
    found = clf.predict_log_proba(texts[:200])
    for each, row in zip(told, found, strict=True):
        assert each.log_odds == pytest.approx(row.max() - row.min(), rel=1e-9, abs=1e-9)
        assert sum(s.weight for s in each.spans) == pytest.approx(sum(e.weight for e in each.words), abs=1e-9)
        assert all(len(line) < 80 for line in str(each).splitlines())
    winner = next(each for each in told if each.text.startswith("WINNER"))
    assert winner.label == "spam"
    assert winner.words[0].feature == "claim"
    assert "[claim +" in str(winner)
