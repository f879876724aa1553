"""BIF, the Bayesian Interchange Format: the text files of the network repositories.

    network cancer { }
    variable Smoker { type discrete [ 2 ] { yes, no }; }
    probability ( Cancer | Smoker ) {
      (yes) 0.05, 0.95;
      default 0.01, 0.99;
    }

Commas and bars may be left out. ``table`` lists the numbers with the variable itself slowest and its last parent
fastest; a row behind the parents' states gives one configuration, and ``default`` all that have no row of their own. A
table with a ``default`` row is read as a :class:`~tunbridge.probability.SparseCPT`, which is written in the same way,
so that a table of millions of configurations costs no more than the rows that are there. ``property`` statements are
kept. A name may be quoted; a quoted name has no escapes.

States are text: those of other types are written as text, and come back as that. The network without a name is the
one called ``unknown``.

References
----------
F. G. Cozman (1998). The Interchange Format for Bayesian Networks, version 0.15.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from tunbridge.formats.assembly import Declared, Draft, Family, Rows, assemble, check_states
from tunbridge.formats.blocks import begin_network, discrete_states, skip_table
from tunbridge.formats.naming import FileNode, Rules, file_network, file_nodes, is_line
from tunbridge.formats.parts import NetworkParts
from tunbridge.formats.rows import StateCodes, TableBody, check_text_size, dense_rows, labelled_rows, row_text
from tunbridge.formats.scanner import Grammar, Scanner, grammar, shown
from tunbridge.probability import ConditionalTable, SparseCPT

# Behind a name called «property» stands one of the marks; a property has something to say.
_GRAMMAR: Grammar = grammar("{}()[];|", skipped=",", raw=r"property\s++(?![{}|,()\[\];])[^;]*+(?:;|\Z)")
_PROPERTY = "property"
_RUNS_ON = re.compile(r"[^{]*}")  # the end of a block: the semicolon is missing
_UNNAMED = "unknown"
_BARE = re.compile(r"[A-Za-z0-9_.+<>=/-]+")
_KEYWORDS = {"property", "table", "default", "network", "variable", "probability", "type", "discrete", _UNNAMED}


def read_bif(text: str) -> NetworkParts:
    """Return the network that a BIF text describes.

    Raises
    ------
    FormatError
        With the line and column of what is wrong.

    Examples
    --------
    >>> coin = '''network toss { } variable Coin { type discrete [ 2 ] { heads, tails }; }
    ... probability ( Coin ) { table 0.5, 0.5; }'''
    >>> read_bif(coin).cpts
    (CPT('Coin': 1 row of 2 states),)
    """
    scanner, draft = Scanner(text, _GRAMMAR), Draft(len(text))
    blocks = {"network": _network, "variable": _variable, "probability": _probability}
    while scanner.next:
        word = scanner.next
        if word not in blocks:
            raise scanner.expected("'network', 'variable' or 'probability'")
        scanner.at += 1
        blocks[word](scanner, draft)
        scanner.accept(";")
    _place_properties(scanner, draft)
    codes = StateCodes()
    return assemble(draft, lambda family: _rows(scanner, family, codes), scanner.error)


def write_bif(parts: NetworkParts) -> str:
    """Return a network as BIF text.

    Examples
    --------
    >>> from tunbridge.data import Variable
    >>> from tunbridge.probability import CPT
    >>> print(write_bif(NetworkParts("toss", [CPT(Variable("Coin", ["heads", "tails"]), [], [0.5, 0.5])])))
    network toss {
    }
    variable Coin {
      type discrete [ 2 ] { heads, tails };
    }
    probability ( Coin ) {
      table 0.5, 0.5;
    }
    <BLANKLINE>
    """
    check_text_size(parts, keeps_sparse=True)
    name, properties = file_network(parts, _RULES)
    nodes = file_nodes(parts, _RULES)
    lines = [f"network {_quoted(name) if name else _UNNAMED} {{", *_property_lines(properties), "}"]
    for node in nodes.values():
        states = ", ".join(map(_quoted, node.states))
        lines += [f"variable {_quoted(node.name)} {{", f"  type discrete [ {len(node.states)} ] {{ {states} }};"]
        lines += [*_property_lines(node.properties), "}"]
    for cpt in parts.cpts:
        lines += _table_lines(cpt, nodes)
    return "\n".join(lines) + "\n"


# Reading


def _network(scanner: Scanner, draft: Draft) -> None:
    begin_network(scanner, draft)
    bare = scanner.next == _UNNAMED
    name = scanner.name("the name of the network") if scanner.next != "{" else ""
    draft.name = "" if bare else name
    scanner.expect("{")
    while not scanner.accept("}"):
        draft.properties.append(_property(scanner))


def _variable(scanner: Scanner, draft: Draft) -> None:
    place = scanner.at
    declared = Declared(scanner.name("the name of a variable"), (), place)
    scanner.expect("{")
    while not scanner.accept("}"):
        if scanner.accept("type"):
            if declared.states:
                raise scanner.error(f"{shown(declared.name)} must have one type; got another one.", scanner.at - 1)
            declared.states = discrete_states(scanner, declared.name)
        else:
            declared.properties.append(_property(scanner, "'type' or 'property'"))
    check_states(declared.name, declared.states, None, lambda message: scanner.error(message, place))
    draft.declared.append(declared)


def _probability(scanner: Scanner, draft: Draft) -> None:
    scanner.expect("(")
    place, close = scanner.at, scanner.find(")", "the variables of a table")
    names = [scanner.as_name(i, "the name of a variable") for i in range(place, close) if scanner.tokens[i] != "|"]
    if not names:
        raise scanner.expected("the name of a variable", close)
    scanner.at = close + 1
    skip_table(scanner, draft, names, place)


def _property(scanner: Scanner, what: str = "'property'") -> str:
    """Return the text of the property that must come next."""
    token = scanner.take()
    if token == _PROPERTY:
        scanner.expect(";")
        return ""
    if not _is_property_token(token):
        raise scanner.expected(what, scanner.at - 1 if token else None)
    text = _property_text(token)
    if token[-1] != ";" or _RUNS_ON.match(text):
        raise scanner.error("a property must end with ';'; there is none.", scanner.at - 1)
    return text


def _is_property_token(token: str) -> bool:
    return token.startswith(_PROPERTY) and token[len(_PROPERTY) :][:1].isspace()


def _property_text(token: str) -> str:
    return token.removeprefix(_PROPERTY).removesuffix(";").strip()


def _place_properties(scanner: Scanner, draft: Draft) -> None:
    """Give the properties of tables to their nodes."""
    if _PROPERTY not in scanner.text:
        return
    declared = {each.name: each for each in draft.declared}
    for given in draft.given:
        if given.child in declared:
            properties = filter(_is_property_token, scanner.tokens[slice(*given.body)])
            declared[given.child].properties.extend(map(_property_text, properties))


def _rows(scanner: Scanner, family: Family, codes: StateCodes) -> Rows:
    scanner.at, stop = family.given.body
    body = TableBody(scanner, family, stop, codes=codes)
    if (rows := body.regular()) is not None:
        return rows
    while scanner.at < stop:
        token = scanner.next
        if token == "(":
            body.row()
        elif token == "default":
            body.default_row()
        elif token == "table" and not body.numbers:
            return _listed(scanner, body, stop)
        else:
            _property(scanner, "a row, 'table', 'default' or 'property'")
    return body.rows()


def _listed(scanner: Scanner, body: TableBody, stop: int) -> Rows:
    """Return the rows of a ``table``, in which the variable itself is slowest."""
    n, n_rows = body.family.n_states, body.family.n_configurations
    values, first = body.all_numbers(scanner.at + 1)
    while scanner.at < stop:
        _property(scanner, "'property' or '}'")
    return Rows(np.ascontiguousarray(values.reshape(n, n_rows).T), lambda row: first + row)


# Writing


def _quoted(name: str) -> str:
    plain = _BARE.fullmatch(name) and name not in _KEYWORDS and "//" not in name and "/*" not in name
    return name if plain else f'"{name}"'


def _is_property(text: str) -> bool:
    plain = text.isprintable() and text == text.strip() and ";" not in text and not _RUNS_ON.match(text)
    return bool(text) and plain and text[0] not in "{}|,()[]"


_RULES = Rules(is_name=is_line, is_state=is_line, is_property=_is_property, is_network=is_line)


def _property_lines(properties: Sequence[str]) -> Iterator[str]:
    return (f"  property {text};" for text in properties)


def _table_lines(cpt: ConditionalTable, nodes: dict[str, FileNode]) -> list[str]:
    parents = [nodes[p.name] for p in cpt.parents]
    given = f" | {', '.join(_quoted(p.name) for p in parents)}" if parents else ""
    head = f"probability ( {_quoted(nodes[cpt.variable.name].name)}{given} ) {{"
    labels = [[_quoted(state) for state in p.states] for p in parents]
    if not parents:
        lines = [f"  table {row_text(dense_rows(cpt)[0])};"]
    elif isinstance(cpt, SparseCPT):
        lines = [f"  default {row_text(cpt.default)};"]
        keys = ([states[code] for states, code in zip(labels, codes, strict=True)] for codes in cpt.codes().tolist())
        lines += map(_row_line, keys, cpt.probabilities)
    else:
        lines = labelled_rows(cpt, labels, _row_line)
    return [head, *lines, "}"]


def _row_line(states: Sequence[str], row: np.ndarray) -> str:
    return f"  ({', '.join(states)}) {row_text(row)};"
