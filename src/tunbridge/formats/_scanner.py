"""Text files as tokens, the blocks that they share, and the rows of their tables.

BIF, Hugin NET, DSC and DSL all consist of words, numbers, quoted texts and brackets. One regular expression splits the
whole text into such tokens at once; the parsers then walk along the list. The position of a token in the text is not
kept: a second split finds it again if there is an error to report, so that a good file does not pay for bad ones.

A quoted text has no escapes and ends on its line, except in DSL. Every alternative of the expression consumes what it
began with and never backtracks, so a hostile file costs no more than its length.

BIF and DSC give a table row by row, each after the states of the parents. :class:`TableBody` collects the tokens of all
rows and converts them to numbers at once; a large file spends most of its time there.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from math import prod
from operator import mul
from typing import NamedTuple

import numpy as np

from tunbridge._core.check import did_you_mean
from tunbridge.errors import FormatError
from tunbridge.formats._assembly import (
    MARKER,
    Declared,
    Draft,
    Family,
    Given,
    NetworkParts,
    Rows,
    assemble,
    check_numberable,
    check_states,
    numbers_text,
    shown,
)
from tunbridge.probability import ConditionalTable

END = ""
"""The token after the last one."""

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_COUNT = re.compile(r"\d{1,9}", re.ASCII)


class Grammar(NamedTuple):
    """The expression whose only group is a token, and the characters that are tokens by themselves."""

    pattern: re.Pattern[str]
    marks: str


def grammar(
    marks: str, *, comment: str = "/", skipped: str = "", raw: str = "(?!)", quoted: str = r'"[^"\r\n]*+"?'
) -> Grammar:
    r"""Return how a format splits its text; comments match too, with an empty group.

    Parameters
    ----------
    marks : str
        The characters that are tokens by themselves.
    comment : str
        The character that starts a comment to the end of the line; a slash for ``// …`` and ``/* … */``.
    skipped : str
        The characters that mean a space.
    raw : str
        The expression of a statement that is one token as a whole.
    quoted : str
        The expression of a quoted text, also of one that is not closed.

    Examples
    --------
    >>> pattern, _ = grammar("(){}", comment="%")
    >>> pattern.findall('node "a b" { 0.5% half\n}')
    ['node', '"a b"', '{', '0.5', '', '}', '']
    """
    mark, other = re.escape(marks), re.escape(marks + skipped + comment)
    slash = comment == "/"
    comments = r"/(?:/[^\r\n]*+|\*[\s\S]*?(?:\*/|\Z))" if slash else rf"{comment}[^\r\n]*+"
    word = rf'(?:[^\s"{other}]++{"|/(?![/*])" if slash else ""})++'
    token = rf"{raw}|{word}|[{mark}]|{quoted}"
    # One of these matches at every position, so a search never looks again at what it has skipped.
    return Grammar(re.compile(rf"[\s{re.escape(skipped)}]*+(?:({token})|{comments}|\Z)"), marks)


def is_text(token: str) -> bool:
    """Return whether a token is a quoted text that is closed."""
    return len(token) > 1 and token[0] == token[-1] == '"'


def unquoted(token: str) -> str:
    """Return a name without its quotes."""
    return token[1:-1] if token[:1] == '"' else token


def joined(tokens: Iterable[str], *, commas: bool = False) -> str:
    """Return tokens as one line of text, spaced as people write it.

    Examples
    --------
    >>> joined(["position", "=", "(", "25", "275", ")"]), joined(["(", "25", "275", ")"], commas=True)
    ('position = (25 275)', '(25, 275)')
    """
    found, last, depth = [], "(", 0
    for token in tokens:
        closes = token in {")", "]"}
        depth -= closes
        separate = commas and last != "=" and (depth > 0 or token[:1] == '"')
        found += ["" if closes or last in {"(", "["} else ", " if separate else " ", token]
        depth, last = depth + (token in {"(", "["}), token
    return "".join(found)


def to_numbers(run: Sequence[str], fail: Callable[[int], FormatError]) -> np.ndarray:
    """Return texts as numbers; raise what ``fail`` returns for the index of the first that is not a number."""
    try:
        values = np.fromiter(map(float, run), np.float64, len(run))
    except ValueError:
        values = None
    text = "".join(run)
    if values is None or "_" in text or not text.isascii():
        raise fail(next(i for i, each in enumerate(run) if not _NUMBER.fullmatch(each)))
    return values


def check_text(text: str) -> None:
    """Raise unless UTF-8 can encode a text."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line, column = place_of(text, error.start)
        raise FormatError("the file must be text; got half a character.", line=line, column=column) from None


