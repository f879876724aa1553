"""Hugin NET: the language of the Hugin programs, also written by GeNIe, SamIam and others.

    net { name = "clinic"; }
    node T { states = ("yes" "no"); label = "Has tuberculosis?"; }
    potential ( T | A ) { data = (( 0.05 0.95 )     % A = yes
                                  ( 0.01 0.99 ));   % A = no
    }

The numbers run with the variable's states fastest and the first parent slowest. Other attributes (``position``,
``label``, …) are kept as properties, the expression in ``model_data`` verbatim. The name of a node is its identifier: a
label may be shared by many nodes. A name that is not an identifier is written as the label, and as a property.
Decisions, utilities, continuous nodes and classes are not supported.

References
----------
Hugin Expert A/S. Hugin API Reference Manual, chapter «The NET language».
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tunbridge._core.registry import network_format
from tunbridge.formats._assembly import (
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
    row_text,
    shown,
)
from tunbridge.formats._scanner import Scanner, block_lines, drop_full_name, grammar, is_statement

# An expression has its own commas and signs, so it is one token, up to its semicolon.
_MODEL = r'model_data\s*+=(?:"[^"\r\n]*+"|%[^\r\n]*+|[^";%])*+'
_GRAMMAR = grammar("{}()=;|", comment="%", skipped=",", raw=_MODEL)
_BLANKS = re.compile(r'("[^"\r\n]*+")|(?:%[^\r\n]*+|\s)++')  # or a text, which is kept
_REFUSED = ("continuous", "decision", "utility", "function", "instance", "class", "object_class")
_KEYWORDS = {"net", "node", "potential", "states", "label", "data", "discrete", "name", "inputs", "outputs", *_REFUSED}
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
    blocks = {"net": _net, "node": _node, "potential": _potential}
    while scanner.next:
        if scanner.next in _REFUSED:
            raise scanner.error(f"a network must be of discrete nodes; got {scanner.next!r}, which is not supported.")
        if scanner.accept("discrete") and scanner.next != "node":
            raise scanner.expected("'node'")
        if scanner.next not in blocks:
            raise scanner.expected("'net', 'node' or 'potential'")
        blocks[scanner.take()](scanner)
    return scanner.parts(lambda family: _rows(scanner, family))


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
        lines += block_lines(f"node {node.name}", _node_statements(node))
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
    declared = scanner.declare("the name of a node")
    given = _statements(scanner, "states", declared.properties)
    if given is not None:
        declared.states = _states(scanner, declared.name, *given)
    drop_full_name(declared, "label")


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
    if body is None:
        raise scanner.error(f"the table of {shown(names[0])} must have data; there are none.", place)
    scanner.draft.given.append(Given(names[0], tuple(names[1:]), place, body, rest))


def _rows(scanner: Scanner, family: Family) -> Rows:
    start, end = family.given.body
    tokens = scanner.tokens[start:end]
    if tokens.count("(") != tokens.count(")"):
        raise scanner.error(f"the data of {family.shown} must have as many '(' as ')'.", start)

    def where(i: int) -> int:
        return [start + j for j, token in enumerate(tokens) if token not in "()"][i]

    values = scanner.numbers([token for token in tokens if token not in "()"], where)
    return flat_rows(family, values, where, scanner.error)


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
    return [f"states = ({states})", *node.full_name_statement("label", "="), *_split(node)[0]]


def _table_lines(node: FileNode) -> list[str]:
    names = [node.name, *(["|", *(p.name for p in node.parents)] if node.parents else [])]
    return block_lines(f"potential ( {' '.join(names)} )", [f"data = {_data_text(node)}", *_split(node)[1]])


def _split(node: FileNode) -> tuple[Sequence[str], Sequence[str]]:
    """Return the properties of the node, and those of its table, which follow the others."""
    keys = [text.partition(" ")[0] for text in node.properties]
    first = next((i for i, key in enumerate(keys) if key in _OF_TABLES), len(keys))
    return node.properties[:first], node.properties[first:]


def _data_text(node: FileNode) -> str:
    """Return the numbers in brackets, a pair for each axis."""
    rows = [f"({row_text(row, ' ')})" for row in node.rows()]
    for parent in reversed(node.parents[1:]):
        size = len(parent.states)
        rows = [f"({' '.join(rows[i : i + size])})" for i in range(0, len(rows), size)]
    text = "\n            ".join(rows)
    return f"({text})" if node.parents else text


@network_format("net", suffixes=(".net",))
class NET:
    """Hugin NET."""

    read, write = staticmethod(read_net), staticmethod(write_net)
