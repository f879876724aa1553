"""Hidden Markov models as content of files: parameters, distributions, emissions as a family with its fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from tunbridge._core.packing import unpack_fields
from tunbridge.classifiers._parameters import parameters_content as plain_parameters, parameters_of
from tunbridge.errors import DataError
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
    }


def read_into(cls: type[H], content: Mapping[str, Any]) -> H:
    """Return the hidden Markov model that a file holds; raise ValueError where its parts do not belong together."""
    emission = emission_of(content["emission"])
    given = dict(content["rules"])
    rules = Rules(**{**given, "fixed": frozenset(given["fixed"])})
    start, matrix, ties = content["start"], content["transitions"], content["ties"]
    n = len(content["state_names"])
    for what, array, shape in (("start", start, (n,)), ("transitions", matrix, (n, n)), ("ties", ties, (n,)),
                               ("allowed", rules.allowed, (n, n)), ("alpha", rules.alpha, (n, n)),
                               ("starts", rules.starts, (n,))):  # fmt: skip
        if not isinstance(array, np.ndarray) or array.shape != shape:
            raise ValueError(f"{what} must have the shape {shape}")
    for what, array in (("start", start), ("transitions", matrix)):
        if not np.isfinite(array).all() or (array < 0).any() or np.abs(array.sum(axis=-1) - 1.0).max() > 1e-6:
            raise ValueError(f"{what} must be probabilities")
    if ties.dtype.kind not in "iu" or sorted(set(ties.tolist())) != list(range(int(ties.max()) + 1)):
        raise ValueError("ties must be numbers of emissions")
    emissions = emission if content["emissions"] is None else content["emissions"]
    hmm: Any = cls(**parameters_of(content["parameters"]), emissions=emissions, topology=content["topology"])  # type: ignore[call-arg]
    hmm.model_ = Model(Dynamics(start, matrix, rules), emission, ties.astype(np.int64))
    hmm.variables_, hmm.state_names_ = tuple(content["variables"]), tuple(content["state_names"])
    hmm.time_unit_, hmm.converged_, hmm.trace_ = content["time_unit"], content["converged"], ()
    for name in ("log_likelihood", "n_steps"):
        if content[name] is not None:
            setattr(hmm, f"{name}_", float(content[name]))
    hmm._check_emission()
    made: H = hmm
    return made
