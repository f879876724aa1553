"""Hidden Markov models and their relatives as dynamic networks.

    hidden Markov model    S[t-1] → S → X
    factorial              several chains S1, S2, …, each on its own; X depends on all
    coupled                several chains, each with its own X; S1 depends on S1[t-1] and S2[t-1]
    input–output           U → S ← S[t-1], and S → X (and U → X where the table has it)

Their tables are arrays with an axis for each parent and a last one for the variable, as those of hidden Markov models:
``transitions[i, j]`` is the probability of going from state i to state j. A HiddenMarkovModel whose emissions are
categorical or Gaussian is a network, too: a Gaussian with full covariance is a chain of regressions of each column on
those before it.

References
----------
Z. Ghahramani, M. I. Jordan (1997). Factorial hidden Markov models. Machine Learning 29, 245–273.
M. Brand, N. Oliver, A. Pentland (1997). Coupled hidden Markov models for complex action recognition. CVPR, 994–999.
Y. Bengio, P. Frasconi (1995). An input output HMM architecture. NIPS 7, 427–434.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge.data import State, Variable
from tunbridge.errors import DataError
from tunbridge.network import BayesianNetwork
from tunbridge.probability import CPT, ConditionalTable, LinearGaussian
from tunbridge.probability.reading import as_floats
from tunbridge.temporal.dynamic.network import DynamicBayesianNetwork
from tunbridge.temporal.emissions import Categorical, Gaussian, Independent

if TYPE_CHECKING:
    from tunbridge.temporal.hmm import HiddenMarkovModel

States = Sequence[State] | None


def _variable(name: str, states: States, n: int) -> Variable:
    return Variable(name, list(range(n)) if states is None else states)


def _shape(what: str, given: Any, n_axes: int) -> np.ndarray:
    array = as_floats(what, given)
    if array.ndim != n_axes:
        raise DataError(f"{what} must be an array with {n_axes} axes; got the shape {array.shape}.")
    return array


def hmm(
    start: Any, transitions: Any, emissions: Any, *, states: States = None, symbols: States = None,
    hidden: str = "state", observed: str = "symbol",
) -> DynamicBayesianNetwork:  # fmt: skip
    """Return a hidden Markov model as a dynamic network.

    Parameters
    ----------
    start, transitions, emissions : array-like of shape (K,), (K, K) and (K, S)
        The distributions of the first state, of the next state, and of the symbol in each state.
    states, symbols : sequence of states, optional
        The states and the symbols; default: 0, 1, 2, …
    hidden, observed : str
        The names of the two variables.

    Examples
    --------
    >>> ice = hmm([0.8, 0.2], [[0.6, 0.4], [0.5, 0.5]], [[0.2, 0.4, 0.4], [0.5, 0.4, 0.1]],
    ...           states=["H", "C"], symbols=[1, 2, 3])
    >>> ice.most_probable([{"symbol": 3}, {"symbol": 1}, {"symbol": 3}])["state"]
    ['H', 'C', 'H']
    """
    begin, move, emit = (
        _shape("start", start, 1),
        _shape("transitions", transitions, 2),
        _shape("emissions", emissions, 2),
    )
    variables = [_variable(hidden, states, len(begin)), _variable(observed, symbols, emit.shape[-1])]
    arcs = [(f"{hidden}[t-1]", hidden), (hidden, observed)]
    return DynamicBayesianNetwork(variables, first={hidden: begin}, arcs=arcs, cpts={hidden: move, observed: emit})


def input_output(
    start: Any, transitions: Any, emissions: Any, inputs: Any, *, states: States = None, symbols: States = None,
    hidden: str = "state", observed: str = "symbol", given: str = "input",
) -> DynamicBayesianNetwork:  # fmt: skip
    """Return an input–output hidden Markov model, whose transitions depend on an input in each slice.

    Parameters
    ----------
    start : array-like of shape (U, K)
        The distribution of the first state for each input.
    transitions : array-like of shape (U, K, K)
        For each input and state that of the next state.
    emissions : array-like of shape (K, S), or (U, K, S)
        That of the symbol in each state, or for each input and state.
    inputs : array-like of shape (U,), or list of states of the input
        The distribution of the input where it is not observed; a list of states makes it uniform.
    states, symbols, hidden, observed, given
        As for :func:`hmm`; ``given`` is the name of the input.
    """
    begin, move = _shape("start", start, 2), _shape("transitions", transitions, 3)
    emit = as_floats("emissions", emissions)
    n = len(begin)
    is_named = (
        not all(isinstance(u, (int, float)) for u in inputs) or len(inputs) != n or not np.isclose(sum(inputs), 1.0)
    )
    source = _variable(given, list(inputs) if is_named else None, n)
    variables = [source, _variable(hidden, states, move.shape[-1]), _variable(observed, symbols, emit.shape[-1])]
    arcs = [
        (given, hidden),
        (f"{hidden}[t-1]", hidden),
        *([(given, observed)] if emit.ndim == 3 else []),
        (hidden, observed),
    ]
    share = np.full(n, 1.0 / n) if is_named else inputs
    cpts = {given: share, hidden: move, observed: emit}
    return DynamicBayesianNetwork(variables, first={hidden: begin}, arcs=arcs, cpts=cpts)


def factorial(
    starts: Mapping[str, Any], transitions: Mapping[str, Any], emissions: Any, *, symbols: States = None,
    observed: str = "symbol",
) -> DynamicBayesianNetwork:  # fmt: skip
    """Return a factorial hidden Markov model: independent chains that are observed together.

    Parameters
    ----------
    starts, transitions : mapping of str to array-like
        For each chain the distributions of its first and of its next state.
    emissions : array-like of shape (K1, K2, …, S)
        The distribution of the symbol for each configuration of the chains, in their order.
    symbols, observed
        As for :func:`hmm`.
    """
    names = list(starts)
    emit = _shape("emissions", emissions, len(names) + 1)
    variables = [*(_variable(n, None, len(starts[n])) for n in names), _variable(observed, symbols, emit.shape[-1])]
    arcs = [*((f"{n}[t-1]", n) for n in names), *((n, observed) for n in names)]
    cpts = {**{n: transitions[n] for n in names}, observed: emit}
    return DynamicBayesianNetwork(variables, first=dict(starts), arcs=arcs, cpts=cpts)


def coupled(
    starts: Mapping[str, Any], transitions: Mapping[str, Any], emissions: Mapping[str, Any]
) -> DynamicBayesianNetwork:
    """Return a coupled hidden Markov model: the next state of each chain depends on the states of all chains.

    Parameters
    ----------
    starts : mapping of str to array-like of shape (K,)
        For each chain the distribution of its first state.
    transitions : mapping of str to array-like of shape (K1, K2, …, K)
        For each chain that of its next state given the states of all chains, in their order.
    emissions : mapping of str to array-like of shape (K, S)
        For each chain that of its symbol; the variable is called ``"<chain> seen"``.
    """
    names = list(starts)
    seen = {n: _shape(f"the emissions of {n!r}", emissions[n], 2) for n in names}
    variables = [_variable(n, None, len(starts[n])) for n in names]
    variables += [_variable(f"{n} seen", None, seen[n].shape[-1]) for n in names]
    arcs = [*((f"{p}[t-1]", n) for n in names for p in names), *((n, f"{n} seen") for n in names)]
    cpts = {**{n: transitions[n] for n in names}, **{f"{n} seen": seen[n] for n in names}}
    return DynamicBayesianNetwork(variables, first=dict(starts), arcs=arcs, cpts=cpts)


def from_hmm(model: HiddenMarkovModel, *, hidden: str = "state") -> DynamicBayesianNetwork:
    """Return a fitted hidden Markov model as a network, with the same probabilities.

    Parameters
    ----------
    model : HiddenMarkovModel
        Its emissions must be categorical or Gaussian, or several of these that are independent given the state.
    hidden : str
        The name of the variable of the states; the others are called like the columns.

    Examples
    --------
    >>> import tunbridge as tb
    >>> model = tb.HiddenMarkovModel.from_parameters([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]])
    >>> from_hmm(model)
    DynamicBayesianNetwork: 2 variables, 1 arc in a slice, 1 arc between slices
    """
    from tunbridge.temporal.hmm import HiddenMarkovModel

    if not isinstance(model, HiddenMarkovModel):
        raise DataError(f"model must be a fitted HiddenMarkovModel; got {type(model).__name__}.", parameter="model")
    emission = model.emissions_
    if hidden in (seen := {v.name for v in model.variables_}):
        raise DataError(f"hidden must not be the name of a column; got {hidden!r}.", parameter="hidden")
    state = Variable(hidden, list(model.state_names_))
    move = CPT(state, [state.renamed(f"{hidden}[t-1]")], model.transitions_)
    tables = list(_emitted(emission, model.variables_, state, model.model_.ties))
    assert {cpt.variable.name for cpt in tables} == seen
    first = BayesianNetwork.from_tables([CPT(state, (), model.start_), *tables])
    return DynamicBayesianNetwork.from_tables(first, [move, *tables])


def _emitted(
    emission: Any, columns: Sequence[Variable], state: Variable, ties: np.ndarray
) -> Iterator[ConditionalTable]:
    """Yield the tables of columns given the state."""
    if isinstance(emission, Independent):
        for places, part in emission.parts:
            yield from _emitted(part, [columns[i] for i in places], state, ties)
    elif isinstance(emission, Categorical):
        for column in columns:
            yield CPT(column, [state], np.asarray(emission.probabilities)[ties])
    elif isinstance(emission, Gaussian):
        means = np.asarray(emission.means)[ties]
        matrices = _covariances(emission)[ties]
        for i, column in enumerate(columns):
            yield _regression(column, [state, *columns[:i]], means, matrices, is_full=emission.covariance in _FULL)
    else:
        what = type(emission).__name__
        raise DataError(f"the emissions of a model must be categorical or Gaussian to be a network; got {what}.")


_FULL = ("full", "tied")


def _covariances(emission: Gaussian) -> np.ndarray:
    """Return the covariance matrix of each state."""
    k, d = np.shape(emission.means)
    given = np.asarray(emission.covariances)
    if emission.covariance in _FULL:
        return np.broadcast_to(given, (k, d, d))
    variances = np.broadcast_to(given if emission.covariance == "diagonal" else given[:, None], (k, d))
    return variances[:, :, None] * np.eye(d)


def _regression(
    column: Variable, parents: list[Variable], means: np.ndarray, matrices: np.ndarray, *, is_full: bool
) -> LinearGaussian:
    """Return the regression of a column of Gaussians on the columns before it, in each state."""
    i = len(parents) - 1 if is_full else 0
    own = len(parents) - 1
    if not i:
        return LinearGaussian(column, parents[:1], means[:, own], None, matrices[:, own, own])
    cross = matrices[:, own, :i]
    slopes = np.linalg.solve(matrices[:, :i, :i], cross[:, :, None])[:, :, 0]
    intercepts = means[:, own] - np.einsum("ki,ki->k", slopes, means[:, :i])
    return LinearGaussian(
        column, parents, intercepts, slopes, matrices[:, own, own] - np.einsum("ki,ki->k", slopes, cross)
    )
