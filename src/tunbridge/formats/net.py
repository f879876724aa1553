"""Hugin NET: the language of the Hugin programs, also written by GeNIe, SamIam and others.

    net { name = "clinic"; }
    node T { states = ("yes" "no"); label = "Has tuberculosis?"; }
    potential ( T | A ) { data = (( 0.05 0.95 )     % A = yes
                                  ( 0.01 0.99 ));   % A = no
    }

The numbers run with the variable's states fastest and the first parent slowest. Attributes other than those the network
is made of (``position``, ``label``, …) are kept as properties, the expression in ``model_data`` with all its signs. The
name of a node is its identifier: a label may be shared by many nodes. Where a name is no identifier it is written as
the label, and as said in :mod:`tunbridge.formats.naming`; decisions, utilities, continuous nodes and classes are
refused.

References
----------
Hugin Expert A/S. Hugin API Reference Manual, chapter «The NET language».
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tunbridge.formats.assembly import Declared, Draft, Family, Given, Rows, assemble, check_states, flat_rows
from tunbridge.formats.blocks import begin_network, block_lines, read_family, without_full_name
from tunbridge.formats.naming import FileNode, Rules, file_network, file_nodes, is_identifier, is_line
from tunbridge.formats.parts import NetworkParts
from tunbridge.formats.rows import check_text_size, dense_rows, row_text
from tunbridge.formats.scanner import Scanner, grammar, is_statement, shown
from tunbridge.probability import ConditionalTable

# An expression has commas and signs of its own, so it is one token, up to its semicolon.
_MODEL = r'model_data\s*+=(?:"[^"\r\n]*+"|%[^\r\n]*+|[^";%])*+'
_GRAMMAR = grammar("{}()=;|", comment="%", skipped=",", raw=_MODEL)
_BLANKS = re.compile(r'("[^"\r\n]*+")|(?:%[^\r\n]*+|\s)++')  # or a text, which stays as it is
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
    scanner, draft = Scanner(text, _GRAMMAR), Draft(len(text))
    blocks = {"net": _net, "node": _node, "potential": _potential}
    while scanner.next:
        if scanner.next in _REFUSED:
            raise scanner.error(f"a network must be of discrete nodes; got {scanner.next!r}, which is not read here.")
        if scanner.accept("discrete") and scanner.next != "node":
            raise scanner.expected("'node'")
        if scanner.next not in blocks:
            raise scanner.expected("'net', 'node' or 'potential'")
        blocks[scanner.take()](scanner, draft)
    _place_properties(draft)
    return assemble(draft, lambda family: _rows(scanner, family), scanner.error)


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
    check_text_size(parts)
    name, properties = file_network(parts, _RULES)
    nodes = file_nodes(parts, _RULES)
    lines = block_lines("net", [f'name = "{name}"', *properties])
    for true_name, node in nodes.items():
        lines += block_lines(f"node {node.name}", _node_statements(true_name, node))
    for cpt in parts.cpts:
        lines += _table_lines(cpt, nodes)
    return "\n".join(lines) + "\n"


# Reading


def _net(scanner: Scanner, draft: Draft) -> None:
    begin_network(scanner, draft)
    given = _statements(scanner, "name", draft.properties)
    if given is not None and given[1] == given[0] + 1:
        draft.name = scanner.as_name(given[0], "the name of the network")
    elif given is not None:
        draft.properties.append(scanner.statement_text(["name"], *given))


def _node(scanner: Scanner, draft: Draft) -> None:
    place = scanner.at
    declared = Declared(scanner.name("the name of a node"), (), place)
    given = _statements(scanner, "states", declared.properties)
    if given is not None:
        declared.states = _states(scanner, declared.name, *given)
    check_states(declared.name, declared.states, None, lambda message: scanner.error(message, place))
    draft.declared.append(without_full_name(declared, "label"))


def _statements(scanner: Scanner, wanted: str, properties: list[str]) -> tuple[int, int] | None:
    """Return where the value of one statement of a block begins and ends; the others are properties."""
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
    check_states(name, states, None, lambda message: scanner.error(message, start))
    return states


def _potential(scanner: Scanner, draft: Draft) -> None:
    """Note whose table it is and where its numbers stand; they are read when all variables are known."""
    place, names = read_family(scanner, "the name of a node")
    rest: list[str] = []
    body = _statements(scanner, "data", rest)
    if body is None:
        raise scanner.error(f"the table of {shown(names[0])} must have data; there are none.", place)
    draft.given.append(Given(names[0], tuple(names[1:]), place, (*body, rest)))


def _rows(scanner: Scanner, family: Family) -> Rows:
    start, end, _ = family.given.body
    tokens = scanner.tokens[start:end]
    if tokens.count("(") != tokens.count(")"):
        raise scanner.error(f"the data of {shown(family.given.child)} must have as many '(' as ')'.", start)

    def where(i: int) -> int:
        return [start + j for j, token in enumerate(tokens) if token not in "()"][i]

    values = scanner.numbers([token for token in tokens if token not in "()"], where)
    return flat_rows(family, values, where, scanner.error)


def _place_properties(draft: Draft) -> None:
    """Give the other attributes of tables to their nodes."""
    declared = {each.name: each for each in draft.declared}
    for given in draft.given:
        if given.child in declared:
            declared[given.child].properties.extend(given.body[2])


# Writing


def _is_name(name: str) -> bool:
    return is_identifier(name) and name not in _KEYWORDS


def _is_property(text: str) -> bool:
    key = text.partition(" ")[0]
    if key == "model_data":
        return text.isprintable() and _GRAMMAR.pattern.findall(text) == [text, ""] and _model_text(text) == text
    return text.isprintable() and key not in {"states", "name", "data"} and is_statement(text, _GRAMMAR)


_RULES = Rules(_is_name, is_line, _is_property, is_line, marker='{} = "{}"'.format)


def _node_statements(true_name: str, node: FileNode) -> list[str]:
    states = " ".join(f'"{state}"' for state in node.states)
    properties, _ = _split(node)
    labelled = not node.is_renamed or any(text.startswith("label = ") for text in properties)
    label = [] if labelled else [f'label = "{true_name if is_line(true_name) else node.name}"']
    return [f"states = ({states})", *label, *properties]


def _table_lines(cpt: ConditionalTable, nodes: dict[str, FileNode]) -> list[str]:
    node, parents = nodes[cpt.variable.name], [nodes[p.name].name for p in cpt.parents]
    head = f"potential ( {' '.join([node.name, *(['|', *parents] if parents else [])])} )"
    return block_lines(head, [f"data = {_data_text(cpt)}", *_split(node)[1]])


def _split(node: FileNode) -> tuple[Sequence[str], Sequence[str]]:
    """Return the properties of the node, and those of its table: these follow the others, so the order is kept."""
    keys = [text.partition(" ")[0] for text in node.properties]
    first = next((i for i, key in enumerate(keys) if key in _OF_TABLES), len(keys))
    return node.properties[:first], node.properties[first:]


def _data_text(cpt: ConditionalTable) -> str:
    """Return the numbers in brackets, a pair for each axis."""
    rows = [f"({row_text(row, ' ')})" for row in dense_rows(cpt)]
    for size in reversed(cpt.shape[1:-1] if cpt.parents else ()):
        rows = [f"({' '.join(rows[i : i + size])})" for i in range(0, len(rows), size)]
    text = "\n            ".join(rows)
    return f"({text})" if cpt.parents else text
