"""Dynamic networks: which columns of a table are sequence and time, and how rows are read as slices of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunbridge._core.check import listed
from tunbridge.cli.files import load_either
from tunbridge.cli.options import Reading, check_column
from tunbridge.cli.output import counted, note
from tunbridge.cli.training import column_names, read_chosen
from tunbridge.cli.usage import given_for, near_hint, refuse
from tunbridge.data import Table
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.temporal import DynamicBayesianNetwork


@dataclass(frozen=True)
class Sequences:
    """Slices of a dynamic network.

    Parameters
    ----------
    sequence : COL
        The column that names the sequence of each row (default: all rows are one sequence).
    time : COL
        The column of the times, numbers or dates: rows are sorted by it, and times that are left out are slices without
        evidence (default: rows follow each other).
    """

    sequence: str | None = None
    time: str | None = None

    @property
    def named(self) -> list[str]:
        """The columns that are named."""
        return [name for name in (self.sequence, self.time) if name is not None]

    @property
    def how(self) -> dict[str, Any]:
        """The arguments of the library."""
        return {"sequence": self.sequence, "time": self.time}

    @property
    def again(self) -> list[str]:
        """The options, for the next command."""
        pairs = (("--sequence", self.sequence), ("--time", self.time))
        return [word for option, name in pairs if name is not None for word in (option, name)]

    def check(self, path: Path, names: list[str]) -> None:
        """Raise unless the options name columns of a file."""
        for option, name in (("--sequence", self.sequence), ("--time", self.time)):
            if name is not None:
                check_column(option, name, path, names)
        refuse((self.sequence is not None and self.sequence == self.time, "--sequence and --time must differ."))

    def refuse(self, network: Path) -> None:
        """Raise if an option was given although the network has no slices."""
        given = given_for("sequence", "time")
        refuse(
            (bool(given), f"{' and '.join(given)} must come with a dynamic network; {network.name} is a static one.")
        )

    def say_default(self, table: Table, path: Path) -> None:
        """Print that all rows are one sequence, where that need not be so."""
        if self.sequence is None and self.time is None and table.n_rows:
            rows = f"the {counted(table.n_rows, 'row')} of {path.name} are one sequence, in this order"
            note(f"Note: {rows}. --sequence and --time name columns that say otherwise.")


def load_dynamic(path: Path) -> DynamicBayesianNetwork:
    """Return the dynamic network in a file; raise with a hint for a static one."""
    found: Any = load_either(path)
    if hasattr(found, "interface"):
        return found
    hint = "Ask it with tunbridge network query, or about rows with tunbridge predict."
    raise DataError(f"the network must be a dynamic one; {path.name!r} is static. {hint}")


def read_rows(net: DynamicBayesianNetwork, path: Path, sequences: Sequences, reading: Reading) -> Table:
    """Return the columns of a file that a dynamic network has, with those of sequence and time."""

    def choose(names: list[str]) -> tuple[list[str], list[str]]:
        sequences.check(path, names)
        if clash := [name for name in sequences.named if name in net.nodes]:
            option = "--sequence" if clash[0] == sequences.sequence else "--time"
            raise DataError(f"{option} must not name a variable of the network; got {clash[0]!r}.")
        known = [name for name in names if name in net.nodes]
        if not known:
            rule = f"{path.name} must have a column of the network, which has {listed(net.nodes)}"
            hints = (near_hint(name, net.nodes) for name in names)
            raise DataError(f"{rule}; it has {listed(names)}.{next(filter(None, hints), '')}")
        texts = [v.name for v in net.variables if v.name in known and v.is_categorical and v.cuts is None]
        return [*known, *sequences.named], [*texts, *filter(None, [sequences.sequence])]

    table = read_chosen(path, reading, None, choose)
    sequences.say_default(table, path)
    return table


def with_places(table: Table, path: Path, sequences: Sequences, reading: Reading) -> Table:
    """Return a table with the columns of sequence and time of the same rows of its file."""
    names = sequences.named
    if not names:
        sequences.say_default(table, path)
        return table
    kept = [sequences.sequence] if sequences.sequence is not None else []
    places = read_chosen(path, reading, None, lambda _: (names, kept))
    return Table.of([*table, *places])


def sequences_text(table: Table, sequences: Sequences) -> str:
    """Return how many sequences a table has, and their lengths."""
    from tunbridge.temporal.panel import Layout, read_panel

    lengths = read_panel(table, Layout(sequences.sequence, sequences.time)).lengths.tolist()
    least, most = min(lengths, default=0), max(lengths, default=0)
    size = f"{least} to {most}" if least < most else f"{most}"
    return f"{counted(len(lengths), 'sequence')} of {size} rows"


def names_of(path: Path, sequences: Sequences, reading: Reading) -> list[str]:
    """Return the columns of a file; raise unless the options name some of them."""
    names = column_names(path, reading)
    sequences.check(path, names)
    return names
