"""Networks in native files: dense, sparse, noisy-MAX and Gaussian tables, with their counts.

Text files hold probabilities; a native file (:mod:`tunbridge.formats.native`, of kind ``network``) holds the model:
states keep their types, a sparse table stays sparse, a noisy-MAX table keeps its effects, and the Dirichlet counts
behind a learned table are kept for the next update and for credible intervals. A linear Gaussian table is stored as its
intercepts, coefficients and variances, with the moments from which it was learned.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from math import prod
from typing import Annotated, Any

import numpy as np

from tunbridge._core.packing import ArrayRule, FloatArray, WeightArray, pack, unpack
from tunbridge._core.registry import network_format
from tunbridge.counts.moments import CrossMoments
from tunbridge.data import Variable
from tunbridge.data.reading import Reading
from tunbridge.errors import DataError, FormatError
from tunbridge.formats._assembly import NetworkParts
from tunbridge.formats.native import read_model, rebuilding, uncollected, write_model
from tunbridge.probability import CPT, ConditionalTable, LinearGaussian, NoisyMaxCPT, SparseCPT
from tunbridge.probability.conditional import check_network

KIND = "network"


@network_format("tb", suffixes=(".tb",), binary=True)
class Native:
    """The native file of Tunbridge."""

    @staticmethod
    def write(path: str | os.PathLike[str], parts: NetworkParts) -> None:
        """Write a network to a native file."""
        write_model(path, KIND, network_content(parts))

    @staticmethod
    @uncollected()
    def read(path: str | os.PathLike[str]) -> NetworkParts:
        """Return the network of a native file."""
        kind, content = read_model(path)
        name, hint = os.fsdecode(path), "load() reads other models; so do tunbridge predict and explain."
        if kind != KIND:
            raise FormatError(f"{name!r} must hold a network; it holds a model of the kind {kind!r}. {hint}")
        with rebuilding(name, kind):
            return network_parts(content)


def network_content(parts: NetworkParts) -> dict[str, Any]:
    """Return a network as the content of a native file."""
    index = {variable.name: i for i, variable in enumerate(parts.variables)}
    return {
        "name": parts.name,
        "variables": list(parts.variables),
        "tables": [{"parents": [index[p.name] for p in cpt.parents], **_content(cpt)} for cpt in parts.cpts],
        "properties": {name: list(lines) for name, lines in parts.properties.items()},
        **({} if parts.reading is None else {"reading": pack(parts.reading)}),
    }


def network_parts(content: Mapping[str, Any]) -> NetworkParts:
    """Return the network that a content describes; raise if its pieces do not fit together."""
    variables, tables = unpack(list[Variable], content["variables"]), content["tables"]
    if len(variables) != len(tables):
        raise ValueError("its variables and tables do not belong together.")
    cpts = [_table(variables[i], table, variables) for i, table in enumerate(tables)]
    reading = unpack(Reading | None, content.get("reading"))
    parts = NetworkParts(unpack(str, content["name"]), tuple(cpts), content["properties"], reading)
    check_network(parts.name, parts.cpts, parts.properties)
    return parts


def _content(cpt: ConditionalTable) -> dict[str, Any]:
    if isinstance(cpt, CPT):
        return {"kind": "dense", "probabilities": cpt.probabilities, "counts": cpt.counts}
    if isinstance(cpt, SparseCPT):
        rows = {"configurations": cpt.configurations, "probabilities": cpt.probabilities, "default": cpt.default}
        return {"kind": "sparse", **rows, "counts": cpt.counts}
    if isinstance(cpt, NoisyMaxCPT):
        return {"kind": "noisy-max", "effects": list(cpt.effects), "leak": cpt.leak, "order": list(cpt.order)}
    if isinstance(cpt, LinearGaussian):
        numbers = {name: getattr(cpt, name) for name in ("intercepts", "coefficients", "variances")}
        return {"kind": "gaussian", **numbers, "moments": None if cpt.moments is None else list(cpt.moments.arrays)}
    raise DataError(f"a table must be dense, sparse, noisy-MAX or Gaussian to be written; got {type(cpt).__name__}.")


def _table(variable: Variable, content: Mapping[str, Any], variables: list[Variable]) -> ConditionalTable:
    makers: dict[str, Callable[..., ConditionalTable]] = {
        "dense": _dense, "sparse": _sparse, "noisy-max": _noisy_max, "gaussian": _gaussian,
    }  # fmt: skip
    numbers = unpack(list[int], content["parents"])
    if not all(0 <= i < len(variables) for i in numbers):
        raise ValueError(f"a parent of {variable.name!r} is not a variable.")
    return makers[content["kind"]](variable, tuple(variables[i] for i in numbers), content)


def _dense(variable: Variable, parents: tuple[Variable, ...], content: Mapping[str, Any]) -> CPT:
    return CPT(variable, parents, unpack(FloatArray, content["probabilities"]), counts=_counts(content))


def _counts(content: Mapping[str, Any]) -> np.ndarray | None:
    counts: np.ndarray | None = unpack(WeightArray | None, content["counts"])
    return counts


def _sparse(variable: Variable, parents: tuple[Variable, ...], content: Mapping[str, Any]) -> SparseCPT:
    numbers = unpack(Annotated[np.ndarray, ArrayRule(("int64",))], content["configurations"])
    if numbers.ndim != 1:
        raise ValueError(f"the configurations of {variable.name!r} are not a list of integers.")
    codes = np.empty((len(numbers), len(parents)), np.int64)
    for j in reversed(range(len(parents))):
        numbers, codes[:, j] = np.divmod(numbers, parents[j].n_states)
    if np.any(numbers != 0):
        raise ValueError(f"{variable.name!r} has a row for a configuration that its parents cannot have.")
    rest = {"default": unpack(FloatArray | None, content["default"]), "counts": _counts(content)}
    return SparseCPT.from_codes(variable, parents, codes, unpack(FloatArray, content["probabilities"]), **rest)


def _noisy_max(variable: Variable, parents: tuple[Variable, ...], content: Mapping[str, Any]) -> NoisyMaxCPT:
    codes = unpack(list[int], content["order"])
    if not all(0 <= code < variable.n_states for code in codes):
        raise ValueError(f"the order of the states of {variable.name!r} is not a list of codes.")
    effects, leak = unpack(list[FloatArray], content["effects"]), unpack(FloatArray | None, content["leak"])
    return NoisyMaxCPT(variable, parents, effects, leak, order=[(variable.states or ())[code] for code in codes])


def _gaussian(variable: Variable, parents: tuple[Variable, ...], content: Mapping[str, Any]) -> LinearGaussian:
    names = ("intercepts", "coefficients", "variances")
    numbers = {name: unpack(FloatArray, content[name]) for name in names}
    moments = unpack(CrossMoments | None, content["moments"])
    k, q = 1 + sum(p.is_continuous for p in parents), prod(p.n_states for p in parents if p.is_categorical)
    if moments is not None and [a.shape for a in moments.arrays] != [(q,), (q, k), (q, k, k)]:
        raise ValueError(f"the moments of {variable.name!r} do not belong to its parents.")
    return LinearGaussian(variable, parents, **numbers, moments=moments)
