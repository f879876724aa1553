"""Models of texts and sequences as the options name them, and the settings they are given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from tunbridge._check import did_you_mean
from tunbridge.cli.documents import SEQUENCE, TEXT
from tunbridge.cli.failures import UsageError
from tunbridge.cli.options import Learning
from tunbridge.cli.text_options import Texts

AUTO = "auto"
USUAL = {TEXT: "multinomial", SEQUENCE: "markov"}
ABOUT = {
    "multinomial": "naive Bayes, how often words occur",
    "bernoulli": "naive Bayes, which words occur and which do not",
    "complement": "naive Bayes by the words outside each class",
    "normalised-complement": "the same, with weights of one size in all classes",
    "nb-svm": "a linear model of the log-count ratios of naive Bayes",
    "markov": "a Markov chain of symbols for each class",
    "position": "aligned sequences, place by place",
}
_ALSO = {"nb": "multinomial", "normalized-complement": "normalised-complement", "nbsvm": "nb-svm"}
_CHARACTER_NGRAMS = (1, 4)


def text_model_names(option: str, texts: Sequence[str] | None, kind: str) -> tuple[str, ...]:
    """Return the models that an option names, which may be repeated; raise for names that are none.

    Examples
    --------
    >>> text_model_names("--model", None, "text"), text_model_names("--model", ["markov, position"], "sequence")
    (('multinomial',), ('markov', 'position'))
    """
    known, names = known_models(kind), list[str]()
    for word in ",".join(texts or [USUAL[kind]]).replace(",", " ").split():
        plain = word.lower().replace("_", "-")
        plain = plain if plain in known else _ALSO.get(plain, plain)
        if plain not in (*known, AUTO):
            near = did_you_mean(plain, [*known, AUTO])
            hint = near if near.startswith("Did") else f"With --{kind} there are {', '.join([*known, AUTO])}."
            raise UsageError(f"{option} must name models; got {word!r}. {hint}")
        names += [name for name in (known if plain == AUTO else [plain]) if name not in names]
    if not names:
        raise UsageError(f"{option} must name a model, such as {USUAL[kind]}; got {','.join(texts or [])!r}.")
    return tuple(names)


def known_models(kind: str) -> tuple[str, ...]:
    """Return the names of the models of texts or of sequences."""
    from tunbridge.sequences.classifier import MODELS as SEQUENCE_MODELS
    from tunbridge.text.recipe import MODELS as TEXT_MODELS

    return TEXT_MODELS if kind == TEXT else SEQUENCE_MODELS


def new_text_classifier(name: str, kind: str, texts: Texts, learning: Learning) -> Any:
    """Return a classifier of texts or sequences with the settings that the options give."""
    from tunbridge.errors import DataError
    from tunbridge.sequences import SequenceClassifier
    from tunbridge.text import TextClassifier

    if learning.numeric is not None:
        raise UsageError(f"--numeric must be left out with --{kind}: it is about columns of numbers.")
    settings = _text_settings(texts) if kind == TEXT else _sequence_settings(texts)
    settings |= {} if learning.smoothing is None else {"smoothing": learning.smoothing}
    maker: Any = TextClassifier if kind == TEXT else SequenceClassifier
    model = maker(name, **settings, class_prior=learning.class_prior)
    try:
        model._check_parameters()
    except DataError as error:
        raise UsageError(in_text_options(str(error))) from None
    if learning.calibrate is None:
        return model
    from tunbridge.classifiers import CalibratedClassifier

    return CalibratedClassifier(model, method=learning.calibrate.value)


def in_text_options(message: str) -> str:
    """Return a message of the library with the names of options in place of those of arguments.

    Examples
    --------
    >>> in_text_options("n_buckets must be at most 2³⁰; got 9.")
    '--buckets must be at most 2³⁰; got 9.'
    """
    names = {"n_buckets": "buckets", "lower_case": "keep-case", "ends": "no-ends"}
    found = re.match(r"([a-z_]+)(?= (must|\())", message)
    if found is None or found[1] not in (*names, "smoothing", *(f.name for f in fields(Texts))):
        return message
    return f"--{names.get(found[1], found[1]).replace('_', '-')}{message[found.end() :]}"


def _text_settings(texts: Texts) -> dict[str, Any]:
    units = _units(texts)
    given = {
        "tokens": units,
        "ngrams": _range(texts.ngrams) if texts.ngrams else _CHARACTER_NGRAMS if units == "characters" else None,
        "lower_case": False if texts.keep_case else None,
        "shortest": texts.shortest,
        "n_buckets": texts.buckets,
        "min_documents": texts.min_documents,
        "min_count": texts.min_count,
        "stop_words": None if texts.stop_words is None else _stop_words(texts.stop_words),
        "counts": None if texts.counts is None else texts.counts.value,
        "idf": texts.idf,
    }
    found = {name: value for name, value in given.items() if value is not None}
    return found if texts.length is None else found | {"length": _length(texts.length)}


def _units(texts: Texts) -> str | None:
    """Return what documents are cut into; nothing where no option says it."""
    named = None if texts.tokens is None else texts.tokens.value
    if texts.characters and named not in (None, "characters"):
        raise UsageError(f"--characters must come without --tokens {named}.")
    return "characters" if texts.characters else "words and marks" if named == "marks" else named


def _sequence_settings(texts: Texts) -> dict[str, Any]:
    given = {
        "order": None if texts.order is None else _order(texts.order),
        "max_order": texts.max_order,
        "ends": False if texts.no_ends else None,
        "alphabet": texts.alphabet,
        "gaps": texts.gaps,
        "ignore_case": texts.ignore_case or None,
    }
    return {name: value for name, value in given.items() if value is not None}


def _range(text: str) -> int | tuple[int, int]:
    found = re.fullmatch(r"\s*(\d+)\s*(?:[-:,–]\s*(\d+)\s*)?", text)
    if found is None:
        raise UsageError(f"--ngrams must be a number of words, or two as in 2-3; got {text!r}.")
    return int(found[1]) if found[2] is None else (int(found[1]), int(found[2]))


def _length(text: str) -> float | str | None:
    if text.lower() in ("unit", "none"):
        return None if text.lower() == "none" else "unit"
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--length must be a number of words, unit or none; got {text!r}.") from None


def _order(text: str) -> int | str:
    if text.lower() in ("cv", "bic"):
        return text.lower()
    if not text.isdecimal():
        raise UsageError(f"--order must be a number of letters, cv or bic; got {text!r}.")
    return int(text)


def _stop_words(text: str) -> int | list[str]:
    """Return how many of the commonest words are left out, or which words: those named, or those in a file."""
    if text.isdecimal():
        return int(text)
    path = Path(text)
    if path.is_file():
        return path.read_text("utf-8", errors="replace").split()
    if path.suffix.lower() == ".txt":
        raise UsageError(f"--stop-words must be a number, words, or a file that exists; got {text!r}.")
    return [word for word in re.split(r"[,\s]+", text) if word]
