"""Models as the options name them, ``--model tan`` or ``--models nb,tan,kdb2``, and the settings they get.

Of tables they are those of :mod:`tunbridge.evaluation.families`; of texts and sequences the kinds of a
:class:`~tunbridge.TextClassifier` or :class:`~tunbridge.SequenceClassifier`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import tunbridge as tb
from tunbridge._core.check import did_you_mean, listed
from tunbridge.cli.options import From
from tunbridge.cli.output import UsageError, in_options, note, reporting, say, say_table
from tunbridge.cli.rows import SEQUENCE, TEXT
from tunbridge.cli.training import Training, evaluation
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.evaluation import ClassifierChoice, Comparison
    from tunbridge.evaluation.candidates import Candidate
    from tunbridge.evaluation.families import Family

AUTO = "auto"
USUAL = {"": "nb", TEXT: "multinomial", SEQUENCE: "markov"}
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
_OPTIONS = {"numeric": "--numeric", "smoothing": "--smoothing", "class_prior": "--prior"}
_SHOWN = 4
_CHARACTER_NGRAMS = (1, 4)

_MODEL = "Model"
Settings = Annotated[
    dict[str, Any],
    From("classifiers", "NaiveBayesClassifier", "numeric smoothing class_prior=prior:uniform|CLASS=P", panel=_MODEL),
]
Calibration = Annotated[
    dict[str, Any], From("classifiers", "CalibratedClassifier", "method=calibrate", "", _MODEL, False)
]
_WORDS = "ngrams tokens stop_words=stop-words:N|A,B|FILE min_documents"
_RARE_WORDS = "lower_case=lower-case/keep-case shortest n_buckets=buckets min_count counts length idf"
_LETTERS, _RARE_LETTERS = "order max_order ends alphabet ignore_case", "gaps"
_BOTH = " smoothing class_prior=prior:uniform|CLASS=P"
Words = Annotated[dict[str, Any], From("text", "TextClassifier", _WORDS + _BOTH, _RARE_WORDS, _MODEL)]
Letters = Annotated[dict[str, Any], From("sequences", "SequenceClassifier", _LETTERS + _BOTH, _RARE_LETTERS, _MODEL)]
RareWords = Annotated[dict[str, Any], From("text", "TextClassifier", "", f"{_WORDS} {_RARE_WORDS}", "Texts")]
RareLetters = Annotated[
    dict[str, Any], From("sequences", "SequenceClassifier", "", f"{_LETTERS} {_RARE_LETTERS}", "Sequences")
]


# Names


def model_names(option: str, texts: Sequence[str], kind: str = "") -> tuple[str, ...]:
    """Return the models that an option names, which may be repeated; raise for unknown names.

    Examples
    --------
    >>> model_names("--models", ["nb, TAN", "kdb2"]), model_names("--model", [], "text")
    (('nb', 'tan', 'kdb2'), ('multinomial',))
    """
    text = ",".join(texts or [USUAL[kind]])
    known, automatic, find = _known(kind)
    usual, names = usual_ones(texts, kind), list[str]()
    for word in text.replace(",", " ").split():
        if word.lower() == AUTO:
            names += [n for n in automatic if n not in names]
            continue
        found = find(word)
        if found is None:
            near = did_you_mean(word.lower(), [*known, AUTO])
            hint = near if near.startswith("Did") else f"Known: {', '.join([*known, AUTO])}."
            raise UsageError(f"{option} must name models; got {word!r}. {hint}")
        names += [] if found in names and (found in usual or kind) else [found]
    if not names:
        raise UsageError(f"{option} must name a model, such as {USUAL[kind]}; got {text!r}.")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"{option} must name each model once; got {twice[0]!r} twice.")
    return tuple(names)


def usual_ones(texts: Sequence[str], kind: str = "") -> frozenset[str]:
    """Return the models that ``auto`` stands for, if it was given: they were not named one by one.

    Examples
    --------
    >>> sorted(usual_ones(["nb,tan"])), "tan" in usual_ones(["forest,AUTO"])
    ([], True)
    """
    given = ",".join(texts).lower().replace(",", " ").split()
    return frozenset(_known(kind)[1]) if AUTO in given else frozenset()


def _known(kind: str) -> tuple[tuple[str, ...], tuple[str, ...], Callable[[str], str | None]]:
    """Return the names of all models of a kind, those that ``auto`` stands for, and how one is found by its name."""
    if not kind:

        def find_table_model(word: str) -> str | None:
            try:
                return evaluation.families.find_family(word).name
            except DataError:
                return None

        return evaluation.families.classifier_names(), evaluation.families.DEFAULT_MODELS, find_table_model
    from tunbridge.sequences.classifier import MODELS as SEQUENCE_MODELS
    from tunbridge.text.text_classifier import MODELS as TEXT_MODELS

    known = TEXT_MODELS if kind == TEXT else SEQUENCE_MODELS

    def find(word: str) -> str | None:
        plain = word.lower().replace("_", "-")
        plain = plain if plain in known else _ALSO.get(plain, plain)
        return plain if plain in known else None

    return known, known, find


# Models of tables


def check_settings(names: Sequence[str], settings: Mapping[str, Any], usual: frozenset[str]) -> list[str]:
    """Raise for options that one of the models does not have, before anything is read.

    Models that stand for ``auto`` are learned without the options they do not have; return remarks about it.
    """
    for name in names:
        family = evaluation.families.find_family(name)
        try:
            if family.is_ours:
                family.make().set_params(**_fitting(name, settings, lenient=name in usual)).check_parameters()
        except DataError as error:
            raise UsageError(f"{error} These are the values for {name}.") from None
    deaf = {p: [n for n in names if p not in _fitting(n, settings, lenient=True)] for p in settings}
    return [f"{_OPTIONS[p]} is ignored by {', '.join(some)}" for p, some in deaf.items() if some]


def candidates(
    names: Sequence[str],
    training: Training,
    settings: Mapping[str, Any],
    *,
    categorical: Iterable[str] = (),
    calibrate: str | None = None,
    seed: int = 0,
    usual: frozenset[str] = frozenset(),
) -> tuple[Candidate, ...]:
    """Return the models with the settings that the options give."""
    asked = [n for n in categorical if n in training.table.names and n != training.target]
    models = {}
    for name in names:
        model = evaluation.families.find_family(name).make()
        kinds = {"categorical": asked} if asked and "categorical" in model.get_params(deep=False) else {}
        model.set_params(**_fitting(name, settings, lenient=name in usual), **kinds)
        if calibrate is not None and not evaluation.families.find_family(name).is_ours:
            raise UsageError(f"--calibrate must come with classifiers of Tunbridge; {name!r} is scikit-learn's.")
        models[name] = model if calibrate is None else tb.CalibratedClassifier(model, method=calibrate)
    return evaluation.candidates.as_candidates(models, random_state=seed)


def _fitting(name: str, settings: Mapping[str, Any], *, lenient: bool = False) -> dict[str, Any]:
    """Return the settings that a model has; raise for one that it does not have, or leave it out."""
    family = evaluation.families.find_family(name)
    known = family.make().get_params(deep=False)
    if lenient:
        return {p: value for p, value in settings.items() if p in known and _takes(family, p, value)}
    for parameter in settings:
        if parameter in family.settings:
            raise UsageError(f"{_OPTIONS[parameter]} must be left out with {name}, which sets it.")
        if parameter not in known:
            able = [
                n for n in evaluation.families.classifier_names() if _has(evaluation.families.find_family(n), parameter)
            ]
            such = f"such as {listed(able, most=_SHOWN)}"
            raise UsageError(f"{_OPTIONS[parameter]} must come with models that have it, {such}; {name!r} does not.")
    return dict(settings)


def _has(family: Family, parameter: str) -> bool:
    return parameter in family.make().get_params(deep=False) and parameter not in family.settings


def _takes(family: Family, parameter: str, value: Any) -> bool:
    """Return whether a model takes a value for a parameter that its name does not set."""
    try:
        family.make().set_params(**{parameter: value}).check_parameters()
    except DataError:
        return False
    return parameter not in family.settings


# Models of texts and sequences


def text_candidates(
    names: Sequence[str], kind: str, settings: Mapping[str, Any], *, calibrate: str | None = None, seed: int = 0
) -> tuple[Candidate, ...]:
    """Return models of texts or sequences with the settings that the options give."""
    models = {name: text_model(name, kind, settings) for name in names}
    if calibrate is not None:
        models = {name: tb.CalibratedClassifier(model, method=calibrate) for name, model in models.items()}
    return evaluation.candidates.as_candidates(models, random_state=seed)


def text_model(name: str, kind: str, settings: Mapping[str, Any]) -> Any:
    """Return one model of texts or sequences; raise for settings that it does not take."""
    given = dict(settings)
    if given.get("tokens") == "characters":
        given.setdefault("ngrams", _CHARACTER_NGRAMS)
    maker: Any = tb.TextClassifier if kind == TEXT else tb.SequenceClassifier
    model = maker(name, **given)
    try:
        model.check_parameters()
    except DataError as error:
        raise UsageError(in_options(str(error))) from None
    return model


# Comparisons


def choose_best(models: tuple[Candidate, ...], training: Training, folds: int, seed: int) -> ClassifierChoice:
    """Return the best of some models by cross-validation, learned from all rows."""
    with reporting("comparing", shares=True) as report:
        return evaluation.cross_validation.choose(training.labelled(), models, folds, seed=seed, progress=report)


def show_choice(choice: ClassifierChoice, remarks: list[str]) -> None:
    """Print the table of the models that were compared, and which was chosen."""
    for line in [*(f"Note: {text}." for text in remarks), *choice.comparison.remarks()]:
        note(line)
    say()
    say(choice.comparison.title())
    show_comparison(choice.comparison)
    say(f"Chosen: {choice.reason}")


def show_comparison(found: Comparison) -> None:
    """Print the table of several models, and which is the best."""
    say_table(*found.rows())
    if found.verdict():
        say(found.verdict())
