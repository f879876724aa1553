"""The HTML of a report: one page with its own styles and scripts, which loads nothing.

The page holds what :mod:`tunbridge.report.report` found as plain records, the data of the network, and two scripts: the
engine that computes posteriors, and ``page.js``, which connects it to the controls. A control of a state is any element
with the numbers of its variable and state (``data-v``, ``data-s``): in the picture, in the list, in a dialog. Charts
and bars are SVG whose colours come from the style sheet. All text from the data passes through :func:`safe`, and the
Content-Security-Policy lets only the scripts and styles run whose hashes it names: no element has a style attribute.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from importlib import resources
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tunbridge._core.check import counted
from tunbridge._core.grid import number_text
from tunbridge.graph.drawing import (
    STYLE,
    Bar,
    Label,
    Node,
    Picture,
    parts_of,
    percent,
    safe,
    short_name,
    shown_states,
    svg_line,
    svg_part,
)
from tunbridge.network import BayesianNetwork
from tunbridge.report.export import engine_script

_MOST_LINES = 48  # of a conditional table that is shown
_MARGIN, _LINE = 8.0, 17.0
_SIDE, _LEFT, _TOP = 220.0, 40.0, 12.0  # of a chart

Point = tuple[float, float]


class Fact(NamedTuple):
    """A column: its name and kind, its states or range, missing values, a chart, and why it was left out, if it was."""

    name: str
    kind: str
    span: str
    n_missing: int
    bars: tuple[tuple[str, float], ...] = ()
    heights: tuple[float, ...] = ()
    left_out: str = ""


class Glance(NamedTuple):
    """The data at a glance: lines of text, columns, and the pairs that tell most of each other (in bits)."""

    size: str
    lines: tuple[tuple[str, tuple[str, ...]], ...]
    facts: tuple[Fact, ...]
    pairs: tuple[tuple[str, str, float, float], ...]
    n_rows: int


class Shown(NamedTuple):
    """A network to show: its picture, data for the engine, remarks, and whether its directions were learned."""

    net: BayesianNetwork
    picture: Picture
    data: dict[str, Any] | None
    notes: tuple[str, ...]
    target: str | None
    is_learned: bool = False


class Chart(NamedTuple):
    """Curves or points on the unit square."""

    title: str
    x: str
    y: str
    curves: tuple[tuple[str, tuple[Point, ...]], ...]
    points: tuple[tuple[float, float, float], ...] = ()
    mark: str = ""  # the name of a point that the script moves


class Why(NamedTuple):
    """A row and the weights of its values for one class against another."""

    title: str
    head: str
    rows: tuple[tuple[str, str, float], ...]


class Classes(NamedTuple):
    """The comparison of classifiers, with notes; and what the best one predicts of held-out rows."""

    lines: tuple[str, ...]
    table: tuple[Sequence[str], Sequence[Sequence[str]]]
    notes: tuple[str, ...]
    best: str
    about: str
    charts: tuple[Chart, ...] = ()
    matrix: tuple[tuple[str, ...], np.ndarray] | None = None
    costs: dict[str, Any] | None = None
    whys: tuple[Why, ...] = ()


class Contents(NamedTuple):
    """Everything on a page; where a part is missing, the text says why."""

    title: str
    glance: Glance
    network: Shown | str
    classes: Classes | str
    odd: tuple[tuple[str, tuple[str, ...]], ...]
    recipe: tuple[tuple[str, str], ...]
    made: str


# Elements


def tag(name: str, *inside: str, **attributes: object) -> str:
    """Return an element; ``_`` in the name of an attribute is ``-``, and one that is None or False is left out.

    Examples
    --------
    >>> tag("p", "a &lt; b", class_="note", data_v=3, hidden=True, title='"')
    '<p class="note" data-v="3" hidden title="&quot;">a &lt; b</p>'
    """
    shown = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{safe(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return f"<{name}{shown}>{''.join(inside)}</{name}>"


def name_of(text: object) -> str:
    """Return a name from the data, which keeps its own direction of writing."""
    shown = str(text)
    return tag("bdi", safe(shown if shown.strip() else repr(shown)))


def table_of(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, label: str, caption: str = "", left: int = 1
) -> str:
    """Return a table of HTML cells, the first columns set to the left; the label is for screen readers."""

    def cells(row: Sequence[str], kind: str) -> str:
        sides = [None if j < left else "n" for j in range(len(row))]
        scope = "col" if kind == "th" else None
        return tag("tr", *(tag(kind, cell, class_=side, scope=scope) for cell, side in zip(row, sides, strict=True)))

    head = tag("thead", cells(header, "th"))
    body = tag("tbody", *(cells(row, "td") for row in rows))
    title = tag("caption", caption) if caption else ""
    return tag("div", tag("table", title, head, body), class_="wide", tabindex=0, role="group", aria_label=label)


def list_of(lines: Iterable[str]) -> str:
    """Return a list of plain texts."""
    return tag("ul", *(tag("li", safe(line)) for line in lines))


def section(name: str, title: str, *inside: str) -> str:
    """Return a section with its heading."""
    return tag("section", tag("h2", title), *inside, id=name)


# The page


def page_of(contents: Contents) -> str:
    """Return the whole page."""
    shown, title = contents.network, safe(contents.title)
    parts = [
        section("data", "The data at a glance", _glance(contents.glance)),
        section("network", "The network", _network(shown)),
        section("classes", "Classification", _classes(contents.classes)),
        section("rows", "Rows worth a second look", _odd(contents.odd)),
        section("recipe", "How to reproduce", _recipe(contents.recipe, contents.made)),
    ]
    names = ("Data", "Network", "Classification", "Rows", "Reproduce")
    links = zip(("data", "network", "classes", "rows", "recipe"), names, strict=True)
    nav = tag("nav", *(tag("a", text, href=f"#{name}") for name, text in links), aria_label="Sections")
    header = tag("header", tag("h1", title), nav)
    style, scripts = STYLE + _file("page.css"), _scripts(shown)
    inside = [tag("script", script) for script in scripts]
    body = tag("body", header, tag("main", *parts), _facts(contents), *inside)
    head = (
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(scripts, style)}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{title}</title><style>{style}</style>"
    )
    return f"<!doctype html>\n{tag('html', tag('head', head), body, lang='en')}\n"


def _file(name: str) -> str:
    return (resources.files("tunbridge.report") / name).read_text("utf-8")


def policy(scripts: Iterable[str], style: str) -> str:
    """Return the Content-Security-Policy of a page: nothing from outside, and of scripts and styles only these.

    References
    ----------
    W3C (2024). Content Security Policy Level 3, section 2.3.1 (hash sources).

    Examples
    --------
    >>> policy([""], "")[:77]
    "default-src 'none'; script-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3"
    """
    allowed = " ".join(map(_hash, scripts))
    rest = "base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; {rest}"


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _scripts(shown: Shown | str) -> list[str]:
    """Return the scripts of the page: the engine if the page computes posteriors, and that of the controls."""
    is_live = not isinstance(shown, str) and shown.data is not None
    return [*([engine_script()] if is_live else []), _file("page.js")]


def _facts(contents: Contents) -> str:
    """Return the data of the scripts; ``<`` in them cannot end the element that holds them."""
    shown, classes = contents.network, contents.classes
    data = None if isinstance(shown, str) else shown.data
    target = None if isinstance(shown, str) or shown.target is None else shown.net.nodes.index(shown.target)
    costs = None if isinstance(classes, str) else classes.costs
    facts = {"network": data, "target": target, "costs": costs}
    text = json.dumps(facts, separators=(",", ":")).replace("<", "\\u003c")
    return tag("script", text, type="application/json", id="facts")


# Data


def _glance(glance: Glance) -> str:
    lines = [tag("h3", safe(title)) + list_of(found) for title, found in glance.lines if found]
    cards = tag("ul", *(_card(fact, glance.n_rows) for fact in glance.facts), class_="cards")
    return tag("p", safe(glance.size)) + "".join(lines) + tag("h3", "Columns") + cards + _pairs(glance.pairs)


def _card(fact: Fact, n_rows: int) -> str:
    missing = f"{fact.n_missing} missing ({100 * fact.n_missing / max(1, n_rows):.3g} %)" if fact.n_missing else ""
    chart = _heights(fact) if fact.heights else _bars(fact.bars)
    lines = [tag("p", safe(text), class_=kind) for text, kind in ((missing, "warn"), (fact.left_out, "warn")) if text]
    about = tag("p", safe(f"{fact.kind}: {fact.span}"), class_="soft")
    return tag("li", tag("h4", name_of(fact.name), title=fact.name), about, chart, *lines)


def _bars(bars: Sequence[tuple[str, float]]) -> str:
    """Return a bar for each state with its share."""
    rows = [tag("li", *_labelled_bar(label, share)) for label, share in bars]
    return tag("ul", *rows, class_="bars") if rows else ""


def _labelled_bar(label: str, share: float) -> list[str]:
    number = tag("span", percent(share), class_="number share")
    return [tag("span", name_of(label), class_="label", title=label), rail(share), number]


def rail(share: float) -> str:
    """Return a bar; its width is an attribute, because the policy of the page forbids style attributes."""
    fill = f'<rect class="fill" width="{100 * min(max(share, 0.0), 1.0):.4g}%" height="100%"/>'
    return tag("svg", fill, class_="track", aria_hidden="true")


def _heights(fact: Fact) -> str:
    """Return a histogram."""
    most, n = max(fact.heights), len(fact.heights)
    bars = "".join(
        f'<rect x="{200 * i / n + 0.5:.1f}" y="{48 - 46 * h / most:.1f}" width="{200 / n - 1:.1f}" '
        f'height="{46 * h / most:.1f}"/>'
        for i, h in enumerate(fact.heights)
    )
    return tag(
        "svg", bars, '<path class="axis" d="M0,48.5H200"/>', class_="hist", viewBox="0 0 200 50", role="img",
        aria_label=f"histogram of {fact.name}, {fact.span}",
    )  # fmt: skip


def _pairs(pairs: Sequence[tuple[str, str, float, float]]) -> str:
    if not pairs:
        return ""
    rows = [[name_of(a), name_of(b), f"{bits:.3g}", f"{100 * share:.3g} %"] for a, b, bits, share in pairs]
    about = (
        "Mutual information in bits, minus its expected value for independent columns. The share is the uncorrected "
        "mutual information divided by the smaller of the two entropies: 100 % if one column determines the other."
    )
    header = ["column", "column", "bits", "share"]
    return (
        tag("h3", "The most informative pairs")
        + tag("p", about, class_="soft")
        + table_of(header, rows, label="pairs of columns", left=2)
    )


# Network


def _network(shown: Shown | str) -> str:
    if isinstance(shown, str):
        return tag("p", safe(shown))
    is_live = shown.data is not None
    notes = list_of(shown.notes) if shown.notes else ""
    parts = [notes, tag("p", _how(shown)), *(tag("p", line) for line in _directions(shown)), _tools(shown)]
    if is_live:
        parts.append(tag("p", "No evidence.", id="status", role="status"))
    region = {"tabindex": 0, "role": "region", "aria_label": "Picture of the network"}
    parts += [tag("div", _picture(shown), class_="scroll", **region), _key(shown), _as_list(shown, is_live=is_live)]
    parts.append(_strengths(shown))
    if is_live:
        parts.append(_sensitivity(shown))
    return "".join(parts) + _tables(shown.net)


def _how(shown: Shown) -> str:
    """Return what the controls do."""
    if not shown.picture.has_labels:
        size = f"The network has {counted(len(shown.picture.nodes), 'variable')}: this is an overview. "
        what = (
            "its probabilities"
            if shown.data is None
            else "its probabilities, where a click on a state sets it as evidence"
        )
        return f"{size}Search for a variable or click a node to see {what}."
    if shown.data is None:
        what = "These are the probabilities without evidence, in per cent."
        return f"{what} Click a name for its conditional probability table."
    return (
        "Click a state to set it as evidence, and again to clear it: all probabilities are updated. Click a name for "
        "its conditional probability table. Probabilities are in per cent."
    )


def _directions(shown: Shown) -> list[str]:
    """Return what arcs mean, and how many of a learned network have undecided directions."""
    lines, n = shown.picture.lines, sum(line.kind == "undecided" for line in shown.picture.lines)
    if not lines or not shown.is_learned:
        return []
    if not n:
        return ["Arcs show dependence; they need not point from cause to effect."]
    arcs = counted(len(lines), "arc")
    which = f"{n} of the {arcs} (dashed)" if n < len(lines) else f"any of the {arcs}" if n > 1 else "the only arc"
    return [
        f"The data do not determine the direction of {which}: equivalent networks, in which it is reversed, fit any "
        "data equally well (Markov equivalence). Arcs show dependence; they need not point from cause to effect."
    ]


def _tools(shown: Shown) -> str:
    """Return the controls above the picture."""
    clear = tag("button", "Clear evidence", type="button", id="clear", disabled=True)
    fit = tag("button", "Fit to width", type="button", id="fit", aria_pressed="false")
    tools = [*([clear] if shown.data is not None else []), fit]
    if shown.picture.has_labels:
        return tag("div", *tools, class_="tools")
    box = '<input type="search" id="search" autocomplete="off" spellcheck="false">'
    found = tag("span", id="matches-text", role="status")
    label = tag("label", "Find a variable ", box)
    return tag("div", *tools, label, found, class_="tools") + tag("div", id="matches", class_="tools")


def _picture(shown: Shown) -> str:
    """Return the picture, with controls for states and names; of an overview, which has neither, for nodes."""
    picture, layout = shown.picture, shown.picture.layout
    width, height = layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN
    shapes = picture.lines
    if not picture.has_labels:
        shapes = tuple(replace(line, strength=None) for line in shapes)  # wide arcs would cover an overview
    lines = [svg_line(line, layout.routes[line.start, line.end]) for line in shapes]
    draw = _monitor if picture.has_labels else _dot_of
    nodes = [draw(v, node, picture, is_live=shown.data is not None) for v, node in enumerate(picture.nodes)]
    return tag(
        "svg", *lines, *nodes, xmlns="http://www.w3.org/2000/svg", class_="tb-graph", id="picture",
        role="group" if picture.has_labels else "img", data_overview=not picture.has_labels,
        width=f"{width:.0f}", height=f"{height:.0f}", viewBox=f"{-_MARGIN:g} {-_MARGIN:g} {width:.1f} {height:.1f}",
        aria_label=f"network with {counted(len(picture.nodes), 'node')} and {counted(len(picture.lines), 'arc')}",
    )  # fmt: skip


def _dot_of(v: int, node: Node, picture: Picture, *, is_live: bool) -> str:
    """Return a node of an overview; with the keyboard it is found by the search."""
    del is_live  # the same for all overviews
    mark = f"node {node.mark}".strip()
    return tag("g", tag("title", safe(node.name)), _box(node, picture), class_=mark, data_n=v, data_t=v)


def _box(node: Node, picture: Picture) -> str:
    (x, y), (width, height) = picture.layout.centres[node.name], picture.layout.sizes[node.name]
    place = f'x="{x - 0.5 * width:.1f}" y="{y - 0.5 * height:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect class="box" {place} rx="{6 if picture.has_labels else 3}"/>'


def _key(shown: Shown) -> str:
    """Return what the marks in the picture mean."""
    lines, kinds = shown.picture.lines, {line.kind for line in shown.picture.lines}
    keys = []
    if "undecided" in kinds:
        keys.append(("dashed", "dashed arc: direction undecided"))
    if kinds == {"arc", "undecided"}:
        keys.append(("plain", "solid arc: the same direction in all equivalent networks"))
    if shown.picture.has_labels and any(line.strength is not None for line in lines):
        keys.append(("thick", "wider arc: more mutual information"))
    if shown.target is not None:
        keys.append(("framed", "blue frame: the target"))
    if shown.data is not None:
        keys.append(("framed given", "orange frame: evidence"))
    return tag("ul", *(tag("li", tag("span", class_=f"key {kind}"), text) for kind, text in keys), class_="legend row")


def _monitor(v: int, node: Node, picture: Picture, *, is_live: bool) -> str:
    """Return a node: its box, its name, and its states with their bars."""
    width = picture.layout.sizes[node.name][0]
    left, box = picture.layout.centres[node.name][0] - 0.5 * width, _box(node, picture)
    head, *rest = parts_of(node, picture.layout)
    note = [rest.pop(0)] if node.note else []
    starts = [i for i, part in enumerate(rest) if isinstance(part, Label) and part.anchor == "left"]
    found = [rest[i:j] for i, j in pairwise([*starts, len(rest)])]
    states = [*shown_states(node), *([None] if len(found) > len(shown_states(node)) else [])]
    groups = [_state(v, s, node, parts, (left, width), is_live) for s, parts in zip(states, found, strict=True)]
    name = _pressable([head, *note], (left, width), _opens(v, f"Table of {node.name}"))
    return tag("g", tag("title", safe(node.name)), box, name, *groups, class_=f"node {node.mark}".strip(), data_n=v)


def _state(
    v: int, s: int | None, node: Node, parts: Sequence[Label | Bar], edges: tuple[float, float], is_live: bool
) -> str:
    """Return the line of a state; the one for all others opens the table."""
    if s is None:
        return _pressable(parts, edges, _opens(v, f"All states of {node.name}"))
    state, share = node.bars[s]
    if not is_live:
        return tag("g", *map(svg_part, parts))
    label = f"{node.name}: {state}, {percent(share)} %"
    return _pressable(parts, edges, {"data_v": v, "data_s": s, "aria_pressed": "false", "aria_label": label})


def _opens(v: int, label: str) -> dict[str, object]:
    return {"data_t": v, "aria_haspopup": "dialog", "aria_label": label}


def _pressable(parts: Sequence[Label | Bar], edges: tuple[float, float], attributes: dict[str, object]) -> str:
    """Return parts of a node as a button, with a rectangle that takes clicks and shows the focus."""
    left, width = edges
    place = f'x="{left + 2:.1f}" y="{parts[0].y - 12.7:.1f}" width="{width - 4:.1f}" height="{_LINE}"'
    hit = f'<rect class="hit" {place} rx="3"/>'
    return tag("g", hit, *map(svg_part, parts), role="button", tabindex=0, **attributes)


def _as_list(shown: Shown, *, is_live: bool) -> str:
    """Return the same controls as lists of buttons."""
    sets = []
    for v, node in enumerate(shown.picture.nodes):
        rows = [_button(v, s, state, share, is_live=is_live) for s, (state, share) in enumerate(node.bars)]
        table = tag("button", "Table", tag("span", f" of {safe(node.name)}", class_="away"), type="button", data_t=v)
        note = tag("p", safe(node.note)) if node.note else ""
        inside = [tag("legend", name_of(node.name)), note, *rows, table]
        sets.append(tag("fieldset", *inside, data_n=v, class_=node.mark or None))
    return tag("details", tag("summary", "All variables as a list"), tag("div", *sets, class_="sets"), id="list")


def _button(v: int, s: int, state: str, share: float, *, is_live: bool) -> str:
    inside = _labelled_bar(state, share)
    if not is_live:
        return tag("div", *inside, class_="state")
    return tag("button", *inside, type="button", class_="state", data_v=v, data_s=s, aria_pressed="false")


def _strengths(shown: Shown) -> str:
    """Return the arcs with their mutual information, the strongest first."""
    lines = sorted(shown.picture.lines, key=lambda line: -(line.strength or 0.0))
    if not lines:
        return tag("p", "The network has no arcs: no column depends on another one.")
    rows = [[name_of(line.start), name_of(line.end), safe(line.note)] for line in lines]
    n = 3 if any(line.note for line in lines) else 2
    table = table_of(["parent", "child", "mutual information"][:n], [row[:n] for row in rows], label="arcs", left=2)
    title = "Strength of the arcs" if n == 3 else "List of the arcs"
    return tag("details", tag("summary", title), table, id="strengths")


def _sensitivity(shown: Shown) -> str:
    """Return where the page lists what would tell most about a variable, given the evidence."""
    names = enumerate(shown.net.nodes)
    choices = [tag("option", safe(name), value=v, selected=name == shown.target) for v, name in names]
    label = tag("label", "Most informative about ", tag("select", *choices, id="about"))
    text = "Mutual information of each variable with it, in bits, given the present evidence."
    found = tag("ol", class_="bars", id="tells")
    return tag("div", tag("h3", label), tag("p", text, class_="soft"), found, id="sensitivity")


def _tables(net: BayesianNetwork) -> str:
    """Return the dialog, and a template with the table of each variable."""
    close = tag("button", "Close", type="button", id="close")
    inside = [tag("h3", id="detail-name"), tag("div", id="detail"), close]
    dialog = tag("dialog", *inside, id="dialog", aria_labelledby="detail-name")
    return dialog + "".join(tag("template", _cpt(net, name), id=f"cpt-{v}") for v, name in enumerate(net.nodes))


def _cpt(net: BayesianNetwork, name: str) -> str:
    """Return the conditional table of a variable; of a large one the first lines."""
    cpt = net.cpts[name]
    if cpt.variable.is_continuous or any(p.is_continuous for p in cpt.parents):
        return tag("pre", safe(str(cpt)))
    n = cpt.n_configurations
    sizes = [p.n_states for p in cpt.parents]
    if n * cpt.variable.n_states > 4_000_000:
        return tag("p", f"The table has {n:.3g} lines.")
    shares = np.asarray(cpt.table(), float).reshape(n, -1)[:_MOST_LINES]
    header = [name_of(p.name) for p in cpt.parents] + [name_of(s) for s in cpt.variable.states or ()]
    rows = []
    for j, line in enumerate(shares.tolist()):
        codes = np.unravel_index(j, sizes) if sizes else ()
        given = [name_of((p.states or ())[int(k)]) for p, k in zip(cpt.parents, codes, strict=True)]
        rows.append([*given, *(number_text(p, 4) for p in line)])
    more = tag("p", f"… and {n - _MOST_LINES} more lines") if n > _MOST_LINES else ""
    parents = f"given {', '.join(short_name(p.name, 40) for p in cpt.parents)}" if cpt.parents else "without parents"
    caption = f"Probabilities of {name_of(short_name(name, 40))} {safe(parents)}"
    return table_of(header, rows, label="probabilities", caption=caption, left=len(cpt.parents)) + more


# Classes


def _classes(found: Classes | str) -> str:
    if isinstance(found, str):
        return tag("p", safe(found))
    header, rows = found.table
    cells = [[name_of(row[0]), *map(safe, row[1:])] for row in rows]
    parts = ["".join(tag("p", safe(line)) for line in found.lines)]
    parts.append(table_of([*map(safe, header)], cells, label="classifiers"))
    if found.notes:
        parts.append(list_of(found.notes))
    parts.append(tag("h3", safe(found.best)) + tag("p", safe(found.about)))
    parts.append(tag("div", *map(_chart, found.charts), class_="charts"))
    if found.costs is not None:
        parts.append(_costs(found.costs))
    if found.matrix is not None:
        parts.append(_matrix(*found.matrix, found.costs))
    if found.whys:
        about = (
            "Contributions to the log-odds (natural logarithms) of the predicted class against the next one: to the "
            "right for it, to the left against it."
        )
        parts.append(tag("h3", "Explanations: the most confident right predictions and the worst mistakes"))
        parts.append(tag("p", about, class_="soft"))
        parts.append(tag("div", *map(_why, found.whys), class_="cards wide-cards"))
    return "".join(parts)


def _chart(chart: Chart) -> str:
    """Return curves and points on the unit square, with axes and, of several curves, a legend."""
    curves = "".join(
        f'<path class="curve c{i}" d="M{"L".join(map(_at, points))}"><title>{safe(name)}</title></path>'
        for i, (name, points) in enumerate(chart.curves)
    )
    dots = "".join(_dot(x, y, r) for x, y, r in chart.points)
    mark = _dot(0.0, 0.0, 5.0, id=chart.mark) if chart.mark else ""
    inside = [_axes(chart), curves, dots, mark]
    picture = tag("svg", *inside, class_="chart", viewBox="0 0 280 270", role="img", aria_label=chart.title)
    keys = [tag("li", tag("span", class_=f"key c{i}"), name_of(name)) for i, (name, _) in enumerate(chart.curves)]
    legend = tag("ul", *keys, class_="legend") if len(keys) > 1 else ""
    return tag("figure", tag("figcaption", safe(chart.title)), picture, legend)


def _at(point: Sequence[float]) -> str:
    return f"{_LEFT + _SIDE * point[0]:.1f},{_TOP + _SIDE * (1.0 - point[1]):.1f}"


def _dot(x: float, y: float, r: float, **attributes: object) -> str:
    cx, cy = _at((x, y)).split(",")
    return tag("circle", class_="dot", cx=cx, cy=cy, r=f"{r:.1f}", **attributes)


def _axes(chart: Chart) -> str:
    """Return the frame of a chart with its diagonal, ticks and names of axes."""
    foot, middle = _TOP + _SIDE, _LEFT + _SIDE / 2
    ticks = "".join(
        f'<text class="tick" x="{_LEFT + _SIDE * t:.0f}" y="{foot + 16:.0f}" text-anchor="middle">{t:g}</text>'
        f'<text class="tick" x="{_LEFT - 6:.0f}" y="{foot - _SIDE * t + 4:.0f}" text-anchor="end">{t:g}</text>'
        for t in (0.0, 0.5, 1.0)
    )
    return (
        f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}"/>'
        f'<path class="guide" d="M{_at((0, 0))}L{_at((1, 1))}"/>{ticks}'
        f'<text x="{middle}" y="{foot + 34}" text-anchor="middle">{safe(chart.x)}</text>'
        f'<text transform="translate(12,{foot - _SIDE / 2}) rotate(-90)" text-anchor="middle">{safe(chart.y)}</text>'
    )


def _costs(costs: dict[str, Any]) -> str:
    """Return the slider of costs; the script fills in what the threshold does, and moves the matrix below."""
    ratio = tag("output", "1", id="ratio")
    label = tag(
        "label",
        f"Missing a row with {name_of(costs['label'])} costs ",
        ratio,
        " × as much as a false alarm",
        for_="cost",
    )
    most = len(costs["rule"]) // 2
    slider = f'<input type="range" id="cost" min="{-most}" max="{most}" value="0">'
    return tag("div", tag("h3", "Costs"), label, slider, tag("p", id="cost-text", role="status"), id="costs")


def _matrix(names: Sequence[str], counts: np.ndarray, costs: dict[str, Any] | None) -> str:
    """Return the confusion matrix, with a bar behind each number: its share of the true class."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    rows = []
    for name, numbers, parts in zip(names, counts.tolist(), shares.tolist(), strict=True):
        cells = [tag("td", rail(s), tag("span", f"{n:.6g}"), class_="n") for n, s in zip(numbers, parts, strict=True)]
        rows.append(tag("tr", tag("th", name_of(name), scope="row"), *cells))
    head = tag("tr", tag("th", "true class"), *(tag("th", name_of(name), scope="col", class_="n") for name in names))
    rule = "Each row is assigned to its most probable class."
    if costs is not None:
        name, threshold = name_of(costs["label"]), tag("span", "0.5", id="threshold")
        rule = f"Rows with P({name}) ≥ {threshold} are predicted as {name}."
    about = f"True classes in rows, predicted classes in columns. {rule}"
    title = tag("h3", "Confusion matrix") + tag("p", about, class_="soft")
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="matrix", id="matrix")
    return title + tag("div", table, class_="wide", tabindex=0, role="group", aria_label="confusion matrix")


