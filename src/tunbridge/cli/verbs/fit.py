"""``tunbridge network fit``: the tables of a given graph from data, complete or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

import tunbridge as tb
from tunbridge._core.registry import verb
from tunbridge.cli.dynamic import Sequences, read_rows, sequences_text
from tunbridge.cli.files import (
    check_network_output,
    check_picture,
    is_a,
    is_network_name,
    load_either,
    model_name,
    suffix_of,
    write_picture,
)
from tunbridge.cli.options import DataFile, From, NetworkFile, Reading, check_column
from tunbridge.cli.output import counted, lines, reporting, say_fields, say_next, shortlist
from tunbridge.cli.training import missing_lines, read_chosen, size_text
from tunbridge.cli.usage import UsageError, given_for, refuse
from tunbridge.data import Table
from tunbridge.errors import DataError
from tunbridge.learning import EM, BackOff, BDeu, BDs, Fit, GradientAscent, fit_parameters
from tunbridge.learning.missing.fitting import graph_and_table, warn_of_absent
from tunbridge.learning.parameters.priors import DEFAULT_PRIOR, NAMES, Prior, as_prior
from tunbridge.network import BayesianNetwork
from tunbridge.probability import Laplace, MEstimate

if TYPE_CHECKING:
    from tunbridge.temporal import DynamicBayesianNetwork

_COUNTED = ("available", "complete")
_PRIORS = "mle, a number, m:M, bdeu, bdeu:ESS, bds, bds:ESS, k2, laplace, laplace:X, jeffreys, backoff or backoff:S"
_RULES: dict[str, Callable[[float], Prior]] = {
    "bdeu": BDeu, "bds": BDs, "laplace": Laplace, "backoff": BackOff, "m": MEstimate,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Fitting:
    """Options.

    Parameters
    ----------
    output, -o : FILE
        The network to write (default: the table's name with .tb).
    prior : RULE
        The pseudo-counts added to the tables: mle (none), a number for every entry, m:M rows per configuration,
        bdeu:ESS, k2, laplace, jeffreys or backoff (default: m:1).
    weights : COL
        The column of the row weights.
    states_from_data
        Take only the graph from the file; the states are those in the data.
    """

    output: Path | None = None
    how: Annotated[dict[str, Any], From("learning", "fit_parameters", "missing hidden=hidden:NAME=N|NAME=a|b")]
    prior: str | None = None
    weights: str | None = None
    states_from_data: bool = False


Iterating = Annotated[
    dict[str, Any], From("learning", "EM", "restarts tolerance max_iterations", panel="Missing values")
]


@dataclass(frozen=True)
class MarkedReading(Reading):
    """Reading the file.

    Parameters
    ----------
    missing, --missing-mark : MARK
        A further text that marks a missing value, besides an empty value, ?, NA, NaN and null.
    """


@dataclass(frozen=True)
class Starting:
    """Missing values.

    Parameters
    ----------
    random_state, --seed : N >= 0
        The random seed of the restarts (default: 0).
    warm
        Start at the tables that the network file has.
    trace : FILE
        Draw the iterations into a .png, .svg or .pdf file.
    """

    random_state: int | None = None
    warm: bool = False
    trace: Path | None = None


@verb("network fit", old="fit", rank=31)
def fit(
    network: NetworkFile,
    data: DataFile,
    *,
    fitting: Fitting,
    iterating: Iterating,
    starting: Starting,
    sequences: Sequences,
    reading: MarkedReading,
) -> None:
    """Fit the tables of a network's graph to data.

    The file gives the graph and the states; its tables are ignored, or are the start with --warm. Variables of the
    network without a column in the data are hidden. Ctrl-C keeps the best tables so far. The rows of a dynamic network
    are slices of sequences; where values are missing, EM starts at its tables.

    Examples
    --------
    tunbridge network fit alarm.bif visits.csv -o fitted.bif
    tunbridge network fit alarm.bif visits.csv --missing available --prior bdeu:10
    tunbridge network fit kinds.bif answers.csv --hidden kind=3 --restarts 20 --seed 1
    tunbridge network fit ward.tb visits.csv --sequence patient --time day -o fitted.tb
    """
    file = fitting.output or model_name(data)
    method, hidden = fitting.how.get("missing", "em"), fitting.how.get("hidden", {})
    if is_network_name(data) and not is_network_name(network):
        raise UsageError(f"the network must come first and the table second; got {network.name} {data.name}.")
    check_network_output(file, [data])
    check_picture(starting.trace, [data, network])
    iterates = given_for("iterating", "warm", "trace", "random_state")
    refuse(*((method in _COUNTED, f"{o} must come with --missing em or gradient; got {method}.") for o in iterates))
    is_same = fitting.output is None and file.resolve() == network.resolve()
    refuse((is_same, f"-o must name the network to write; without it {file} itself would be replaced."))
    prior, net = read_prior(fitting.prior), load_either(network)
    if is_a("DynamicBayesianNetwork", net):
        _fit_dynamic(net, network, data, file, prior, sequences, reading, iterating, starting.random_state or 0)
        return
    sequences.refuse(network)
    table = _read(data, net, fitting, reading)
    graph = net.dag if fitting.states_from_data else net
    found: Fit | None = None
    if method in _COUNTED or not (graph_and_table(graph, table, hidden)[1].missing or iterates):
        fitted = fit_parameters(graph, table, prior, missing=method, hidden=hidden)
    else:
        way = (GradientAscent if method == "gradient" else EM)(**iterating)
        start, seed = net if starting.warm else None, starting.random_state or 0
        with reporting("fitting") as report:
            found = way.fit(graph, table, prior, hidden=hidden, start=start, random_state=seed, progress=report)
        fitted = found.network
    fitted = fitted.with_reading(table.reading)
    fitted.write(file)
    say_fields(_summary(data, table, net, found, fitted, method))
    name, next_step = quote(str(file)), f"network query {quote(str(file))} --target {quote(fitted.nodes[-1])}"
    if table.missing and all(v.is_categorical for v in fitted.variables):
        next_step = f"impute {name} {quote(str(data))} -o filled.csv"
    say_next("network", file, [f"describe {name}", next_step])
    if starting.trace is not None and found is not None:
        write_picture(starting.trace, lambda plots: plots.iterations(found))
    if found is not None and found.note:
        raise KeyboardInterrupt(f"the best tables so far are in {file}.")


def _fit_dynamic(
    net: DynamicBayesianNetwork, network: Path, data: Path, file: Path, prior: Prior, sequences: Sequences,
    reading: Reading, iterating: dict[str, Any], seed: int,
) -> None:  # fmt: skip
    """Fit the tables of a dynamic network, and write it."""
    given = given_for("how", "weights", "states_from_data", "warm", "trace")
    refuse(
        (bool(given), f"{' and '.join(given)} must come with a static network; {network.name} is a dynamic one."),
        (suffix_of(file) != ".tb", f"the name of a dynamic network must end in '.tb'; got {file.name!r}."),
    )
    table = read_rows(net, data, sequences, reading)
    with reporting("fitting", keeps=False):
        fitted = tb.fit_dynamic(net, table, prior, random_state=seed, **iterating, **sequences.how)
    fitted.write(file)
    hidden = [name for name in net.nodes if name not in table.names]
    log = float(fitted.log_likelihood(table, **sequences.how).sum()) / max(table.n_rows, 1)
    say_fields([
        ("Read", f"{size_text(data, table)}, {sequences_text(table, sequences)}"),
        ("Missing", lines(missing_lines(table))),
        ("Hidden", shortlist(hidden)),
        ("Tables", "EM" if hidden or table.missing else "counted"),
        ("Likelihood", f"{log:.6g} per row (natural logarithm)"),
        ("Network", repr(fitted).partition(": ")[2]),
    ])  # fmt: skip
    asked = quote(hidden[0] if hidden else fitted.nodes[-1])
    again = " ".join(map(quote, sequences.again))
    smooth = f"network smooth {quote(str(file))} {quote(str(data))} --target {asked} {again}".rstrip()
    say_next("network", file, [f"describe {quote(str(file))}", smooth])


def read_prior(text: str | None) -> Prior:
    """Return the prior that an option describes."""
    if text is None:
        return DEFAULT_PRIOR
    name, sign, number = text.strip().lower().partition(":")
    try:
        if sign and name in _RULES:
            return _RULES[name](float(number))
        if not sign:
            return as_prior(name if name in NAMES else float(name))
    except DataError:
        raise
    except ValueError:
        pass
    raise UsageError(f"--prior must be {_PRIORS}; got {text!r}.")


def _read(path: Path, net: BayesianNetwork, fitting: Fitting, reading: Reading) -> Table:
    """Return the columns of a file that the network has; with its states if they are taken from there, read as text."""

    def choose(names: list[str]) -> tuple[list[str], list[str]]:
        warn_of_absent([name for name in net.nodes if name not in names], [name for name in names if name not in net])
        if fitting.weights is not None:
            check_column("--weights", fitting.weights, path, names)
        kept = [name for name in names if name in net]
        if not kept:
            shown = f"{shortlist(list(net.nodes), most=4)} against {shortlist(names, most=4)}"
            raise DataError(f"{path.name} must have a column of the network; got none ({shown}).")
        texts = [v.name for v in net.variables if v.name in kept and v.is_categorical and v.cuts is None]
        return kept, [] if fitting.states_from_data else texts

    return read_chosen(path, reading, fitting.weights, choose, net.reading)


# The summary


def _summary(
    data: Path, table: Table, net: BayesianNetwork, found: Fit | None, fitted: BayesianNetwork, method: str
) -> list[tuple[str, str]]:
    return [
        ("Read", size_text(data, table)),
        ("Missing", lines(missing_lines(table))),
        ("Complete", _complete_text(table)),
        ("Hidden", shortlist([name for name in net.nodes if name not in table.names])),
        ("Tables", _tables_text(found, table, method)),
        ("Likelihood", _likelihood_text(found, fitted, table)),
        ("Network", repr(fitted).partition(": ")[2]),
    ]


def _complete_text(table: Table) -> str:
    if not table.missing:
        return ""
    n = int(table.complete.sum())
    return f"{counted(n, 'row')} of {table.n_rows} ({100 * n / max(1, table.n_rows):.1f} %)"


def _tables_text(found: Fit | None, table: Table, method: str) -> str:
    if found is None:
        return "counted" if not table.missing else f"counted in {method} rows"
    way = "gradient ascent" if method == "gradient" else "EM"
    how = "converged" if found.converged else found.note or "not converged; increase --max-iterations"
    return f"{way}, {counted(found.n_iterations, 'iteration')}, {how}"


def _likelihood_text(found: Fit | None, fitted: BayesianNetwork, table: Table) -> str:
    """Return the mean log-likelihood of the rows, to compare methods and priors."""
    if not table.n_rows:
        return ""
    if found is None:
        weights = np.ones(table.n_rows) if table.weights is None else table.weights
        known = weights > 0.0
        total = float(weights[known] @ fitted.log_likelihood(table)[known])
        return f"{total / max(weights.sum(), 1.0):.6g} per row (natural logarithm)"
    first, last = (step.log_likelihood / max(found.n_rows, 1.0) for step in (found.trace[0], found.trace[-1]))
    return f"{last:.6g} per row (natural logarithm), from {first:.6g} at the start"
