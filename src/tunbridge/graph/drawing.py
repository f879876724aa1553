"""Pictures of graphs as SVG: nodes with labels or bars, arcs with a strength and a kind, in light and dark.

A picture is a list of :class:`Node` and of :class:`Line`; :func:`drawn` gives each node the size of what it holds and
lays them out, :func:`svg_of` writes the text. The same positions serve Matplotlib and pages. Colours are those of
Okabe and Ito; in a dark page the picture turns dark by itself. Names are escaped, and long ones are shown without
their middle, whole in a tooltip. Above a hundred nodes the labels are left out: an overview.

References
----------
M. Okabe, K. Ito (2008). Color universal design.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from math import hypot
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from tunbridge.graph.layout import Layout, Point, layered_layout

if TYPE_CHECKING:
    from tunbridge.graph.dag import CPDAG, DAG

LEGIBLE = 100
"""The largest number of nodes that get labels by default."""

KINDS = ("arc", "undecided", "edge", "added", "missing", "reversed")
"""What a line can be: an arc, one whose direction may be reversed, an edge, or a difference between two graphs."""

DASHES = {"edge": (6.0, 4.0), "undecided": (6.0, 4.0), "missing": (1.0, 4.5), "reversed": (9.0, 3.5, 2.0, 3.5)}
"""Dashes and gaps of lines, so that they differ without colours; dots have round ends."""

FONT, _LINE, _BAR, _BAR_HEIGHT = 12.0, 17.0, 64.0, 9.0
_PADDING, _STATES, _LETTERS = 8.0, 8, 26  # around a label; bars of a node; letters of a name, at most
_LEAST, _ENDS = 0.7, 20  # how far a picture shrinks in a narrow page; for how many ends of lines a node is widened
_MARGIN, ARROW, _SAMPLE = 8.0, 8.0, 46.0  # around a picture; of a tip; of a line in a legend
_WIDTHS = {
    **dict.fromkeys("fijlrtI.,:;|!'()[]/\\ ", 0.32),
    **dict.fromkeys("wM<>=≤≥+~", 0.88),
    **dict.fromkeys("mW@%", 0.98),
}
STYLE = """
.tb-graph{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.tb-graph .box{fill:#fff;stroke:#5a5a5a}
.tb-graph text{fill:#1a1a1a}.tb-graph .number{fill:#4a4a4a}.tb-graph .head{font-weight:600}
.tb-graph .line{fill:none;stroke:#5a5a5a}.tb-graph .tip{fill:#5a5a5a;stroke:none}
.tb-graph .bar{fill:#0072b2}.tb-graph .rail{fill:#e9e9e9}
.tb-graph .evidence .box{fill:#fdf0d5;stroke:#b35900;stroke-width:2}.tb-graph .evidence .bar{fill:#b35900}
.tb-graph .target .box{stroke:#0072b2;stroke-width:2.5}
.tb-graph .past .box{fill:#ececec;stroke-dasharray:4 3}
.tb-graph .added .line{stroke:#0072b2}.tb-graph .added .tip{fill:#0072b2}
.tb-graph .missing .line{stroke:#b35900}.tb-graph .missing .tip{fill:#b35900}
.tb-graph .reversed .line{stroke:#a3307d}.tb-graph .reversed .tip{fill:#a3307d}
@media (prefers-color-scheme:dark){
.tb-graph{background:#16191d}
.tb-graph .box{fill:#22262b;stroke:#a8adb3}
.tb-graph text{fill:#f0f0f0}.tb-graph .number{fill:#c8c8c8}
.tb-graph .line{stroke:#a8adb3}.tb-graph .tip{fill:#a8adb3}
.tb-graph .bar{fill:#56b4e9}.tb-graph .rail{fill:#3b4046}
.tb-graph .evidence .box{fill:#40321a;stroke:#f0a54a}.tb-graph .evidence .bar{fill:#f0a54a}
.tb-graph .target .box{stroke:#56b4e9}
.tb-graph .past .box{fill:#33383e}
.tb-graph .added .line{stroke:#56b4e9}.tb-graph .added .tip{fill:#56b4e9}
.tb-graph .missing .line{stroke:#f0a54a}.tb-graph .missing .tip{fill:#f0a54a}
.tb-graph .reversed .line{stroke:#e58bc5}.tb-graph .reversed .tip{fill:#e58bc5}
}
"""
"""The style of pictures in a page."""


@dataclass(frozen=True)
class Node:
    """A node to draw.

    Parameters
    ----------
    name : str
        Its name.
    bars : tuple of (str, float)
        States with their probabilities; none for a node that is only a label.
    note : str
        A line below the name, such as the mean of a number.
    mark : str
        ``"evidence"``, ``"target"``, or ``"past"`` in an earlier slice; empty for any other node.
    """

    name: str
    bars: tuple[tuple[str, float], ...] = ()
    note: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Line:
    """A line to draw.

    Parameters
    ----------
    start, end : str
        The nodes.
    kind : str
        One of ``KINDS``.
    strength : float, optional
        How strong it is, from 0 to 1: its width.
    note : str
        What a tooltip says of it, and a legend of lines of its kind.
    is_directed : bool
        Whether it has a tip.
    """

    start: str
    end: str
    kind: str = "arc"
    strength: float | None = None
    note: str = ""
    is_directed: bool = True

    @property
    def width(self) -> float:
        """The width of the line."""
        if self.strength is None:
            return {"added": 2.8, "missing": 2.2, "reversed": 1.8}.get(self.kind, 1.3)
        return 0.6 + 4.0 * min(max(self.strength, 0.0), 1.0)


@dataclass(frozen=True)
class Picture:
    """Nodes and lines with their places.

    Parameters
    ----------
    nodes, lines
        What is drawn.
    layout : Layout
        Where it is.
    has_labels : bool
        Whether the nodes show their names.
    """

    nodes: tuple[Node, ...]
    lines: tuple[Line, ...]
    layout: Layout
    has_labels: bool


def drawn(
    nodes: Iterable[Node],
    lines: Iterable[Line],
    *,
    labels: bool | None = None,
    before: Layout | None = None,
    lags: Mapping[str, int] = MappingProxyType({}),
) -> Picture:
    """Return a picture: every node as large as what it holds, and laid out.

    Parameters
    ----------
    nodes, lines : iterable
        What to draw.
    labels : bool, optional
        Whether nodes show their names; default: up to a hundred nodes.
    before : Layout, optional
        The layout of a similar graph.
    lags : mapping of str to int
        Of a dynamic network: how many slices back the nodes of earlier slices are. They are above all later ones.
    """
    all_nodes = tuple(replace(n, mark=n.mark or "past") if n.name in lags else n for n in nodes)
    all_lines = tuple(lines)
    shown = len(all_nodes) <= LEGIBLE if labels is None else labels
    sizes = {node.name: _size(node) if shown else (14.0, 10.0) for node in all_nodes}
    pairs = [(line.start, line.end) for line in all_lines]
    if shown:  # wide enough for the ends of the lines
        ends = Counter(end for a, b in pairs for end in ((a, "leaves"), (b, "arrives")))
        for (name, _), n in ends.items():
            sizes[name] = (max(sizes[name][0], 7.0 + 7.0 * min(n, _ENDS)), sizes[name][1])
    gap = (18.0, 46.0) if shown else (8.0, 26.0)
    names = [node.name for node in all_nodes]
    above = [(a, b) for a in lags for b in names if lags[a] > lags.get(b, 0)]
    layout = layered_layout(names, pairs, sizes, gap=gap, before=before, above=above)
    return Picture(all_nodes, all_lines, layout, shown)


def text_width(text: str, size: float = FONT) -> float:
    """Return about how wide a text is in a sans-serif font.

    Examples
    --------
    >>> text_width("Will") < text_width("MMMM")
    True
    """
    return size * sum(_letter_width(letter) for letter in text)


def _letter_width(letter: str) -> float:
    if letter in _WIDTHS:
        return _WIDTHS[letter]
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.05
    return 0.7 if letter.isupper() else 0.58


def short_name(name: str, most: int = _LETTERS) -> str:
    """Return a name on one line, a long one without its middle; control characters become spaces.

    Examples
    --------
    >>> short_name("temperature in the morning of day one")
    'temperature i…ng of day one'
    """
    plain = "".join(letter if letter.isprintable() else " " for letter in name)
    half = (most - 1) // 2
    return plain if len(plain) <= most else f"{plain[: half + 1]}…{plain[half + 1 - most :]}"


def state_texts(states: Sequence[object]) -> list[str]:
    """Return distinct texts for states, of which 1 and "1" may both be one."""
    texts = [str(state) for state in states]
    return texts if len(set(texts)) == len(texts) else [repr(state) for state in states]


def _size(node: Node) -> Point:
    """Return the size of a node with its label and bars."""
    width = text_width(short_name(node.name)) * (1.1 if node.bars or node.note else 1.0) + 2 * _PADDING
    rows = _shown_bars(node)
    if node.note:
        width = max(width, text_width(node.note) + 2 * _PADDING)
    if rows:
        width = max(width, max(text_width(short_name(label, 16)) for label, _ in rows) + _BAR + 38.0 + 3 * _PADDING)
    return width, _LINE * (1 + len(rows) + bool(node.note)) + _PADDING


def shown_states(node: Node) -> list[int]:
    """Return the places of the states whose bars are drawn: of many the most probable.

    Examples
    --------
    >>> shown_states(Node("x", tuple((str(i), i / 45) for i in range(10))))
    [3, 4, 5, 6, 7, 8, 9]
    """
    if len(node.bars) <= _STATES:
        return list(range(len(node.bars)))
    return sorted(sorted(range(len(node.bars)), key=lambda i: -node.bars[i][1])[: _STATES - 1])


def _shown_bars(node: Node) -> tuple[tuple[str, float | None], ...]:
    """Return the bars of a node; of many states the most probable, and how many others there are."""
    shown = shown_states(node)
    rest = len(node.bars) - len(shown)
    return (*(node.bars[i] for i in shown), *([(f"… {rest} others", None)] if rest else []))


# SVG


def svg_of(picture: Picture, *, title: str = "") -> str:
    """Return a picture as the text of an SVG element.

    Parameters
    ----------
    picture : Picture
        The picture.
    title : str
        What it shows, for those who cannot see it.
    """
    layout, legend = picture.layout, legend_of(picture)
    width, height = size_of(picture)
    about = title or f"graph with {len(picture.nodes)} nodes and {len(picture.lines)} arcs"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tb-graph" role="img" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="{-_MARGIN:g} {-_MARGIN:g} {width:.1f} {height:.1f}" '
        f'style="max-width:100%;min-width:{_LEAST * width:.0f}px;height:auto">'
    )
    parts = [head, f"<title>{safe(about)}</title><style>{STYLE}</style>"]
    parts += [svg_line(line, layout.routes[line.start, line.end]) for line in picture.lines]
    parts += [_node(node, layout, picture.has_labels) for node in picture.nodes]
    if legend is not None:
        parts.append(_svg_legend(legend))
    return "\n".join([*parts, "</svg>"])


def _svg_legend(legend: Legend) -> str:
    x, y, width, height = legend.box
    box = f'<rect class="box" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="6"/>'
    rows = [
        f'<g class="{line.kind} sample">{_stroke(line, points)}</g>{svg_part(label)}'
        for line, points, label in legend.rows
    ]
    return "".join(['<g class="legend">', box, *rows, "</g>"])


_JOINERS = "\u200c\u200d"  # which Persian, Indian scripts and emoji need


def safe(text: str) -> str:
    r"""Return a text for SVG and HTML: escaped, without direction marks, and without characters that XML does not have.

    Examples
    --------
    >>> ascii(safe("<b>\u202eabc\x00 10\u202f000"))
    "'&lt;b&gt;abc\\ufffd 10\\u202f000'"
    """
    return escape("".join(map(_safe_letter, text)))


def _safe_letter(letter: str) -> str:
    if letter.isprintable() or letter in "\t\n" or letter in _JOINERS:
        return letter
    kind = unicodedata.category(letter)
    if kind in ("Zs", "Co"):  # spaces of other widths, and letters of private use
        return letter
    return "" if kind == "Cf" else " " if letter == "\r" else "\ufffd"


def path_of(points: Sequence[Point]) -> str:
    """Return the path through the points of an arc: between two of them a curve that leaves and arrives vertically.

    Examples
    --------
    >>> path_of([(0, 0), (0, 10), (8, 30)])
    'M0,0L0,10C0,20 8,20 8,30'
    """
    found = [f"M{_short(points[0])}"]
    for a, b in pairwise(points):
        if abs(a[0] - b[0]) < 1e-6:
            found.append(f"L{_short(b)}")
        else:
            middle = 0.5 * (a[1] + b[1])
            found.append(f"C{_short((a[0], middle))} {_short((b[0], middle))} {_short(b)}")
    return "".join(found)


def _short(point: Point) -> str:
    return ",".join(f"{value:.1f}".removesuffix(".0") for value in point)


def svg_line(line: Line, points: Sequence[Point]) -> str:
    """Return a line as SVG: its path, its tip, and a tooltip."""
    arrow = "→" if line.is_directed else "–"
    label = safe(f"{line.start} {arrow} {line.end}{': ' if line.note else ''}{line.note}")
    return f'<g class="{line.kind}"><title>{label}</title>{_stroke(line, points)}</g>'


def _stroke(line: Line, points: Sequence[Point]) -> str:
    tip = dashes = ""
    if line.is_directed:
        points, corners = with_tip(points, ARROW + line.width)
        tip = '<path class="tip" d="M' + "L".join(map(_short, corners)) + 'Z"/>'
    if line.kind in DASHES:
        dashes = f' stroke-dasharray="{" ".join(f"{length:g}" for length in DASHES[line.kind])}"'
        dashes += ' stroke-linecap="round"' if line.kind == "missing" else ""
    return f'<path class="line" stroke-width="{line.width:.2f}"{dashes} d="{path_of(points)}"/>{tip}'


def with_tip(points: Sequence[Point], size: float) -> tuple[tuple[Point, ...], tuple[Point, ...]]:
    """Return the points of an arc up to its tip, and the corners of the tip: down, up, or along a level line."""
    (x, y), before = points[-1], points[-2]
    size = min(size, 0.6 * max(1.0, hypot(x - before[0], y - before[1])))
    if y == before[1]:
        foot = x - (size if x >= before[0] else -size)
        return (*points[:-1], (foot, y)), ((x, y), (foot, y - 0.42 * size), (foot, y + 0.42 * size))
    way = 1.0 if y >= before[1] else -1.0
    foot = y - way * size
    return (*points[:-1], (x, foot + way * 0.5)), ((x, y), (x - 0.42 * size, foot), (x + 0.42 * size, foot))


class Label(NamedTuple):
    """A text in a node: its anchor on the base line."""

    x: float
    y: float
    text: str
    anchor: str  # "left", "center" or "right"
    is_head: bool = False


class Bar(NamedTuple):
    """A bar in a node, or the rail behind it."""

    x: float
    y: float
    width: float
    height: float
    is_rail: bool


class Legend(NamedTuple):
    """What the kinds of lines mean: the box around it, and for each kind a line, its points, and a text."""

    box: tuple[float, float, float, float]
    rows: tuple[tuple[Line, tuple[Point, ...], Label], ...]


def legend_of(picture: Picture) -> Legend | None:
    """Return a legend, below the picture, if lines differ between two graphs.

    Examples
    --------
    >>> lines = [Line("a", "b"), Line("b", "c", "added", note="added")]
    >>> [label.text for _, _, label in legend_of(drawn(map(Node, "abc"), lines)).rows]
    ['in both graphs (1)', 'added (1)']
    """
    kinds = {kind: [line for line in picture.lines if line.kind == kind] for kind in KINDS}
    if not any(kinds[kind] for kind in ("added", "missing", "reversed")):
        return None
    top, widest = picture.layout.height + 2 * _MARGIN, 0.0
    rows: list[tuple[Line, tuple[Point, ...], Label]] = []
    for kind, lines in ((kind, lines) for kind, lines in kinds.items() if lines):
        notes = ", ".join(dict.fromkeys(line.note for line in lines))
        text = {"arc": "in both graphs", "edge": "in both graphs, undecided"}.get(kind, notes) + f" ({len(lines)})"
        y = top + _PADDING + (len(rows) + 0.5) * _LINE
        sample = Line("", "", kind, is_directed=any(line.is_directed for line in lines))
        label = Label(2 * _PADDING + _SAMPLE, y + 0.34 * FONT, text, "left")
        rows.append((sample, ((_PADDING, y), (_PADDING + _SAMPLE, y)), label))
        widest = max(widest, 1.12 * text_width(text))
    return Legend((0.0, top, 3 * _PADDING + _SAMPLE + widest, 2 * _PADDING + len(rows) * _LINE), tuple(rows))


def size_of(picture: Picture) -> Point:
    """Return the width and the height of a picture with its margins and its legend."""
    width, height, legend = picture.layout.width, picture.layout.height, legend_of(picture)
    if legend is not None:
        width, height = max(width, legend.box[2]), legend.box[1] + legend.box[3]
    return width + 2 * _MARGIN, height + 2 * _MARGIN


def parts_of(node: Node, layout: Layout) -> list[Label | Bar]:
    """Return what is inside the box of a node: its name, a note, and for each state its label, bar and percentage."""
    (x, y), (width, height) = layout.centres[node.name], layout.sizes[node.name]
    left, right, at = x - 0.5 * width, x + 0.5 * width, y - 0.5 * height + 0.5 * _PADDING + 0.72 * _LINE
    rows = _shown_bars(node)
    found: list[Label | Bar] = [Label(x, at, short_name(node.name), "center", bool(rows or node.note))]
    if node.note:
        at += _LINE
        found.append(Label(x, at, node.note, "center"))
    for state, share in rows:
        at += _LINE
        found.append(Label(left + _PADDING, at, short_name(state, 16), "left"))
        if share is not None:
            start, top = right - _PADDING - 36.0 - _BAR, at - 0.5 * (_LINE + _BAR_HEIGHT) + 4.5
            found.append(Bar(start, top, _BAR, _BAR_HEIGHT, is_rail=True))
            found.append(Bar(start, top, _BAR * min(max(share, 0.0), 1.0), _BAR_HEIGHT, is_rail=False))
            found.append(Label(right - _PADDING, at, percent(share), "right"))
    return found


_ANCHORS = {"left": "start", "center": "middle", "right": "end"}


def _node(node: Node, layout: Layout, has_labels: bool) -> str:
    x, y = layout.centres[node.name]
    width, height = layout.sizes[node.name]
    told = "; ".join([node.name, *([node.note] if node.note else []), *(f"{s} {100 * p:.1f} %" for s, p in node.bars)])
    box = (
        f'<rect class="box" x="{x - 0.5 * width:.1f}" y="{y - 0.5 * height:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}" rx="6"/>'
    )
    inside = [svg_part(part) for part in parts_of(node, layout)] if has_labels else []
    return "".join([f'<g class="node {node.mark}"><title>{safe(told)}</title>', box, *inside, "</g>"])


def svg_part(part: Label | Bar) -> str:
    """Return a text or a bar as SVG."""
    if isinstance(part, Bar):
        kind = "rail" if part.is_rail else "bar"
        size = f'width="{part.width:.1f}" height="{part.height:g}" rx="2"'
        return f'<rect class="{kind}" x="{part.x:.1f}" y="{part.y:.1f}" {size}/>'
    kind = ' class="head"' if part.is_head else ' class="number"' if part.anchor != "left" else ""
    place = f'x="{part.x:.1f}" y="{part.y:.1f}" text-anchor="{_ANCHORS[part.anchor]}"'
    return f"<text{kind} {place}>{safe(part.text)}</text>"


def percent(share: float) -> str:
    """Return a probability in per cent with one decimal, as a monitor shows it.

    Examples
    --------
    >>> percent(0.5), percent(1e-5), percent(1.0)
    ('50.0', '<0.1', '100')
    """
    if 0.0 < share < 0.0005:
        return "<0.1"
    if 0.9995 <= share < 1.0:
        return ">99.9"
    return f"{100 * share:.1f}" if 0.0 < share < 1.0 else f"{100 * share:.0f}"


# Graphs


def lines_of(graph: DAG | CPDAG, strengths: Mapping[tuple[str, str], float] | None = None) -> list[Line]:
    """Return the lines of a graph; edges without a direction are dashed."""
    known, edges = strengths or {}, getattr(graph, "edges", ())
    found = [Line(a, b, strength=known.get((a, b))) for a, b in graph.arcs]
    return found + [Line(a, b, "edge", known.get((a, b), known.get((b, a))), is_directed=False) for a, b in edges]