def _why(why: Why) -> str:
    """Return the weights of a row's values as bars to the right (for) and to the left (against)."""
    *parts, (end, _, total) = why.rows
    most = max((abs(w) for _, _, w in parts if np.isfinite(w)), default=0.0) or 1.0
    lines = []
    for feature, value, weight in parts:
        size = 50.0 * min(1.0, abs(weight) / most)
        place = f'x="{50 - size if weight < 0 else 50:.1f}%" width="{size:.1f}%" height="100%"'
        inner = f'<rect class="{"for" if weight > 0 else "against"}" {place}/>'
        bar = tag(
            "svg", '<rect class="zero" x="50%" width="1" height="100%"/>', inner, class_="scale", aria_hidden="true"
        )
        label = tag("span", name_of(feature), f" = {name_of(value)}" if value else "", class_="label")
        lines.append(tag("li", label, bar, tag("span", f"{weight:+.2f}", class_="number")))
    ends = [tag("span", safe(end), class_="label"), tag("span"), tag("span", f"{total:+.2f}", class_="number")]
    weights = tag("ul", *lines, tag("li", *ends), class_="bars why")
    return tag("div", tag("h4", safe(why.title)), tag("p", safe(why.head), class_="soft"), weights)


# The rest


def _odd(odd: Sequence[tuple[str, tuple[str, ...]]]) -> str:
    found = [tag("h3", safe(title)) + list_of(lines) for title, lines in odd if lines]
    return "".join(found) or tag("p", "Nothing stands out.")


def _recipe(recipe: Sequence[tuple[str, str]], made: str) -> str:
    lines = [tag("dt", safe(name)) + tag("dd", safe(value)) for name, value in recipe if value]
    return tag("dl", *lines, tag("dt", "Date"), tag("dd", tag("time", safe(made), id="made")))
