"""Models as the options name them: ``--model tan``, ``--models nb,tan,kdb2``, and the settings they are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tunbridge._check import did_you_mean, listed
from tunbridge.cli.failures import UsageError
from tunbridge.cli.options import Learning

if TYPE_CHECKING:
    from tunbridge.cli.training import Training
    from tunbridge.evaluation.candidates import Candidate
    from tunbridge.evaluation.families import Family

AUTO, USUAL = "auto", "nb"
_OPTIONS = {"numeric": "numeric", "smoothing": "smoothing", "class_prior": "prior"}
_SHOWN = 4


def model_names(option: str, texts: list[str] | None) -> tuple[str, ...]:
    """Return the models that an option names, which may be repeated; raise for names that are none.

    Examples
    --------
    >>> model_names("--models", ["nb, TAN", "kdb2"])
    ('nb', 'tan', 'kdb2')
    """
    from tunbridge.errors import DataError
    from tunbridge.evaluation.families import DEFAULT_MODELS, classifier_names, find_family

    text = ",".join(texts or [USUAL])
    given, usual = text.replace(",", " ").split(), usual_ones(texts)
    names: list[str] = []
    for name in given:
        if name.lower() == AUTO:
            names += [n for n in DEFAULT_MODELS if n not in names]
            continue
        try:
            found = find_family(name).name
        except DataError:
            raise _unknown(option, name, [*classifier_names(), AUTO]) from None
        names += [] if found in names and found in usual else [found]
    if not names:
        raise UsageError(f"{option} must name a model, such as {USUAL}; got {text!r}.")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"{option} must name each model once; got {twice[0]!r} twice.")
    return tuple(names)


def needs_chance(name: str) -> bool:
    """Return whether what a model learns depends on a seed."""
    from tunbridge.evaluation.families import make_classifier

    return "random_state" in make_classifier(name).get_params()


def usual_ones(texts: list[str] | None) -> frozenset[str]:
    """Return the models that ``auto`` stands for, where it was asked for: nobody has named them one by one.

    Examples
    --------
    >>> sorted(usual_ones(["nb,tan"])), "tan" in usual_ones(["forest,AUTO"])
    ([], True)
    """
    from tunbridge.evaluation.families import DEFAULT_MODELS

    asked = ",".join(texts or []).lower().replace(",", " ").split()
    return frozenset(DEFAULT_MODELS) if AUTO in asked else frozenset()


def check_settings(names: Sequence[str], learning: Learning, usual: frozenset[str] = frozenset()) -> list[str]:
    """Raise for options that one of the models does not know, before anything is read.

    Models that stand for ``auto`` are learned without what they do not know; return what is to be said about it.
    """
    from tunbridge.errors import DataError
    from tunbridge.evaluation.families import find_family

    for name in names:
        settings, family = _settings(name, learning, lenient=name in usual), find_family(name)
        try:
            if family.is_ours:
                family.make().set_params(**settings)._check_parameters()
        except DataError as error:
            raise UsageError(f"--{error} That is what {name} knows.") from None
    deaf = {p: [n for n in names if p not in _settings(n, learning, lenient=True)] for p in _given(learning)}
    return [f"--{_OPTIONS[p]} does not count for {', '.join(some)}" for p, some in deaf.items() if some]


def candidates(
    names: Sequence[str],
    training: Training,
    learning: Learning,
    *,
    seed: int = 0,
    usual: frozenset[str] = frozenset(),
) -> tuple[Candidate, ...]:
    """Return the models with the settings that the options give."""
    from tunbridge.evaluation.candidates import as_candidates

    models = {name: new_classifier(name, training, learning, lenient=name in usual) for name in names}
    return as_candidates(models, random_state=seed)


def new_classifier(name: str, training: Training, learning: Learning, *, lenient: bool = False) -> Any:
    """Return a classifier with the settings that the options give."""
    from tunbridge.evaluation.families import find_family, make_classifier

    model = make_classifier(name)
    asked = [n for n in learning.categorical or () if n in training.table.names and n != training.target]
    kinds = {"categorical": asked} if asked and "categorical" in model.get_params(deep=False) else {}
    model.set_params(**_settings(name, learning, lenient=lenient), **kinds)
    if learning.calibrate is None:
        return model
    if not find_family(name).is_ours:
        raise UsageError(f"--calibrate must come with classifiers of Tunbridge; {name!r} is scikit-learn's.")
    from tunbridge.classifiers import CalibratedClassifier

    return CalibratedClassifier(model, method=learning.calibrate.value)


def _settings(name: str, learning: Learning, *, lenient: bool = False) -> dict[str, Any]:
    """Return the parameters of a model that the options give; raise for one that it does not have, or leave it out."""
    from tunbridge.evaluation.families import find_family

    family, given = find_family(name), _given(learning)
    known = family.make().get_params(deep=False)
    if lenient:
        return {p: value for p, value in given.items() if p in known and _takes(family, p, value)}
    for parameter, option in _OPTIONS.items():
        if parameter in given and parameter in family.settings:
            raise UsageError(f"--{option} must be left out with {name}, whose name says it.")
        if parameter in given and parameter not in known:
            able = f"such as {listed(_knowing(parameter), most=_SHOWN)}"
            raise UsageError(f"--{option} must come with models that know it, {able}; {name!r} does not.")
    return given


def _takes(family: Family, parameter: str, value: Any) -> bool:
    """Return whether a model takes a value for a parameter that its name does not settle."""
    from tunbridge.errors import DataError

    try:
        family.make().set_params(**{parameter: value})._check_parameters()
    except DataError:
        return False
    return parameter not in family.settings


def _given(learning: Learning) -> dict[str, Any]:
    numeric = None if learning.numeric is None else learning.numeric.value
    values = {"numeric": numeric, "smoothing": learning.smoothing, "class_prior": learning.class_prior}
    return {name: value for name, value in values.items() if value is not None}


def _knowing(parameter: str) -> list[str]:
    """Return the models that have a parameter which their names do not settle."""
    from tunbridge.evaluation.families import classifier_names, find_family

    families = [find_family(name) for name in classifier_names()]
    return [f.name for f in families if parameter in f.make().get_params(deep=False) and parameter not in f.settings]


def _unknown(option: str, name: str, known: list[str]) -> UsageError:
    near = did_you_mean(name.lower(), known)
    hint = near if near.startswith("Did") else f"Known: {', '.join(known)}."
    return UsageError(f"{option} must name models; got {name!r}. {hint}")
