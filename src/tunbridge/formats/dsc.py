"""DSC, the Bayesian Network Interchange Format of Microsoft Research (MSBN); also written by GeNIe and bnlearn.

    belief network "clinic"
    node T { name : "Has tuberculosis?"; type : discrete[2] = { "yes", "no" }; }
    probability (T | A) { (0) : 0.05, 0.95; (1) : 0.01, 0.99; }

A row follows the numbers of its parents' states, counted from zero; names of states are read as well. Between a name or
a row and its value ``:``, ``=`` and ``is`` mean the same. A table with a ``default`` row is read as a
:class:`~tunbridge.probability.SparseCPT`; tables are written with all their rows. The name of a node is its identifier;
other names are written as a property. Causal independence (``function : max``) is not supported.

References
----------
Microsoft Research, Decision Theory Group (1996). Proposal for a Bayesian Network Interchange Format, version 0.2.
"""

from __future__ import annotations

import re
from itertools import product

from tunbridge._core.registry import network_format
from tunbridge.formats._assembly import (
    MARKER,
    FileNetwork,
    FileNode,
    NetworkParts,
    Rows,
    Rules,
    file_network,
    flat_rows,
    is_identifier,
    is_line,
    row_text,
)
from tunbridge.formats._scanner import (
    Scanner,
    StateCodes,
    TableBody,
    block_lines,
    drop_full_name,
    grammar,
    is_statement,
)

_GRAMMAR = grammar("{}()[]=:;|", skipped=",")
_SIGNS = (":", "=", "is")
_KEYWORDS = {"belief", "network", "node", "probability", "properties", "type", "name", "default", "is", "function"}
_TYPE = re.compile(r"type ([A-Za-z_]\w*) = [^;{}]+")


def read_dsc(text: str) -> NetworkParts:
    """Return the network that a DSC text describes.

    Raises
    ------
    FormatError
        With the line and column of what is wrong.

    Examples
    --------
    >>> coin = '''belief network "toss" node Coin { type : discrete[2] = { "heads", "tails" }; }
    ... probability (Coin) { 0.5, 0.5; }'''
    >>> read_dsc(coin).cpts
    (CPT('Coin': 1 row of 2 states),)
    """
    scanner = Scanner(text, _GRAMMAR)
    blocks = {"network": _network, "properties": _properties, "node": _node, "probability": _probability}
    while scanner.next:
        if scanner.next not in blocks and scanner.tokens[scanner.at + 1] == "network":
            scanner.name("'belief'")  # the kind of network; other words are allowed
        elif scanner.accept("belief"):
            raise scanner.expected("'network'")
        if scanner.next not in blocks:
            raise scanner.expected("'belief network', 'properties', 'node' or 'probability'")
        blocks[scanner.take()](scanner)
        scanner.accept(";")
    draft = scanner.draft
    draft.properties = [text for text in draft.properties if not text.startswith(f"type {MARKER}")]
    codes = StateCodes(by_index=True, signs=_SIGNS)
    return scanner.parts(lambda family: TableBody(scanner, family, codes).read(_plain_rows))


def write_dsc(parts: NetworkParts) -> str:
    """Return a network as DSC text.

    Examples
    --------
    >>> from tunbridge.data import Variable
    >>> from tunbridge.probability import CPT
    >>> print(write_dsc(NetworkParts("toss", [CPT(Variable("Coin", ["heads", "tails"]), [], [0.5, 0.5])])))
    belief network "toss"
    node Coin
    {
        type : discrete[2] = { "heads", "tails" };
    }
    probability (Coin)
    {
        0.5, 0.5;
    }
    <BLANKLINE>
    """
    network = file_network(parts, _RULES)
    lines = [f'belief network "{network.name}"', *_property_lines(network)]
    for node in network.nodes:
        lines += block_lines(f"node {node.name}", _node_statements(node))
    for node in network.nodes:
        lines += _table_lines(node)
    return "\n".join(lines) + "\n"


