"""Pictures of graphs and networks: marginals as bars, evidence, strengths of arcs, differences between graphs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._core.check import check_choice, check_number, did_you_mean, listed, warn_user
from tunbridge._core.replacing import replacing
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError, DataWarning
from tunbridge.graph import CPDAG, DAG
from tunbridge.graph.drawing import (
    ARROW,
    DASHES,
    FONT,
    Label,
    Line,
    Node,
    Picture,
    drawn,
    legend_of,
    lines_of,
    parts_of,
    short_name,
    size_of,
    state_texts,
    svg_of,
    with_tip,
)
from tunbridge.network import BayesianNetwork
from tunbridge.plots.axes import FOR, NEUTRAL, matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INFORMATION = "information"

_MARGIN = 8.0
_INK = "#1a1a1a"  # in boxes, which are light in every style of Matplotlib
_LONGEST, _LARGEST = 19_000.0, 16e6  # a side and the area of a picture in pixels, at 96 an inch: PDF has 200 inches
_SMALL = 0.6  # of its size, below which a picture is hardly legible
_COLOURS = {
    "arc": NEUTRAL,
    "undecided": NEUTRAL,
    "edge": NEUTRAL,
    "added": FOR,
    "missing": "#b35900",
    "reversed": "#a3307d",
}

SUFFIXES = (".svg", ".html", ".dot", ".png", ".pdf")
_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<style>
:root{{color-scheme:light dark;font-family:system-ui,sans-serif}}body{{margin:1rem;background:Canvas;color:CanvasText}}
body .tb-graph{{background:none}}.tb-graph .found .box{{stroke:#b35900;stroke-width:4}}
</style></head>
<body>
{search}{svg}
</body>
</html>
"""
_SEARCH = """<p><label>Find a node: <input type="search"></label> <output></output></p>
"""
_SCRIPT = """
<script>
"use strict";
{
  const nodes = [...document.querySelectorAll(".tb-graph .node")];
  const label = (node) => node.querySelector("title").textContent.split("; ")[0];
  document.querySelector("input").addEventListener("input", (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    const found = nodes.filter((node) => {
      const is = wanted !== "" && label(node).toLowerCase().includes(wanted);
      node.classList.toggle("found", is);
      return is;
    });
    const names = found.slice(0, 5).map(label).join(", ");
    document.querySelector("output").textContent = wanted === "" ? "" : found.length + " found  " + names;
    if (found.length) found[0].scrollIntoView({ block: "center", inline: "center" });
  });
}
</script>"""
_DOT_STYLES = {
    "edge": "dir=none, style=dashed",
    "undecided": "style=dashed",
    "added": 'color="#0072b2", style=bold',
    "missing": 'color="#b35900", style=dotted',
    "reversed": 'color="#a3307d", style=dashed',
}