def place_of(text: str, offset: int) -> tuple[int, int]:
    """Return the line and the column of a character, counted from one."""
    starts = [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", text))]
    line = bisect_right(starts, offset)
    return line, offset - starts[line - 1] + 1


class Scanner:
    """A text as tokens, and the current position.

    Parameters
    ----------
    text : str
        The whole file.
    grammar : Grammar
        How its format splits it.
    """

    def __init__(self, text: str, grammar: Grammar) -> None:
        check_text(text)
        self.text = text
        self.grammar = grammar
        self.tokens: list[str] = [*filter(None, grammar.pattern.findall(text)), END]
        self.at = 0
        self.draft = Draft(len(text))
        if len(self.tokens) == 1:
            raise FormatError("the text must not be empty; it is.", line=1, column=1)

    # Errors

    def error(self, message: str, at: int | None = None) -> FormatError:
        """Return the error about a token (default: the next one), with its line and column."""
        n = self.at if at is None else at
        matches = (match for match in self.grammar.pattern.finditer(self.text) if match[1])
        found = next(islice(matches, n, None), None)
        offset = len(self.text.rstrip()) if found is None else found.start(1)
        line, column = place_of(self.text, offset)
        return FormatError(message, line=line, column=column)

    def expected(self, what: str, at: int | None = None) -> FormatError:
        """Return the error that something else was expected at a token."""
        token = self.tokens[self.at if at is None else at]
        got = "the end of the file" if token == END else shown(token)
        return self.error(f"expected {what}; got {got}.", at)

    # Steps

    @property
    def next(self) -> str:
        """The next token, without taking it."""
        return self.tokens[self.at]

    def take(self) -> str:
        """Return the next token and move past it."""
        token = self.tokens[self.at]
        if token != END:
            self.at += 1
        return token

    def accept(self, *tokens: str) -> bool:
        """Return whether the next token is one of these, and move past it if it is."""
        if self.tokens[self.at] not in tokens:
            return False
        self.at += 1
        return True

    def expect(self, *tokens: str) -> str:
        """Return the next token, which must be one of these, and move past it."""
        token = self.tokens[self.at]
        if token not in tokens or token == END:
            raise self.expected(" or ".join(map(repr, tokens)))
        self.at += 1
        return token

    def name(self, what: str) -> str:
        """Return the next token as a name, without its quotes, and move past it."""
        name = self.as_name(self.at, what)
        self.at += 1
        return name

    def count(self, what: str) -> int:
        """Return the next token as an integer ≥ 0 and move past it."""
        if not _COUNT.fullmatch(self.next):
            raise self.expected(what)
        return int(self.take())

    def as_name(self, at: int, what: str) -> str:
        """Return a token as a name, without its quotes; raise if it is a mark or an unclosed text."""
        token = self.tokens[at]
        if token[:1] == '"':
            if is_text(token):
                return token[1:-1]
            raise self.error("a quoted text must end on the line where it begins; the quote is not closed.", at)
        if token == END or token in self.grammar.marks:
            raise self.expected(what, at)
        return token

    def find(self, token: str, what: str, *, stop: int | None = None) -> int:
        """Return the position of the next such token; raise if there is none before ``stop``."""
        try:
            return self.tokens.index(token, self.at, len(self.tokens) if stop is None else stop)
        except ValueError:
            raise self.error(f"{what} must end with {token!r}; there is none.") from None

    # Runs

    def names(self, start: int, stop: int, what: str) -> list[str]:
        """Return the tokens from start to stop as names."""
        return [self.as_name(i, what) for i in range(start, stop)]

    def numbers(self, run: Sequence[str], where: Callable[[int], int]) -> np.ndarray:
        """Return tokens as numbers; ``where`` gives their positions, for the error about one that is not a number."""
        return to_numbers(run, lambda i: self.expected("a number", where(i)))

    # Statements

    def statement(self, *signs: str) -> tuple[list[str], int, int]:
        """Return the words before the sign of the next statement, and the start and end of its value."""
        start, end = self.at, self.find(";", "a statement")
        words = self.tokens[start : min(end, start + 3)]
        sign = next((i for i, word in enumerate(words) if word in signs and i > 0), None)
        if sign is None:
            raise self.expected("a statement such as 'name = value;'")
        run = self.tokens[start:end]
        if '"' in "".join(run):
            self._check_quotes(start, end)
        if "}" in run and "{" not in run[: run.index("}")]:
            raise self.expected("';'", start + run.index("}"))
        self.at = end + 1
        return self.names(start, start + sign, "a name"), start + sign + 1, end

    def statement_text(self, words: Sequence[str], start: int, end: int, *, commas: bool = False) -> str:
        """Return a statement as one line of text."""
        run = self.tokens[start:end]
        if "=" in run:
            raise self.expected("';' before the next statement", start + run.index("="))
        return joined([*words, "=", *run], commas=commas)

    def _check_quotes(self, start: int, end: int) -> None:
        for at in range(start, end):
            if self.tokens[at][:1] == '"':
                self.as_name(at, "a text")  # raises if it is not closed

    # Blocks

    def begin_network(self) -> None:
        """Mark that the block of the network itself begins at the word just taken; raise if there was one before."""
        if self.draft.is_begun:
            raise self.error("a file must hold one network; got another one.", self.at - 1)
        self.draft.is_begun = True

    def declare(self, what: str) -> Declared:
        """Return the variable whose name comes next, added to the draft."""
        place = self.at
        declared = Declared(self.name(what), (), place)
        self.draft.declared.append(declared)
        return declared

    def discrete_states(self, declared: Declared, *signs: str) -> None:
        """Read the states of ``discrete [ n ] { states };``, with one of the signs, if any, before the brace.

        The number in brackets is optional.
        """
        if declared.states:
            raise self.error(f"{shown(declared.name)} must have one type; got another one.", self.at - 1 - bool(signs))
        self.expect("discrete")
        n_states = None
        if self.accept("["):
            n_states = self.count("the number of states")
            self.expect("]")
        if signs:
            self.expect(*signs)
        self.expect("{")
        place, stop = self.at, self.find("}", "a list of states")
        declared.states = tuple(self.names(place, stop, "the name of a state"))
        check_states(declared.name, declared.states, self.error, place, n_states)
        self.at = stop + 1
        self.expect(";")

    def family(self, what: str) -> tuple[int, list[str]]:
        """Return the position of the first variable of ``( child | parents )``, and the variables."""
        self.expect("(")
        place, close = self.at, self.find(")", "the variables of a table")
        names = [self.name(what)]
        if self.at < close:
            self.expect("|")
        names += self.names(self.at, close, what)
        self.at = close + 1
        return place, names

    def skip_table(self, names: Sequence[str], place: int) -> None:
        """Note the position of the rows of a table; they are read once all variables are known."""
        self.expect("{")
        start, stop = self.at, self.find("}", f"the table of {shown(names[0])}")
        self.draft.given.append(Given(names[0], tuple(names[1:]), place, (start, stop)))
        self.at = stop + 1

    def parts(self, read_rows: Callable[[Family], Rows | ConditionalTable]) -> NetworkParts:
        """Return the parts of the network that was read; ``read_rows`` returns the rows of a table."""
        return assemble(self.draft, read_rows, self.error)


def is_statement(text: str, grammar: Grammar, *, commas: bool = False) -> bool:
    """Return whether a property can be written as a statement, and be read back as it is."""
    *tokens, end = grammar.pattern.findall(text)
    legal = all(token and token not in "{};|" and (token[0] != '"' or is_text(token)) for token in tokens)
    return (
        legal
        and not end
        and tokens[1:2] == ["="]
        and tokens.count("=") == 1
        and len(tokens) > 2
        and joined(tokens, commas=commas) == text
    )


def drop_full_name(declared: Declared, key: str) -> None:
    """Drop the full name, under this key, that was written because it is the true name."""
    name, *rest = declared.properties or [""]
    if rest and name.startswith(f"{key} = ") and rest[0].startswith(f"{MARKER}name = "):
        declared.properties = rest


def block_lines(head: str, statements: Sequence[str]) -> list[str]:
    """Return a block: its head, and its statements between braces.

    Examples
    --------
    >>> block_lines("net", ["a = 1"])
    ['net', '{', '    a = 1;', '}']
    """
    return [head, "{", *(f"    {text};" for text in statements), "}"]


# Rows of tables


class StateCodes:
    """The codes of states by the words that denote them, made once for each variable of a file.

    Parameters
    ----------
    by_index : bool
        Whether a state may be given by its number, as in DSC.
    signs : tuple of str
        What may precede the numbers of a row.
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
        The file, which is moved to the first statement of the table.
    family : Family
        The family of the table.
    codes : StateCodes
        How the file names states.
    """

    def __init__(self, scanner: Scanner, family: Family, codes: StateCodes) -> None:
        self.scanner, self.family, self.codes = scanner, family, codes
        scanner.at, self.stop = family.given.body
        check_numberable(family, scanner.error)
        self.lookups = list(map(codes.of, family.given.parents, family.parent_states))
        sizes = list(map(len, family.parent_states))
        self.strides = [prod(sizes[i:]) for i in range(1, len(sizes) + 1)]
        self.unnumbered: list[int] = []
        self.run: list[str] = []
        self.numbers: list[int] = []
        self.starts: list[int] = []
        self.firsts: list[int] = []
        self.default: np.ndarray | None = None

    def read(self, read_other: Callable[[TableBody], Rows | None]) -> Rows:
        """Return the rows; ``read_other`` reads a statement that is no row, and may return the rows of the table."""
        if (rows := self._regular()) is not None:
            return rows
        while self.scanner.at < self.stop:
            if self.scanner.next == "(":
                self._row()
            elif self.scanner.next == "default":
                self._default_row()
            elif (rows := read_other(self)) is not None:
                return rows
        return self._rows()

    def _regular(self) -> Rows | None:
        """Return all rows at once if each has its states, its numbers and nothing else, as in most files.

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

    def _row(self) -> None:
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

    def _default_row(self) -> None:
        """Read ``default numbers ;``."""
        scanner = self.scanner
        if self.default is not None:
            raise scanner.error("a table must have one default row; got another one.")
        first, end = self._span(scanner.at + 1, self.family.n_states)
        self.default = scanner.numbers(scanner.tokens[first:end], range(first, end).__getitem__)
        scanner.at = end + 1

    def all_numbers(self, at: int) -> tuple[np.ndarray, int]:
        """Return the numbers of the whole table, up to the next semicolon, and the position of the first."""
        first, end = self._span(at, self.family.n_states * self.family.n_configurations)
        self.scanner.at = end + 1
        return self.scanner.numbers(self.scanner.tokens[first:end], range(first, end).__getitem__), first

    def _rows(self) -> Rows:
        """Return what was read."""
        n = self.family.n_states
        self._check_unnumbered()
        values = self.scanner.numbers(self.run, lambda i: self.firsts[i // n] + i % n).reshape(-1, n)
        if self.default is not None and not self.lookups:
            return Rows(self.default.reshape(1, n), lambda _: self.family.given.place)
        return Rows(values, self.starts.__getitem__, self.numbers, self.default)

    def _span(self, first: int, wanted: int) -> tuple[int, int]:
        """Return the positions of the first number and of the semicolon after the last."""
        scanner = self.scanner
        scanner.at = first = first + (scanner.tokens[first] in self.codes.signs)
        end = scanner.find(";", "a row of probabilities", stop=self.stop)
        if end - first != wanted:
            # If a word is among them, that is the better message.
            scanner.numbers(scanner.tokens[first:end], range(first, end).__getitem__)
            is_row = wanted == self.family.n_states
            sizes = [self.family.n_states, *([] if is_row else map(len, self.family.parent_states))]
            what = f"{'a row' if is_row and self.lookups else 'the table'} of {self.family.shown}"
            raise scanner.error(numbers_text(what, sizes, end - first))
        return first, end

    def _unusual_row(self, at: int) -> tuple[int, int, int]:
        """Return the configuration of a row that GeNIe writes as zeros, one too many; raise for all others."""
        scanner, n_parents = self.scanner, len(self.lookups)
        close = scanner.find(")", "the states of a row", stop=self.stop)
        states = scanner.tokens[at + 1 : close]
        first, end = self._span(close + 1, self.family.n_states)
        if self.codes.by_index and len(states) == n_parents + 1 and set(states) == {"0"}:
            self.unnumbered.append(at)
            return len(self.numbers), first, end
        if len(states) != n_parents:
            rule = f"a row of {self.family.shown} must name a state of each of its parents, {n_parents}"
            raise scanner.error(f"{rule} in all; got {len(states)}.", at)
        raise self._state_error(at + 1)

    def _check_unnumbered(self) -> None:
        """Raise unless no row is written as zeros, or all are: these are all rows, in their order."""
        n = len(self.unnumbered)
        if n and (n < len(self.numbers) or n != self.family.n_configurations or self.default is not None):
            rule = f"of {self.family.shown} must name a state of each of its parents, {len(self.lookups)}"
            hint = "Zeros instead of states are allowed only if all rows are there, in order."
            raise self.scanner.error(f"a row {rule} in all; got {len(self.lookups) + 1}. {hint}", self.unnumbered[0])

    def _state_error(self, first: int) -> FormatError:
        tokens = self.scanner.tokens
        i = next(i for i, lookup in enumerate(self.lookups) if tokens[first + i] not in lookup)
        name = unquoted(tokens[first + i])
        rule = f"{shown(self.family.given.parents[i])} must be in one of its states"
        hint = did_you_mean(name, self.family.parent_states[i])
        return self.scanner.error(f"{rule}; got {shown(name)}. {hint}", first + i)
