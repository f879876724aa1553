"""What a fitted hidden Markov model says about itself: its states, what they emit, and how they follow each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._core.check import counted, listed, shortened
from tunbridge._core.grid import grid_lines, html_table
from tunbridge.data import Variable
from tunbridge.temporal.chain import dense_pairs
from tunbridge.temporal.dynamics import stationary
from tunbridge.temporal.emissions import (
    FAMILIES,
    Autoregressive,
    Categorical,
    Gaussian,
    Independent,
    NegativeBinomial,
    Poisson,
    StudentT,
)

if TYPE_CHECKING:
    from tunbridge.temporal.hmm import HiddenMarkovModel

_STATES, _SYMBOLS, _COLUMNS, _MATRIX = 30, 3, 4, 12  # shown at most
_WIDTH = 60
_LONG = 1e3  # a state that lasts ten times this, and ten times the steps there are, is never left
_HEADER = ("state", "share", "duration", "observations")


def summary_text(hmm: HiddenMarkovModel, most: int | None = _STATES) -> str:
    """Return what was learned as text, with at most ``most`` states (None: all)."""
    lines = [f"{what:<9}  {text}" for what, text in _fields(hmm)]
    states = state_rows(hmm)
    shown = states[:most]
    left = [*grid_lines(_HEADER, shown, left=(0, 3))]
    more = [f"… and {counted(len(states) - len(shown), 'more state')}"] if len(shown) < len(states) else []
    matrix = ["", *grid_lines(*_matrix(hmm))] if 1 < len(states) <= _MATRIX else []
    return "\n".join([_title(hmm), *lines, "", *left, *more, *matrix])


def summary_html(hmm: HiddenMarkovModel) -> str:
    """Return what was learned as HTML, everything escaped."""
    states = state_rows(hmm)
    fields, table = html_table(["", ""], [*_fields(hmm)], left=None), html_table(_HEADER, states[:_STATES], left=(0, 3))
    matrix = html_table(*_matrix(hmm)) if 1 < len(states) <= _MATRIX else ""
    return f"<p>{escape(_title(hmm))}</p>{fields}{table}{matrix}"


def _title(hmm: HiddenMarkovModel) -> str:
    n, kind = getattr(hmm, "n_steps_", None), type(hmm.model_.emission)
    family = next((name for name, known in FAMILIES.items() if known is kind), kind.__name__)
    source = "of given parameters" if n is None else f"learned from {counted(round(n), 'step')}"
    return f"HiddenMarkovModel, {counted(len(hmm.state_names_), 'state')}, {family} emissions, {source}"


def _fields(hmm: HiddenMarkovModel) -> Iterator[tuple[str, str]]:
    """Yield the lines about the model as a whole: what, and the text."""
    yield "observed", listed([v.name for v in hmm.variables_])
    yield "first", ", ".join(f"{name} {p:.3g}" for name, p in _largest(hmm.state_names_, hmm.start_))
    if hasattr(hmm, "log_likelihood_") and hmm.log_likelihood_ is not None:
        size = f"{counted(hmm.n_parameters_, 'parameter')}, BIC {hmm.bic_:.2f}"
        yield "fit", f"log-likelihood {hmm.log_likelihood_:.2f}, {size}{_convergence(hmm)}"


def _convergence(hmm: HiddenMarkovModel) -> str:
    steps = len(getattr(hmm, "trace_", ())) - 1
    if not hmm.converged_:
        return "; did not converge"
    return f"; converged in {counted(steps, 'iteration')}" if steps > 0 else ""


def _matrix(hmm: HiddenMarkovModel) -> tuple[list[str], list[list[str]]]:
    """Return the transitions as a table."""
    names = [shortened(str(name), 12) for name in hmm.state_names_]
    rows = zip(names, hmm.transitions_.tolist(), strict=True)
    return ["from \\ to", *names], [[name, *(f"{p:.3f}" for p in row)] for name, row in rows]


def _largest(names: Sequence[Any], shares: np.ndarray) -> list[tuple[Any, float]]:
    """Return the names with the largest shares, and these, where they are not 0."""
    order = np.argsort(-shares, kind="stable")[:_SYMBOLS]
    return [(names[i], float(shares[i])) for i in order.tolist() if shares[i] > 5e-4]


def state_rows(hmm: HiddenMarkovModel) -> list[list[str]]:
    """Return for each state its name, its share of the steps (or of the long run), its mean duration, what it emits."""
    words, ties, shares = emission_words(hmm), hmm.model_.ties, getattr(hmm, "occupation_", hmm.stationary_)
    durations, never = mean_durations(hmm), max(_LONG, 10.0 * (getattr(hmm, "n_steps_", None) or _LONG))
    return [
        [
            str(name),
            f"{100.0 * shares[k]:.1f} %",
            "∞" if durations[k] > never else f"{durations[k]:.3g}",
            shortened(words[ties[k]], _WIDTH),
        ]
        for k, name in enumerate(hmm.state_names_)
    ]


def _number_text(value: float) -> str:
    return "∞" if np.isinf(value) else f"{value:.3g}"


def mean_durations(hmm: HiddenMarkovModel) -> np.ndarray:
    """Return the mean number of steps for which each state lasts, ∞ for one that is never left."""
    found = []
    for entry, block in _blocks(hmm):
        try:
            found.append(max(1.0, float(entry @ np.linalg.solve(np.eye(len(block)) - block, np.ones(len(block))))))
        except np.linalg.LinAlgError:
            found.append(np.inf)
    return np.array(found)


def duration_probabilities(hmm: HiddenMarkovModel, n: int) -> np.ndarray:
    """Return the probability that each state lasts 1, …, n steps, shape (n_states, n).

    Examples
    --------
    >>> import tunbridge as tb
    >>> hmm = tb.HiddenMarkovModel.from_parameters([0.5, 0.5], [[0.75, 0.25], [0.5, 0.5]], [[0.9, 0.1], [0.2, 0.8]])
    >>> duration_probabilities(hmm, 3).tolist()
    [[0.25, 0.1875, 0.140625], [0.5, 0.25, 0.125]]
    """
    found = np.zeros((len(hmm.state_names_), n))
    for k, (weights, block) in enumerate(_blocks(hmm)):
        leaves = 1.0 - block.sum(axis=1)
        for d in range(n):
            found[k, d] = weights @ leaves
            weights = weights @ block
    return found


def _blocks(hmm: HiddenMarkovModel) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield for each state how it is entered and how it goes on: of a state of several parts, by part."""
    dynamics = hmm.model_.dynamics
    chain = dynamics.chain(np.ones(1, np.int64))
    matrix, states = dense_pairs(chain.matrices, chain.arcs)[0], dynamics.states
    share = stationary(matrix)
    for k in range(len(hmm.state_names_)):
        own = states == k
        entry = share[~own] @ matrix[np.ix_(~own, own)]
        entry = entry if entry.sum() > 0.0 else chain.start[own]
        entry = entry if entry.sum() > 0.0 else np.ones(int(own.sum()))
        yield entry / entry.sum(), matrix[np.ix_(own, own)]


