"""DSC, the Bayesian Network Interchange Format of Microsoft Research (MSBN); also written by GeNIe and bnlearn.

    belief network "clinic"
    node T { name : "Has tuberculosis?"; type : discrete[2] = { "yes", "no" }; }
    probability (T | A) { (0) : 0.05, 0.95; (1) : 0.01, 0.99; }

A row stands behind the numbers of its parents' states, counted from zero; names of states are read as well. Between a
name or a row and its value ``:``, ``=`` and ``is`` mean the same. A ``default`` row makes a
:class:`~tunbridge.probability.SparseCPT`; tables are written with all their rows. The name of a node is its
identifier; other names are written as said in :mod:`tunbridge.formats.naming`. Causal independence
(``function : max``) is refused.

References
----------
Microsoft Research, Decision Theory Group (1996). Proposal for a Bayesian Network Interchange Format, version 0.2.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tunbridge.formats.assembly import Declared, Draft, Family, Rows, assemble, check_states, flat_rows
from tunbridge.formats.blocks import (
    begin_network,
    block_lines,
    discrete_states,
    read_family,
    skip_table,
    without_full_name,
)
from tunbridge.formats.naming import MARKER, FileNode, Rules, file_network, file_nodes, is_identifier, is_line
from tunbridge.formats.parts import NetworkParts
from tunbridge.formats.rows import StateCodes, TableBody, check_text_size, dense_rows, labelled_rows, row_text
from tunbridge.formats.scanner import Scanner, grammar, is_statement, shown
from tunbridge.probability import ConditionalTable

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
    scanner, draft = Scanner(text, _GRAMMAR), Draft(len(text))
    blocks = {"network": _network, "properties": _properties, "node": _node, "probability": _probability}
    while scanner.next:
        if scanner.next not in blocks and scanner.tokens[scanner.at + 1] == "network":
            scanner.name("'belief'")  # the kind of network, which may be another word
        elif scanner.accept("belief"):
            raise scanner.expected("'network'")
        if scanner.next not in blocks:
            raise scanner.expected("'belief network', 'properties', 'node' or 'probability'")
        blocks[scanner.take()](scanner, draft)
        scanner.accept(";")
    draft.properties = [text for text in draft.properties if not text.startswith(f"type {MARKER}")]
    codes = StateCodes(by_index=True, signs=_SIGNS)
    return assemble(draft, lambda family: _rows(scanner, family, codes), scanner.error)


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
    check_text_size(parts)
    name, properties = file_network(parts, _NETWORK_RULES)
    nodes = file_nodes(parts, _RULES)
    lines = [f'belief network "{name}"', *_property_lines(properties, nodes)]
    for true_name, node in nodes.items():
        lines += block_lines(f"node {node.name}", _node_statements(true_name, node))
    for cpt in parts.cpts:
        lines += _table_lines(cpt, nodes)
    return "\n".join(lines) + "\n"


# Reading


def _network(scanner: Scanner, draft: Draft) -> None:
    begin_network(scanner, draft)
    if scanner.next != "{":
        draft.name = scanner.name("the name of the network")
    if scanner.next == "{":
        _properties(scanner, draft)


def _properties(scanner: Scanner, draft: Draft) -> None:
    scanner.expect("{")
    while not scanner.accept("}"):
        draft.properties.append(scanner.statement_text(*scanner.statement(*_SIGNS), commas=True))


def _node(scanner: Scanner, draft: Draft) -> None:
    place = scanner.at
    declared = Declared(scanner.name("the name of a node"), (), place)
    scanner.expect("{")
    while not scanner.accept("}"):
        words, start, end = scanner.statement(*_SIGNS)
        if words == ["type"]:
            if declared.states:
                raise scanner.error(f"{shown(declared.name)} must have one type; got another one.", start - 2)
            scanner.at = start
            declared.states = discrete_states(scanner, declared.name, *_SIGNS)
        else:
            declared.properties.append(scanner.statement_text(words, start, end, commas=True))
    check_states(declared.name, declared.states, None, lambda message: scanner.error(message, place))
    draft.declared.append(without_full_name(declared, "name"))


def _probability(scanner: Scanner, draft: Draft) -> None:
    place, names = read_family(scanner, "the name of a node")
    skip_table(scanner, draft, names, place)


def _rows(scanner: Scanner, family: Family, codes: StateCodes) -> Rows:
    scanner.at, stop = family.given.body
    body = TableBody(scanner, family, stop, codes=codes)
    if (rows := body.regular()) is not None:
        return rows
    while scanner.at < stop:
        if scanner.next == "(":
            body.row()
        elif scanner.next == "default":
            body.default_row()
        elif scanner.next == "function":
            raise scanner.error("a table must be given by rows; got 'function', which is not read here.")
        elif body.numbers or body.default is not None:
            raise scanner.expected("a row, 'default' or '}'")
        else:
            return _plain_rows(scanner, family, stop)
    return body.rows()


def _plain_rows(scanner: Scanner, family: Family, stop: int) -> Rows:
    """Return rows that name no states: they are in order, each with its semicolon or all with one."""
    places = [at for at in range(scanner.at, stop) if scanner.tokens[at] != ";"]
    if scanner.tokens[stop - 1] != ";":
        raise scanner.expected("';'", stop)
    values = scanner.numbers([scanner.tokens[at] for at in places], places.__getitem__)
    return flat_rows(family, values, places.__getitem__, scanner.error)


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


_RULES = Rules(_is_name, is_line, _is_property, is_line, marker='{} = "{}"'.format)
_NETWORK_RULES = replace(_RULES, is_property=_is_network_property)


def _property_lines(properties: Sequence[str], nodes: dict[str, FileNode]) -> list[str]:
    """Return the block that declares and gives properties."""
    used = {text.partition(" ")[0] for node in nodes.values() for text in node.properties}
    keys = sorted(key for key in {*used, *(text.partition(" ")[0] for text in properties)} if key.startswith(MARKER))
    statements = [*(f'type {key} = string, ""' for key in keys), *properties]
    return block_lines("properties", statements) if statements else []


def _node_statements(true_name: str, node: FileNode) -> list[str]:
    states = ", ".join(f'"{state}"' for state in node.states)
    named = not node.is_renamed or any(text.startswith("name = ") for text in node.properties)
    name = [] if named else [f'name : "{true_name if is_line(true_name) else node.name}"']
    return [*name, f"type : discrete[{len(node.states)}] = {{ {states} }}", *node.properties]


def _table_lines(cpt: ConditionalTable, nodes: dict[str, FileNode]) -> list[str]:
    parents = [nodes[p.name].name for p in cpt.parents]
    given = f" | {', '.join(parents)}" if parents else ""
    head = f"probability ({nodes[cpt.variable.name].name}{given})"
    if not parents:
        return block_lines(head, [row_text(dense_rows(cpt)[0])])
    indices = [list(map(str, range(p.n_states))) for p in cpt.parents]
    return block_lines(head, labelled_rows(cpt, indices, lambda key, row: f"({', '.join(key)}) : {row_text(row)}"))
