"""The base class of the classifiers: what scikit-learn expects of an estimator, without importing scikit-learn.

Importing scikit-learn takes longer than most commands do, and to learn from a table or to predict needs nothing of it.
So parameters, copies and the text of an estimator are made here, in scikit-learn's way. What only scikit-learn asks
for (tags, metadata routing, the page that a notebook shows) is scikit-learn's own: :func:`_as_theirs` gives it the
estimator as one of its own base class, and imports it when it is first asked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import deepcopy
from functools import cache, wraps
from inspect import signature
from itertools import islice
from pprint import pformat
from types import MethodType
from typing import TYPE_CHECKING, Any, Self

from tunbridge._core.threads import sharing

_WIDTH = 80  # of a line, as scikit-learn writes estimators
_MOST_ITEMS = 30  # of a list
_MOST_LETTERS = 700


class available_if:  # noqa: N801, a decorator
    """A method that an object has only where a condition holds: ``hasattr`` is False elsewhere.

    Parameters
    ----------
    condition : callable
        Says of the object whether it has the method.
    """

    def __init__(self, condition: Callable[[Any], bool]) -> None:
        self._condition = condition

    def __call__(self, method: Callable[..., Any]) -> Any:
        """Decorate the method."""
        self._method = method
        return wraps(method)(self)

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self._method
        if not self._condition(instance):
            raise AttributeError(f"This {owner.__name__!r} has no attribute {self._method.__name__!r}")
        return MethodType(self._method, instance)


class _Theirs:
    """An attribute that scikit-learn's own base class has."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else getattr(_as_theirs(instance), self._name)


