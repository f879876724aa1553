"""XMLBIF: the Interchange Format in XML; Weka, JavaBayes, SamIam, BNJ and many others write it.

    <VARIABLE TYPE="nature"><NAME>Smoker</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
    <DEFINITION><FOR>Cancer</FOR><GIVEN>Smoker</GIVEN><TABLE>0.05 0.95 0.01 0.99</TABLE></DEFINITION>

The numbers of a table run with the variable's outcomes fastest and the first ``GIVEN`` slowest. White space around
names is ignored; names that need it, or characters that XML cannot hold, are written as a property.

Files of JavaBayes from before version 0.3 have ``<TYPE>discrete</TYPE>``, ``<VALUE>`` for ``<OUTCOME>`` and
``<PROBABILITY>`` for ``<DEFINITION>``. Their numbers run as in BIF, with the variable itself *slowest*. They may give a
table row by row, ``<ENTRY><VALUE>yes</VALUE><TABLE>0.05 0.95</TABLE></ENTRY>``, and a ``<DEFAULT>`` row.

References
----------
F. G. Cozman (1998). The Interchange Format for Bayesian Networks, XMLBIF version 0.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

import numpy as np

from tunbridge._core.check import did_you_mean
from tunbridge._core.registry import network_format
from tunbridge.formats._assembly import (
    Declared,
    Draft,
    Family,
    FileNode,
    Given,
    NetworkParts,
    Rows,
    Rules,
    assemble,
    check_numberable,
    file_network,
    flat_rows,
    numbers_text,
    row_text,
    shown,
)
from tunbridge.formats._xml import Element, error, numbers_in, read_xml

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>'  # no document type: some readers stop at one
_OLD = {"", "0.1", "0.15", "0.2"}  # versions with another order of the numbers


def read_xmlbif(text: str) -> NetworkParts:
    """Return the network that an XMLBIF text describes.

    Raises
    ------
    FormatError
        With the line and column of what is wrong.

    Examples
    --------
    >>> coin = '''<BIF VERSION="0.3"><NETWORK><NAME>toss</NAME>
    ... <VARIABLE TYPE="nature"><NAME>Coin</NAME><OUTCOME>heads</OUTCOME><OUTCOME>tails</OUTCOME></VARIABLE>
    ... <DEFINITION><FOR>Coin</FOR><TABLE>0.5 0.5</TABLE></DEFINITION></NETWORK></BIF>'''
    >>> read_xmlbif(coin).cpts
    (CPT('Coin': 1 row of 2 states),)
    """
    bif = read_xml(text, "BIF", _KEPT, ("TYPE", "VERSION", "NAME"), homes=_HOMES)
    version = bif.attributes.get("VERSION", "")
    return assemble(_draft(len(text), _network(bif)), lambda family: _rows(text, version, family), error)


def write_xmlbif(parts: NetworkParts) -> str:
    """Return a network as XMLBIF text.

    Examples
    --------
    >>> from tunbridge.data import Variable
    >>> from tunbridge.probability import CPT
    >>> print(write_xmlbif(NetworkParts("toss", [CPT(Variable("Coin", ["heads", "tails"]), [], [0.5, 0.5])])))
    <?xml version="1.0" encoding="UTF-8"?>
    <BIF VERSION="0.3">
    <NETWORK>
    <NAME>toss</NAME>
    <VARIABLE TYPE="nature">
      <NAME>Coin</NAME>
      <OUTCOME>heads</OUTCOME>
      <OUTCOME>tails</OUTCOME>
    </VARIABLE>
    <DEFINITION>
      <FOR>Coin</FOR>
      <TABLE>
        0.5 0.5
      </TABLE>
    </DEFINITION>
    </NETWORK>
    </BIF>
    <BLANKLINE>
    """
    network = file_network(parts, _RULES)
    lines = [_HEAD, '<BIF VERSION="0.3">', "<NETWORK>", _element("NAME", network.name)]
    lines += [_element("PROPERTY", text) for text in network.properties]
    for node in network.nodes:
        lines += _variable_lines(node)
    for node in network.nodes:
        lines += _definition_lines(node)
    return "\n".join([*lines, "</NETWORK>", "</BIF>"]) + "\n"


# Reading


_KEPT = {
    *("NETWORK", "NAME", "PROPERTY", "VARIABLE", "TYPE", "OUTCOME", "VALUE"),
    *("DEFINITION", "PROBABILITY", "FOR", "GIVEN", "TABLE", "ENTRY", "DEFAULT"),
}
_HOMES = {"NETWORK": "BIF", "VARIABLE": "NETWORK", "DEFINITION": "NETWORK", "PROBABILITY": "NETWORK"}
_CHANCE = {"nature", "chance", "discrete"}


def _network(bif: Element) -> Element:
    networks = list(bif.all("NETWORK"))
    if not networks:
        raise error("the file must hold a <NETWORK>; there is none.", bif.place)
    if len(networks) > 1:
        raise error("a file must hold one network; got another one.", networks[1].place)
    return networks[0]


def _draft(length: int, network: Element) -> Draft:
    name = network.find("NAME")
    draft = Draft(length, "" if name is None else name.text, properties=_properties(network))
    for element in network.children:
        if element.name not in _HOMES and ("NAME" in element.attributes or any(element.all("NAME", "FOR"))):
            rule = "a variable must be a <VARIABLE> with a <DEFINITION>"
            raise error(f"{rule}; got <{element.name[:40]}>, which is not supported.", element.place)
    for element in network.all("VARIABLE"):
        _declare(draft, element)
    for element in network.all("DEFINITION", "PROBABILITY"):
        child = element.only("FOR")
        parents = tuple(element.texts("GIVEN"))
        draft.given.append(Given(child.text, parents, child.place, element, _properties(element)))
    return draft


def _declare(draft: Draft, element: Element) -> None:
    named = Element("NAME", element.place, {}, element.attributes["NAME"]) if "NAME" in element.attributes else None
    name, kind = named or element.only("NAME"), element.find("TYPE")
    chosen = (element.attributes.get("TYPE", "nature") if kind is None else kind.text).lower()
    refused = {"decision": draft.decisions, "utility": draft.utilities}
    if chosen in refused:
        refused[chosen][name.text] = element.place
    elif chosen not in _CHANCE:
        raise error(f"a variable must be of type 'nature'; got {shown(chosen)}, which is not supported.", element.place)
    else:
        states = tuple(element.texts("OUTCOME", "VALUE"))
        draft.declared.append(Declared(name.text, states, name.place, _properties(element)))


def _properties(element: Element) -> list[str]:
    """Return the texts of the properties; some programs write empty ones."""
    return [text for text in element.texts("PROPERTY") if text]


def _rows(text: str, version: str, family: Family) -> Rows:
    """Return the rows of a table."""
    element = family.given.body
    if any(element.all("ENTRY", "DEFAULT")):
        return _entry_rows(text, family)
    values, where = numbers_in(text, element.only("TABLE"))
    is_old = element.name == "PROBABILITY" and version in _OLD
    return flat_rows(family, values, where, error, child_slowest=is_old)


def _entry_rows(text: str, family: Family) -> Rows:
    """Return the rows of ``<ENTRY>`` elements, each with the states of the parents, and the ``<DEFAULT>`` row."""
    check_numberable(family, error)
    element, rows, numbers, places = family.given.body, [], [], []
    codes = [{state: k for k, state in enumerate(known)} for known in family.parent_states]
    for entry in element.all("ENTRY"):
        rows.append(_one_row(text, family, entry))
        numbers.append(_configuration(family, codes, entry))
        places.append(entry.place)
    default = element.find("DEFAULT")
    values = np.array(rows, np.float64).reshape(-1, family.n_states)
    row = None if default is None else _one_row(text, family, default)
    if row is not None and not family.parents:
        return Rows(row.reshape(1, -1), lambda _: element.place)
    return Rows(values, places.__getitem__, numbers, row)


def _one_row(text: str, family: Family, entry: Element) -> np.ndarray:
    table = entry.only("TABLE")
    values, _ = numbers_in(text, table)
    if len(values) != family.n_states:
        raise error(numbers_text(f"a row of {family.shown}", [family.n_states], len(values)), table.place)
    return values


def _configuration(family: Family, codes: list[dict[str, int]], entry: Element) -> int:
    states, number = entry.texts("VALUE"), 0
    if len(states) != len(family.parents):
        rule = f"must name a state of each of its parents, {len(family.parents)} in all"
        raise error(f"a row of {family.shown} {rule}; got {len(states)}.", entry.place)
    for parent, known, state in zip(family.given.parents, codes, states, strict=True):
        if state not in known:
            hint = did_you_mean(state, list(known))
            raise error(f"{shown(parent)} must be in one of its states; got {shown(state)}. {hint}", entry.place)
        number = number * len(known) + known[state]
    return number


# Writing


def _is_text(text: str) -> bool:
    return text.isprintable() and text == text.strip()


def _is_name(text: str) -> bool:
    return bool(text) and _is_text(text)


_RULES = Rules(_is_name, _is_text, is_property=_is_name, is_network=_is_text)


def _element(name: str, text: str, indent: str = "") -> str:
    return f"{indent}<{name}>{escape(text)}</{name}>"


def _variable_lines(node: FileNode) -> Iterator[str]:
    yield '<VARIABLE TYPE="nature">'
    yield _element("NAME", node.name, "  ")
    yield from (_element("OUTCOME", state, "  ") for state in node.states)
    yield from (_element("PROPERTY", text, "  ") for text in node.properties)
    yield "</VARIABLE>"


def _definition_lines(node: FileNode) -> list[str]:
    names = [_element("FOR", node.name, "  "), *(_element("GIVEN", p.name, "  ") for p in node.parents)]
    rows = [f"    {row_text(row, ' ')}" for row in node.rows()]
    return ["<DEFINITION>", *names, "  <TABLE>", *rows, "  </TABLE>", "</DEFINITION>"]


@network_format("xmlbif", suffixes=(".xmlbif", ".xml", ".bifxml"))
class XMLBIF:
    """XMLBIF, the Interchange Format in XML."""

    read, write = staticmethod(read_xmlbif), staticmethod(write_xmlbif)
