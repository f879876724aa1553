"""XDSL: the XML files of GeNIe and SMILE.

    <smile version="1.0" id="clinic"><nodes>
      <cpt id="Smoker"><state id="yes" /><state id="no" /><probabilities>0.3 0.7</probabilities></cpt>
      <cpt id="Cancer"><state id="yes" /><state id="no" /><parents>Smoker</parents>
        <probabilities>0.05 0.95 0.01 0.99</probabilities></cpt>
    </nodes></smile>

The numbers run with the node's states fastest and the first parent slowest. A ``deterministic`` node lists its state in
each configuration (``resultingstates``). A ``noisymax`` node has a row for every state of every parent, from the
strongest state to the absent one (``strengths``), and one for the leak; its own states run from the highest effect to
the lowest. It is read as a :class:`~tunbridge.probability.NoisyMaxCPT`. The name of a node is its ``id``; the displayed
name, the comment and the position in the GeNIe extension are kept as properties, and so are ``property`` elements. All
tables are written as ``cpt`` nodes, parents before children.

Decisions, utilities, equations, other canonical gates, unknown kinds of nodes, submodels in ``<nodes>`` (GeNIe writes
them in its extension) and dynamic networks are not supported.

aGrUM writes, and reads, XDSL with the first parent *fastest*: ``dialect="agrum"``. A file that names it as its author
is read so, with a warning.

References
----------
BayesFusion, LLC. SMILE: Structural Modeling, Inference, and Learning Engine, Programmer's Manual.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from tunbridge._core.check import did_you_mean
from tunbridge._core.memory import check_memory
from tunbridge._core.registry import network_format
from tunbridge.formats._assembly import (
    MARKER,
    Declared,
    Draft,
    Error,
    Family,
    FileNode,
    Given,
    NetworkParts,
    Place,
    Rows,
    Rules,
    assemble,
    checked_file_rows,
    file_network,
    flat_rows,
    is_identifier,
    numbers_text,
    row_text,
    shown,
)
from tunbridge.formats._xml import Element, error, numbers_in, read_xml, words_in
from tunbridge.probability import ConditionalTable, NoisyMaxCPT

_TABLES = {"cpt": "probabilities", "deterministic": "resultingstates", "noisymax": "parameters"}
_DECISIONS, _UTILITIES = {"decision"}, {"utility", "mau", "alu"}
_OTHERS = {"equation", "noisyadder", "demorgan"}
_NODES = {*_TABLES, *_DECISIONS, *_UTILITIES, *_OTHERS}
_SHOWN = ("name", "comment", "position")  # what the extension of GeNIe says of a node
_KEPT = {
    *("nodes", "state", "parents", "probabilities", "resultingstates", "parameters", "strengths", "property"),
    *("dynamic", "extensions", "genie", "submodel", "node", *_SHOWN, *_NODES),
}
_HOMES = {"nodes": "smile", **dict.fromkeys(_NODES, "nodes")}
_STATIC = "the network must be static; got a dynamic one"
UNNAMED = "Unnamed"
"""The identifier of a network without a name, as GeNIe writes it."""

_LINE_END = re.compile(r"\s*[\r\n]\s*")
_STATE = re.compile(r"[A-Za-z0-9_]+")
_PROPERTY = re.compile(r"[A-Za-z_][A-Za-z0-9_]* = \S(?:.*\S)?")


def read_xdsl(text: str, dialect: str | None = None) -> NetworkParts:
    """Return the network that an XDSL text describes.

    Parameters
    ----------
    text : str
        The whole file.
    dialect : {"agrum"}, optional
        "agrum" if the first parent is fastest, as in files that aGrUM wrote.

    Raises
    ------
    FormatError
        With the line and column of what is wrong.

    Examples
    --------
    >>> coin = '''<smile id="toss"><nodes><cpt id="Coin"><state id="heads" /><state id="tails" />
    ... <probabilities>0.5 0.5</probabilities></cpt></nodes></smile>'''
    >>> read_xdsl(coin).cpts
    (CPT('Coin': 1 row of 2 states),)
    """
    smile = read_xml(text, "smile", _KEPT, ("id", "app", "name", "dynamic"), homes=_HOMES)
    draft = Draft(len(text), smile.attributes.get("id", UNNAMED), properties=_properties(smile))
    if dynamic := next(smile.all("dynamic"), None):
        raise error(f"{_STATIC} (<dynamic>), which is not supported.", dynamic.place)
    for node in smile.only("nodes").children:
        _declare(draft, node)
    extensions = smile.find("extensions")
    if extensions is not None and (genie := extensions.find("genie")) is not None:
        _describe(draft, genie)
        dialect = dialect or _author(draft, genie)
    draft.name = "" if draft.name == UNNAMED else draft.name
    if dialect == "agrum":
        draft.given = [replace(given, parents=given.parents[::-1]) for given in draft.given]
    return assemble(draft, lambda family: _table(text, draft, family), error)


def write_xdsl(parts: NetworkParts, dialect: str | None = None) -> str:
    """Return a network as XDSL text; ``dialect="agrum"`` for pyAgrum, which reads the parents in the opposite order.

    Examples
    --------
    >>> from tunbridge.data import Variable
    >>> from tunbridge.probability import CPT
    >>> print(write_xdsl(NetworkParts("toss", [CPT(Variable("Coin", ["heads", "tails"]), [], [0.5, 0.5])])))
    <?xml version="1.0" encoding="UTF-8"?>
    <smile version="1.0" id="toss">
      <nodes>
        <cpt id="Coin">
          <state id="heads" />
          <state id="tails" />
          <probabilities>0.5 0.5</probabilities>
        </cpt>
      </nodes>
      <extensions>
        <genie version="1.0" app="Tunbridge" name="toss">
          <node id="Coin">
            <name>Coin</name>
          </node>
        </genie>
      </extensions>
    </smile>
    <BLANKLINE>
    """
    network = file_network(parts, RULES, parents_first=True)
    name = network.name or UNNAMED
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<smile version="1.0" id="{name}">', "  <nodes>"]
    for node in network.nodes:
        lines += _node_lines(node, -1 if dialect == "agrum" else 1)
    lines += ["  </nodes>", *(_property_line("  ", text) for text in network.properties), "  <extensions>"]
    shown_name = next((text[7:] for text in network.properties if text.startswith("name = ")), name)
    lines.append(f'    <genie version="1.0" app="Tunbridge" name={quoteattr(shown_name)}>')
    for node in network.nodes:
        lines += [
            f'      <node id="{node.name}">',
            *map(_shown_line, split_properties(node, _SHOWN)[1]),
            "      </node>",
        ]
    return "\n".join([*lines, "    </genie>", "  </extensions>", "</smile>"]) + "\n"


# Reading


def _declare(draft: Draft, node: Element) -> None:
    name, kind = _id(node), node.name
    if kind in _DECISIONS or kind in _UTILITIES:
        (draft.decisions if kind in _DECISIONS else draft.utilities)[name] = node.place
        return
    if kind not in _TABLES:
        raise error(kind_text(name, kind), node.place)
    if "dynamic" in node.attributes:
        raise error(f"{_STATIC} ({shown(name)}), which is not supported.", node.place)
    states = tuple(_id(state) for state in node.all("state"))
    parents = node.find("parents")
    draft.declared.append(Declared(name, states, node.place, _properties(node)))
    draft.given.append(Given(name, tuple(words_in(parents)) if parents else (), node.place, node))


def kind_text(name: str, kind: str) -> str:
    """Return the message that a node is of a kind that is not supported."""
    rule = f"the node {shown(name)} must be a table, deterministic or noisy-MAX"
    return f"{rule}; got the type {shown(kind)}, which is not supported."


def _id(element: Element) -> str:
    if "id" not in element.attributes:
        raise error(f"<{element.name}> must have an id; it has none.", element.place)
    return element.attributes["id"].strip()


def _properties(element: Element) -> list[str]:
    return [f"{_id(each)} = {each.text}" for each in element.all("property")]


def _describe(draft: Draft, genie: Element) -> None:
    """Keep what the extension says of the network and its nodes, also of those in submodels."""
    name = genie.attributes.get("name", draft.name)
    if name != draft.name and f"name = {name}" not in draft.properties:
        draft.properties.append(f"name = {name}")
    declared = {each.name: each for each in draft.declared}
    ours = {n for n, each in declared.items() if any(t.startswith(f"{MARKER}name = ") for t in each.properties)}
    groups = [genie]
    while groups:
        group = groups.pop()
        groups += group.all("submodel")
        for node in group.all("node"):
            if (known := declared.get(node.attributes.get("id", ""))) is not None:
                said = [(each.name, _LINE_END.sub(" ", each.text)) for each in node.all(*_SHOWN) if each.text]
                known.properties += [
                    f"{key} = {text}"
                    for key, text in said
                    if key != "name" or (text != known.name and known.name not in ours)
                ]


def _author(draft: Draft, genie: Element) -> str | None:
    """Return the dialect of the program that wrote the file, with a warning if it changes how tables are read."""
    if not genie.attributes.get("app", "").startswith("aGrUM"):
        return None
    if names := [given.child for given in draft.given if len(given.parents) > 1]:
        draft.notes["aGrUM wrote the file, so the first parent of these tables is read as the fastest"] = names
    return "agrum"


def _table(text: str, draft: Draft, family: Family) -> Rows | ConditionalTable:
    node = family.given.body
    content = node.only(_TABLES[node.name])
    if node.name == "deterministic":
        return deterministic_rows(family, words_in(content), lambda _: content.place, error)
    values, where = numbers_in(text, content)
    if node.name == "cpt":
        return flat_rows(family, values, where, error)
    strengths = node.find("strengths")
    return noisy_table(draft, family, words_in(strengths) if strengths else None, values, where, error)


def deterministic_rows(family: Family, states: Sequence[str], where: Callable[[int], Place], error: Error) -> Rows:
    """Return the rows of a node that has one of its states for certain in each configuration of its parents."""
    if family.n_configurations != len(states):
        rule = f"{family.shown} must have a state for each configuration of its parents"
        raise error(f"{rule}; got {len(states)}.", where(0))
    codes = {state: code for code, state in enumerate(family.states)}
    for i, state in enumerate(states):
        if state not in codes:
            hint = did_you_mean(state, codes)
            raise error(f"{family.shown} must be in one of its states; got {shown(state)}. {hint}", where(i))
    ways_out = "Set TUNBRIDGE_MEMORY_LIMIT (bytes) if you trust the file."
    check_memory(f"the table of {family.shown}", 8 * len(states) * len(codes), ways_out=ways_out)
    rows = np.zeros((len(states), len(codes)))
    rows[np.arange(len(states)), [codes[state] for state in states]] = 1.0
    return Rows(rows, where)


def noisy_table(
    draft: Draft,
    family: Family,
    strengths: Sequence[str] | None,
    values: np.ndarray,
    where: Callable[[int], Place],
    error: Error,
) -> NoisyMaxCPT:
    """Return a noisy-MAX table: a row for each state of each parent, in the order of the strengths, and the leak."""
    sizes, n = [len(states) for states in family.parent_states], family.n_states
    if len(values) != (sum(sizes) + 1) * n:
        raise error(numbers_text(f"the noisy-MAX table of {family.shown}", [sum(sizes) + 1, n], len(values)), where(0))
    rows = values.reshape(-1, n)
    orders = strengths if strengths is not None else [str(code) for size in sizes for code in range(size)]
    start, effects = 0, []
    for parent, size in zip(family.parents, sizes, strict=True):
        order = _permutation(family, orders[start : start + size], size, error)
        effect = np.empty((size, n))
        effect[order] = rows[start : start + size]
        firsts = [(start + int(i)) * n for i in np.argsort(order)]
        one, found = family._replace(parents=(parent,)), Rows(effect, partial(_place_of, firsts, where))
        effects.append(checked_file_rows(draft, one, found, None, error))
        start += size
    leak = Rows(rows[start:].copy(), lambda _: where(start * n))
    row = checked_file_rows(draft, family._replace(parents=()), leak, None, error)[0].copy()
    return NoisyMaxCPT.of_valid(family.variable, family.parents, tuple(effects), row, tuple(range(n))[::-1])


def _place_of(firsts: Sequence[int], where: Callable[[int], Place], row: int) -> Place:
    return where(firsts[row])


def _permutation(family: Family, words: Sequence[str], size: int, error: Error) -> list[int]:
    codes = [int(word) if word.isdecimal() and len(word) < 10 else -1 for word in words]
    if sorted(codes) != list(range(size)):
        rule = f"the strengths of {family.shown} must be a permutation of the states of each parent"
        raise error(f"{rule}; got {shown(' '.join(words))}.", family.given.place)
    return codes


# Writing


def _is_state(text: str) -> bool:
    return _STATE.fullmatch(text) is not None


def _is_property(text: str) -> bool:
    return text.isprintable() and _PROPERTY.fullmatch(text) is not None


def _is_network(text: str) -> bool:
    return not text or (is_identifier(text) and text != UNNAMED)


RULES = Rules(is_identifier, _is_state, _is_property, _is_network)
"""What SMILE can write: identifiers, and words as states."""


def _property_line(indent: str, text: str) -> str:
    key, _, value = text.partition(" = ")
    return f'{indent}<property id="{key}">{escape(value)}</property>'


def _shown_line(text: str) -> str:
    key, _, value = text.partition(" = ")
    return f"        <{key}>{escape(value)}</{key}>"


def split_properties(node: FileNode, keys: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the properties of the node, and those for its picture: its name, and the last ones under these keys.

    The displayed name is a property of its own, the true name if that is not an identifier, or the identifier; the
    last two are dropped again by readers.
    """
    texts, n, left = node.properties, len(node.properties), list(keys)
    if node.full_name is not None:
        name = f"name = {node.full_name}"
        return texts, [name if RULES.is_property(name) else f"name = {node.name}"]
    while n and (key := texts[n - 1].partition(" = ")[0]) in left:
        n, left = n - 1, left[: left.index(key)]
    own, last, name = texts[:n], list(texts[n:]), f"name = {node.name}"
    if name in last:
        own, last = texts, []
    return own, last if last and last[0].startswith("name = ") else [name, *last]


def _node_lines(node: FileNode, step: int) -> list[str]:
    parents = " ".join(p.name for p in node.parents[::step])
    return [
        f'    <cpt id="{node.name}">',
        *(f'      <state id="{state}" />' for state in node.states),
        *([f"      <parents>{parents}</parents>"] if parents else []),
        f"      <probabilities>{' '.join(row_text(row, ' ') for row in node.rows())}</probabilities>",
        *(_property_line("      ", text) for text in split_properties(node, _SHOWN)[0]),
        "    </cpt>",
    ]


@network_format("xdsl", suffixes=(".xdsl",), dialects=("agrum",))
class XDSL:
    """XDSL, the format of GeNIe and SMILE."""

    read, write = staticmethod(read_xdsl), staticmethod(write_xdsl)
