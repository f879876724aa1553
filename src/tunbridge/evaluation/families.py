"""Models by name: what ``compare_classifiers(models=…)`` and ``tunbridge evaluate --models`` know.

A name stands for a classifier with some parameters set, such as ``kdb2`` for a k-dependence classifier with k = 2. Our
classifiers say their names where they are defined (:mod:`tunbridge._core.registry`). Those of scikit-learn are listed
here, to compare ours with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tunbridge._core.check import did_you_mean, listed
from tunbridge._core.registry import Entry, entries
from tunbridge.errors import DataError
from tunbridge.evaluation.labelled import Coded

_TREES = 100


@dataclass(frozen=True)
class Family:
    """A model that has a name.

    Parameters
    ----------
    name : str
        Its name.
    about : str
        What it is, in a few words.
    maker : callable
        Returns a new classifier, given the parameters that are set.
    settings : mapping
        The parameters that differ from the defaults of the class.
    is_ours : bool
        Whether it is a classifier of Tunbridge, which can be saved and explained.
    """

    name: str
    about: str
    maker: Callable[..., Any]
    settings: Mapping[str, Any] = field(default_factory=dict)
    is_ours: bool = True

    def make(self) -> Any:
        """Return a new classifier that is not fitted."""
        return self.maker(**self.settings)


def _forest() -> Coded:
    from sklearn.ensemble import RandomForestClassifier

    return Coded(RandomForestClassifier(_TREES, n_jobs=-1), class_share=1 / (_TREES + 1))


def _boosting() -> Coded:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return Coded(HistGradientBoostingClassifier(), codes="ordinal")


def _logistic() -> Coded:
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    steps = SimpleImputer(keep_empty_features=True), StandardScaler(), LogisticRegression(max_iter=1000)
    return Coded(make_pipeline(*steps))


_OTHERS = (
    Family("forest", f"scikit-learn's random forest of {_TREES} trees", _forest, is_ours=False),
    Family("boosting", "scikit-learn's histogram gradient boosting", _boosting, is_ours=False),
    Family("logistic", "scikit-learn's logistic regression", _logistic, is_ours=False),
)

_ALSO = {"kdb": "kdb2", "naive-bayes": "nb", "random-forest": "forest", "gradient-boosting": "boosting"}


def classifier_names() -> tuple[str, ...]:
    """Return the names of all models.

    Examples
    --------
    >>> {"nb", "tan", "kdb2", "forest"} <= set(classifier_names())
    True
    """
    return tuple(_families())


def default_models() -> tuple[str, ...]:
    """Return the names of the models that are compared by default, from simple to complex.

    Each learns from 50 000 rows in seconds.

    Examples
    --------
    >>> default_models()
    ('nb', 'wnb', 'tan', 'kdb2', 'skdb', 'aode', 'a2de', 'bayes-forest')
    """
    return tuple(str(entry.details["default"]) for entry in _ours() if "default" in entry.details)


def find_family(name: str) -> Family:
    """Return the model of a name; raise with the nearest one.

    Examples
    --------
    >>> find_family("TAN").about
    'tree-augmented naive Bayes'
    >>> find_family("tann")
    Traceback (most recent call last):
    tunbridge.errors.DataError: model must be one of 'nb', ...; got 'tann'. Did you mean 'tan'?
    """
    plain = name.strip().lower().replace("_", "-").replace(" ", "-")
    known = _families()
    plain = _ALSO.get(plain, plain)
    if plain not in known:
        hint = did_you_mean(plain, [*known, *_ALSO])
        near = f" {hint}" if hint.startswith("Did") else ""
        rule = f"model must be one of {listed(known, most=len(known))}"
        raise DataError(f"{rule}; got {name!r}.{near}", parameter="models")
    return known[plain]


def make_classifier(name: str) -> Any:
    """Return a new classifier, given the name of a model.

    Examples
    --------
    >>> make_classifier("kdb3")
    KDBClassifier(k=3)
    """
    return find_family(name).make()


def _ours() -> list[Entry]:
    """Return the classifiers for tables that need no other one inside, the simplest first."""
    return [entry for entry in entries("classifier").values() if entry.details.get("compared", True)]


def _families() -> dict[str, Family]:
    """Return the models by name."""
    found = [family for entry in _ours() for family in _of_entry(entry)]
    return {family.name: family for family in (*found, *_OTHERS)}


def _of_entry(entry: Entry) -> list[Family]:
    """Return a classifier under its name, and with the parameters that its variants set."""

    def maker(**settings: Any) -> Any:
        return entry.load()(**settings)

    variants = entry.details.get("variants", {})
    found = [Family(name, about, maker, settings) for name, (about, settings) in variants.items()]
    if entry.name in _ALSO:  # another name for one of its variants
        return found
    return [Family(entry.name, entry.details.get("help", entry.summary), maker), *found]


DEFAULT_MODELS = default_models()
