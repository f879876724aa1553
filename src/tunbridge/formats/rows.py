"""The rows of probability tables in text files: how they are read between braces, and how they are written.

BIF and DSC give a table row by row, each behind the states of the parents. :class:`TableBody` collects the tokens of
all rows and turns them into numbers at once; it is the loop in which a large file spends its time.

Numbers are written in the shortest form that reads back as the same number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from operator import mul
from typing import TypeVar

import numpy as np

from tunbridge._check import did_you_mean
from tunbridge._memory import check_memory
from tunbridge.errors import FormatError
from tunbridge.formats.assembly import Family, Rows, check_numberable, numbers_text
from tunbridge.formats.parts import NetworkParts
from tunbridge.formats.scanner import Scanner, shown, unquoted
from tunbridge.probability import ConditionalTable, SparseCPT

Label = TypeVar("Label")

_CELL = 100  # bytes that a number takes on its way to text, at most


class StateCodes:
    """The codes of states by the words that stand for them, made once for each variable of a file.

    Parameters
    ----------
    by_index : bool
        Whether a state may be given by its number, as in DSC.
    signs : tuple of str
        What may stand before the numbers of a row.
    """

    def __init__(self, *, by_index: bool = False, signs: tuple[str, ...] = ()) -> None:
        self.by_index, self.signs = by_index, signs
        self._known: dict[str, dict[str, int]] = {}

    def of(self, name: str, states: Sequence[str]) -> dict[str, int]:
        """Return the codes of the states of a variable."""
        if name not in self._known:
            codes = {state: code for code, state in enumerate(states)}
            codes |= {f'"{state}"': code for code, state in enumerate(states)}
            self._known[name] = codes | ({str(code): code for code in range(len(states))} if self.by_index else {})
        return self._known[name]


class TableBody:
    """The rows of one table, as far as they have been read.

    Parameters
    ----------
    scanner : Scanner
        The file; it stands at the first statement of the table.
    family : Family
        Whose table it is.
    stop : int
        The token that ends the table.
    codes : StateCodes
        How the file names states.
    """

    def __init__(self, scanner: Scanner, family: Family, stop: int, *, codes: StateCodes) -> None:
        self.scanner, self.family, self.stop, self.codes = scanner, family, stop, codes
        check_numberable(family, scanner.error)
        self.lookups = list(map(codes.of, family.given.parents, family.parent_states))
        self.strides = _strides(family.parent_states)
        self.unnumbered: list[int] = []
        self.run: list[str] = []
        self.numbers: list[int] = []
        self.starts: list[int] = []
        self.firsts: list[int] = []
        self.default: np.ndarray | None = None

    def regular(self) -> Rows | None:
        """Return all rows at once when each has its states, its numbers and nothing else, as in most files.

        Rows of equal length are columns of tokens, which are converted without a loop over the rows.
        """
        scanner, start, k, n = self.scanner, self.scanner.at, len(self.lookups), self.family.n_states
        body = scanner.tokens[start : self.stop]
        sign = body[k + 2] if len(body) > k + 2 and body[k + 2] in self.codes.signs else ""
        marks = {0: "(", k + 1: ")", **({k + 2: sign} if sign else {})}
        first = max(marks) + 1
        width = first + n + 1
        n_rows, rest = divmod(len(body), width)
        if not k or rest or any(body[i::width].count(mark) < n_rows for i, mark in {**marks, width - 1: ";"}.items()):
            return None
        try:
            codes = [list(map(lookup.__getitem__, body[i::width])) for i, lookup in enumerate(self.lookups, 1)]
        except KeyError:
            return None
        values = np.empty((n_rows, n))
        for j in range(n):
            places = range(start + first + j, self.stop, width)
            values[:, j] = scanner.numbers(body[first + j :: width], places.__getitem__)
        return Rows(
            values, range(start, self.stop, width).__getitem__, (np.array(self.strides) @ np.array(codes)).tolist()
        )

    def row(self) -> None:
        """Read ``( states ) numbers ;``."""
        tokens, at, stop = self.scanner.tokens, self.scanner.at, self.stop
        try:
            close = tokens.index(")", at, stop)
            first = close + 2 if tokens[close + 1] in self.codes.signs else close + 1
            end = tokens.index(";", first, stop)
            number = sum(map(mul, self.strides, map(dict.__getitem__, self.lookups, tokens[at + 1 : close])))
            fits = close - at - 1 == len(self.lookups) and end - first == self.family.n_states
        except (ValueError, KeyError):
            fits = False
        if not fits:
            number, first, end = self._unusual_row(at)
        self.numbers.append(number)
        self.run += tokens[first:end]
        self.starts.append(at)
        self.firsts.append(first)
        self.scanner.at = end + 1

    def default_row(self) -> None:
        """Read ``default numbers ;``."""
        scanner = self.scanner
        if self.default is not None:
            raise scanner.error("a table must have one default row; got another one.")
        first, end = self._span(scanner.at + 1, self.family.n_states)
        self.default = scanner.numbers(scanner.tokens[first:end], range(first, end).__getitem__)
        scanner.at = end + 1

    def all_numbers(self, at: int) -> tuple[np.ndarray, int]:
        """Return the numbers of the whole table, which stand before the next semicolon, and the place of the first."""
        first, end = self._span(at, self.family.n_states * self.family.n_configurations)
        self.scanner.at = end + 1
        return self.scanner.numbers(self.scanner.tokens[first:end], range(first, end).__getitem__), first

    def rows(self) -> Rows:
        """Return what was read."""
        n = self.family.n_states
        self._check_unnumbered()
        values = self.scanner.numbers(self.run, lambda i: self.firsts[i // n] + i % n).reshape(-1, n)
        if self.default is not None and not self.lookups:
            return Rows(self.default.reshape(1, n), lambda _: self.family.given.place)
        return Rows(values, self.starts.__getitem__, self.numbers, self.default)

    def _span(self, first: int, wanted: int) -> tuple[int, int]:
        """Return where the numbers begin and where the semicolon stands that ends them."""
        scanner = self.scanner
        scanner.at = first = first + (scanner.tokens[first] in self.codes.signs)
        end = scanner.find(";", "a row of probabilities", stop=self.stop)
        if end - first != wanted:
            scanner.numbers(
                scanner.tokens[first:end], range(first, end).__getitem__
            )  # a word among them is the better message
            is_row = wanted == self.family.n_states
            sizes = [self.family.n_states, *([] if is_row else map(len, self.family.parent_states))]
            what = f"{'a row' if is_row and self.lookups else 'the table'} of {shown(self.family.given.child)}"
            raise scanner.error(numbers_text(what, sizes, end - first))
        return first, end

    def _unusual_row(self, at: int) -> tuple[int, int, int]:
        """Return the configuration of a row that GeNIe numbers with zeros, one too many; raise for all others."""
        scanner, n_parents = self.scanner, len(self.lookups)
        close = scanner.find(")", "the states of a row", stop=self.stop)
        states = scanner.tokens[at + 1 : close]
        first, end = self._span(close + 1, self.family.n_states)
        if self.codes.by_index and len(states) == n_parents + 1 and set(states) == {"0"}:
            self.unnumbered.append(at)
            return len(self.numbers), first, end
        if len(states) != n_parents:
            rule = f"a row of {shown(self.family.given.child)} must name a state of each of its parents, {n_parents}"
            raise scanner.error(f"{rule} in all; got {len(states)}.", at)
        raise self._state_error(at + 1)

    def _check_unnumbered(self) -> None:
        """Raise unless none of the rows is numbered with zeros alone, or all: these are all rows, in their order."""
        n = len(self.unnumbered)
        if n and (n < len(self.numbers) or n != self.family.n_configurations or self.default is not None):
            rule = f"of {shown(self.family.given.child)} must name a state of each of its parents, {len(self.lookups)}"
            hint = "Only where all rows are there, in order, may each of them have zeros instead."
            raise self.scanner.error(f"a row {rule} in all; got {len(self.lookups) + 1}. {hint}", self.unnumbered[0])

    def _state_error(self, first: int) -> FormatError:
        tokens = self.scanner.tokens
        i = next(i for i, lookup in enumerate(self.lookups) if tokens[first + i] not in lookup)
        name = unquoted(tokens[first + i])
        rule = f"{shown(self.family.given.parents[i])} must be in one of its states"
        hint = did_you_mean(name, self.family.parent_states[i])
        return self.scanner.error(f"{rule}; got {shown(name)}. {hint}", first + i)


def _strides(parent_states: Sequence[Sequence[str]]) -> list[int]:
    """Return what the next state of each parent adds to the number of a configuration."""
    strides = [1]
    for states in reversed(parent_states[1:]):
        strides.append(strides[-1] * len(states))
    return strides[::-1] if parent_states else []


# Writing


def row_text(row: np.ndarray, comma: str = ", ") -> str:
    """Return numbers as text from which they can be read back exactly."""
    return comma.join(map(repr, row.tolist()))


def dense_rows(cpt: ConditionalTable) -> np.ndarray:
    """Return all rows of a table, of shape (n_configurations, n_states)."""
    return cpt.table().reshape(-1, cpt.variable.n_states)


def labelled_rows(
    cpt: ConditionalTable, labels: Sequence[Sequence[Label]], write: Callable[[Sequence[Label], np.ndarray], str]
) -> list[str]:
    """Return a line for each row of a table, written from the labels of its parents' states and its numbers."""
    return list(map(write, product(*labels), dense_rows(cpt)))


def check_text_size(parts: NetworkParts, *, keeps_sparse: bool = False) -> None:
    """Raise MemoryForecastError when the text would not fit into memory."""
    n_cells = 0
    for cpt in parts.cpts:
        is_kept = keeps_sparse and isinstance(cpt, SparseCPT)
        n_rows = cpt.n_rows + 1 if is_kept and isinstance(cpt, SparseCPT) else cpt.n_configurations
        n_cells += n_rows * cpt.variable.n_states
    ways_out = "Write a native file (.tb): it keeps sparse and noisy-MAX tables as they are."
    check_memory("the text of the network", _CELL * n_cells, ways_out=ways_out)
