"""``tunbridge hmm learn``, ``decode``, ``filter``, ``forecast`` and ``sample``: hidden Markov models of sequences."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa

import tunbridge as tb
from tunbridge._core.check import listed
from tunbridge._core.lazy import LazyModule
from tunbridge._core.registry import verb
from tunbridge.cli.files import (
    check_exists,
    check_model_output,
    check_table,
    is_a,
    is_model,
    load_any,
    model_name,
    table_output,
    write_batches,
)
from tunbridge.cli.options import DataFile, Described, From, Reading, Seed, TableOutput, check_column
from tunbridge.cli.output import counted, note, reporting, say, say_fields, say_next, say_table, shortlist
from tunbridge.cli.rows import dialect_of_rows, iter_verbatim
from tunbridge.cli.training import column_names
from tunbridge.cli.usage import UsageError, as_usage, near_hint, refuse
from tunbridge.data import Table
from tunbridge.data.readers import read_table
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.temporal import HiddenMarkovModel
    from tunbridge.temporal.panel import Panel

summary = LazyModule("tunbridge.temporal.summary")  # help must not wait for it

_AUTO, _MOST_STATES, _BATCH_ROWS = "auto", 6, 65536
_STATE, _ALSO = "state", "decoded_state"
_FAMILIES = (
    "auto", "categorical", "gaussian", "gaussian-mixture", "poisson", "negative-binomial", "student-t",
    "autoregressive",
)  # fmt: skip
_LEARN = "tunbridge hmm learn makes one."

HMMFile = Annotated[Path, Described((), "MODEL", "The model, as tunbridge hmm learn wrote it.", False)]
Settings = Annotated[
    dict[str, Any],
    From(
        "temporal", "HiddenMarkovModel", "topology start sticky restarts",
        "alpha start_alpha hard tolerance max_iterations=iterations time_unit", "Model",
    ),
]  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """Columns.

    Parameters
    ----------
    sequence : COL
        The column that names the sequence of each row (default: the one that the model was learned with).
    time : COL
        The column of the times (default: the one that the model was learned with).
    """

    sequence: str | None = None
    time: str | None = None

    def check(self, path: Path, reading: Reading) -> list[str]:
        """Return the columns of a file; raise unless the options name some of them."""
        names = column_names(path, reading)
        for option, name in (("--sequence", self.sequence), ("--time", self.time)):
            if name is not None:
                check_column(option, name, path, names)
        refuse((self.sequence is not None and self.sequence == self.time, "--sequence and --time must differ."))
        return names

    def of(self, hmm: HiddenMarkovModel, path: Path, reading: Reading) -> HiddenMarkovModel:
        """Return a model that reads the columns which the options name; raise unless the file has those it needs."""
        names = self.check(path, reading)
        hmm.sequence, hmm.time = self.sequence or hmm.sequence, self.time or hmm.time
        for option, name in (("--sequence", hmm.sequence), ("--time", hmm.time)):
            if name is not None and name not in names:
                rule = f"{path.name} must have the column {name!r}, with which the model was learned"
                raise DataError(f"{rule}; it has {listed(names)}. {option} names another one.")
        absent = [v.name for v in hmm.variables_ if v.name not in names]
        if absent:
            rule = f"{path.name} must have the columns that the model observes; it has no {listed(absent)}"
            raise DataError(f"{rule}.{near_hint(absent[0], names)}")
        return hmm


@dataclass(frozen=True, kw_only=True)
class Learned(Layout):
    """Columns.

    Parameters
    ----------
    sequence : COL
        The column that names the sequence of each row (default: all rows are one sequence).
    time : COL
        The column of the times, numbers or dates: rows are sorted by it, and gaps are bridged (default: rows follow
        each other).
    columns, --column, --columns : COL
        A column to observe (default: all others).
    labels : COL
        The column of known states, empty where a state is not known.
    """

    columns: list[str] = ()  # type: ignore[assignment]
    labels: str | None = None

    def chosen(self, path: Path, names: list[str]) -> list[str] | None:
        """Return the columns to observe, None for all others; raise unless they are in the file."""
        found = [part for text in self.columns for part in ([text] if text in names else text.split(","))]
        for name in found:
            check_column("--column", name, path, names)
        if self.labels is not None:
            check_column("--labels", self.labels, path, names)
        others = {"--labels": self.labels, "--sequence": self.sequence, "--time": self.time}
        for option, other in others.items():
            refuse((other in found, f"--column must not name the column of {option}, {other!r}."))
        refuse(
            (self.labels in (self.sequence, self.time) and self.labels, "--labels must differ from --sequence, --time.")
        )
        return found or None


@verb("hmm learn", names={"y": "--labels", "n_states": "--states"}, rank=24)
def learn(
    data: DataFile,
    *,
    states: str | None = None,
    emissions: list[str] = (),  # type: ignore[assignment]
    output: Path | None = None,
    random_state: Seed = None,
    columns: Learned,
    settings: Settings,
    reading: Reading,
) -> None:
    """Learn a hidden Markov model from sequences.

    Each row is a step; a column may name its sequence, and another one give the time. Missing values are fine.

    Parameters
    ----------
    states : N|auto
        The number of hidden states; auto chooses it by BIC, from 1 to 6 (default: the number of labels, or 2).
    emissions : NAME|COL=NAME
        The distribution of observations in each state, or of a column: auto, categorical, gaussian, gaussian-mixture,
        poisson, negative-binomial, student-t or autoregressive (default: auto, which is categorical for text and
        gaussian for numbers).
    output, -o : FILE
        The model file (default: the table's name with .tb).

    Examples
    --------
    tunbridge hmm learn quakes.csv --time year --emissions poisson --states 3 -o quakes.tb
    tunbridge hmm learn visits.csv --sequence patient --time day --states auto
    tunbridge hmm learn text.csv --sequence sentence --column word --labels tag
    """
    n, file = _states(states), output or model_name(data)
    rule = "--states auto must come without --labels, whose number it would be."
    refuse((n == _AUTO and columns.labels is not None, rule))
    check_table(data)
    check_model_output(file)
    names = columns.check(data, reading)
    chosen = columns.chosen(data, names)
    hmm = tb.HiddenMarkovModel(
        None if n == _AUTO else n,  # type: ignore[arg-type]
        _emissions(emissions, data, names),
        sequence=columns.sequence,
        time=columns.time,
        columns=chosen,
        random_state=random_state or 0,
        **settings,
    )
    with as_usage():
        hmm._check_parameters()
    table = read_table(data, **reading.missing_marks, **reading.how_whole)
    _check_numbers(hmm, table, columns)
    choice = None
    with reporting("learning") as report:
        hmm.progress = report
        if n == _AUTO:
            choice = hmm.choose_states(table, range(1, _MOST_STATES + 1))
            hmm = choice.model
        else:
            hmm.fit(table, columns.labels)
    hmm.progress = None
    hmm.save(file)
    panel = hmm._read(table)
    say_fields(_fields(data, table, panel, hmm, columns))
    if choice is not None:
        say()
        say(repr(choice))
    say()
    say_table(["state", "share", "duration", "observations"], summary.state_rows(hmm), left=(0, 3))
    where = quote(str(file))
    decoded = f"hmm decode {where} {quote(str(data))} -o states.csv"
    say_next("model", file, [decoded, f"hmm forecast {where} {quote(str(data))} --steps 10", f"describe {where}"])


def _states(text: str | None) -> int | str | None:
    """Return the number of states that an option names, or ``auto``."""
    if text is None or text.lower() == _AUTO:
        return None if text is None else _AUTO
    refuse(
        (not text.isdecimal() or int(text) < 1, f"--states must be an integer of at least 1, or auto; got {text!r}.")
    )
    return int(text)


def _emissions(texts: list[str], path: Path, names: list[str]) -> Any:
    """Return the emission that options name: one for all columns, or one for each of some."""
    if not texts:
        return _AUTO
    by_column: dict[str, str] = {}
    for text in texts:
        column, sign, name = text.rpartition("=")
        if name not in _FAMILIES:
            raise UsageError(
                f"--emissions must be one of {', '.join(_FAMILIES)}; got {name!r}.{near_hint(name, _FAMILIES)}"
            )
        if not sign:
            refuse((len(texts) > 1, "--emissions must be given once, or as COL=NAME for several columns."))
            return name
        check_column("--emissions", column, path, names)
        by_column[column] = name
    return by_column


def _check_numbers(hmm: HiddenMarkovModel, table: Table, columns: Learned) -> None:
    """Raise for text in a column that is to have an emission of numbers."""
    given, rest = hmm.emissions, {columns.sequence, columns.time, columns.labels}
    observed = hmm.columns or [v.name for v in table.variables if v.name not in rest]
    for v in table.variables:
        family = given.get(v.name) if isinstance(given, dict) else given
        if v.name in observed and v.is_categorical and family not in (None, _AUTO, "categorical"):
            others = [name for name in observed if table.variable(name).is_continuous]
            hint = f" --column {others[0]} observes the numbers only." if others and not isinstance(given, dict) else ""
            rule = f"--emissions {family} must come with columns of numbers; {v.name!r} holds text"
            raise DataError(f"{rule}. --emissions {v.name}=categorical is for symbols.{hint}")


def _fields(data: Path, table: Table, panel: Panel, hmm: HiddenMarkovModel, columns: Learned) -> list[tuple[str, str]]:
    lengths = panel.lengths
    ends = f"{lengths.min()} to {lengths.max()}" if lengths.min() < lengths.max() else f"{lengths.max()}"
    of = f"{counted(panel.n_sequences, 'sequence')} of {ends} steps"
    gaps = "" if panel.gaps is None else f"; gaps of up to {panel.gaps.max()} time units are bridged"
    fit = f"log-likelihood {hmm.log_likelihood_:.2f}, {counted(hmm.n_parameters_, 'parameter')}, BIC {hmm.bic_:.2f}"
    return [
        ("Read", f"{data}: {counted(table.n_rows, 'row')}, {of}{gaps}"),
        ("Observed", shortlist([v.name for v in hmm.variables_])),
        (
            "Labels",
            "" if columns.labels is None else f"{columns.labels}: {shortlist([str(s) for s in hmm.state_names_])}",
        ),
        ("Model", f"{counted(len(hmm.state_names_), 'state')}; {fit}"),
    ]


# With a model


def _loaded(path: Path, rows: Path | None) -> HiddenMarkovModel:
    """Return the hidden Markov model in a file; raise with a hint if there is another model or none."""
    check_exists("the model", path, _LEARN)
    if rows is not None and not is_model(path) and is_model(rows):
        raise DataError(f"the model must come first; got {str(path)!r} before {str(rows)!r}.")
    if not path.is_dir() and not is_model(path):
        hint = f"Learn one from it: tunbridge hmm learn {quote(str(path))}."
        raise DataError(f"the model must be a model file; {str(path)!r} is none. {hint}")
    model = load_any(path, swapped_with=rows)
    if not is_a("HiddenMarkovModel", model):
        what, use = "classifier", "tunbridge predict"
        if is_a("BayesianNetwork", model):
            what, use = "network", "tunbridge network query"
        elif is_a("DynamicBayesianNetwork", model):
            what, use = "dynamic network", "tunbridge network filter, smooth or forecast"
        raise DataError(f"the model must be a hidden Markov model; {str(path)!r} is a {what}. Use {use}.")
    found: HiddenMarkovModel = model
    return found


@verb("hmm decode", rank=25)
def decode(model: HMMFile, rows: DataFile, *, output: TableOutput = None, columns: Layout, reading: Reading) -> None:
    """Find the most probable states of sequences.

    The rows come out with the state of the most probable path of their whole sequence (Viterbi), and the probability of
    each state given the whole sequence.

    Examples
    --------
    tunbridge hmm decode quakes.tb quakes.csv -o states.csv
    tunbridge hmm decode tags.tb new.csv --sequence sentence
    """
    _answer(model, rows, output, columns, reading, is_past=False)


@verb("hmm filter", rank=26)
def filter_rows(
    model: HMMFile, rows: DataFile, *, output: TableOutput = None, columns: Layout, reading: Reading
) -> None:
    """Find the probable state of each step from what came before.

    The rows come out with the probability of each state given the row and those before it, and the most probable one:
    what can be known while the data arrive. With later rows, too, hmm decode knows more.

    Examples
    --------
    tunbridge hmm filter machine.tb sensor.csv -o alarms.csv
    tunbridge hmm filter visits.tb new.csv --sequence patient
    """
    _answer(model, rows, output, columns, reading, is_past=True)


def _answer(model: Path, path: Path, output: Path | None, columns: Layout, reading: Reading, *, is_past: bool) -> None:
    """Write rows with their states and probabilities."""
    output = table_output(output, [model, path])
    check_exists("the rows", path)
    hmm = _loaded(model, path)
    check_table(path, "the rows")
    hmm = columns.of(hmm, path, reading)
    table = read_table(path, **reading.missing_marks, **reading.how_whole)
    panel = hmm._read(table)
    proba = np.asarray(hmm.filter(panel) if is_past else hmm.predict_proba(panel))
    names = np.array(hmm.state_names_)
    states = names[proba.argmax(axis=1)] if is_past else hmm.predict(panel)
    words = pa.concat_tables(list(iter_verbatim([path], reading, _BATCH_ROWS)))
    added = {_STATE if _STATE not in words.column_names else _ALSO: pa.array(states.tolist())}
    added |= {f"P(state={name})": pa.array(proba[:, k]) for k, name in enumerate(hmm.state_names_)}
    twice = [name for name in added if name in words.column_names]
    if twice:
        rule = f"{path.name} must not have the columns that are added; it has {listed(twice)}."
        raise DataError(f"{rule} Rename them.")
    found = pa.table([*words.columns, *added.values()], names=[*words.column_names, *added])
    write_batches(output, iter([found]), dialect_of_rows(path, reading))
    if output is not None:
        counts = np.unique(states.astype(str), return_counts=True)
        shares = shortlist([f"{name} {n}" for name, n in zip(*counts, strict=True)])
        say(f"{counted(len(states), 'row')} in {output}; {next(iter(added))}: {shares}")


@verb("hmm forecast", rank=27)
def forecast(
    model: HMMFile,
    rows: DataFile,
    *,
    steps: int = 10,
    interval: float = 0.9,
    output: TableOutput = None,
    columns: Layout,
    reading: Reading,
) -> None:
    """Forecast what follows sequences.

    For every sequence and step there are the probabilities of the states, those of symbols, and the means of numbers
    with the ends of an interval.

    Parameters
    ----------
    steps, --steps, -n : N >= 1
        How many steps ahead.
    interval : P
        The probability of the interval.

    Examples
    --------
    tunbridge hmm forecast quakes.tb quakes.csv --steps 5
    tunbridge hmm forecast visits.tb visits.csv --steps 30 --interval 0.5 -o ahead.csv
    """
    refuse((not 0.0 < interval < 1.0, f"--interval must be between 0 and 1; got {interval:g}."))
    output = table_output(output, [model, rows])
    check_exists("the rows", rows)
    hmm = _loaded(model, rows)
    check_table(rows, "the rows")
    hmm = columns.of(hmm, rows, reading)
    panel = hmm._read(read_table(rows, **reading.missing_marks, **reading.how_whole))
    found = hmm.forecast(panel, steps)
    found = found if isinstance(found, list) else [found]
    parts = [each.columns(interval) for each in found]
    whole: dict[str, Any] = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if output is None:  # people read it
        whole = {name: [float(f"{v:.6g}") for v in vs] if vs.dtype.kind == "f" else vs for name, vs in whole.items()}
    if hmm.sequence is not None:
        keys = [key for key in panel.keys for _ in range(steps)]
        whole = {hmm.sequence: pa.array(keys), **{k: v for k, v in whole.items() if k != hmm.sequence}}
    write_batches(output, iter([pa.table(whole)]), dialect_of_rows(rows, reading))
    if output is not None:
        say(f"{counted(steps, 'step')} after each of {counted(panel.n_sequences, 'sequence')} in {output}")


@verb("hmm sample", rank=28)
def sample(
    model: HMMFile,
    *,
    n: int,
    sequences: int = 1,
    output: TableOutput = None,
    random_state: int | None = None,
) -> None:
    """Draw sequences from a hidden Markov model.

    The rows have the columns that the model observes, and the state.

    Parameters
    ----------
    n, --steps, -n : N >= 1
        The number of steps of each sequence.
    sequences : N >= 1
        The number of sequences.
    random_state, --seed : N >= 0
        The random seed: equal seeds give equal rows (default: a new one, which is shown).

    Examples
    --------
    tunbridge hmm sample quakes.tb -n 100 --seed 0 -o drawn.csv
    tunbridge hmm sample visits.tb -n 20 --sequences 1000 -o drawn.parquet
    """
    output = table_output(output, [model])
    hmm = _loaded(model, None)
    seed = secrets.randbelow(10**9) if random_state is None else random_state
    drawn = hmm.sample(n, sequences, random_state=seed)
    parts = zip(*([drawn.observations], [drawn.states]) if sequences == 1 else drawn, strict=True)
    batches = (_drawn(hmm, s, x, states, sequences) for s, (x, states) in enumerate(parts))
    write_batches(output, batches)
    if output is not None:
        of = f" in {counted(sequences, 'sequence')}" if sequences > 1 else ""
        say(f"{counted(n * sequences, 'row')}{of} in {output}; seed {seed}")
    elif random_state is None:
        note(f"Note: the seed was {seed}.")


def _drawn(hmm: HiddenMarkovModel, s: int, x: Any, states: np.ndarray, n_sequences: int) -> pa.Table:
    """Return a drawn sequence as a table."""
    columns: dict[str, Any] = {}
    if n_sequences > 1 or hmm.sequence is not None:
        columns[hmm.sequence or "sequence"] = pa.array([s] * len(states), pa.int64())
    columns[hmm.time or "step"] = pa.array(range(len(states)), pa.int64())
    if isinstance(x, Table):
        columns |= {name: x.to_arrow()[name] for name in x.names}
    else:
        columns[hmm.variables_[0].name] = pa.array(x.tolist())
    columns[_STATE if _STATE not in columns else _ALSO] = pa.array(states.tolist())
    return pa.table(columns)
