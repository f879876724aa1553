r"""DSL: the text files of GeNIe and SMILE before XDSL; aGrUM reads and writes them too.

    net clinic
    {
      node Cancer
      {
        TYPE = CPT;
        HEADER = { ID = Cancer; NAME = "Lung cancer?"; };
        PARENTS = (Smoker);
        DEFINITION = { NAMESTATES = (yes, no); PROBABILITIES = (0.05, 0.95, 0.01, 0.99); };
      };
    };

The numbers run with the node's states fastest and the first parent slowest. The kinds of nodes are those of
:mod:`~tunbridge.formats.xdsl`: ``CPT``, ``TRUTHTABLE`` (deterministic) and ``NOISY_MAX``. The name of a node is its
``ID``; ``NAME``, ``COMMENT`` and ``USER_PROPERTIES`` are kept as properties, the layout is not. A quoted text may have
escapes (``\"``) and continue on the next line after a backslash. Nodes may be inside ``submodel`` blocks.

References
----------
Decision Systems Laboratory, University of Pittsburgh. SMILE reference manual.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tunbridge._core.registry import network_format
from tunbridge.formats._assembly import (
    MARKER,
    Declared,
    Family,
    FileNode,
    Given,
    NetworkParts,
    Rows,
    Rules,
    file_network,
    flat_rows,
    row_text,
    shown,
)
from tunbridge.formats._scanner import END, Scanner, grammar
from tunbridge.formats.xdsl import RULES, UNNAMED, deterministic_rows, kind_text, noisy_table, split_properties
from tunbridge.probability import ConditionalTable

_GRAMMAR = grammar("{}()=;", skipped=",", quoted=r'"(?:[^"\\]|\\[\s\S])*+"?')
_ESCAPE = re.compile(r"\\(?:\s*[\r\n]\s*|([\"\\n]))")
_TABLES = {"CPT": "PROBABILITIES", "TRUTHTABLE": "RESULTINGSTATES", "NOISY_MAX": "PROBABILITIES"}
_DECISIONS, _UTILITIES = {"LIST", "DECISION"}, {"TABLE", "UTILITY", "MAU", "ALU"}
_ONCE = {"TYPE", "HEADER", "ID", "PARENTS", "DEFINITION", "NAMESTATES", "STRENGTHS", *_TABLES.values()}
_SHOWN = ("NAME", "COMMENT")
_KEPT = {*_ONCE, *_SHOWN, "USER_PROPERTIES"}
_DEEPEST = 64


def read_dsl(text: str) -> NetworkParts:
    """Return the network that a DSL text describes.

    Raises
    ------
    FormatError
        With the line and column of what is wrong.

    Examples
    --------
    >>> coin = '''net toss { node Coin { TYPE = CPT;
    ... DEFINITION = { NAMESTATES = (heads, tails); PROBABILITIES = (0.5, 0.5); }; }; };'''
    >>> read_dsl(coin).cpts
    (CPT('Coin': 1 row of 2 states),)
    """
    scanner = Scanner(text, _GRAMMAR)
    if scanner.next.lower() != "net":
        raise scanner.expected("'net'")
    scanner.at += 1
    name, draft = scanner.name("the name of the network"), scanner.draft
    closes = _closes(scanner)
    start = scanner.at
    scanner.expect("{")
    draft.name = "" if name == UNNAMED else name
    _group(scanner, closes, start + 1, closes[start], 0)
    scanner.at = closes[start] + 1
    scanner.accept(";")
    if scanner.next != END:
        raise scanner.expected("the end of the file")
    return scanner.parts(lambda family: _table(scanner, family))


def write_dsl(parts: NetworkParts) -> str:
    """Return a network as DSL text.

    Examples
    --------
    >>> from tunbridge.data import Variable
    >>> from tunbridge.probability import CPT
    >>> print(write_dsl(NetworkParts("toss", [CPT(Variable("Coin", ["heads", "tails"]), [], [0.5, 0.5])])))
    net toss
    {
        node Coin
        {
            TYPE = CPT;
            HEADER =
            {
                ID = Coin;
                NAME = "Coin";
            };
            PARENTS = ();
            DEFINITION =
            {
                NAMESTATES = (heads, tails);
                PROBABILITIES = (0.5, 0.5);
            };
        };
    };
    <BLANKLINE>
    """
    network = file_network(parts, _RULES, parents_first=True)
    lines = [f"net {network.name or UNNAMED}", "{", *_block("USER_PROPERTIES", _texts(network.properties), 1)]
    for node in network.nodes:
        lines += _node_lines(node)
    return "\n".join([*lines, "};"]) + "\n"


# Reading


class _Statement(NamedTuple):
    """``KEY = value;``, ``KEY = { … };`` or ``key name { … };``: its place, and the tokens of the value."""

    key: str
    name: str
    place: int
    start: int
    end: int
    is_block: bool


def _closes(scanner: Scanner) -> dict[int, int]:
    """Return the position of the closing brace of each opening one."""
    found: dict[int, int] = {}
    opened = []
    for at, token in enumerate(scanner.tokens):
        if token == "{":
            opened.append(at)
        elif token == "}":
            if not opened:
                raise scanner.expected("a statement", at)
            found[opened.pop()] = at
    if opened:
        raise scanner.error("a block must end with '}'; there is none.", opened[-1])
    return found


def _statements(scanner: Scanner, closes: dict[int, int], start: int, stop: int) -> Iterator[_Statement]:
    tokens, at = scanner.tokens, start
    while at < stop:
        if tokens[at] == ";":
            at += 1
            continue
        key, is_named = scanner.as_name(at, "a statement such as 'NAME = value;'"), tokens[at + 1] != "="
        name = scanner.as_name(at + 1, "'='") if is_named else ""
        first = at + 2
        if is_named and tokens[first] != "{":
            raise scanner.expected("'='", at + 1)
        if tokens[first] == "{":
            yield _Statement(key.upper(), name, at, first + 1, closes[first], True)
            at = closes[first] + 1
            continue
        scanner.at = first
        end = scanner.find(";", "a statement", stop=stop)
        if wrong := next((i for i in range(first, end) if tokens[i] in ("=", "{")), None):
            raise scanner.expected("';'", wrong)
        yield _Statement(key.upper(), name, at, first, end, False)
        at = end + 1


def _group(scanner: Scanner, closes: dict[int, int], start: int, stop: int, depth: int) -> None:
    """Read the nodes of the network or of a submodel; properties of the network itself are kept."""
    if depth > _DEEPEST:
        raise scanner.error(f"submodels must be nested at most {_DEEPEST} levels deep.", start)
    for each in _statements(scanner, closes, start, stop):
        if each.key == "NODE" and each.name:
            _node(scanner, closes, each)
        elif each.is_block and each.name:
            _group(scanner, closes, each.start, each.end, depth + 1)
        elif each.key == "USER_PROPERTIES" and each.is_block and not depth:
            scanner.draft.properties += _properties(scanner, closes, each)


def _node(scanner: Scanner, closes: dict[int, int], node: _Statement) -> None:
    found = _by_key(scanner, closes, node)
    header, definition = (_by_key(scanner, closes, found.get(key)) for key in ("HEADER", "DEFINITION"))
    name = _value(scanner, header["ID"]) if "ID" in header else node.name
    kind = _value(scanner, found["TYPE"]).upper().replace("-", "_") if "TYPE" in found else "CPT"
    draft, place = scanner.draft, node.place + 1
    if kind in _DECISIONS or kind in _UTILITIES:
        (draft.decisions if kind in _DECISIONS else draft.utilities)[name] = place
        return
    if kind not in _TABLES:
        raise scanner.error(kind_text(name, kind), place)
    if _TABLES[kind] not in definition:
        raise scanner.error(f"the node {shown(name)} must have {_TABLES[kind]}; it has none.", place)
    properties = _properties(scanner, closes, found.get("USER_PROPERTIES"))
    keys = _SHOWN[any(text.startswith(f"{MARKER}name = ") for text in properties) :]
    said = [(key, _value(scanner, header[key])) for key in keys if key in header]
    properties += [f"{key.lower()} = {text}" for key, text in said if text and (key, text) != ("NAME", name)]
    states = _names(scanner, definition.get("NAMESTATES"), "the name of a state")
    draft.declared.append(Declared(name, states, place, properties))
    parents = _names(scanner, found.get("PARENTS"), "the name of a node")
    draft.given.append(Given(name, parents, place, (kind, definition)))


def _by_key(scanner: Scanner, closes: dict[int, int], block: _Statement | None) -> dict[str, _Statement]:
    """Return the statements of a block that matter, by their keys."""
    found: dict[str, _Statement] = {}
    for each in _statements(scanner, closes, block.start, block.end) if block is not None and block.is_block else ():
        if each.key in found and each.key in _ONCE:
            raise scanner.error(f"a block must have one {each.key!r}; got another one.", each.place)
        if each.key in _KEPT:
            found[each.key] = each
    return found


def _value(scanner: Scanner, statement: _Statement) -> str:
    """Return a value that is one word or text."""
    if statement.is_block or statement.end != statement.start + 1:
        raise scanner.expected("a word or a quoted text", statement.start)
    token = scanner.tokens[statement.start]
    text = scanner.as_name(statement.start, "a word or a quoted text")
    return text if token[0] != '"' else _ESCAPE.sub(lambda match: (match[1] or "").replace("n", "\n"), text)


def _properties(scanner: Scanner, closes: dict[int, int], block: _Statement | None) -> list[str]:
    if block is None or not block.is_block:
        return []
    found = (each for each in _statements(scanner, closes, block.start, block.end) if not each.is_block)
    return [f"{scanner.tokens[each.place]} = {_value(scanner, each)}" for each in found]


def _span(scanner: Scanner, statement: _Statement) -> range:
    """Return the positions of the values between brackets."""
    start, end = statement.start, statement.end
    if statement.is_block or end < start + 2 or scanner.tokens[start] != "(" or scanner.tokens[end - 1] != ")":
        raise scanner.expected("values between '(' and ')'", start)
    return range(start + 1, end - 1)


def _names(scanner: Scanner, statement: _Statement | None, what: str) -> tuple[str, ...]:
    return () if statement is None else tuple(scanner.as_name(at, what) for at in _span(scanner, statement))


def _table(scanner: Scanner, family: Family) -> Rows | ConditionalTable:
    kind, definition = family.given.body
    given = definition[_TABLES[kind]]
    span = _span(scanner, given)
    if kind == "TRUTHTABLE":
        states = _names(scanner, given, "the name of a state")
        return deterministic_rows(family, states, lambda i: given.start + 1 + i, scanner.error)
    values = scanner.numbers(scanner.tokens[span.start : span.stop], span.__getitem__)
    if kind == "CPT":
        return flat_rows(family, values, span.__getitem__, scanner.error)
    strengths = _names(scanner, definition["STRENGTHS"], "a number") if "STRENGTHS" in definition else None
    return noisy_table(scanner.draft, family, strengths, values, lambda i: given.start + 1 + i, scanner.error)


# Writing


def _is_property(text: str) -> bool:
    return RULES.is_property(text) and '"' not in text and "\\" not in text


_RULES = Rules(RULES.is_name, RULES.is_state, _is_property, RULES.is_network)


def _texts(properties: Sequence[str]) -> list[str]:
    legal = (text.partition(" = ") for text in properties if _is_property(text))
    return [f'{key} = "{value}"' for key, _, value in legal]


def _block(key: str, statements: Sequence[str], depth: int) -> list[str]:
    indent = "    " * depth
    lines = [f"{indent}{key} =", f"{indent}{{", *(f"{indent}    {text};" for text in statements), f"{indent}}};"]
    return lines if statements else []


def _node_lines(node: FileNode) -> list[str]:
    own, last = split_properties(node, [key.lower() for key in _SHOWN])
    said = [f"{key.upper()} = {text}" for key, _, text in (each.partition(" = ") for each in _texts(last))]
    states, rows = ", ".join(node.states), ", ".join(map(row_text, node.rows()))
    return [
        *(f"    node {node.name}", "    {", "        TYPE = CPT;"),
        *_block("HEADER", [f"ID = {node.name}", *said], 2),
        *_block("USER_PROPERTIES", _texts(own), 2),
        f"        PARENTS = ({', '.join(p.name for p in node.parents)});",
        *_block("DEFINITION", [f"NAMESTATES = ({states})", f"PROBABILITIES = ({rows})"], 2),
        "    };",
    ]


@network_format("dsl", suffixes=(".dsl",))
class DSL:
    """DSL, the format of GeNIe and SMILE before XDSL."""

    read, write = staticmethod(read_dsl), staticmethod(write_dsl)
