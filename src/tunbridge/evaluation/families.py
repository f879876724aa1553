"""Models by name: what ``compare_classifiers(models=…)`` and ``tunbridge evaluate --models`` know.

A name stands for a classifier with its settings, such as ``kdb2`` for a k-dependence classifier with k = 2. The classes
are looked up when a model is made. Those of scikit-learn stand here so that ours can be measured by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from inspect import isabstract
from typing import Any

from tunbridge import classifiers
from tunbridge._check import did_you_mean
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.errors import DataError
from tunbridge.evaluation.coded import Coded

_TREES = 100


@dataclass(frozen=True)
class Family:
    """A model that has a name.

    Parameters
    ----------
    name : str
        What it is called.
    about : str
        What it is, in a few words.
    maker : str
        The class of :mod:`tunbridge.classifiers`; none for models of scikit-learn.
    settings : mapping
        The parameters by which it differs from the class.
    """

    name: str
    about: str
    maker: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_ours(self) -> bool:
        """Whether it is a classifier of ours, which can be saved and explained."""
        return bool(self.maker)

    def make(self) -> Any:
        """Return a new classifier that has learned nothing."""
        return getattr(classifiers, self.maker)(**self.settings) if self.maker else _OTHERS[self.name]()


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


_OTHERS = {"forest": _forest, "boosting": _boosting, "logistic": _logistic}

_NB, _KDB = "NaiveBayesClassifier", "KDBClassifier"

FAMILIES = (
    Family("nb", "naive Bayes", _NB),
    Family("nb-gaussian", "naive Bayes, numbers normal in each class", _NB, {"numeric": "gaussian"}),
    Family("nb-kernel", "naive Bayes, kernel densities for numbers", _NB, {"numeric": "kernel"}),
    Family("nb-discretise", "naive Bayes, numbers cut into intervals", _NB, {"numeric": "discretise"}),
    Family("snb", "selective naive Bayes", "SelectiveNaiveBayesClassifier"),
    Family("jnb", "joined naive Bayes", "JoinedNaiveBayesClassifier"),
    Family("wnb", "weighted naive Bayes", "WeightedNaiveBayesClassifier"),
    Family("tan", "tree-augmented naive Bayes", "TANClassifier"),
    Family("fan", "a forest of dependences: TAN without arcs that do not pay", "TANClassifier", {"forest": "bic"}),
    *(Family(f"kdb{k}", f"k-dependence Bayes, k = {k}", _KDB, {"k": k}) for k in range(1, 6)),
    Family("skdb", "selective k-dependence Bayes: k and the features chosen", "SelectiveKDBClassifier"),
    Family("aode", "averaged one-dependence estimators", "AODEClassifier"),
    Family("a2de", "averaged two-dependence estimators", "A2DEClassifier"),
    Family("multinet", "a Chow–Liu tree for each class", "MultinetClassifier"),
    Family("bn", "a Bayesian network around the class", "BayesNetClassifier"),
    Family("bayes-forest", "the average of many randomised Bayesian networks", "BayesForestClassifier"),
    Family("forest", f"scikit-learn's random forest of {_TREES} trees"),
    Family("boosting", "scikit-learn's histogram gradient boosting"),
    Family("logistic", "scikit-learn's logistic regression"),
)

DEFAULT_MODELS = ("nb", "wnb", "tan", "kdb2", "skdb", "aode", "a2de", "bayes-forest")
"""What is compared when nobody says, from simple to complex: each learns from 50 000 rows in seconds."""

_ALSO = {"kdb": "kdb2", "naive-bayes": "nb", "random-forest": "forest", "gradient-boosting": "boosting"}


def classifier_names() -> tuple[str, ...]:
    """Return the names of all models.

    Examples
    --------
    >>> {"nb", "tan", "kdb2", "forest"} <= set(classifier_names())
    True
    """
    return tuple(_families())


def find_family(name: str) -> Family:
    """Return the model of a name; raise with the nearest one.

    Examples
    --------
    >>> find_family("TAN").about
    'tree-augmented naive Bayes'
    >>> find_family("tann")
    Traceback (most recent call last):
    tunbridge.errors.DataError: a model must be one of those that have names; got 'tann'. Did you mean 'tan'?
    """
    plain = name.strip().lower().replace("_", "-").replace(" ", "-")
    known = _families()
    plain = _ALSO.get(plain, plain)
    if plain not in known:
        rule = "a model must be one of those that have names"
        raise DataError(f"{rule}; got {name!r}. {did_you_mean(plain, [*known, *_ALSO])}")
    return known[plain]


def make_classifier(name: str) -> Any:
    """Return a new classifier, given the name of a model.

    Examples
    --------
    >>> make_classifier("kdb3")
    KDBClassifier(k=3)
    """
    return find_family(name).make()


@cache
def _families() -> dict[str, Family]:
    """Return the models by name; classifiers of ours that nobody has named go by their kind."""
    makers = {family.maker for family in FAMILIES}
    others = [Family(cls.kind, _first_words(cls), name) for name, cls in _ours() if name not in makers]
    return {family.name: family for family in [*FAMILIES, *others]}


def _ours() -> list[tuple[str, Any]]:
    """Return the classifiers of ours that need no other one to be made."""
    public = [(name, getattr(classifiers, name)) for name in classifiers.__all__]
    kinds = [(name, cls) for name, cls in public if isinstance(cls, type) and issubclass(cls, BayesClassifier)]
    return [(name, cls) for name, cls in kinds if not isabstract(cls) and not _stands_on_others(cls)]


def _stands_on_others(cls: Any) -> bool:
    return not {"estimator", "estimators", "models", "classifier"}.isdisjoint(cls._get_param_names())


def _first_words(cls: Any) -> str:
    return str(cls.__doc__).partition("\n")[0].rstrip(".")
