"""Models as the options name them, ``--model tan`` or ``--models nb,tan,kdb2``, and the settings they get.

Of tables they are those of :mod:`tunbridge.evaluation.families`; of texts and sequences the kinds of a
:class:`~tunbridge.TextClassifier` or :class:`~tunbridge.SequenceClassifier`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import tunbridge as tb
from tunbridge._core.check import listed
from tunbridge._core.lazy import LazyModule
from tunbridge.cli.documents import SEQUENCE, TEXT
from tunbridge.cli.options import From, Seed
from tunbridge.cli.output import say, say_table
from tunbridge.cli.training import evaluation
from tunbridge.cli.usage import UsageError, as_usage, near_hint, option_names, refuse
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.classifiers.base import BayesClassifier
    from tunbridge.evaluation import Comparison
    from tunbridge.evaluation.candidates import Candidate
    from tunbridge.evaluation.families import Family

text_classifier = LazyModule("tunbridge.text.text_classifier")
sequence_classifier = LazyModule("tunbridge.sequences.classifier")

AUTO = "auto"
_LEARNED = "--model"  # the option that names what is learned into a file; --models are compared
_USUAL = {"": "nb", TEXT: "multinomial", SEQUENCE: "markov"}
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
    text = ",".join(texts or [_USUAL[kind]])
    known, automatic = _known(kind)
    usual, names = _usual_ones(texts, kind), list[str]()
    for word in text.replace(",", " ").split():
        if word.lower() == AUTO:
            names += [n for n in automatic if n not in names]
            continue
        found = _find(word, kind)
        if found is None:
            offered = [*(n for n in known if option != _LEARNED or kind or _can_be_kept(n)), AUTO]
            hint = near_hint(word.lower(), offered)
            raise UsageError(f"{option} must be one of {', '.join(offered)}; got {word!r}.{hint}")
        names += [] if found in names and (found in usual or kind) else [found]
    if not names:
        raise UsageError(f"{option} must name a model, such as {_USUAL[kind]}; got {text!r}.")
    refuse(*((names.count(n) > 1, f"{option} must name each model once; got {n!r} twice.") for n in names))
    return tuple(names)


def _can_be_kept(name: str) -> bool:
    """Return whether a model of tables can be learned into a file: those of scikit-learn are only compared with."""
    return evaluation.families.find_family(name).is_ours


def kind_of_models(texts: Sequence[str]) -> str:
    """Return what models read that were named: texts or sequences where only these have them; else an empty text.

    Examples
    --------
    >>> kind_of_models(["multinomial,complement"]), kind_of_models(["markov"]), kind_of_models(["nb,tan"])
    ('text', 'sequence', '')
    """
    words = ",".join(texts).replace(",", " ").split()
    if not words or _find(words[0], ""):
        return ""
    return next((kind for kind in (TEXT, SEQUENCE) if all(_find(word, kind) for word in words)), "")


def _usual_ones(texts: Sequence[str], kind: str = "") -> frozenset[str]:
    """Return the models that ``auto`` stands for, if it was given: they were not named one by one.

    Examples
    --------
    >>> sorted(_usual_ones(["nb,tan"])), "tan" in _usual_ones(["forest,AUTO"])
    ([], True)
    """
    given = ",".join(texts).lower().replace(",", " ").split()
    return frozenset(_known(kind)[1]) if AUTO in given else frozenset()


def _known(kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of all models of a kind, and those that ``auto`` stands for."""
    if not kind:
        return evaluation.families.classifier_names(), evaluation.choice.RACERS
    names: tuple[str, ...] = (text_classifier if kind == TEXT else sequence_classifier).MODELS
    return names, names


def _find(word: str, kind: str) -> str | None:
    """Return the name of the model that a word means; None if there is none."""
    if kind:
        plain, known = word.lower().replace("_", "-"), _known(kind)[0]
        return next((name for name in (plain, _ALSO.get(plain)) if name in known), None)
    try:
        return evaluation.families.find_family(word).name
    except DataError:
        return None


# Models with their settings