# Reading


def _network(scanner: Scanner) -> None:
    scanner.begin_network()
    if scanner.next != "{":
        scanner.draft.name = scanner.name("the name of the network")
    if scanner.next == "{":
        _properties(scanner)


def _properties(scanner: Scanner) -> None:
    scanner.expect("{")
    while not scanner.accept("}"):
        scanner.draft.properties.append(scanner.statement_text(*scanner.statement(*_SIGNS), commas=True))


def _node(scanner: Scanner) -> None:
    declared = scanner.declare("the name of a node")
    scanner.expect("{")
    while not scanner.accept("}"):
        words, start, end = scanner.statement(*_SIGNS)
        if words == ["type"]:
            scanner.at = start
            scanner.discrete_states(declared, *_SIGNS)
        else:
            declared.properties.append(scanner.statement_text(words, start, end, commas=True))
    drop_full_name(declared, "name")


def _probability(scanner: Scanner) -> None:
    place, names = scanner.family("the name of a node")
    scanner.skip_table(names, place)


def _plain_rows(body: TableBody) -> Rows:
    """Return rows without states: they are in order, each with its semicolon or all with one."""
    scanner, stop = body.scanner, body.stop
    if scanner.next == "function":
        raise scanner.error("a table must be given by rows; got 'function', which is not supported.")
    if body.numbers or body.default is not None:
        raise scanner.expected("a row, 'default' or '}'")
    places = [at for at in range(scanner.at, stop) if scanner.tokens[at] != ";"]
    if scanner.tokens[stop - 1] != ";":
        raise scanner.expected("';'", stop)
    values = scanner.numbers([scanner.tokens[at] for at in places], places.__getitem__)
    return flat_rows(body.family, values, places.__getitem__, scanner.error)


# Writing


def _is_name(name: str) -> bool:
    return is_identifier(name) and name not in _KEYWORDS


def _is_property(text: str) -> bool:
    return text.isprintable() and text.partition(" ")[0] not in _KEYWORDS - {"name"} and _is_statement(text)


def _is_network_property(text: str) -> bool:
    declaration = _TYPE.fullmatch(text)
    return _is_property(text) or (declaration is not None and _is_statement(text.removeprefix("type ")))


def _is_statement(text: str) -> bool:
    return is_statement(text, _GRAMMAR, commas=True)


_RULES = Rules(_is_name, is_line, _is_property, is_line, _is_network_property, marker='{} = "{}"'.format)


def _property_lines(network: FileNetwork) -> list[str]:
    """Return the block with the declarations and values of properties."""
    properties = [*network.properties, *(text for node in network.nodes for text in node.properties)]
    keys = sorted({key for text in properties if (key := text.partition(" ")[0]).startswith(MARKER)})
    statements = [*(f'type {key} = string, ""' for key in keys), *network.properties]
    return block_lines("properties", statements) if statements else []


def _node_statements(node: FileNode) -> list[str]:
    states = ", ".join(f'"{state}"' for state in node.states)
    name = node.full_name_statement("name", ":")
    return [*name, f"type : discrete[{len(node.states)}] = {{ {states} }}", *node.properties]


def _table_lines(node: FileNode) -> list[str]:
    given = f" | {', '.join(p.name for p in node.parents)}" if node.parents else ""
    head = f"probability ({node.name}{given})"
    if not node.parents:
        return block_lines(head, [row_text(node.rows()[0])])
    keys = product(*(map(str, range(len(p.states))) for p in node.parents))
    rows = zip(keys, node.rows(), strict=True)
    return block_lines(head, [f"({', '.join(key)}) : {row_text(row)}" for key, row in rows])


@network_format("dsc", suffixes=(".dsc",))
class DSC:
    """DSC, the format of Microsoft's MSBN."""

    read, write = staticmethod(read_dsc), staticmethod(write_dsc)
