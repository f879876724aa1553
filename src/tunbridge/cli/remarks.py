"""What is told about a table that was read: its missing cells, and columns that look like a mistake."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from tunbridge.cli.options import Reading
from tunbridge.cli.output import counted, shortlist

if TYPE_CHECKING:
    from tunbridge.data import Column, Table

SHOWN = 12
ONE_VALUE, IDENTIFIER = "holds one value only", "looks like an identifier"
_FEW_ROWS, _MANY_STATES = 5, 10
_LOOKED_AT, _WORDS = 200, 4


def model_name(data: Path) -> Path:
    """Return where a model goes when nobody says: the table's name, with .tb, in the folder of work.

    Examples
    --------
    >>> print(model_name(Path("data/adult.csv.gz")))
    adult.tb
    """
    stem = data.name.removesuffix(".gz")
    return Path(Path(stem).stem + ".tb")


def size_text(data: Path, table: Table) -> str:
    """Return the name and the size of a table."""
    return f"{data}: {counted(table.n_rows, 'row')}, {counted(table.n_columns, 'column')}"


def missing_lines(table: Table) -> list[str]:
    """Return a line for each column with missing cells, with what was read as missing there."""
    return [f"{name}: {n} ({_markers(table.read_as_missing.get(name, {}))})" for name, n in table.missing.items()]


def _markers(found: Any) -> str:
    shown = [f"{repr(mark) if mark else 'empty'} {n}" for mark, n in found.items()]
    return shortlist(shown, most=5) if shown else "no value"


def useless_columns(table: Table) -> dict[str, str]:
    """Return the columns from which nothing can be learned, and what is wrong with each."""
    odd = dict.fromkeys(table.constants, ONE_VALUE)
    odd |= {name: "holds nothing but missing cells" for name, n in table.missing.items() if n == table.n_rows}
    return odd | dict.fromkeys(table.identifiers, IDENTIFIER)


def text_columns(table: Table) -> list[str]:
    """Return the columns that hold texts rather than categories: hardly a value twice, and several words in each."""
    wordy = [c.variable for c in table if c.variable.n_states > max(_MANY_STATES, table.n_rows / _FEW_ROWS)]
    return [v.name for v in wordy if _mean_words((v.states or ())[:_LOOKED_AT]) >= _WORDS]


def _mean_words(states: Any) -> float:
    return sum(len(str(state).split()) for state in states) / max(1, len(states))


def odd_number_lines(table: Table, *, but: str | None = None) -> list[str]:
    """Return a line for each column of numbers that a few other texts have made categorical."""
    return [line for column in table if column.variable.name != but and (line := _nearly_numbers(column))]


def _nearly_numbers(column: Column) -> str:
    import numpy as np

    states = column.variable.states or ()
    odd = [code for code, state in enumerate(states) if isinstance(state, str) and not _is_number(state)]
    if not odd or len(odd) > len(states) / 2 or not all(isinstance(state, str) for state in states):
        return ""
    n_odd, n_all = int(np.isin(column.values, odd).sum()), int((column.values >= 0).sum())
    if n_odd > n_all / 10:
        return ""
    word = str(states[odd[0]])
    numbers = f"{column.variable.name} is categorical, but {n_all - n_odd} of its {n_all} cells are numbers"
    return f"{numbers}; {word!r} is none: --missing {quote(word)} leaves it empty"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def many_state_lines(table: Table) -> list[str]:
    """Return a line for each categorical column that has so many states that hardly a row is left for each."""
    return [line for column in table if (line := _many_states(column))]


def _many_states(column: Column) -> str:
    import numpy as np

    n_states = column.variable.n_states
    present = int(np.count_nonzero(column.values >= 0)) if n_states > _MANY_STATES else 0
    if present >= _FEW_ROWS * n_states or n_states <= _MANY_STATES:
        return ""
    name = column.variable.name
    return f"{name} has {n_states} states in {counted(present, 'row')}: --ignore {quote(name)} leaves it out"


def same_reading(reading: Reading) -> str:
    """Return the options about missing values again: a model does not remember how its table was read."""
    said = [("--missing", m) for m in reading.missing or ()] + [("--not-missing", m) for m in reading.not_missing or ()]
    return "".join(f" {option} {quote(mark)}" for option, mark in said)