@dataclass(frozen=True, kw_only=True)
class Choosing:
    """Options.

    Parameters
    ----------
    models, --model : NAME
        The classifier: {classifier}. auto chooses the best of five by cross-validation, A,B,… the best of these.
        Default: auto, or nb if one of its options, such as --numeric, is given.
    folds : N >= 2
        The folds of that cross-validation (default: 5).
    """

    models: list[str] = ()  # type: ignore[assignment]
    folds: int | None = None
    random_state: Seed = None
    calibration: Calibration

    @property
    def seed(self) -> int:
        """The random seed."""
        return self.random_state or 0

    @property
    def calibrate(self) -> str | None:
        """How the probabilities are calibrated, if at all."""
        return self.calibration.get("method")

    def names(self, kind: str = "") -> tuple[str, ...]:
        """Return the names of the models; raise for unknown ones."""
        return model_names(option_names.get()["models"], self.asked, kind)

    @property
    def asked(self) -> list[str]:
        """The models that were named."""
        return self.models

    @property
    def seconds(self) -> float | None:
        """The time budget; None: every model runs all folds."""
        return None

    def candidates(
        self, settings: Mapping[str, object], kind: str = "", categorical: Sequence[str] = ()
    ) -> tuple[Candidate, ...]:
        """Return the models with the settings that the options give; raise for settings that one of them has not.

        Models that stand for ``auto`` get only those that they have.
        """
        models, usual = {}, _usual_ones(self.asked, kind)
        for name in self.names(kind):
            if kind:
                model = text_model(name, kind, settings)
            else:
                family = evaluation.families.find_family(name)
                rule = "--calibrate must come with classifiers of Tunbridge"
                refuse((self.calibrate and not family.is_ours, f"{rule}; {name!r} is scikit-learn's."))
                chosen = {p: v for p, v in settings.items() if name not in usual or _takes(family, p, v)}
                model = _table_model(family, chosen, categorical)
            models[name] = model if self.calibrate is None else tb.CalibratedClassifier(model, method=self.calibrate)
        return evaluation.candidates.as_candidates(models, random_state=self.seed)

    def remarks(self, settings: Mapping[str, object]) -> list[str]:
        """Return which options some of the models that stand for ``auto`` ignore."""
        ones = _usual_ones(self.asked)
        usual = [evaluation.families.find_family(name) for name in self.names() if name in ones]
        ignoring = {p: [f.name for f in usual if not _takes(f, p, value)] for p, value in settings.items()}
        return [f"{option_names.get()[p]} is ignored by {', '.join(some)}" for p, some in ignoring.items() if some]


@dataclass(frozen=True, kw_only=True)
class TableChoosing(Choosing):
    """Options."""

    settings: Settings


@dataclass(frozen=True, kw_only=True)
class Racing(TableChoosing):
    """Options.

    Parameters
    ----------
    budget : SECONDS
        The time budget of auto (default: 20): models that cannot win are left out. Of A,B,… none is left out without.
    """

    budget: float | None = None

    @property
    def asked(self) -> list[str]:
        """The models that were named; without, the best one, or naive Bayes if settings of it were given."""
        return self.models or [_USUAL[""] if self.settings else AUTO]

    @property
    def why_one(self) -> str:
        """Why models were not compared although none was named, in words; empty if they were."""
        options = [option_names.get()[parameter] for parameter in self.settings]
        one = f"{' and '.join(options)} {'is an option' if len(options) == 1 else 'are options'} of it"
        return f", because {one}" if options else ""

    def with_default(self, name: str) -> Racing:
        """Return the same with a model where none was named."""
        return replace(self, models=self.models or [name])

    @property
    def seconds(self) -> float | None:
        """The time budget; None: every model runs all folds."""
        return evaluation.choice.BUDGET if self.budget is None and _usual_ones(self.asked) else self.budget


def _table_model(family: Family, settings: Mapping[str, object], categorical: Sequence[str]) -> BayesClassifier:
    """Return a model of tables; raise for settings that it does not have or does not take."""
    model: BayesClassifier = family.make()
    for parameter in settings:
        option = option_names.get()[parameter]
        refuse((parameter in family.settings, f"{option} must be left out with {family.name}, which sets it."))
        if not _has(family, parameter):
            families = map(evaluation.families.find_family, evaluation.families.classifier_names())
            able = listed([f.name for f in families if _has(f, parameter)], most=_SHOWN)
            raise UsageError(f"{option} must come with models that have it, such as {able}; {family.name!r} does not.")
    model.set_params(**settings)
    with as_usage(f"{{}} These are the values for {family.name}."):
        if family.is_ours:
            model.check_parameters()
    return model.set_params(categorical=list(categorical)) if categorical and _has(family, "categorical") else model


def text_model(name: str, kind: str, settings: Mapping[str, object]) -> BayesClassifier:
    """Return a model of texts or sequences; raise for settings that it does not take."""
    given = dict(settings)
    if given.get("tokens") == "characters":
        given.setdefault("ngrams", _CHARACTER_NGRAMS)
    maker: type[BayesClassifier] = tb.TextClassifier if kind == TEXT else tb.SequenceClassifier
    model = maker(name, **given)
    with as_usage():
        model.check_parameters()
    return model


def _has(family: Family, parameter: str) -> bool:
    """Return whether a model has a parameter that its name does not set."""
    return parameter in family.make().get_params(deep=False) and parameter not in family.settings


def _takes(family: Family, parameter: str, value: object) -> bool:
    """Return whether a model has a parameter, and takes a value for it."""
    if not _has(family, parameter):
        return False
    try:
        family.make().set_params(**{parameter: value}).check_parameters()
    except DataError:
        return False
    return True


def say_comparison(found: Comparison) -> None:
    """Print the table of several models, and which is the best."""
    say_table(*found.rows())
    if found.verdict():
        say(found.verdict())