@dataclass(frozen=True, eq=False)
class Drawing:
    """A picture of a graph, which notebooks show; :meth:`save` writes it to a file.

    Parameters
    ----------
    picture : Picture
        Nodes and lines with their places.
    title : str
        What it shows.
    """

    picture: Picture
    title: str

    @cached_property
    def svg(self) -> str:
        """The picture as SVG, light or dark as the page around it."""
        return svg_of(self.picture, title=self.title)

    def to_dot(self) -> str:
        """Return the graph in the DOT language of Graphviz."""
        lines = [f"  {_quoted(node.name)};" for node in self.picture.nodes]
        for line in self.picture.lines:
            style = [_DOT_STYLES[line.kind]] if line.kind in _DOT_STYLES else []
            style += ["dir=none"] if line.kind != "edge" and not line.is_directed else []
            style += [] if line.strength is None else [f"penwidth={line.width:.2f}"]
            shown = f" [{', '.join(style)}]" if style else ""
            lines.append(f"  {_quoted(line.start)} -> {_quoted(line.end)}{shown};")
        return "\n".join(["digraph {", "  node [shape=box, style=rounded];", *lines, "}", ""])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the picture to a .svg, .html, .dot, .png or .pdf file; the last two need Matplotlib."""
        if not isinstance(path, str | PathLike):
            raise DataError(f"the file of a picture must be a path; got {type(path).__name__}.", parameter="path")
        place = Path(path)
        suffix = place.suffix.lower()
        if not place.parent.is_dir():
            raise DataError(f"a picture must go to a folder that exists; there is no {str(place.parent)!r}.")
        if suffix not in SUFFIXES:
            raise DataError(
                f"a picture of a network must go to a file that ends in {listed(SUFFIXES)}; got {place.name!r}.",
                parameter="path",
            )
        if suffix in (".png", ".pdf"):
            figure: Any = network(self, ax=_axes_for(self.picture)).figure
            with replacing(place) as file:
                figure.savefig(file, format=suffix[1:], dpi=150)
            return
        texts = {".svg": self.svg, ".dot": self.to_dot()}
        text = texts.get(suffix) or self._page()
        with replacing(place) as file:
            file.write_text(text, encoding="utf-8")

    write = save
    """The same as :meth:`save`."""

    def _page(self) -> str:
        """Return a page with the picture; an overview in its full size, with a search for nodes."""
        is_large = not self.picture.has_labels
        svg = re.sub("max-width:100%;min-width:[0-9]+px;height:auto", "", self.svg, count=1) if is_large else self.svg
        return _PAGE.format(
            title=_escaped(self.title), svg=svg + _SCRIPT * is_large, search=_SEARCH if is_large else ""
        )

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Drawing: {self.title}"


def draw(
    graph: DAG | CPDAG | BayesianNetwork,
    *,
    evidence: Mapping[str, Any] | None = None,
    monitors: bool | None = None,
    strengths: str | Mapping[tuple[str, str], float] | None = None,
    against: DAG | CPDAG | BayesianNetwork | None = None,
    target: str | None = None,
    labels: bool | None = None,
    before: Drawing | None = None,
) -> Drawing:
    """Return a picture of a graph or a network.

    Parameters
    ----------
    graph : DAG, CPDAG, BayesianNetwork or DynamicBayesianNetwork
        What to draw, or a result or fitted classifier that has one. Edges without a direction are dashed. Of a dynamic
        network, a slice below the nodes of earlier slices that it depends on.
    evidence : mapping, optional
        For a network: what is known. Its nodes are highlighted, and all show their posterior.
    monitors : bool, optional
        Whether nodes show the probabilities of their states, and means of numbers; default: if there is evidence.
    strengths : "information" or mapping of (parent, child) to float, optional
        How wide arcs are: by the mutual information of the two variables in the network, or numbers, the largest of
        which is the widest.
    against : DAG, CPDAG or BayesianNetwork, optional
        A graph to compare with: arcs that it does not have (added) are blue and wide, those that it has beside these
        (missing) are dotted and orange, and reversed ones are purple, with dashes and dots. A legend says so.
    target : str, optional
        A node to emphasise.
    labels : bool, optional
        Whether nodes show their names; default: up to a hundred nodes. Tooltips always do.
    before : Drawing, optional
        A picture of a similar graph, whose order of nodes is kept.

    Examples
    --------
    >>> import tunbridge as tb
    >>> picture = tb.draw(tb.example_network("asia"), evidence={"xray": "yes"})
    >>> picture
    Drawing: network with 8 nodes and 8 arcs, given xray = yes
    >>> picture.svg.startswith("<svg")
    True
    """
    shown = _graph_of("graph", graph)
    lags: Mapping[str, int] = getattr(graph, "lags", {}) if hasattr(graph, "transition") else {}
    net = shown if isinstance(shown, BayesianNetwork) else None
    plain = _without_tables(shown)
    other = None if against is None else _without_tables(_graph_of("against", against))
    if hasattr(graph, "transition") and hasattr(against, "transition"):
        lags = {**lags, **against.lags}  # type: ignore[union-attr]
        plain, other = (DAG([*lags, *graph.nodes], each.arcs) for each in (plain, other))  # type: ignore[union-attr]
    names = plain.nodes
    if net is None and (evidence or monitors or isinstance(strengths, str)):
        if hasattr(graph, "transition"):
            hint = "net.unrolled(n_slices) makes some slices one."
            raise DataError(f"evidence, monitors and strengths='information' must come with a static network. {hint}")
        raise DataError("evidence, monitors and strengths='information' must come with a network; got a graph.")
    _check_settings(names, target, before, evidence)
    known = {name: value for name, value in dict(evidence or {}).items() if not is_missing(value)}
    wanted = bool(known) if monitors is None else monitors
    nodes = [Node(name, mark="evidence" if name in known else "target" if name == target else "") for name in names]
    if net is not None and (wanted or evidence):  # evidence is checked in any case
        monitored = list(_monitored(net, evidence or {}, nodes))
        nodes = monitored if wanted else nodes
    joined = {*plain.arcs, *getattr(plain, "edges", ())}
    values = _strengths(net, joined, strengths)
    lines = lines_of(plain, values)
    if other is not None:
        lines = _compared(lines, plain, other)
    kind = "slice of a dynamic network" if hasattr(graph, "transition") else "graph" if net is None else "network"
    title = f"{kind} with {len(names)} nodes and {len(joined)} arcs"
    title += f", given {', '.join(f'{n} = {_text(v)}' for n, v in known.items())}" if known else ""
    title += f"; {_differences(lines)}" if against is not None else ""
    layout = None if before is None else before.picture.layout
    return Drawing(drawn(nodes, lines, labels=labels, before=layout, lags=lags), title)


def _check_settings(names: Sequence[str], target: str | None, before: object, evidence: object) -> None:
    """Raise for a target that is no node, and for settings of the wrong type."""
    if target is not None and target not in names:
        hint = did_you_mean(target, names)
        raise DataError(f"target must name a node; got {target!r}. {hint}", parameter="target")
    if before is not None and not isinstance(before, Drawing):
        raise DataError(f"before must be a picture from tb.draw; got {type(before).__name__}.", parameter="before")
    if evidence is not None and not isinstance(evidence, Mapping):
        raise DataError(f"evidence must be a dict from variable to state; got {evidence!r}.", parameter="evidence")


def network(graph: DAG | CPDAG | BayesianNetwork | Drawing, *, ax: Axes | None = None, **how: Any) -> Axes:
    """Draw a graph or a network with Matplotlib.

    Parameters
    ----------
    graph : DAG, CPDAG, BayesianNetwork or Drawing
        What to draw.
    ax : Axes, optional
        Where to draw; default: a new figure as large as the picture.
    **how
        As in :func:`tunbridge.draw`: ``evidence``, ``monitors``, ``strengths``, ``against``, ``target``, ``labels``.

    Returns
    -------
    Axes
    """
    drawing = graph if isinstance(graph, Drawing) else draw(graph, **how)
    picture = drawing.picture
    axes = _axes_for(picture) if ax is None else ax
    layout = picture.layout
    width, height = size_of(picture)
    axes.set_xlim(-_MARGIN, width - _MARGIN)
    axes.set_ylim(height - _MARGIN, -_MARGIN)
    axes.set_aspect("equal")
    axes.axis("off")
    axes.figure.canvas.draw_idle()
    points = _points_per_unit(axes)
    for line in picture.lines:
        _draw_line(axes, line, layout.routes[line.start, line.end], points)
    for node in picture.nodes:
        _draw_node(axes, node, picture, points)
    legend = legend_of(picture)
    if legend is not None:
        _draw_box(axes, legend.box, points)
        for line, ends, label in legend.rows:
            _draw_line(axes, line, ends, points)
            _draw_label(axes, label, points)
    return axes


def _graph_of(what: str, graph: object) -> DAG | CPDAG | BayesianNetwork:
    """Return a graph or a network, or that of a result or a classifier that has one."""
    if isinstance(graph, BayesianNetwork | DAG | CPDAG):
        return graph
    for name in ("network", "network_", "dag", "transition"):
        found = getattr(graph, name, None)
        if isinstance(found, BayesianNetwork | DAG):
            return found.dag if name == "transition" and isinstance(found, BayesianNetwork) else found
    structure = _structure_of(graph)
    if structure is not None:
        return structure
    hint = " Classifiers with one structure, such as a TANClassifier, can be drawn once they are fitted." * hasattr(
        graph, "predict_proba"
    )
    if isinstance(graph, str | PathLike):
        hint = f" Read it first: tb.read_network({str(graph)!r})."
    elif type(graph).__module__.startswith("networkx"):
        hint = " Convert it first: tb.DAG.from_networkx(graph)."
    elif isinstance(graph, list | tuple | set | dict):
        hint = " Arcs make a graph: tb.DAG(arcs=[('a', 'b')])."
    raise DataError(f"{what} must be a graph or a network; got {type(graph).__name__}.{hint}", parameter=what)


def _structure_of(classifier: object) -> DAG | None:
    """Return the class, the features, and the features on which they depend, of a classifier that has ``parents_``."""
    parents = getattr(classifier, "parents_", None)
    if not isinstance(parents, dict) or not all(isinstance(p, str | tuple | None) for p in parents.values()):
        return None
    target = getattr(classifier, "target_name_", None) or "class"
    while target in parents:
        target += "_"
    arcs = [(target, name) for name in parents]
    arcs += [
        (p, name) for name, given in parents.items() for p in ((given,) if isinstance(given, str) else given or ())
    ]
    return DAG([target, *parents], arcs)


def _without_tables(graph: DAG | CPDAG | BayesianNetwork) -> DAG | CPDAG:
    return graph.dag if isinstance(graph, BayesianNetwork) else graph


def _text(value: object) -> str:
    return short_name(str(value), 40)


# Monitors


def _monitored(net: BayesianNetwork, evidence: Mapping[str, Any], nodes: list[Node]) -> Iterator[Node]:
    """Yield the nodes with the posteriors of their states, or mean and standard deviation."""
    found: Any = net.posteriors(evidence)
    for node in nodes:
        posterior, states = found[node.name], net.variable(node.name).states
        if states is not None:
            shares = np.asarray(posterior.probabilities, float).ravel().tolist()
            yield replace(node, bars=tuple(zip(state_texts(states), shares, strict=True)))
        else:
            spread = f" ± {posterior.std:.3g}" if posterior.std > 0.0 else ""
            yield replace(node, note=f"{posterior.mean:.4g}{spread}")


# Lines


def _strengths(
    net: BayesianNetwork | None, arcs: Collection[tuple[str, str]], given: str | Mapping[tuple[str, str], float] | None
) -> dict[tuple[str, str], float] | None:
    """Return how strong arcs are, the strongest 1."""
    if given is None:
        return None
    if not isinstance(given, str | Mapping):
        rule = "strengths must be 'information' or a mapping of arcs to numbers"
        raise DataError(f"{rule}; got {type(given).__name__}.", parameter="strengths")
    if isinstance(given, str):
        check_choice("strengths", given, (INFORMATION,))
        found = {arc: arc_information(net, *arc) for arc in net.arcs} if net is not None else {}
    else:
        found = {arc: check_number(f"the strength of {arc!r}", value, low=0) for arc, value in given.items()}
        odd = [arc for arc in found if arc not in arcs and arc[::-1] not in arcs]
        if odd:
            raise DataError(f"strengths must be those of arcs of the graph; got {odd[0]!r}.", parameter="strengths")
    largest = max(found.values(), default=0.0)
    return {arc: value / largest if largest > 0 else 0.0 for arc, value in found.items()}


def arc_information(net: BayesianNetwork, parent: str, child: str) -> float:
    """Return the mutual information of two variables of a network, in nats; 0 where one is a number.

    Examples
    --------
    >>> import tunbridge as tb
    >>> round(arc_information(tb.example_network("asia"), "smoke", "bronc"), 4)
    0.0462
    """
    if not (net.variable(parent).is_categorical and net.variable(child).is_categorical):
        return 0.0
    joint = np.asarray(net.posterior([parent, child]).probabilities, float)
    outer = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    some = joint > 0.0
    return max(0.0, float(np.sum(joint[some] * np.log(joint[some] / outer[some]))))


def _compared(lines: Iterable[Line], graph: DAG | CPDAG, other: DAG | CPDAG) -> list[Line]:
    """Return the lines of both graphs: common, added, missing and reversed ones."""
    if set(graph.nodes) != set(other.nodes):
        odd = sorted(set(graph.nodes) ^ set(other.nodes))
        raise DataError(f"two graphs that are compared must have the same nodes; {listed(odd, most=4)} differ.")
    theirs = {pair: line for line in lines_of(other) for pair in ((line.start, line.end), (line.end, line.start))}
    found = []
    for line in lines:
        pair, their = (line.start, line.end), theirs.get((line.start, line.end))
        if their is None:
            kind, told = "added", "added"
        elif line.is_directed != their.is_directed:
            kind, told = (
                "reversed",
                "undecided in the other graph" if line.is_directed else "directed in the other graph",
            )
        elif line.is_directed and (their.start, their.end) != pair:
            kind, told = "reversed", "reversed"
        else:
            kind, told = line.kind, ""
        found.append(replace(line, kind=kind, note=told))
    ours = {pair for line in found for pair in ((line.start, line.end), (line.end, line.start))}
    rest = [line for line in lines_of(other) if (line.start, line.end) not in ours]
    return found + [replace(line, kind="missing", note="missing") for line in rest]


def _differences(lines: Iterable[Line]) -> str:
    """Return how many lines of two graphs are added, missing and reversed."""
    counts = Counter(line.kind for line in lines)
    told = [f"{counts[kind]} {kind}" for kind in ("added", "missing", "reversed") if counts[kind]]
    return ", ".join(told) or "no difference"


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _escaped(text: str) -> str:
    from html import escape

    return escape(text)


# With Matplotlib


def _axes_for(picture: Picture) -> Axes:
    """Return the axes of a new figure as large as a picture, at 96 units an inch; of a large one, smaller."""
    width, height = size_of(picture)
    scale = min(1.0, _LONGEST / max(width, height), (_LARGEST / (width * height)) ** 0.5)
    if scale < _SMALL:
        size = f"{width:.0f} × {height:.0f} pixels"
        warn_user(f"a picture of {size} is drawn at {scale:.0%} of its size; SVG and HTML files keep it.", DataWarning)
    figure = matplotlib("matplotlib.figure").Figure(figsize=(scale * width / 96, scale * height / 96))
    return figure.add_axes((0.0, 0.0, 1.0, 1.0))


def _points_per_unit(axes: Axes) -> float:
    """Return how many points (1/72 inch) a unit of the picture has."""
    box = axes.get_window_extent()
    (x0, x1), (y1, y0) = axes.get_xlim(), axes.get_ylim()
    pixels = min(box.width / abs(x1 - x0), box.height / abs(y1 - y0))
    return float(72.0 * pixels / axes.figure.dpi)


def _draw_line(axes: Axes, line: Line, points: Any, unit: float) -> None:
    path, patches = matplotlib("matplotlib.path"), matplotlib("matplotlib.patches")
    colour, corners = _COLOURS[line.kind], None
    if line.is_directed:
        points, corners = with_tip(points, ARROW + line.width)
    steps: list[tuple[float, float]] = [points[0]]
    codes = [path.Path.MOVETO]
    for a, b in pairwise(points):
        middle = 0.5 * (a[1] + b[1])
        steps += [(a[0], middle), (b[0], middle), b]
        codes += [path.Path.CURVE4] * 3
    style: dict[str, Any] = {"capstyle": "round" if line.kind == "missing" else "butt"}
    if line.kind in DASHES:  # Matplotlib counts in widths of the line
        style["linestyle"] = (0, [length / line.width for length in DASHES[line.kind]])
    curve = path.Path(steps, codes)
    axes.add_patch(patches.PathPatch(curve, fill=False, edgecolor=colour, linewidth=line.width * unit, **style))
    if corners is not None:
        axes.add_patch(patches.Polygon(corners, closed=True, facecolor=colour, edgecolor="none"))


def _draw_node(axes: Axes, node: Node, picture: Picture, unit: float) -> None:
    patches = matplotlib("matplotlib.patches")
    (x, y), (width, height) = picture.layout.centres[node.name], picture.layout.sizes[node.name]
    edge = {"evidence": "#b35900", "target": FOR}.get(node.mark, NEUTRAL)
    face = {"evidence": "#fdf0d5", "past": "#ececec"}.get(node.mark, "white")
    dashes = {"linestyle": (0, (4.0, 3.0))} if node.mark == "past" else {}
    box = (x - 0.5 * width, y - 0.5 * height, width, height)
    width_of_box = 2.0 if node.mark in ("evidence", "target") else 1.0
    _draw_box(axes, box, unit, facecolor=face, edgecolor=edge, linewidth=width_of_box * unit, **dashes)
    if not picture.has_labels:
        return
    for part in parts_of(node, picture.layout):
        if isinstance(part, Label):
            _draw_label(axes, part, unit)
        else:
            colour = "#e9e9e9" if part.is_rail else "#b35900" if node.mark == "evidence" else FOR
            axes.add_patch(patches.Rectangle((part.x, part.y), part.width, part.height, facecolor=colour))


def _draw_box(axes: Axes, box: tuple[float, float, float, float], unit: float, **look: Any) -> None:
    x, y, width, height = box
    style = {"facecolor": "white", "edgecolor": NEUTRAL, "linewidth": unit} | look
    patch = matplotlib("matplotlib.patches").FancyBboxPatch
    axes.add_patch(patch((x, y), width, height, boxstyle="round,pad=0,rounding_size=6", **style))


def _draw_label(axes: Axes, label: Label, unit: float) -> None:
    axes.text(
        label.x, label.y, label.text, ha=label.anchor, va="baseline", fontsize=FONT * unit, color=_INK,
        fontweight="bold" if label.is_head else "normal", parse_math=False,
    )  # fmt: skip
