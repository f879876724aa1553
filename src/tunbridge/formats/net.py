"""Hugin NET: the language of the Hugin programs, also written by GeNIe, SamIam and others.

    net { name = "clinic"; }
    node T { states = ("yes" "no"); label = "Has tuberculosis?"; }
    potential ( T | A ) { data = (( 0.05 0.95 )     % A = yes
                                  ( 0.01 0.99 ));   % A = no
    }

    continuous node F { }
    potential ( F | T A X ) { data = (( normal ( 37, 0.2 )      % one for each state of T and A, here two and one
                                        normal ( 38 + 0.1 * X, 0.5 ) )); }

The numbers run with the variable's states fastest and the first parent slowest. Inner brackets may be left out; those
that are there must fit the numbers of states. Tables of integers are weights, such as
counts: Hugin divides each row by its sum, and so does the reader, with a warning. A continuous node is linear Gaussian:
its categorical parents choose one of the regressions, its continuous ones are in them. Other attributes (``position``,
``label``, …) are kept as properties, the expression in ``model_data`` verbatim. The name of a node is its identifier: a
label may be shared by many nodes. A name that is not an identifier is written as the label, and as a property.
Decisions, utilities, classes, and tables that are given by an expression alone are not supported.

References
----------
Hugin Expert A/S. Hugin API Reference Manual, chapter «The NET language».
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import mul

import numpy as np

from tunbridge._core.registry import network_format
from tunbridge.errors import DataError
from tunbridge.formats._assembly import (
    Declared,
    Family,
    FileNode,
    Given,
    NetworkParts,
    Rows,
    Rules,
    check_states,
    file_network,
    flat_rows,
    is_identifier,
    is_line,
    product_up_to,
    row_text,
    shown,
)
from tunbridge.formats._scanner import Scanner, block_lines, drop_full_name, grammar, is_statement
from tunbridge.probability import ConditionalTable, LinearGaussian

# An expression has its own commas and signs, so it is one token, up to its semicolon.
_MODEL = r'model_data\s*+=(?:"[^"\r\n]*+"|%[^\r\n]*+|[^";%])*+'
_GRAMMAR = grammar("{}()=;|", comment="%", skipped=",", raw=_MODEL)
_PART = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[A-Za-z_]\w*|[-+*]", re.ASCII)
_BLANKS = re.compile(r'("[^"\r\n]*+")|(?:%[^\r\n]*+|\s)++')  # or a text, which is kept
_MOST_COEFFICIENTS = 2**26
_CLASSES = ("instance", "class", "object_class")
_KINDS = ("discrete", "continuous", "decision", "utility", "function", "node")
_KEYWORDS = {"net", "potential", "states", "label", "data", "name", "inputs", "outputs", "normal", *_CLASSES, *_KINDS}
_OF_TABLES = {"experience", "fading", "model_nodes", "model_data", "samples_per_interval"}


def read_net(text: str) -> NetworkParts:
    """Return the network that a NET text describes.

    Raises
    ------
    FormatError
        With the line and column of what is wrong.

    Examples
    --------
    >>> coin = 'net {} node Coin { states = ("heads" "tails"); } potential (Coin) { data = (0.5 0.5); }'
    >>> read_net(coin).cpts
    (CPT('Coin': 1 row of 2 states),)
    """
    scanner = Scanner(text, _GRAMMAR)
    blocks = {"net": _net, "potential": _potential}
    while scanner.next:
        if scanner.next in _CLASSES:
            rule = f"the file must hold one network without classes; got {scanner.next!r}"
            raise scanner.error(f"{rule}. Object-oriented networks are not supported: save a flat network.")
        if scanner.next in _KINDS:
            _node(scanner)
        elif scanner.next in blocks:
            blocks[scanner.take()](scanner)
        else:
            raise scanner.expected("'net', 'node' or 'potential'")
    return scanner.parts(lambda family: _table(scanner, family))


def write_net(parts: NetworkParts) -> str:
    """Return a network as NET text.

    Examples
    --------
    >>> from tunbridge.data import Variable
    >>> from tunbridge.probability import CPT
    >>> print(write_net(NetworkParts("toss", [CPT(Variable("Coin", ["heads", "tails"]), [], [0.5, 0.5])])))
    net
    {
        name = "toss";
    }
    node Coin
    {
        states = ("heads" "tails");
    }
    potential ( Coin )
    {
        data = (0.5 0.5);
    }
    <BLANKLINE>
    """
    network = file_network(parts, _RULES)
    lines = block_lines("net", [f'name = "{network.name}"', *network.properties])
    for node in network.nodes:
        kind = "continuous node" if node.cpt.variable.is_continuous else "node"
        lines += block_lines(f"{kind} {node.name}", _node_statements(node))
    for node in network.nodes:
        lines += _table_lines(node)
    return "\n".join(lines) + "\n"


# Reading


def _net(scanner: Scanner) -> None:
    scanner.begin_network()
    draft = scanner.draft
    given = _statements(scanner, "name", draft.properties)
    if given is not None and given[1] == given[0] + 1:
        draft.name = scanner.as_name(given[0], "the name of the network")
    elif given is not None:
        draft.properties.append(scanner.statement_text(["name"], *given))


def _node(scanner: Scanner) -> None:
    """Read ``node``, ``discrete node``, ``continuous node``, ``decision``, ``utility`` or ``function``."""
    kinds = []
    while scanner.next in _KINDS and scanner.tokens[scanner.at + 1] != "{":
        kinds.append(scanner.take())
    if kinds in (["discrete"], ["continuous"]):
        raise scanner.expected("'node'")
    place = scanner.at
    declared = Declared(scanner.name("the name of a node"), (), place, is_continuous="continuous" in kinds)
    given = _statements(scanner, "states", declared.properties)
    if "decision" in kinds:
        scanner.draft.decisions[declared.name] = place
    elif "utility" in kinds or "function" in kinds:
        scanner.draft.utilities[declared.name] = place
    elif given is not None and declared.is_continuous:
        raise scanner.error(f"a continuous node must not have states; {shown(declared.name)} has some.", given[0])
    elif given is not None:
        declared.states = _states(scanner, declared.name, *given)
    drop_full_name(declared, "label")
    scanner.draft.declared.append(declared)


def _statements(scanner: Scanner, wanted: str, properties: list[str]) -> tuple[int, int] | None:
    """Return the start and end of the value of one statement of a block; the others are properties."""
    found = None
    scanner.expect("{")
    while not scanner.accept("}"):
        if scanner.next.startswith("model_data") and "=" in scanner.next:
            properties.append(_model_text(scanner.take()))
            scanner.expect(";")
            continue
        words, start, end = scanner.statement("=")
        if words != [wanted]:
            properties.append(scanner.statement_text(words, start, end))
        elif found is not None:
            raise scanner.error(f"a block must have one {wanted!r}; got another one.", start - 2)
        else:
            found = start, end
    return found


def _model_text(token: str) -> str:
    """Return an expression as one line, without comments."""
    key, _, value = _BLANKS.sub(lambda match: match[1] or " ", token).partition("=")
    return f"{key.strip()} = {value.strip()}"


def _states(scanner: Scanner, name: str, start: int, end: int) -> tuple[str, ...]:
    if end < start + 2 or scanner.tokens[start] != "(" or scanner.tokens[end - 1] != ")":
        raise scanner.expected("the states between '(' and ')'", start)
    states = tuple(scanner.names(start + 1, end - 1, "the name of a state"))
    check_states(name, states, scanner.error, start)
    return states


def _potential(scanner: Scanner) -> None:
    """Note the family and the position of the numbers; they are read once all variables are known."""
    place, names = scanner.family("the name of a node")
    rest: list[str] = []
    body = _statements(scanner, "data", rest)
    scanner.draft.given.append(Given(names[0], tuple(names[1:]), place, body, rest))


def _table(scanner: Scanner, family: Family) -> Rows | ConditionalTable:
    if family.given.body is None:
        expression = any(text.startswith("model_data") for text in family.given.properties)
        got = "got an expression alone, which is not supported. Save the file with tables" if expression else "got none"
        raise scanner.error(f"the table of {family.shown} must have data; {got}.", family.given.place)
    start, end = family.given.body
    tokens = scanner.tokens[start:end]
    if tokens.count("(") != tokens.count(")"):
        raise scanner.error(_unpaired(family), start)
    return _regressions(scanner, family) if family.variable.is_continuous else _rows(scanner, family)


def _rows(scanner: Scanner, family: Family) -> Rows:
    start, end = family.given.body
    tokens = scanner.tokens[start:end]

    def where(i: int) -> int:
        return [start + j for j, token in enumerate(tokens) if token not in "()"][i]

    values = scanner.numbers([token for token in tokens if token not in "()"], where)
    rows = flat_rows(family, values, where, scanner.error)
    if "(" in tokens[1:] or ")" in tokens[:-1]:  # besides one pair around all
        _check_brackets(scanner, family, enumerate(tokens, start), [*map(len, family.parent_states), family.n_states])
    return rows._replace(values=_shares(scanner, family, rows.values))


def _unpaired(family: Family) -> str:
    return f"the data of {family.shown} must have as many '(' as ')'."


def _check_brackets(scanner: Scanner, family: Family, tokens: Iterable[tuple[int, str]], sizes: Sequence[int]) -> None:
    """Raise unless each pair of brackets is around a part of the table: all entries, or those with first axes fixed."""
    parts = list(dict.fromkeys(accumulate(reversed(sizes), mul, initial=1)))  # at most 62: the table was read
    opened: list[tuple[int, int]] = []
    n = 0
    for at, token in tokens:
        if token == "(":
            opened.append((n, at))
        elif token != ")":
            n += 1
        elif not opened:
            raise scanner.error(_unpaired(family), at)
        else:
            first, place = opened.pop()
            if n - first not in parts or first % (n - first):
                raise scanner.error(_contradiction(family, parts[::-1], first, n - first), place)


def _contradiction(family: Family, parts: Sequence[int], first: int, n: int) -> str:
    wanted = " or ".join(filter(None, [", ".join(map(str, parts[:-1])), str(parts[-1])]))
    unit = "distributions" if family.variable.is_continuous else "numbers"
    rule = f"brackets in the data of {family.shown} must hold {wanted} {unit}, by the states of its parents"
    got = f"{n} after the first {first}" if n in parts else n
    return f"{rule}; got {got}. Correct the brackets, or leave out the inner ones."


def _shares(scanner: Scanner, family: Family, rows: np.ndarray) -> np.ndarray:
    """Return rows of integers, which are weights, divided by their sums; all others as they are."""
    if not all(map(float.is_integer, rows[0].tolist())):  # most tables
        return rows
    with np.errstate(invalid="ignore", over="ignore"):
        totals = rows.sum(axis=1)
        are_weights = (rows == np.rint(rows)).all() and np.isfinite(totals).all() and (rows >= 0).all()
    if not are_weights or np.isin(totals, (0, 1)).all():
        return rows
    note = "tables of integers are weights, and each row was divided by its sum"
    scanner.draft.notes.setdefault(note, []).append(family.given.child)
    return rows / np.where(totals == 0, 1, totals)[:, None]  # the error about a row of zeros comes later


# Reading: linear Gaussian potentials


def _regressions(scanner: Scanner, family: Family) -> LinearGaussian:
    """Return the table of ``normal ( mean, variance )`` for each configuration of the categorical parents."""
    start, end = family.given.body
    numbers = [p.name for p in family.parents if p.is_continuous]
    names = {p: v.name for p, v in zip(family.given.parents, family.parents, strict=True) if v.is_continuous}
    scanner.at, found, tokens = start, [], []
    while scanner.at < end:
        tokens.append((scanner.at, scanner.next))
        if not scanner.accept("(", ")"):
            found.append(_normal(scanner, names))
    sizes = [p.n_states for p in family.parents if p.is_categorical]
    if product_up_to(len(found), sizes) != len(found):
        rule = (
            f"the data of {family.shown} must be a normal distribution for each configuration of its discrete parents"
        )
        raise scanner.error(f"{rule}; got {len(found)}.", start)
    _check_brackets(scanner, family, tokens, sizes)
    if len(found) * len(numbers) > _MOST_COEFFICIENTS:
        rule = f"{family.shown} must have at most {_MOST_COEFFICIENTS} coefficients in all its configurations"
        raise scanner.error(f"{rule}; got {len(found) * len(numbers)}.", start)
    places = {name: k for k, name in enumerate(numbers)}
    intercepts, coefficients = np.zeros(len(found)), np.zeros((len(found), len(numbers)))
    for i, (mean, _) in enumerate(found):
        intercepts[i] = mean.pop("", 0.0)
        for name, value in mean.items():
            coefficients[i, places[name]] = value
    variances = np.array([variance for _, variance in found])
    try:
        return LinearGaussian(
            family.variable,
            family.parents,
            intercepts.reshape(sizes),
            coefficients.reshape(*sizes, len(numbers)),
            variances.reshape(sizes),
        )
    except DataError as reason:
        raise scanner.error(str(reason), family.given.place) from None


def _normal(scanner: Scanner, names: dict[str, str]) -> tuple[dict[str, float], float]:
    """Read ``normal ( mean, variance )``; the mean is its coefficient for each name, and its constant for ""."""
    scanner.expect("normal")
    scanner.expect("(")
    stop = scanner.find(")", "a normal distribution")
    pieces, places = _pieces(scanner, stop, names)
    mean: dict[str, float] = {}
    while pieces and (not mean or pieces[-1] in "+-"):
        name, value = _term(scanner, pieces, places, names)
        mean[name] = mean.get(name, 0.0) + value
    if len(pieces) != 1 or not _is_number(pieces[0]):
        raise scanner.expected("a mean such as 1 + 2 * X, and a variance", places[-1] if pieces else stop)
    scanner.at = stop + 1
    return mean, float(pieces[0])


def _pieces(scanner: Scanner, stop: int, names: dict[str, str]) -> tuple[list[str], list[int]]:
    """Return the numbers, names and signs up to a token, and the tokens in which they are, both from last to first."""
    pieces: list[str] = []
    places: list[int] = []
    for at in range(scanner.at, stop):
        token = scanner.tokens[at]
        found = [token] if token in names else _PART.findall(token)
        if "".join(found) != token:
            raise scanner.expected("a number, a sign or the name of a continuous parent", at)
        pieces += found
        places += [at] * len(found)
    return pieces[::-1], places[::-1]


def _term(scanner: Scanner, pieces: list[str], places: list[int], names: dict[str, str]) -> tuple[str, float]:
    """Take one term of a mean, such as ``- 0.5 * X``; return the name in it, "" if there is none, and the factor."""
    name, value, sign = "", 1.0, "*"
    while pieces and pieces[-1] in "+-":
        value = -value if pieces.pop() == "-" else value
        at = places.pop()
    while pieces and sign == "*":
        piece, at = pieces.pop(), places.pop()
        if _is_number(piece):
            value *= float(piece)
        elif piece in names and not name:
            name = names[piece]
        else:
            raise scanner.expected("a number or the name of a continuous parent", at)
        sign = pieces[-1] if pieces else ""
        if sign == "*":
            at, _ = places.pop(), pieces.pop()
    if sign == "*":
        raise scanner.error("a sign must be followed by a number or the name of a continuous parent.", at)
    return name, value


def _is_number(piece: str) -> bool:
    return piece[0] in ".0123456789"


# Writing


def _is_name(name: str) -> bool:
    return is_identifier(name) and name not in _KEYWORDS


def _is_property(text: str) -> bool:
    key = text.partition(" ")[0]
    if key == "model_data":
        return text.isprintable() and _GRAMMAR.pattern.findall(text) == [text, ""] and _model_text(text) == text
    return text.isprintable() and key not in {"states", "name", "data"} and is_statement(text, _GRAMMAR)


_RULES = Rules(_is_name, is_line, _is_property, is_line, marker='{} = "{}"'.format)


def _node_statements(node: FileNode) -> list[str]:
    states = " ".join(f'"{state}"' for state in node.states)
    given = [] if node.cpt.variable.is_continuous else [f"states = ({states})"]
    return [*given, *node.full_name_statement("label", "="), *_split(node)[0]]


def _table_lines(node: FileNode) -> list[str]:
    names = [node.name, *(["|", *(p.name for p in node.parents)] if node.parents else [])]
    return block_lines(f"potential ( {' '.join(names)} )", [f"data = {_data_text(node)}", *_split(node)[1]])


def _split(node: FileNode) -> tuple[Sequence[str], Sequence[str]]:
    """Return the properties of the node, and those of its table, which follow the others."""
    keys = [text.partition(" ")[0] for text in node.properties]
    first = next((i for i, key in enumerate(keys) if key in _OF_TABLES), len(keys))
    return node.properties[:first], node.properties[first:]


def _data_text(node: FileNode) -> str:
    """Return the numbers, or the regressions, in brackets, a pair for each axis."""
    is_gaussian = isinstance(node.cpt, LinearGaussian)
    rows = _normal_texts(node) if is_gaussian else [f"({row_text(row, ' ')})" for row in node.rows()]
    sizes = [len(p.states) for p in node.parents if p.states]
    for size in reversed(sizes[1:]):
        rows = [f"({' '.join(rows[i : i + size])})" for i in range(0, len(rows), size)]
    text = "\n            ".join(rows)
    return f"({text})" if sizes else text


def _normal_texts(node: FileNode) -> list[str]:
    """Return ``normal ( mean, variance )`` for each configuration of the categorical parents."""
    cpt, names, texts = node.cpt, [p.name for p in node.parents if not p.states], []
    assert isinstance(cpt, LinearGaussian)
    rows = cpt.coefficients.reshape(cpt.n_configurations, len(names)).tolist()
    for mean, row, variance in zip(cpt.intercepts.ravel(), rows, cpt.variances.ravel(), strict=True):
        terms = [f"{'-' if b < 0 else '+'} {abs(b)!r} * {name}" for b, name in zip(row, names, strict=True)]
        texts.append(f"normal ( {' '.join([repr(float(mean)), *terms])}, {float(variance)!r} )")
    return texts


@network_format("net", suffixes=(".net",), continuous=True)
class NET:
    """Hugin NET."""

    read, write = staticmethod(read_net), staticmethod(write_net)
