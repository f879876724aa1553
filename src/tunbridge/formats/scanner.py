"""The words of a text file, and the place of a mistake among them.

BIF, Hugin NET and DSC are all made of words, numbers, quoted texts and brackets. One regular expression cuts the whole
text into such tokens at once; the parsers then walk along the list. Where in the text a token stands is not kept: it
is found again, by a second cut, when there is a mistake to report, so that a good file does not pay for bad ones.

A quoted text has no escapes and ends on its line. Every alternative of the expression takes what it has begun with to
some end and never steps back, so a hostile file costs no more than its length.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from tunbridge._check import shortened
from tunbridge.errors import FormatError

END = ""
"""The token behind the last one."""

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_COUNT = re.compile(r"\d{1,9}", re.ASCII)
_SHOWN = 58  # characters, and two for the quotes


class Grammar(NamedTuple):
    """The expression whose only group is a token, and the characters that are tokens by themselves."""

    pattern: re.Pattern[str]
    marks: str


def grammar(marks: str, *, comment: str = "/", skipped: str = "", raw: str = "(?!)") -> Grammar:
    r"""Return how a format cuts its text; comments match too, with an empty group.

    Parameters
    ----------
    marks : str
        The characters that are tokens by themselves.
    comment : str
        The character behind which the rest of the line is a comment; a slash for ``// …`` and ``/* … */``.
    skipped : str
        The characters that stand for a space.
    raw : str
        The expression of a statement that is one token, whatever its words are.

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
    token = rf'{raw}|{word}|[{mark}]|"[^"\r\n]*+"?'
    # One of these matches at every place, so a search never looks again at what it has skipped.
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
    """Return texts as numbers; raise what ``fail`` returns for the index of the first that is none."""
    try:
        values = np.fromiter(map(float, run), np.float64, len(run))
    except ValueError:
        values = None
    text = "".join(run)
    if values is None or "_" in text or not text.isascii():
        raise fail(next(i for i, each in enumerate(run) if not _NUMBER.fullmatch(each)))
    return values


def shown(name: str) -> str:
    """Return a name for a message, in quotes; a long one is cut.

    Examples
    --------
    >>> shown("a"), shown("b" * 1000)[-5:], len(shown("b" * 1000))
    ("'a'", "bbb…'", 60)
    """
    return repr(shortened(name, _SHOWN))


def check_text(text: str) -> None:
    """Raise unless a text is one that UTF-8 can write."""
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
    """A text as tokens, and how far it has been read.

    Parameters
    ----------
    text : str
        The whole file.
    grammar : Grammar
        How its format cuts it.
    """

    def __init__(self, text: str, grammar: Grammar) -> None:
        check_text(text)
        self.text = text
        self.grammar = grammar
        self.tokens: list[str] = [*filter(None, grammar.pattern.findall(text)), END]
        self.at = 0
        if len(self.tokens) == 1:
            raise FormatError("the text must not be empty; it is.", line=1, column=1)

    # Mistakes

    def error(self, message: str, at: int | None = None) -> FormatError:
        """Return the error about a token, the next one unless told, with its line and column."""
        n = self.at if at is None else at
        matches = (match for match in self.grammar.pattern.finditer(self.text) if match[1])
        found = next(islice(matches, n, None), None)
        offset = len(self.text.rstrip()) if found is None else found.start(1)
        line, column = place_of(self.text, offset)
        return FormatError(message, line=line, column=column)

    def expected(self, what: str, at: int | None = None) -> FormatError:
        """Return the error that something else was expected than the token there."""
        token = self.tokens[self.at if at is None else at]
        got = "the end of the file" if token == END else shown(token)
        return self.error(f"here must stand {what}; got {got}.", at)

    # Steps

    @property
    def next(self) -> str:
        """The next token, which stays the next one."""
        return self.tokens[self.at]

    def take(self) -> str:
        """Return the next token and go on behind it."""
        token = self.tokens[self.at]
        if token != END:
            self.at += 1
        return token

    def accept(self, *tokens: str) -> bool:
        """Return whether the next token is one of these, and go on behind it if it is."""
        if self.tokens[self.at] not in tokens:
            return False
        self.at += 1
        return True

    def expect(self, *tokens: str) -> str:
        """Go on behind the next token, which must be one of these."""
        token = self.tokens[self.at]
        if token not in tokens or token == END:
            raise self.expected(" or ".join(map(repr, tokens)))
        self.at += 1
        return token

    def name(self, what: str) -> str:
        """Return the name that must come next, without its quotes."""
        name = self.as_name(self.at, what)
        self.at += 1
        return name

    def count(self, what: str) -> int:
        """Return the whole number that must come next."""
        if not _COUNT.fullmatch(self.next):
            raise self.expected(what)
        return int(self.take())

    def as_name(self, at: int, what: str) -> str:
        """Return the token there as a name, without its quotes; raise when it is a mark or a text that goes on."""
        token = self.tokens[at]
        if token[:1] == '"':
            if is_text(token):
                return token[1:-1]
            raise self.error("a quoted text must end on the line on which it begins; the quote is not closed.", at)
        if token == END or token in self.grammar.marks:
            raise self.expected(what, at)
        return token

    def find(self, token: str, what: str, *, stop: int | None = None) -> int:
        """Return where the next such token stands; raise when there is none before ``stop``."""
        try:
            return self.tokens.index(token, self.at, len(self.tokens) if stop is None else stop)
        except ValueError:
            raise self.error(f"{what} must end with {token!r}; there is none.") from None

    # Runs

    def names(self, start: int, stop: int, what: str) -> list[str]:
        """Return the tokens from start to stop as names."""
        return [self.as_name(i, what) for i in range(start, stop)]

    def numbers(self, run: Sequence[str], where: Callable[[int], int]) -> np.ndarray:
        """Return tokens as numbers; ``where`` says which tokens they are, for the message about one that is none."""
        return to_numbers(run, lambda i: self.expected("a number", where(i)))

    # Statements

    def statement(self, *signs: str) -> tuple[list[str], int, int]:
        """Return the words before the sign of the next statement, and where its value begins and ends."""
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
                self.as_name(at, "a text")  # raises when it is not closed


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