# Emissions in words


def emission_words(hmm: HiddenMarkovModel) -> list[str]:
    """Return what each emission gives, in words.

    Examples
    --------
    >>> import tunbridge as tb
    >>> hmm = tb.HiddenMarkovModel.from_parameters(
    ...     [0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]],
    ...     tb.emissions.Gaussian("diagonal", means=[[0.0], [5.0]], covariances=[[4.0], [1.0]]))
    >>> emission_words(hmm)
    ['0 ± 2', '5 ± 1']
    """
    return _words(hmm.model_.emission, hmm.variables_, int(hmm.model_.ties.max()) + 1)


def _words(emission: Any, variables: Sequence[Variable], n: int) -> list[str]:
    if isinstance(emission, Independent):
        each = [
            _named([variables[c] for c in columns], _words(part, [variables[c] for c in columns], n))
            for columns, part in emission.parts
        ]
        return ["; ".join(texts) for texts in zip(*each[:_COLUMNS], strict=True)]
    if isinstance(emission, Categorical):
        symbols = variables[0].states or tuple(range(emission.n_symbols or 0))
        return [", ".join(f"{s} {p:.3g}" for s, p in _largest(symbols, row)) for row in emission.probabilities]
    if isinstance(emission, Autoregressive) and len(variables) == 1:
        return [_regression(emission, k) for k in range(n)]
    means = getattr(emission, "expected", None)
    if means is None:
        return [type(emission).__name__] * n
    spreads = _spreads(emission)
    return [_values(means[k], None if spreads is None else spreads[k], variables) for k in range(n)]


def _regression(emission: Autoregressive, k: int) -> str:
    """Return the regression of a number on those before it."""
    before = (f"{c:+.3g} x[t-{i}]" for i, c in enumerate(np.ravel(emission.coefficients[k]).tolist(), 1))
    level, spread = float(emission.intercepts[k, 0]), float(np.ravel(emission.covariances[k])[0]) ** 0.5
    return f"{level:.4g} {' '.join(before)} ± {spread:.3g}"


def _named(variables: Sequence[Variable], texts: list[str]) -> list[str]:
    """Return texts with the name of the column before them, where there is one that is not named there."""
    return [f"{variables[0].name} {text}" for text in texts] if len(variables) == 1 else texts


def _values(means: np.ndarray, spreads: np.ndarray | None, variables: Sequence[Variable]) -> str:
    """Return means, with standard deviations where they are known."""
    texts = []
    for j, mean in enumerate(means[:_COLUMNS].tolist()):
        name = f"{variables[j].name} " if len(variables) > 1 else ""
        texts.append(f"{name}{mean:.4g}" if spreads is None else f"{name}{mean:.4g} ± {_number_text(spreads[j])}")
    return ", ".join([*texts, *(["…"] if len(means) > _COLUMNS else [])])


def _spreads(emission: Any) -> np.ndarray | None:
    """Return the standard deviation of each column in each state; None where a family does not say."""
    if isinstance(emission, Poisson):
        return np.sqrt(np.asarray(emission.rates))
    if isinstance(emission, NegativeBinomial):
        m = np.asarray(emission.means)
        return np.asarray(np.sqrt(m + m**2 / np.asarray(emission.sizes)))
    if not isinstance(emission, (Gaussian, StudentT)):
        return None
    given = np.asarray(emission.covariances if isinstance(emission, Gaussian) else emission.scales)
    k, d = np.asarray(emission.means).shape
    if emission.covariance in ("full", "tied"):
        given = np.diagonal(given, axis1=-2, axis2=-1)
    elif emission.covariance == "spherical":
        given = given.reshape(k, 1)
    if isinstance(emission, StudentT):
        freedom = np.asarray(emission.freedoms)[:, None]
        given = given * np.where(freedom > 2.0, freedom / np.maximum(freedom - 2.0, 1e-300), np.inf)
    return np.sqrt(np.broadcast_to(given, (k, d)))