class Estimator:
    """Base class of classifiers, whose parameters are the arguments of ``__init__``."""

    if TYPE_CHECKING:  # parameters, and what is learned, are those of the final class

        def __init__(self, *args: Any, **parameters: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            Include the parameters of estimators that are parameters, as ``<parameter>__<name>``.
        """
        found = {}
        for name in _defaults(self):
            value = found[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found.update({f"{name}__{inner}": each for inner, each in value.get_params().items()})
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of estimators that are parameters: ``<parameter>__<name>``.

        Parameters
        ----------
        **params
            The values by name.

        Returns
        -------
        self
        """
        known: dict[str, Any] = self.get_params() if params else {}
        inner: dict[str, dict[str, Any]] = {}
        for path, value in params.items():
            name, _, rest = path.partition("__")
            if name not in known:
                valid = list(_defaults(self))
                raise ValueError(f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {valid!r}.")
            if rest:
                inner.setdefault(name, {})[rest] = value
            else:
                setattr(self, name, value)
                known[name] = value
        for name, values in inner.items():
            known[name].set_params(**values)
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows whose class is predicted."""
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    def __repr__(self) -> str:
        text, half = _written(self, _WIDTH), _MOST_LETTERS // 2
        return text if len("".join(text.split())) <= _MOST_LETTERS else f"{text[:half]}...{text[-half:]}"

    def __dir__(self) -> list[str]:
        theirs = {name for name, value in vars(Estimator).items() if isinstance(value, _Theirs)}
        return [name for name in super().__dir__() if name in theirs or hasattr(self, name)]

    # What only scikit-learn asks for

    get_metadata_routing = _Theirs()
    _repr_html_ = _Theirs()
    _repr_mimebundle_ = _Theirs()
    _get_params_html = _Theirs()
    _get_fitted_attr_html = _Theirs()
    _get_doc_link = _Theirs()

    def __sklearn_tags__(self) -> Any:
        return _as_theirs(self).__sklearn_tags__()

    def set_fit_request(self, **requests: Any) -> Self:
        """Say which metadata scikit-learn's routing passes to ``fit``, such as ``sample_weight=True``."""
        _as_theirs(self).set_fit_request(**requests)
        return self

    def set_partial_fit_request(self, **requests: Any) -> Self:
        """Say which metadata scikit-learn's routing passes to ``partial_fit``."""
        _as_theirs(self).set_partial_fit_request(**requests)
        return self

    def set_score_request(self, **requests: Any) -> Self:
        """Say which metadata scikit-learn's routing passes to ``score``."""
        _as_theirs(self).set_score_request(**requests)
        return self


def unfitted_copy(value: Any) -> Any:
    """Return an estimator with copies of the parameters of another one, as scikit-learn's ``clone`` makes it.

    Examples
    --------
    >>> import tunbridge as tb
    >>> unfitted_copy(tb.NaiveBayesClassifier(smoothing=0.5).fit(tb.datasets.play_tennis(), "play"))
    NaiveBayesClassifier(smoothing=0.5)
    """
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(map(unfitted_copy, value))
    if type(value) is dict:
        return {key: unfitted_copy(each) for key, each in value.items()}
    if not hasattr(value, "get_params") or isinstance(value, type):
        return deepcopy(value)
    if not isinstance(value, Estimator):
        from sklearn.base import clone

        return clone(value)
    copy = type(value)(**unfitted_copy(value.get_params(deep=False)))
    if "_metadata_request" in vars(value):
        vars(copy)["_metadata_request"] = deepcopy(vars(value)["_metadata_request"])
    return copy


def _defaults(estimator: Any) -> dict[str, Any]:
    """Return the default of every parameter of an estimator, sorted by name."""
    kind: Any = type(estimator)
    return _defaults_of(kind)


@cache
def _defaults_of(kind: type) -> dict[str, Any]:
    found = signature(kind).parameters
    return {name: found[name].default for name in sorted(found)}


# The estimator as scikit-learn's own


def _as_theirs(estimator: Any) -> Any:
    """Return an estimator that is scikit-learn's base class first, and has the attributes of ours: not a copy."""
    kind: Any = type(estimator)
    return sharing(estimator, _their_class(kind))


@cache
def _their_class(kind: type) -> type:
    from sklearn.base import BaseEstimator, ClassifierMixin

    routed = {name: getattr(kind, name) for name in ("fit", "partial_fit", "score") if hasattr(kind, name)}
    theirs = type(kind.__name__, (ClassifierMixin, BaseEstimator), routed)  # has set_fit_request and so on, of its own
    return type(kind)(kind.__name__, (theirs, kind), {"__module__": kind.__module__})


# The text of an estimator


def _changed(estimator: Estimator) -> dict[str, Any]:
    """Return the parameters to show: those that are not the default, unless scikit-learn is set to show all."""
    given, defaults = estimator.get_params(deep=False), _defaults(estimator)
    sklearn: Any = sys.modules.get("sklearn")
    if sklearn is not None and not sklearn.get_config()["print_changed_only"]:
        return given
    return {name: value for name, value in given.items() if repr(value) != repr(defaults[name])}


def _written(value: Any, width: int) -> str:
    """Return the text of a parameter or an estimator, in several lines where it is wide."""
    if not isinstance(value, Estimator):
        return _abridged(value, width)
    name, parameters = type(value).__name__, _changed(value)
    line = f"{name}({', '.join(f'{key}={each!r}' for key, each in parameters.items())})"
    if len(line) <= width:
        return line
    indent, lines = " " * (len(name) + 1), list[str]()
    for key, each in parameters.items():
        inner = _written(each, width - len(indent) - len(key) - 2)
        text = f"{key}={inner}".replace("\n", "\n" + " " * (len(key) + 1))
        if lines and len(lines[-1]) + len(text) + 2 < width - len(indent):
            lines[-1] += f", {text}"
        else:
            lines.append(text)
    inside = ",\n".join(lines).replace("\n", f"\n{indent}")
    return f"{name}({inside})"


def _abridged(value: Any, width: int) -> str:
    """Return the text of a value, of long lists the first items."""
    kind = type(value)
    if kind not in (list, tuple, dict, set, frozenset) or len(value) <= _MOST_ITEMS:
        return pformat(value, width=width, compact=True)
    items = value.items() if kind is dict else value if kind in (list, tuple) else sorted(value, key=repr)
    text = pformat(kind(islice(items, _MOST_ITEMS)), width=width, compact=True)
    end = 2 if kind is frozenset else 1
    return f"{text[:-end]}, ...{text[-end:]}"
