"""Hidden Markov models as content of files: parameters, distributions, emissions as a family with its fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from tunbridge._core.packing import unpack_fields
from tunbridge.classifiers._parameters import parameters_content as plain_parameters, parameters_of
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.probability import Distribution
from tunbridge.temporal.bayesian import METHODS, Posterior
from tunbridge.temporal.durations import FAMILIES as DURATIONS, Durations
from tunbridge.temporal.dynamics import Dynamics, Rules
from tunbridge.temporal.emissions import FAMILIES, Emission, Independent
from tunbridge.temporal.training import Model

H = TypeVar("H")


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
    if content["family"] not in FAMILIES:
        raise ValueError(f"there is no emission {content['family']!r}")
    kind: Any = FAMILIES[content["family"]]
    if kind is Independent:
        return Independent(tuple((tuple(map(int, c)), emission_of(part)) for c, part in content["parts"]))
    made: Emission = kind(**unpack_fields(kind, content["fields"]))
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


def _posterior_of(content: Mapping[str, Any], hmm: Any) -> Posterior:
    model, starts, matrices = hmm.model_, content["starts"], content["transitions"]
    emissions = [emission_of(each) for each in content["emissions"]]
    n = len(model.dynamics.start)
    _check_array("the draws", starts, (len(emissions), n), is_probability=True)
    _check_array("the draws", matrices, (len(emissions), n, n), is_probability=True)
    if not emissions or content["kind"] not in METHODS:
        raise ValueError("a posterior must have draws, and be of a known kind")
    draws = []
    for start, matrix, emission in zip(starts, matrices, emissions, strict=True):
        draws.append(model._replace(dynamics=replace(model.dynamics, start=start, matrix=matrix), emission=emission))
        hmm._check_emission(draws[-1])
    used = Distribution(Variable("used states", range(1, n + 1)), content["n_used"])
    return Posterior(content["kind"], tuple(draws), used, hmm)


def _check_array(what: str, array: Any, shape: tuple[int, ...], *, is_probability: bool = False) -> None:
    if not isinstance(array, np.ndarray) or array.shape != shape:
        raise ValueError(f"{what} must have the shape {shape}")
    if is_probability and not (
        np.isfinite(array).all() and (array >= 0).all() and np.abs(array.sum(axis=-1) - 1.0).max(initial=0.0) <= 1e-6
    ):
        raise ValueError(f"{what} must be probabilities")


def _dynamics_of(content: Mapping[str, Any], start: np.ndarray, matrix: np.ndarray, rules: Rules) -> Dynamics:
    if (own := content.get("durations")) is None:
        return Dynamics(start, matrix, rules)
    durations, parameters = own["durations"], own["parameters"]
    longest = durations.shape[1] if isinstance(durations, np.ndarray) and durations.ndim == 2 else 0
    _check_array("durations", durations, (len(start), max(1, longest)), is_probability=True)
    _check_array("the parameters of durations", parameters, (len(start), 2))
    if own["family"] not in DURATIONS or not np.isfinite(parameters).all():
        raise ValueError("durations must be of a known family")
    return Durations(start, matrix, rules, durations, own["family"], parameters)


def read_into(cls: type[H], content: Mapping[str, Any]) -> H:
    """Return the hidden Markov model that a file holds; raise ValueError where its parts do not belong together."""
    emission = emission_of(content["emission"])
    given = dict(content["rules"])
    rules = Rules(**{**given, "fixed": frozenset(given["fixed"])})
    start, matrix, ties = content["start"], content["transitions"], content["ties"]
    n = len(content["state_names"])
    for what, array, shape in (("ties", ties, (n,)), ("allowed", rules.allowed, (n, n)),
                               ("alpha", rules.alpha, (n, n)), ("starts", rules.starts, (n,))):  # fmt: skip
        _check_array(what, array, shape)
    _check_array("start", start, (n,), is_probability=True)
    _check_array("transitions", matrix, (n, n), is_probability=True)
    if ties.dtype.kind not in "iu" or sorted(set(ties.tolist())) != list(range(int(ties.max()) + 1)):
        raise ValueError("ties must be numbers of emissions")
    emissions = emission if content["emissions"] is None else content["emissions"]
    hmm: Any = cls(**parameters_of(content["parameters"]), emissions=emissions, topology=content["topology"])  # type: ignore[call-arg]
    hmm.model_ = Model(_dynamics_of(content, start, matrix, rules), emission, ties.astype(np.int64))
    hmm.variables_, hmm.state_names_ = tuple(content["variables"]), tuple(content["state_names"])
    hmm.time_unit_, hmm.converged_, hmm.trace_ = content["time_unit"], content["converged"], ()
    for name in ("log_likelihood", "n_steps"):
        if content[name] is not None:
            setattr(hmm, f"{name}_", float(content[name]))
    hmm._check_emission()
    if content.get("posterior") is not None:
        hmm.posterior_ = _posterior_of(content["posterior"], hmm)
    made: H = hmm
    return made
