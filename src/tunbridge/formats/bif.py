"""BIF, the Bayesian Interchange Format: the text files of the network repositories.

    network cancer { }
    variable Smoker { type discrete [ 2 ] { yes, no }; }
    probability ( Cancer | Smoker ) {
      (yes) 0.05, 0.95;
      default 0.01, 0.99;
    }

Commas and bars are optional. ``table`` lists the numbers with the variable itself slowest and its last parent fastest;
a row after the parents' states gives one configuration, and ``default`` all that have no row of their own. A table with
a ``default`` row is read as a :class:`~tunbridge.probability.SparseCPT`, which is written in the same way, so that a
table of millions of configurations costs no more than its stored rows. ``property`` statements are kept. A name may be
quoted; a quoted name has no escapes.

States are text: states of other types are written as text and read back as text. A network without a name is called
``unknown`` in the file.

References
----------
F. G. Cozman (1998). The Interchange Format for Bayesian Networks, version 0.15.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np

from tunbridge._core.registry import network_format
from tunbridge.formats._assembly import FileNode, NetworkParts, Rows, Rules, file_network, is_line, row_text
from tunbridge.formats._scanner import Scanner, StateCodes, TableBody, grammar
from tunbridge.probability import SparseCPT

# A name «property» is followed by one of the marks, the keyword by a text.
_GRAMMAR = grammar("{}()[];|", skipped=",", raw=r"property\s++(?![{}|,()\[\];])[^;]*+(?:;|\Z)")
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
    scanner = Scanner(text, _GRAMMAR)
    blocks = {"network": _network, "variable": _variable, "probability": _probability}
    while scanner.next:
        word = scanner.next
        if word not in blocks:
            raise scanner.expected("'network', 'variable' or 'probability'")
        scanner.at += 1
        blocks[word](scanner)
        scanner.accept(";")
    _place_properties(scanner)
    codes = StateCodes()
    return scanner.parts(lambda family: TableBody(scanner, family, codes).read(_other_statement))


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
    network = file_network(parts, _RULES, keeps_sparse=True)
    name = _quoted(network.name) if network.name else _UNNAMED
    lines = [f"network {name} {{", *_property_lines(network.properties), "}"]
    for node in network.nodes:
        states = ", ".join(map(_quoted, node.states))
        lines += [f"variable {_quoted(node.name)} {{", f"  type discrete [ {len(node.states)} ] {{ {states} }};"]
        lines += [*_property_lines(node.properties), "}"]
    for node in network.nodes:
        lines += _table_lines(node)
    return "\n".join(lines) + "\n"


# Reading


def _network(scanner: Scanner) -> None:
    scanner.begin_network()
    bare = scanner.next == _UNNAMED
    name = scanner.name("the name of the network") if scanner.next != "{" else ""
    scanner.draft.name = "" if bare else name
    scanner.expect("{")
    while not scanner.accept("}"):
        scanner.draft.properties.append(_property(scanner))


def _variable(scanner: Scanner) -> None:
    declared = scanner.declare("the name of a variable")
    scanner.expect("{")
    while not scanner.accept("}"):
        if scanner.accept("type"):
            scanner.discrete_states(declared)
        else:
            declared.properties.append(_property(scanner, "'type' or 'property'"))


def _probability(scanner: Scanner) -> None:
    scanner.expect("(")
    place, close = scanner.at, scanner.find(")", "the variables of a table")
    names = [scanner.as_name(i, "the name of a variable") for i in range(place, close) if scanner.tokens[i] != "|"]
    if not names:
        raise scanner.expected("the name of a variable", close)
    scanner.at = close + 1
    scanner.skip_table(names, place)


def _property(scanner: Scanner, what: str = "'property'") -> str:
    """Return the text of the next property."""
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


def _place_properties(scanner: Scanner) -> None:
    """Move the properties of tables to their nodes."""
    if _PROPERTY not in scanner.text:
        return
    declared = {each.name: each for each in scanner.draft.declared}
    for given in scanner.draft.given:
        if given.child in declared:
            properties = filter(_is_property_token, scanner.tokens[slice(*given.body)])
            declared[given.child].properties.extend(map(_property_text, properties))


def _other_statement(body: TableBody) -> Rows | None:
    """Read a property, or return the rows of a ``table``, in which the variable itself is slowest."""
    scanner = body.scanner
    if scanner.next != "table" or body.numbers:
        _property(scanner, "a row, 'table', 'default' or 'property'")
        return None
    n, n_rows = body.family.n_states, body.family.n_configurations
    values, first = body.all_numbers(scanner.at + 1)
    while scanner.at < body.stop:
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


def _property_lines(properties: Iterable[str]) -> list[str]:
    return [f"  property {text};" for text in properties]


def _table_lines(node: FileNode) -> list[str]:
    cpt, parents = node.cpt, node.parents
    given = f" | {', '.join(_quoted(p.name) for p in parents)}" if parents else ""
    labels = [[_quoted(state) for state in p.states] for p in parents]
    if not parents:
        lines = [f"  table {row_text(node.rows()[0])};"]
    elif isinstance(cpt, SparseCPT):
        lines = [f"  default {row_text(cpt.default)};"]
        keys = ([states[code] for states, code in zip(labels, codes, strict=True)] for codes in cpt.codes().tolist())
        lines += map(_row_line, keys, cpt.probabilities)
    else:
        lines = list(map(_row_line, product(*labels), node.rows()))
    return [f"probability ( {_quoted(node.name)}{given} ) {{", *lines, "}"]


def _row_line(states: Sequence[str], row: np.ndarray) -> str:
    return f"  ({', '.join(states)}) {row_text(row)};"


@network_format("bif", suffixes=(".bif",))
class BIF:
    """BIF, the Bayesian Interchange Format."""

    read, write = staticmethod(read_bif), staticmethod(write_bif)
