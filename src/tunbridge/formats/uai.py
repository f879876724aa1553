"""UAI: the files of the inference competitions, a model and the evidence about it.

    BAYES
    2                   two variables
    2 2                 of two states each
    2                   two tables
    1 0                 of variable 0 by itself,
    2 0 1               and of variable 1 given variable 0

    2
     0.2 0.8
    4
     0.9 0.1
     0.3 0.7

The last variable of a table is the child, and runs fastest. The format has no names: variables are read as ``x0``,
``x1``, … and their states as ``0``, ``1``, …, and names and properties are lost on writing. ``#`` starts a comment.
Markov networks are not supported, because their tables are not distributions.

aGrUM lists the parents of a table in the opposite order: the first is the fastest of them. ``dialect="agrum"`` reads
and writes such files. No field of the format says who wrote a file, and without the dialect a child of two or more
parents gets the rows of other configurations. So a file with comments like those of aGrUM gets a warning.

References
----------
Approximate Inference Challenge: UAI model and evidence file format, 2008 and later.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tunbridge._core.check import check_known, repeated
from tunbridge._core.registry import network_format
from tunbridge.data import State
from tunbridge.errors import DataError, UnknownVariableError
from tunbridge.formats._assembly import (
    Declared,
    Family,
    Given,
    NetworkParts,
    Rows,
    check_size,
    check_text_size,
    flat_rows,
    numbers_text,
    product_up_to,
    row_text,
)
from tunbridge.formats._scanner import Grammar, Scanner
from tunbridge.probability import ConditionalTable

_GRAMMAR = Grammar(re.compile(r"\s*+(?:([^\s#]++)|#[^\r\n]*+|\Z)"), "")
_COMMENTED = re.compile(r"^\d+(?: \d+)+   # \S", re.MULTILINE)  # the variables of a table as aGrUM writes them
_SUSPECTED = (
    "the file has comments as aGrUM writes them, and aGrUM orders the parents of a table in the opposite way; "
    "give dialect='agrum' if it wrote the file. The tables in question"
)
_LINE_END = re.compile(r"[\r\n]")


def read_uai(text: str, dialect: str | None = None) -> NetworkParts:
    """Return the network that a UAI model describes.

    Parameters
    ----------
    text : str
        The whole file.
    dialect : {"agrum"}, optional
        "agrum" if aGrUM wrote the file.

    Raises
    ------
    FormatError
        With the line and column of what is wrong.

    Examples
    --------
    >>> read_uai("BAYES 1 2 1 1 0 2 0.5 0.5").cpts
    (CPT('x0': 1 row of 2 states),)
    """
    scanner = Scanner(text, _GRAMMAR)
    _header(scanner)
    sizes = _sizes(scanner)
    check_size(len(text), len(sizes))
    scopes = _scopes(scanner, sizes)
    draft = scanner.draft
    draft.given = [_given(scanner, scope, sizes) for scope in scopes]
    if dialect == "agrum":
        draft.given = [replace(given, parents=given.parents[::-1]) for given in draft.given]
    elif "#" in text and _COMMENTED.search(text) and (names := [g.child for g in draft.given if len(g.parents) > 1]):
        draft.notes[_SUSPECTED] = names
    if scanner.next:
        raise scanner.expected("the end of the file")
    _check_owned(scanner, len(sizes))
    # A table has at least as many numbers as its variable has states, so there are no more states than words.
    check_size(len(text), len(sizes), sum(size for size, _ in sizes))
    draft.declared = [Declared(f"x{i}", tuple(map(str, range(size))), place) for i, (size, place) in enumerate(sizes)]
    return scanner.parts(lambda family: _rows(scanner, family))


def write_uai(parts: NetworkParts, dialect: str | None = None) -> str:
    """Return a network as a UAI model; variables and states become numbers, in their order.

    With ``dialect="agrum"`` the parents are listed as pyAgrum reads them.

    Examples
    --------
    >>> from tunbridge.data import Variable
    >>> from tunbridge.probability import CPT
    >>> print(write_uai(NetworkParts("toss", [CPT(Variable("Coin", ["heads", "tails"]), [], [0.5, 0.5])])))
    BAYES
    1
    2
    1
    1 0
    <BLANKLINE>
    2
     0.5 0.5
    <BLANKLINE>
    """
    check_text_size(parts)
    index = {variable.name: i for i, variable in enumerate(parts.variables)}
    n = len(parts.cpts)
    lines = ["BAYES", str(n), " ".join(str(variable.n_states) for variable in parts.variables), str(n)]
    for cpt in parts.cpts:
        scope = [index[v.name] for v in (*cpt.parents[:: -1 if dialect == "agrum" else 1], cpt.variable)]
        lines.append(" ".join(map(str, [len(scope), *scope])))
    for cpt in parts.cpts:
        lines += ["", *_table_lines(cpt)]
    return "\n".join(lines) + "\n"


def read_uai_evidence(text: str, parts: NetworkParts | None = None) -> tuple[dict[str, State], ...]:
    """Return the samples of a UAI evidence file, each a mapping from variable to state.

    Parameters
    ----------
    text : str
        One sample, ``n variable state variable state …``, or the number of samples followed by the samples. A number
        alone on the first line, with more lines below it, is the number of samples; if everything is on one line, the
        first number is the number of observed variables if there are as many pairs.
    parts : NetworkParts, optional
        The network whose names to use; by default names are ``x0``, … and ``0``, ….

    Examples
    --------
    >>> read_uai_evidence("2 0 1 4 0")
    ({'x0': '1', 'x4': '0'},)
    >>> read_uai_evidence("2  1 0 1  1 0 0")
    ({'x0': '1'}, {'x0': '0'})
    """
    scanner = Scanner(text, _GRAMMAR)
    n_tokens = len(scanner.tokens) - 1
    first = scanner.count("the number of observed variables")
    if n_tokens == 1 + 2 * first and not _stands_alone(text):
        return (_sample(scanner, first, parts),)
    if first >= n_tokens:
        raise scanner.error(f"the file must hold {first} samples, as declared; it ends before.")
    samples = tuple(_sample(scanner, scanner.count("the number of observed variables"), parts) for _ in range(first))
    if scanner.next:
        raise scanner.expected("the end of the file")
    return samples


def write_uai_evidence(samples: Sequence[Mapping[str, object]], parts: NetworkParts) -> str:
    r"""Return observations as a UAI evidence file: the number of samples, then one on each line.

    There must be at least one sample, which may be empty: a file «0» is one sample without observations.

    Examples
    --------
    >>> coin = read_uai("BAYES 1 2 1 1 0 2 0.5 0.5")
    >>> write_uai_evidence([{"x0": "1"}], coin)
    '1\n1 0 1\n'
    """
    index = {variable.name: i for i, variable in enumerate(parts.variables)}
    lines = []
    for sample in samples:
        check_known("evidence must name variables of the network", sample, index, UnknownVariableError)
        pairs = [(index[name], parts.variables[index[name]].code(state)) for name, state in sample.items()]
        lines.append(" ".join(map(str, [len(pairs), *(number for pair in pairs for number in pair)])))
    if not lines:
        raise DataError("evidence must have a sample; got none. [{}] is one without observations.")
    return "\n".join([str(len(lines)), *lines]) + "\n"


# Reading


def _header(scanner: Scanner) -> None:
    if scanner.next.upper() == "MARKOV":
        raise scanner.error(
            "the model must be a Bayesian network (BAYES); got a Markov network, which is not supported."
        )
    if scanner.next.upper() != "BAYES":
        raise scanner.expected("'BAYES'")
    scanner.at += 1


def _sizes(scanner: Scanner) -> list[tuple[int, int]]:
    """Return the number of states of each variable, and its position."""
    n = scanner.count("the number of variables")
    _check_left(scanner, n, "variables")
    sizes = []
    for _ in range(n):
        place = scanner.at
        sizes.append((scanner.count("the number of states of a variable"), place))
        if sizes[-1][0] == 0:
            raise scanner.error("a variable must have states; got 0.", place)
    return sizes


def _scopes(scanner: Scanner, sizes: Sequence[tuple[int, int]]) -> list[tuple[int, list[int]]]:
    """Return the variables of each table, and the position of the last of them."""
    n = scanner.count("the number of tables")
    if n != len(sizes):
        raise scanner.error(f"there must be a table for each of {len(sizes)} variables; got {n}.", scanner.at - 1)
    scopes = []
    for _ in range(n):
        size = scanner.count("the number of variables of a table")
        if size == 0:
            raise scanner.error("a table must have variables; got 0.", scanner.at - 1)
        _check_left(scanner, size, "variables of a table")
        scope = [scanner.count("the number of a variable") for _ in range(size)]
        wrong = next((i for i, variable in enumerate(scope) if variable >= len(sizes)), None)
        if wrong is not None:
            rule = f"a variable must be a number from 0 to {len(sizes) - 1}"
            raise scanner.error(f"{rule}; got {scope[wrong]}.", scanner.at - size + wrong)
        if len(set(scope)) < size:
            rule = "the variables of a table must be distinct"
            raise scanner.error(f"{rule}; got 'x{repeated(scope)[0]}' more than once.", scanner.at - 1)
        scopes.append((scanner.at - 1, scope))
    return scopes


def _given(scanner: Scanner, scope: tuple[int, list[int]], sizes: Sequence[tuple[int, int]]) -> Given:
    place, variables = scope
    n = scanner.count("the number of probabilities of a table")
    shape = [sizes[v][0] for v in variables]
    if n != product_up_to(n, shape):
        raise scanner.error(numbers_text(f"the table of x{variables[-1]}", shape, n), scanner.at - 1)
    _check_left(scanner, n, "probabilities")
    start = scanner.at
    scanner.at += n
    return Given(f"x{variables[-1]}", tuple(f"x{v}" for v in variables[:-1]), place, (start, start + n))


def _check_owned(scanner: Scanner, n: int) -> None:
    """Raise unless every variable has a table of its own: only then can its number of states be trusted."""
    given = scanner.draft.given
    owned = {each.child for each in given}
    missing = next((i for i in range(n) if f"x{i}" not in owned), None)
    if missing is not None:
        hint = "The last variable of a table is its child."
        raise scanner.error(f"each variable must have a table; x{missing} has none. {hint}", given[0].place)


def _check_left(scanner: Scanner, n: int, what: str) -> None:
    if n > len(scanner.tokens) - 1 - scanner.at:
        raise scanner.error(f"there must be {n} {what}, as declared; the file ends before.", scanner.at - 1)


def _rows(scanner: Scanner, family: Family) -> Rows:
    start, end = family.given.body
    places = range(start, end).__getitem__
    return flat_rows(family, scanner.numbers(scanner.tokens[start:end], places), places, scanner.error)


def _stands_alone(text: str) -> bool:
    """Return whether the first number of a file is the only one on its line, and not the only one of the file."""
    words = (match for match in _GRAMMAR.pattern.finditer(text) if match[1])
    first, second = next(words), next(words, None)
    return second is not None and _LINE_END.search(text, first.end(1), second.start(1)) is not None


def _sample(scanner: Scanner, n: int, parts: NetworkParts | None) -> dict[str, State]:
    _check_left(scanner, 2 * n, "variables and states")
    sample: dict[str, State] = {}
    for _ in range(n):
        place = scanner.at
        name, state = _named(scanner, parts)
        if name in sample:
            raise scanner.error(f"a variable must be observed once in a sample; got {name!r} again.", place)
        sample[name] = state
    return sample


def _named(scanner: Scanner, parts: NetworkParts | None) -> tuple[str, State]:
    variable, state = scanner.count("the number of a variable"), scanner.count("the number of a state")
    if parts is None:
        return f"x{variable}", str(state)
    if variable >= len(parts.cpts):
        rule = f"a variable must be a number from 0 to {len(parts.cpts) - 1}"
        raise scanner.error(f"{rule}; got {variable}.", scanner.at - 2)
    known = parts.cpts[variable].variable
    if state >= known.n_states:
        rule = f"a state of {known.name!r} must be a number from 0 to {known.n_states - 1}"
        raise scanner.error(f"{rule}; got {state}.", scanner.at - 1)
    return known.name, (known.states or ())[state]


# Writing


def _table_lines(cpt: ConditionalTable) -> list[str]:
    rows = cpt.table().reshape(-1, cpt.variable.n_states)
    return [str(rows.size), *(f" {row_text(row, ' ')}" for row in rows)]


@network_format("uai", suffixes=(".uai",), dialects=("agrum",))
class UAI:
    """UAI, the format of the inference competitions."""

    read, write = staticmethod(read_uai), staticmethod(write_uai)
