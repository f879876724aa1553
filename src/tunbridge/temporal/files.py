"""Hidden Markov models as content of files: parameters, distributions, emissions as a family with its fields.

What a file holds is not trusted. A table says of each part its type, and its shape where it is an array; what depends
on several parts is checked after them, so that damaged content is a ValueError rather than a model that fails later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from math import isfinite
from typing import Annotated, Any, TypeAlias, TypeVar

import numpy as np

from tunbridge._core.packing import ArrayRule, FloatArray, SquareArray, WeightArray, unpack, unpack_fields
from tunbridge._core.threads import n_threads
from tunbridge.classifiers._parameters import parameters_content as plain_parameters, parameters_of
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.probability import Distribution
from tunbridge.temporal.bayesian import METHODS, Posterior
from tunbridge.temporal.durations import FAMILIES as DURATIONS, Durations
from tunbridge.temporal.dynamics import Dynamics, Rules
from tunbridge.temporal.emissions import FAMILIES, Categorical, Emission, Independent
from tunbridge.temporal.training import Model

H = TypeVar("H")


@dataclass(frozen=True)
class _Rule:
    """A rule in a hint: a function that returns the value of some content, or raises ValueError."""

    checked: Callable[[Any], Any]


def _probabilities(content: Any) -> np.ndarray:
    array = ArrayRule(("float64",), low=0).checked(content)
    if not array.ndim or np.abs(array.sum(axis=-1) - 1.0).max(initial=0.0) > 1e-6:
        raise ValueError("probabilities must have a sum of 1")
    return array


def _some(content: Any) -> np.ndarray:
    array = ArrayRule(("bool",)).checked(content)
    if not array.ndim or not array.any(axis=-1).all():
        raise ValueError("something must be possible in each row")
    return array


def _number(content: Any) -> float:
    if not isfinite(number := unpack(float, content)):
        raise ValueError(f"a finite number was expected, not {number}")
    return float(number)


def _amount(content: Any) -> float:
    if (number := _number(content)) < 0.0:
        raise ValueError(f"a number of at least 0 was expected, not {number:g}")
    return number


def _names(content: Any) -> tuple[Any, ...]:
    names = unpack(tuple[Any, ...], content)
    try:
        are_distinct = len(set(names)) == len(names) > 0
    except TypeError:
        are_distinct = False
    if not are_distinct:
        raise ValueError("the names of states must be distinct plain values")
    np.array(names)  # as answers hold them: raises where some are tuples and others are not
    return tuple(names)


def _variables(content: Any) -> tuple[Variable, ...]:
    found = unpack(tuple[Any, ...], content)
    if not all(type(v) is Variable for v in found) or len({v.name for v in found}) < len(found):
        raise ValueError("variables must be variables with distinct names")
    return tuple(found)


def _columns(content: Any) -> Any:
    return unpack(list[str] | str, list(content) if isinstance(content, tuple) else content)


def _mapping(content: Any) -> Mapping[str, Any]:
    if not isinstance(content, Mapping):
        raise ValueError(f"a mapping was expected, not {type(content).__name__}")
    return content


def _one_of(names: Any) -> Any:
    """Return the hint of a text that is one of some names."""

    def check(content: Any) -> str:
        if unpack(str, content) not in names:
            raise ValueError(f"there is no {content!r:.60}")
        return str(content)

    return Annotated[str, _Rule(check)]


_Shares: TypeAlias = Annotated[np.ndarray, _Rule(_probabilities)]
_Some: TypeAlias = Annotated[np.ndarray, _Rule(_some)]
_Number: TypeAlias = Annotated[float, _Rule(_number)]
_Amount: TypeAlias = Annotated[float, _Rule(_amount)]
_Mapping: TypeAlias = Annotated[Mapping[str, Any], _Rule(_mapping)]
_Mask: TypeAlias = Annotated[np.ndarray, ArrayRule(("bool",))]

# Each part: its type, and the shape of an array, with k for the states, m for the draws, * for any size.
_Table: TypeAlias = dict[str, tuple[Any, str]]
_MODEL: _Table = {
    "parameters": (_Mapping, ""),
    "emissions": (_one_of(("auto", *FAMILIES)) | None, ""),
    "topology": (str | int | _Mask, "kk"),
    "variables": (Annotated[tuple[Variable, ...], _Rule(_variables)], ""),
    "state_names": (Annotated[tuple[Any, ...], _Rule(_names)], ""),
    "time_unit": (_Amount | None, ""),
    "start": (_Shares, "k"),
    "transitions": (_Shares, "kk"),
    "rules": (_Mapping, ""),
    "emission": (_Mapping, ""),
    "ties": (Annotated[np.ndarray, ArrayRule(("int64", "int32"), low=0)], "k"),
    "log_likelihood": (_Number | None, ""),
    "n_steps": (_Amount | None, ""),
    "occupation": (WeightArray | None, "k"),
    "converged": (bool, ""),
    "durations": (_Mapping | None, ""),
    "posterior": (_Mapping | None, ""),
}
_RULES: _Table = {
    "allowed": (_Some, "kk"),
    "starts": (_Some, "k"),
    "alpha": (SquareArray, "kk"),
    "start_alpha": (_Amount, ""),
    "is_stationary": (bool, ""),
    "fixed": (frozenset[_one_of(("start", "transitions", "emissions"))], ""),  # type: ignore[misc]
}
_DURATIONS: _Table = {
    "durations": (_Shares, "k*"),
    "family": (_one_of(DURATIONS), ""),
    "parameters": (FloatArray, "k2"),
}
_POSTERIOR: _Table = {
    "kind": (_one_of(METHODS), ""),
    "n_used": (_Shares, "k"),
    "starts": (_Shares, "mk"),
    "transitions": (_Shares, "mkk"),
    "emissions": (list[_Mapping], ""),
}
_PARAMETERS: _Table = {  # those that answers read
    "sequence": (str | None, ""),
    "time": (str | None, ""),
    "columns": (Annotated[Any, _Rule(_columns)] | None, ""),
    "time_unit": (_Number | str | None, ""),
}


def _checked(content: Any, table: _Table, **sizes: int) -> dict[str, Any]:
    """Return the parts that a table names; raise ValueError where one has not its type or shape."""
    given, found = _mapping(content), {}
    for name, (hint, shape) in table.items():
        try:
            found[name] = value = unpack(hint, given.get(name))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
        if isinstance(value, np.ndarray):
            wanted = [int(each) if each.isdigit() else sizes.get(each) for each in shape]
            if value.ndim != len(wanted) or not all(n in (None, m) for n, m in zip(wanted, value.shape, strict=True)):
                raise ValueError(f"{name} must not have the shape {value.shape}")
    return found


def emission_content(emission: Any) -> dict[str, Any]:
    """Return an emission as content of a file; raise for one that is written outside the package."""
    family = next((name for name, kind in FAMILIES.items() if kind is type(emission)), None)
    if family is None:
        raise DataError(
            f"a model must have an emission of tb.emissions to be saved; got {type(emission).__name__}. "
            "Save its parameters yourself, and make the model again with from_parameters."
        )
    if isinstance(emission, Independent):
        return {"family": family, "parts": [[list(c), emission_content(part)] for c, part in emission.parts]}
    own = {field.name: getattr(emission, field.name) for field in fields(emission)}
    return {"family": family, "fields": {name: value for name, value in own.items() if value is not None}}


def emission_of(content: Mapping[str, Any]) -> Emission:
    """Return the emission that a file holds."""
    kind: Any = FAMILIES[unpack(_one_of(FAMILIES), _mapping(content).get("family"))]
    if kind is Independent:
        parts = unpack(list[tuple[tuple[int, ...], _Mapping]], content.get("parts"))
        return Independent(tuple((columns, emission_of(part)) for columns, part in parts))
    made: Emission = kind(**unpack_fields(kind, _mapping(content.get("fields"))))
    return made


def content_of(hmm: Any) -> dict[str, Any]:
    """Return what a file holds of a hidden Markov model."""
    model = hmm.model_
    parameters = {name: value for name, value in hmm.get_params(deep=False).items() if name != "progress"}
    emissions = parameters.pop("emissions")
    topology = parameters.pop("topology")
    rules = model.dynamics.rules
    return {
        "parameters": plain_parameters(parameters),
        "emissions": emissions if isinstance(emissions, str) else None,
        "topology": topology if isinstance(topology, (str, int)) else np.asarray(topology, bool),
        "variables": list(hmm.variables_),
        "state_names": list(hmm.state_names_),
        "time_unit": hmm.time_unit_,
        "start": model.dynamics.start,
        "transitions": model.dynamics.matrix,
        "rules": {**{f.name: getattr(rules, f.name) for f in fields(rules)}, "fixed": sorted(rules.fixed)},
        "emission": emission_content(model.emission),
        "ties": model.ties,
        "log_likelihood": getattr(hmm, "log_likelihood_", None),
        "n_steps": getattr(hmm, "n_steps_", None),
        "occupation": getattr(hmm, "occupation_", None),
        "converged": bool(hmm.converged_),
        "durations": _durations_content(model.dynamics),
        "posterior": _posterior_content(getattr(hmm, "posterior_", None)),
    }


def _durations_content(dynamics: Any) -> dict[str, Any] | None:
    if not isinstance(dynamics, Durations):
        return None
    return {name: getattr(dynamics, name) for name in ("durations", "family", "parameters")}


def _posterior_content(posterior: Posterior | None) -> dict[str, Any] | None:
    """Return the draws of a posterior; its Dirichlet parameters and its training sequences are not written."""
    if posterior is None:
        return None
    return {
        "kind": posterior.kind,
        "n_used": posterior.n_used.probabilities,
        "starts": np.stack([m.dynamics.start for m in posterior.draws]),
        "transitions": np.stack([m.dynamics.matrix for m in posterior.draws]),
        "emissions": [emission_content(m.emission) for m in posterior.draws],
    }


def _check_emission(emission: Any, variables: tuple[Variable, ...], n: int, *, is_named: bool) -> None:
    """Raise unless an emission has n states and the columns of some variables.

    A categorical one may have more symbols than its variable, where it was given as an object that says so.
    """
    if isinstance(emission, Independent):
        if sum(len(columns) for columns, _ in emission.parts) != len(variables):
            raise ValueError(f"an emission must have {len(variables)} columns")
        for columns, part in emission.parts:
            _check_emission(part, tuple(variables[c] for c in columns), n, is_named=is_named)
        return
    width = len(variables)
    if emission.log_likelihood(np.full((1, width * (1 + emission.lags)), np.nan)).shape != (1, n):
        raise ValueError(f"an emission must have {n} states")
    common = [getattr(emission, name, None) for name in Emission._shared]
    if any(array is not None and array.shape != (width,) for array in common):
        raise ValueError(f"what all states share must have {width} columns")
    if isinstance(emission, Categorical) and variables[0].is_categorical:
        n_symbols, known = emission.n_symbols or 0, max(1, variables[0].n_states)
        if n_symbols < known or (is_named and n_symbols > known):
            raise ValueError(f"{variables[0].name!r} has {known} symbols, and its emission {n_symbols}")


def _families(emission: Any) -> Any:
    """Return the families of an emission and its parts."""
    parts = emission.parts if isinstance(emission, Independent) else ()
    return type(emission), [(columns, _families(part)) for columns, part in parts]


def _posterior_of(content: Mapping[str, Any], hmm: Any) -> Posterior:
    model, n, is_named = hmm.model_, len(hmm.state_names_), isinstance(hmm.emissions, str)
    m = len(unpack(list[Any], content.get("emissions")))
    given = _checked(content, _POSTERIOR, k=n, m=m)
    draws = []
    for start, matrix, each in zip(given["starts"], given["transitions"], given["emissions"], strict=True):
        emission = emission_of(each)
        _check_emission(emission, hmm.variables_, int(model.ties.max()) + 1, is_named=is_named)
        if _families(emission) != _families(model.emission):
            raise ValueError("a posterior must have draws of the emission of its model")
        draws.append(model._replace(dynamics=replace(model.dynamics, start=start, matrix=matrix), emission=emission))
    if not draws:
        raise ValueError("a posterior must have draws")
    used = Distribution(Variable("used states", range(1, n + 1)), given["n_used"])
    return Posterior(given["kind"], tuple(draws), used, hmm)


def _dynamics_of(given: Mapping[str, Any], n: int) -> Dynamics:
    own, rules = given["durations"], Rules(**_checked(given["rules"], _RULES, k=n))
    if own is None:
        return Dynamics(given["start"], given["transitions"], rules)
    return Durations(given["start"], given["transitions"], rules, **_checked(own, _DURATIONS, k=n))


def _model_of(given: Mapping[str, Any]) -> Model:
    """Return the parameters that a file holds, which fit together."""
    emission, ties = emission_of(given["emission"]), given["ties"].astype(np.int64)
    n = int(ties.max()) + 1
    if sorted(set(ties.tolist())) != list(range(n)):
        raise ValueError("ties must be numbers of emissions")
    _check_emission(emission, given["variables"], n, is_named=given["emissions"] is not None)
    return Model(_dynamics_of(given, len(ties)), emission, ties)


def _hmm_of(cls: Any, given: Mapping[str, Any]) -> Any:
    model, parameters = _model_of(given), parameters_of(given["parameters"])
    _checked(parameters, _PARAMETERS)
    n_threads(parameters.get("n_jobs"))
    emissions = model.emission if given["emissions"] is None else given["emissions"]
    hmm = cls(**parameters, emissions=emissions, topology=given["topology"])
    hmm.model_, hmm.trace_ = model, ()
    for name in ("variables", "state_names", "time_unit", "converged"):
        setattr(hmm, f"{name}_", given[name])
    for name in ("log_likelihood", "n_steps", "occupation"):
        if given[name] is not None:
            setattr(hmm, f"{name}_", given[name])
    if given["posterior"] is not None:
        hmm.posterior_ = _posterior_of(given["posterior"], hmm)
    return hmm


def read_into(cls: type[H], content: Mapping[str, Any]) -> H:
    """Return the hidden Markov model that a file holds; raise ValueError where its parts do not belong together."""
    given = _checked(content, _MODEL, k=len(_names(_mapping(content).get("state_names"))))
    if given["log_likelihood"] is not None and not given["n_steps"]:
        raise ValueError("a log-likelihood must come with a number of steps")
    try:
        made: H = _hmm_of(cls, given)
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:  # of what makes the parts
        raise ValueError(f"its parts do not belong together ({error})") from error
    return made
