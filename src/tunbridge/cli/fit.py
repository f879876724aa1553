"""``tunbridge fit``: the tables of a given graph from data, whatever is missing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunbridge.cli.failures import UsageError
from tunbridge.cli.networks import NetworkFile, is_network_name, load_network
from tunbridge.cli.options import DataFile, Reading, check_column
from tunbridge.cli.output import counted, say, say_fields, searching, shortlist
from tunbridge.cli.pictures import PICTURE_SUFFIXES, write_picture
from tunbridge.cli.priors import read_prior
from tunbridge.cli.remarks import SHOWN, missing_lines, model_name, size_text

if TYPE_CHECKING:
    from tunbridge.data import Table
    from tunbridge.learning import Fit
    from tunbridge.network import BayesianNetwork


class Method(StrEnum):
    """What is done about missing cells."""

    em = "em"
    gradient = "gradient"
    available = "available"
    complete = "complete"


@dataclass(frozen=True)
class MarkedReading(Reading):
    """How a file is read, where ``--missing`` says what is done about missing cells."""

    missing: Annotated[
        list[str] | None,
        typer.Option(
            "--missing-mark",
            metavar="MARK",
            help="A further text that stands for a missing value, beside empty, ?, NA, NaN and null; repeatable.",
            rich_help_panel="How the file is read",
        ),
    ] = None


@dataclass(frozen=True)
class Iteration:
    """How tables are found where cells are missing."""

    tolerance: Annotated[
        float | None,
        typer.Option(metavar="X", min=0.0, help="End when an iteration gains less than this for each row; 1e-6."),
    ] = None
    max_iterations: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="End after so many iterations at the latest; 1000.")
    ] = None
    restarts: Annotated[int | None, typer.Option(metavar="N", min=0, help="Further starts from random tables.")] = None
    seed: Annotated[int | None, typer.Option(metavar="N", min=0, help="For random starts; 0.")] = None
    warm: Annotated[bool, typer.Option("--warm", help="Begin at the tables that the network file has.")] = False
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A picture of the iterations: .png, .svg or .pdf.")
    ] = None

    @property
    def given(self) -> list[str]:
        """The options that were given."""
        said = {
            "--tolerance": self.tolerance, "--max-iterations": self.max_iterations, "--restarts": self.restarts,
            "--warm": self.warm or None, "--trace": self.trace, "--seed": self.seed,
        }  # fmt: skip
        return [name for name, value in said.items() if value is not None]


def fit(
    network: NetworkFile,
    data: DataFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The network to write. Otherwise the table's name with .tb."
        ),
    ] = None,
    method: Annotated[
        Method,
        typer.Option(
            "--missing",
            help="What is done about missing cells: em uses all that was observed; available and complete, to compare "
            "with, leave rows out.",
        ),
    ] = Method.em,
    prior: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Imagined rows behind the tables: mle (none), a number for every cell, m:M rows a configuration, "
            "bdeu:ESS, k2, backoff. Otherwise m:1.",
        ),
    ] = None,
    hidden: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=N", help="A node that is never observed gets N states; NAME=a|b names them; repeatable."
        ),
    ] = None,
    weights: Annotated[str | None, typer.Option(metavar="COL", help="The column that holds the rows' weights.")] = None,
    states_from_data: Annotated[
        bool, typer.Option("--states-from-data", help="Take the graph only; the states are those in the data.")
    ] = False,
    *,
    iteration: Iteration,
    reading: MarkedReading,
) -> None:
    """Fit the tables of a network's graph to data.

    The file gives the graph and the states; its tables are not looked at, unless --warm begins with them. Variables of
    the network without a column in the data are hidden. Ctrl-C keeps the best tables so far.

    Examples
    --------
    tunbridge fit alarm.bif visits.csv -o fitted.bif
    tunbridge fit alarm.bif visits.csv --missing available --prior bdeu:10
    tunbridge fit kinds.bif answers.csv --hidden kind=3 --restarts 20 --seed 1
    """
    file = output or model_name(data)
    _check(file, network, data, method, iteration)
    if output is None and file.resolve() == network.resolve():
        raise UsageError(f"-o must name the network to write; without it {file} itself would be replaced.")
    rule, way = read_prior(prior), _fitter(method, iteration)
    net = load_network(network)
    table = _read(data, net, weights, reading, with_states=not states_from_data)
    unseen = _hidden(hidden or [])
    found, fitted = _fitted(net if not states_from_data else net.dag, table, rule, way, method, unseen, iteration, net)
    told = _summary(data, table, net, found, fitted, method)
    fitted.write(file)
    say_fields(told)
    _show_next(fitted, file, data, table)
    if iteration.trace is not None and found is not None:
        write_picture(iteration.trace, lambda plots: plots.iterations(found))
    if found is not None and found.note:
        raise KeyboardInterrupt(f"the best tables so far are in {file}.")


def _check(file: Path, network: Path, data: Path, method: Method, iteration: Iteration) -> None:
    """Raise before the work when its result could not be written, or an option would do nothing."""
    from tunbridge.cli.writers import check_not_input, check_output, check_place
    from tunbridge.formats.network_files import SUFFIXES

    if is_network_name(data) and not is_network_name(network):
        raise UsageError(f"the network must come first and the table second; got {network.name} {data.name}.")
    check_not_input(file, [data])
    if Path(file.name.lower().removesuffix(".gz")).suffix not in SUFFIXES:
        raise UsageError(f"the name of the network must end in {shortlist(list(SUFFIXES), most=9)}; got {file.name!r}.")
    check_place(file)
    check_output(iteration.trace, inputs=[data, network], suffixes=PICTURE_SUFFIXES)
    if method in (Method.available, Method.complete) and iteration.given:
        raise UsageError(f"{iteration.given[0]} must come with --missing em or gradient; got {method.value}.")


def _fitter(method: Method, iteration: Iteration) -> Any:
    """Return how missing cells are dealt with, as the library takes it."""
    from tunbridge.learning import EM, GradientAscent

    if method in (Method.available, Method.complete):
        return method.value
    limits = {"tolerance": iteration.tolerance, "max_iterations": iteration.max_iterations}
    said: dict[str, Any] = {name: value for name, value in limits.items() if value is not None}
    kind = GradientAscent if method is Method.gradient else EM
    return kind(**said, restarts=iteration.restarts)


def _read(path: Path, net: BayesianNetwork, weights: str | None, reading: Reading, *, with_states: bool) -> Table:
    """Return the columns of a file that the network has; in its states they are read as text where these are."""
    from tunbridge.data.readers import read_table
    from tunbridge.errors import DataError
    from tunbridge.learning.fitting import warn_of_absent

    names = reading.column_names(path)
    warn_of_absent([name for name in net.nodes if name not in names], [name for name in names if name not in net])
    if weights is not None:
        check_column("--weights", weights, path, names)
    kept = [name for name in names if name in net]
    if not kept:
        shown = f"{shortlist(list(net.nodes), most=4)} against {shortlist(names, most=4)}"
        raise DataError(f"{path.name} must have a column of the network; got none ({shown}).")
    kinds: dict[str, Any] = {}
    if with_states:
        kinds = {n: "categorical" for n in kept if (v := net.cpt(n).variable).is_categorical and v.cuts is None}
    columns = [*kept, *([weights] if weights and weights not in kept else [])]
    return read_table(path, columns=columns, kinds=kinds, missing=reading.markers, weights=weights, **reading.how())


def _hidden(given: list[str]) -> dict[str, Any]:
    """Return the hidden variables with their states."""
    found: dict[str, Any] = {}
    for text in given:
        name, _, states = text.rpartition("=")
        names = states.split("|")
        is_number = states.isascii() and states.isdecimal()
        if not name or not (is_number or (len(names) > 1 and all(names))):
            raise UsageError(f"--hidden must be NAME=N or NAME=a|b; got {text!r}.")
        if name in found:
            raise UsageError(f"--hidden must name a variable once; got {name!r} twice.")
        found[name] = int(states) if is_number else names
    return found


def _fitted(
    graph: Any, table: Table, prior: Any, way: Any, method: Method, hidden: dict[str, Any], iteration: Iteration,
    net: BayesianNetwork,
) -> tuple[Fit | None, BayesianNetwork]:  # fmt: skip
    """Return how the tables were found, where that took iterations, and the network."""
    from tunbridge.learning import fit_parameters
    from tunbridge.learning.fitting import graph_and_table

    chosen = graph_and_table(graph, table, hidden)[1]
    if method in (Method.available, Method.complete) or not (chosen.missing or iteration.given):
        return None, fit_parameters(graph, table, prior, missing=way, hidden=hidden)
    with searching("fitting") as report:
        found = way.fit(
            graph, table, prior, hidden=hidden, start=net if iteration.warm else None,
            random_state=iteration.seed or 0, progress=report,
        )  # fmt: skip
    return found, found.network


def _summary(
    data: Path, table: Table, net: BayesianNetwork, found: Fit | None, fitted: BayesianNetwork, method: Method
) -> list[tuple[str, str]]:
    absent = [name for name in net.nodes if name not in table.names]
    return [
        ("Read", size_text(data, table)),
        ("Missing", shortlist(missing_lines(table), most=SHOWN, separator="\n")),
        ("Complete", _complete_text(table)),
        ("Hidden", shortlist(absent, most=SHOWN)),
        ("Tables", _tables_text(found, table, method)),
        ("Likelihood", _likelihood_text(found, fitted, table)),
        ("Network", repr(fitted).partition(": ")[2]),
    ]


def _complete_text(table: Table) -> str:
    if not table.missing:
        return ""
    n = int(table.complete.sum())
    return f"{counted(n, 'row')} of {table.n_rows} ({100 * n / max(1, table.n_rows):.1f} %)"


def _tables_text(found: Fit | None, table: Table, method: Method) -> str:
    if found is None:
        return "counted" if not table.missing else f"counted in {method.value} rows"
    way = "gradient ascent" if method is Method.gradient else "EM"
    how = "converged" if found.converged else found.note or "not converged: --max-iterations allows for more"
    return f"{way}, {counted(found.n_iterations, 'iteration')}, {how}"


def _likelihood_text(found: Fit | None, fitted: BayesianNetwork, table: Table) -> str:
    """Return the mean log-likelihood of the rows, by which ways and priors can be compared."""
    if not table.n_rows:
        return ""
    import numpy as np

    if found is None:
        weights = np.ones(table.n_rows) if table.weights is None else table.weights
        known = weights > 0.0
        total = float(weights[known] @ fitted.log_likelihood(table)[known])
        return f"{total / max(weights.sum(), 1.0):.6g} a row (natural logarithm)"
    first, last = (step.log_likelihood / max(found.n_rows, 1.0) for step in (found.trace[0], found.trace[-1]))
    return f"{last:.6g} a row (natural logarithm), from {first:.6g} at the start"


def _show_next(fitted: BayesianNetwork, file: Path, data: Path, table: Table) -> None:
    name = quote(str(file))
    say()
    say(f"The network is in {file}. What next:")
    say(f"  tunbridge describe {name}")
    if table.missing and all(v.is_categorical for v in fitted.variables):
        say(f"  tunbridge impute {name} {quote(str(data))} -o filled.csv")
    else:
        say(f"  tunbridge query {name} --target {quote(fitted.nodes[-1])}")
