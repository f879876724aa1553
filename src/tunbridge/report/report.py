"""A report of a table: what is in it, which network and which classifier describe it, as one HTML file to pass on.

:func:`report` collects plain records, and :mod:`tunbridge.report.page` writes them as HTML. The network is learned from
the columns with states: numbers are in five bins with equal numbers of rows, and identifiers, free text and columns
with nearly as many states as rows are left out. With a target that has classes, classifiers race within a time budget,
and the best one predicts held-out rows.
"""

from __future__ import annotations

import platform
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from tunbridge._core.check import check_integer, check_known, check_number, counted
from tunbridge._core.progress import Progress, Report as Reporting, watched
from tunbridge._core.replacing import replacing
from tunbridge._core.seeds import RandomState, entropy_of
from tunbridge._version import __version__
from tunbridge.counts import Counter
from tunbridge.counts.information import pair_information
from tunbridge.data import Column, Frame, Table, as_table, read_table
from tunbridge.data.discretisation import with_bins
from tunbridge.data.frames import with_classes
from tunbridge.data.remarks import remarks, text_columns, useless_columns
from tunbridge.data.summary import described, facts_of
from tunbridge.decisions.calibration import calibration_table
from tunbridge.errors import DataError, TunbridgeError, TunbridgeWarning
from tunbridge.evaluation.candidates import as_candidates
from tunbridge.evaluation.choice import ClassifierChoice, classify
from tunbridge.evaluation.cross_validation import show_bar
from tunbridge.evaluation.curves import Thresholds
from tunbridge.evaluation.labelled import labelled
from tunbridge.evaluation.predictions import Predictions
from tunbridge.graph.drawing import Line, Node, drawn, state_texts
from tunbridge.learning import learn_network
from tunbridge.network import BayesianNetwork
from tunbridge.plots.networks import arc_information
from tunbridge.report.export import network_data
from tunbridge.report.page import Chart, Classes, Contents, Fact, Glance, Shown, Why, page_of

BUDGET = 15.0
"""The default time budget of the classifiers, in seconds."""

MOST_COLUMNS = 60
"""The default number of columns of the network."""

_BINS, _MOST_STATES, _FEW_ROWS, _FEW_STATES = 5, 100, 5, 10
_SHOWN_COLUMNS, _SHOWN_STATES, _SHOWN_PAIRS, _HEIGHTS = 120, 6, 15, 24
_CURVE_POINTS, _MOST_CLASSES, _CURVES = 200, 40, 5
_MISTAKES, _SURE, _WEIGHTS, _ODD_ROWS = 4, 2, 8, 10
_RATIOS = 10.0 ** (np.arange(-20, 21) / 10.0)  # of the cost of a missed row to that of a false alarm: the slider
_CONFIDENT = 0.8  # a probability, from which a wrong prediction is worth a second look
_SHOWN_GONE = 12
_WIDE = {1000: ("nb",), 200: ("nb", "tan")}  # the models that are quick for more columns
_FAR = 10.0  # times the distance of the quartiles


@dataclass(frozen=True, eq=False)
class DataReport:
    """A report, which notebooks show; :meth:`save` writes it to a file.

    Parameters
    ----------
    html : str
        The page.
    network : BayesianNetwork, optional
        The network; None where none could be learned.
    choice : ClassifierChoice, optional
        The best classifier and the comparison; None without a target that has classes.
    """

    html: str
    network: BayesianNetwork | None = None
    choice: ClassifierChoice | None = None

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a .html file."""
        _check_output(path)
        with replacing(path) as file:
            file.write_text(self.html, encoding="utf-8")

    write = save
    """The same as :meth:`save`."""

    def _repr_html_(self) -> str:
        from html import escape

        style = "width:100%;height:80vh;border:1px solid #888"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        return f"DataReport: {len(self.html) / 1e6:.2f} MB, {self.network or 'no network'}".partition("\n")[0]


def report(
    data: Frame | str | PathLike[str],
    target: str | None = None,
    output: str | PathLike[str] | None = None,
    *,
    title: str | None = None,
    network: BayesianNetwork | None = None,
    budget: float = BUDGET,
    max_columns: int = MOST_COLUMNS,
    random_state: RandomState = 0,
    command: str | None = None,
    source: str | PathLike[str] | None = None,
    progress: Progress = None,
) -> DataReport:
    """Return a report of a table as one HTML page, which needs no network access and computes posteriors by itself.

    It shows the columns and what looks odd, the most informative pairs, a learned network in which clicks set evidence,
    with a target that has classes the comparison of classifiers with calibration, costs and explanations, rows worth a
    second look, and how to reproduce all of it.

    Parameters
    ----------
    data : frame or path
        The table, or its file.
    target : str, optional
        The column of the classes.
    output : path, optional
        The .html file to write the report to.
    title : str, optional
        The heading; default: the name of the file.
    network : BayesianNetwork, optional
        The network to show; default: one that is learned from the table.
    budget : float
        The time budget of the classifiers in seconds.
    max_columns : int
        How many columns the network has at most: those with the most mutual information with the others.
    random_state : int, numpy Generator or None
        The random seed. With equal seeds, only the date of two reports differs, as long as the budget suffices.
    command : str, optional
        The command that makes the report, for the section on how to reproduce it.
    source : path, optional
        The file that a frame was read from, for the same section.
    progress : callable or False, optional
        Called with a short text and the share of the work that is done. Default: a bar in a terminal or notebook.

    Returns
    -------
    DataReport
        The page as ``html``, the ``network`` and the ``choice`` of a classifier.

    Examples
    --------
    >>> import tunbridge as tb
    >>> found = tb.report(tb.datasets.play_tennis(), "play")
    >>> found.network.nodes
    ('outlook', 'temperature', 'humidity', 'wind', 'play')
    >>> found.choice.name in ("nb", "bayes-forest", "aode", "tan", "skdb")
    True
    >>> found.save("play.html")                                                     # doctest: +SKIP
    """
    check_integer("max_columns", max_columns, low=2)
    check_number("budget", budget, above=0)
    if output is not None:
        _check_output(output)
    file = Path(data) if isinstance(data, str | PathLike) else None
    table = as_table(data) if file is None else read_table(file)
    if target is not None:
        check_known("target must name a column of the data", [target], table.names)
    seed = entropy_of(random_state)
    with watched(progress, show_bar, "share") as watcher, _quiet():
        step: Reporting = watcher or (lambda what, share: None)
        step("columns", 0.0)
        coded, gone = _with_states(table, target)
        glance = _glance(table, coded, gone, target, file)
        step("network", 0.1)
        shown = _network(coded, gone, target, network, max_columns, seed, step)
        classes, choice, predicted = _classified(table, target, budget, seed, step)
        step("page", 0.95)
        name = title or (file.name if file is not None else "")
        heading = f"Report: {name}" if name else "Data report"
        origin = file if source is None else Path(source)
        given = {"target": target, "title": title, "network": None if network is None else "network"}
        call = _call(file, seed, **given, budget=budget, max_columns=max_columns)
        recipe = _recipe(command or call, origin, table, seed)
        odd = _odd_rows(table, predicted)
        made = datetime.now().astimezone().isoformat(timespec="seconds")
        html = page_of(Contents(heading, glance, shown, classes, odd, recipe, made))
    done = DataReport(html, shown.net if isinstance(shown, Shown) else None, choice)
    if output is not None:
        done.save(output)
    return done


def _check_output(path: str | PathLike[str]) -> None:
    if Path(path).suffix.lower() not in (".html", ".htm"):
        rule = "a report must go to a file that ends in '.html'"
        raise DataError(f"{rule}; got {Path(path).name!r}.", parameter="output")


@contextmanager
def _quiet() -> Iterator[None]:
    """Do not show warnings that the page repeats."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TunbridgeWarning)
        yield


# Columns


def _with_states(table: Table, target: str | None) -> tuple[Table, dict[str, str]]:
    """Return the columns from which a network can be learned, numbers in bins, and why the others were left out."""
    empty = {name: "has only missing values" for name, n in table.missing.items() if n == table.n_rows}
    gone = {**useless_columns(table, keep=[target]), **empty}
    gone |= {name: "holds free text" for name in text_columns(table) if name != target and name not in gone}
    left = table.drop(gone)
    for column in left:
        variable, present = column.variable, int(np.count_nonzero(column.values >= 0))
        few = variable.n_states > _FEW_STATES and present < _FEW_ROWS * variable.n_states
        if variable.is_categorical and (few or variable.n_states > _MOST_STATES):
            gone[variable.name] = f"has {variable.n_states} states in {counted(present, 'row')}"
    left = table.drop(gone)
    coded = with_bins(left, [v.name for v in left.variables if v.is_continuous], "frequency", None, _BINS)
    flat = {v.name: "has only one bin" for v in coded.variables if v.n_states < 2 and v.name != target}
    for name in flat:
        values = left.column(name).values
        if left.variable(name).is_categorical or np.nanmin(values) == np.nanmax(values):
            flat[name] = "has only one value"
    return coded.drop(flat), gone | flat


def _glance(table: Table, coded: Table, gone: dict[str, str], target: str | None, file: Path | None) -> Glance:
    """Return the data at a glance."""
    n_missing = sum(table.missing.values())
    sizes = [(table.n_rows, "row"), (table.n_columns, "column"), (n_missing, "missing value")]
    size = f"{', '.join(counted(n, what) for n, what in sizes)}."
    notes = tuple(table.reading.notes) if table.reading is not None else ()
    facts = tuple(_fact(column, table, gone) for column in [*table][:_SHOWN_COLUMNS])
    more = table.n_columns - len(facts)
    lines = [("How the file was read", notes), ("What looks odd", tuple(_remarks(table, target)))]
    if more:
        lines.append(("Not shown", (f"{counted(more, 'further column')}",)))
    return Glance(size, tuple(lines), facts, tuple(_pairs(coded)), table.n_rows)


def _remarks(table: Table, target: str | None) -> list[str]:
    """Return the remarks; without those on the target where it has no classes."""
    try:
        return remarks(table, target)
    except DataError:
        return remarks(table)


def _fact(column: Column, table: Table, gone: dict[str, str]) -> Fact:
    """Return what is shown of a column."""
    variable, values = column.variable, column.values
    name, n_missing = variable.name, table.missing.get(variable.name, 0)
    left_out = f"Not in the network: {gone[name]}." if name in gone else ""
    if variable.is_continuous:
        known = values[np.isfinite(values)]
        span = described(column, facts_of(values))[2]
        heights = _histogram(known) if known.size else ()
        return Fact(name, "number", span, n_missing, heights=tuple(map(float, heights)), left_out=left_out)
    if left_out and variable.n_states > _FEW_STATES:
        return Fact(name, "category", described(column, facts_of(values))[2], n_missing, left_out=left_out)
    counts = np.bincount(values[values >= 0], minlength=variable.n_states)
    states, order = variable.states or (), np.argsort(-counts, kind="stable")
    total = max(1, int(counts.sum()))
    shown = len(states) if len(states) <= _SHOWN_STATES + 1 else _SHOWN_STATES
    bars = [(str(states[k]), counts[k] / total) for k in order[:shown].tolist()]
    rest = len(states) - len(bars)
    if rest:
        bars.append((f"… {rest} others", 1.0 - sum(share for _, share in bars)))
    span = counted(len(states), "state") if states else "no values"
    return Fact(name, "category", span, n_missing, tuple(bars), left_out=left_out)


def _histogram(values: np.ndarray) -> np.ndarray | tuple[()]:
    """Return how many numbers lie in each of equal parts between the ends; nothing where these are the same."""
    half = 0.5 * values  # the difference of the ends might overflow
    low = half.min()
    span = half.max() - low
    if not span > 0.0:
        return ()
    return np.bincount(np.minimum((half - low) / span * _HEIGHTS, _HEIGHTS - 1).astype(int), minlength=_HEIGHTS)


def _pairs(coded: Table) -> list[tuple[str, str, float, float]]:
    """Return the pairs with the most mutual information, in bits and as a share of the smaller entropy."""
    if coded.n_columns < 2 or not coded.n_rows:
        return []
    names, bits, entropies, plain = _information(coded)
    i, j = np.triu_indices(len(names), 1)
    order = np.argsort(-bits[i, j], kind="stable")[:_SHOWN_PAIRS]
    found = []
    for a, b in zip(i[order].tolist(), j[order].tolist(), strict=True):
        least = min(entropies[a], entropies[b])
        if bits[a, b] > 0.0 < least:
            found.append((names[a], names[b], float(bits[a, b]), float(min(1.0, plain[a, b] / least))))
    return found


def _information(coded: Table) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """Return the mutual information of all pairs in bits, the entropies, and the information as it is in the rows.

    Of independent columns the expected value is (r − 1)(c − 1) / 2N nats (Miller 1955), which is taken off.
    """
    found = pair_information(Counter(coded))
    states = np.array([max(1, v.n_states) for v in found.variables], float)
    bias = np.outer(states - 1, states - 1) / (2.0 * np.maximum(found.rows, 1.0))
    bits = np.maximum(found.information - bias, 0.0) / np.log(2.0)
    np.fill_diagonal(bits, 0.0)
    plain = found.information / np.log(2.0)
    return [v.name for v in found.variables], bits, np.diagonal(plain), plain


# Network


def _network(
    coded: Table,
    gone: dict[str, str],
    target: str | None,
    given: BayesianNetwork | None,
    max_columns: int,
    seed: int,
    step: Reporting,
) -> Shown | str:
    """Return the network to show, or why there is none."""
    left_out = _left_out(gone, "Not in the network")
    notes = [left_out] if left_out else []
    if given is not None:
        return _shown(given, [], target)
    if not coded.n_columns:
        return " ".join(["No column is left from which a network could be learned.", *notes])
    if coded.n_columns < 2 or coded.n_rows < 2:
        rule = "A network must be learned from two columns and two rows at least"
        found = f"{counted(coded.n_columns, 'column')} and {counted(coded.n_rows, 'row')}"
        return " ".join([f"{rule}; there are {found}.", *notes])
    if coded.n_columns > max_columns:
        kept = _telling(coded, target, max_columns)
        of_all = f"{max_columns} of {coded.n_columns} columns"
        notes.insert(0, f"The network has {of_all}: those with the most mutual information with the others.")
        coded = coded.select(kept)
    try:
        net = learn_network(coded, random_state=seed, progress=lambda what, _: step(f"network: {what}", 0.1))
        return _shown(net, notes, target, is_learned=True)
    except TunbridgeError as error:
        return f"No network could be learned: {error}"


def _left_out(gone: dict[str, str], where: str) -> str:
    """Return which columns were left out, and why; of many the first ones."""
    some = [f"{name} ({what})" for name, what in gone.items()][:_SHOWN_GONE]
    more = [f"and {counted(len(gone) - len(some), 'more column')}"] if len(gone) > len(some) else []
    return f"{where}: {', '.join([*some, *more])}." if some else ""


def _telling(coded: Table, target: str | None, n: int) -> list[str]:
    """Return the columns with the most mutual information with others, and the target, in their order."""
    names, bits, _, _ = _information(coded)
    total = np.sort(bits, axis=1)[:, -5:].sum(axis=1)
    if target in names:
        total += 2.0 * bits[names.index(str(target))]
        total[names.index(str(target))] = np.inf
    return [names[i] for i in np.sort(np.argsort(-total, kind="stable")[:n]).tolist()]


def _shown(net: BayesianNetwork, notes: Sequence[str], target: str | None, *, is_learned: bool = False) -> Shown:
    """Return a network with its picture and, unless it is too large, the data for the engine."""
    data, reason = network_data(net)
    lines = list(notes)
    if data is None:
        lines.insert(0, f"Evidence cannot be set in this page, because {reason}.")
    try:
        marginals: Any = net.posteriors({})
    except TunbridgeError as error:
        marginals = {}
        lines.insert(0, f"No probabilities are shown: {error}")
    nodes = [_node(net, name, marginals.get(name), target) for name in net.nodes]
    bits = {arc: arc_information(net, *arc) / np.log(2.0) for arc in net.arcs} if data is not None else {}
    most = max(bits.values(), default=0.0) or 1.0
    edges = set(map(frozenset, net.dag.cpdag().edges)) if is_learned else set()
    kinds = {arc: "undecided" if frozenset(arc) in edges else "arc" for arc in net.arcs}
    if bits:
        arcs = [Line(*arc, kinds[arc], bits[arc] / most, f"{bits[arc]:.3g} bits") for arc in net.arcs]
    else:
        arcs = [Line(*arc, kinds[arc]) for arc in net.arcs]
    return Shown(net, drawn(nodes, arcs), data, tuple(lines), target if target in net.nodes else None, is_learned)


def _node(net: BayesianNetwork, name: str, posterior: Any, target: str | None) -> Node:
    """Return a node with the probabilities of its states, or the mean of its numbers."""
    mark, states = "target" if name == target else "", net.variable(name).states
    if posterior is None:
        return Node(name, mark=mark)
    if states is None:
        return Node(name, note=f"{posterior.mean:.4g} ± {posterior.std:.3g}", mark=mark)
    shares = np.asarray(posterior.probabilities, float).ravel().tolist()
    return Node(name, tuple(zip(state_texts(states), shares, strict=True)), mark=mark)


# Classes


def _classified(
    table: Table, target: str | None, budget: float, seed: int, step: Reporting
) -> tuple[Classes | str, ClassifierChoice | None, Predictions | None]:
    """Return the comparison of classifiers, or why there is none; the best; and what it predicts of held-out rows."""
    if target is None:
        return "No target was given. Name the column of the classes with target=… or --target.", None, None
    try:
        coded, _ = with_classes(table, target, hint="Put it into bins, such as with --target-bins 3.")
        step("classifiers", 0.3)
        coded, gone = _with_features(coded, target)
        models = next((some for most, some in _WIDE.items() if coded.n_columns > most), None)
        choice = classify(coded, target, models, budget=budget, random_state=seed, progress=_part(step, 0.3, 0.8))
        step("explanations", 0.8)
        p = choice.comparison.predictions(choice.name)
        whys = tuple(_whys(choice, p, coded))
    except TunbridgeError as error:
        return f"There is no comparison of classifiers: {error}", None, None
    return _classes(choice, p, gone, whys), choice, p


def _part(step: Reporting, low: float, high: float) -> Reporting:
    """Return a function that reports a share of a part of the work."""
    return lambda what, share: step(what, low + (high - low) * share)


def _with_features(coded: Table, target: str) -> tuple[Table, dict[str, str]]:
    """Return the columns that classifiers learn from, and why the others were left out; all if none would remain."""
    gone = useless_columns(coded, keep=[target, *text_columns(coded.drop([target]))])
    return (coded, {}) if len(gone) == coded.n_columns - 1 else (coded.drop(gone), gone)


def _classes(choice: ClassifierChoice, p: Predictions, gone: dict[str, str], whys: tuple[Why, ...]) -> Classes:
    """Return what is shown of the classifiers."""
    found = choice.comparison
    header, lines = found.rows()
    kept = [i for i, name in enumerate(header) if name not in ("fit", "predict")]  # times differ from run to run
    shown = ([header[i] for i in kept], [[line[i] for i in kept] for line in lines])
    verdict = found.verdict()
    texts = [verdict if verdict != f"Lowest log-loss: {choice.name}." else "", choice.reason, found.title()]
    about = (
        f"The figures and explanations below come from the same cross-validation as the table, with its "
        f"{counted(len(p), 'held-out row')}: no row is predicted or explained by a model that was trained on it."
    )
    if len(found.baseline) > 1:
        about += " The AUC in the table is the mean over folds; a ROC curve ranks the rows of all folds together."
    left_out = [_left_out(gone, "Not used as features")] if gone else []
    return Classes(
        tuple(f"{text.rstrip('.')}." for text in texts if text),
        shown,
        (*found.remarks(), *left_out),
        f"The best classifier: {choice.name}",
        about,
        (*_roc(p, found.target), _reliability(p, found.target)),
        _confusion(p),
        _costs(p, found.target),
        whys,
    )


def _confusion(p: Predictions) -> tuple[tuple[str, ...], np.ndarray] | None:
    """Return the classes, and the weight of the rows of each class that are predicted as each; not of many classes."""
    n = len(p.classes)
    counts = np.zeros((n, n))
    np.add.at(counts, (p.true, p.predicted), p.weights)
    return (tuple(map(str, p.classes)), counts) if n <= _MOST_CLASSES else None


def _curves(p: Predictions) -> Iterator[tuple[str, Thresholds]]:
    """Yield the thresholds of the rarest class or, of several classes, of the most frequent ones."""
    weights = np.bincount(p.true, p.weights, len(p.classes))
    order = np.argsort(-weights, kind="stable")
    for k in [p.code_of(None)] if len(p.classes) == 2 else order[:_CURVES].tolist():
        if 0.0 < weights[k] < weights.sum():
            yield str(p.classes[k]), p.thresholds(p.classes[k])


def _roc(p: Predictions, target: str) -> Iterator[Chart]:
    curves = []
    for name, found in _curves(p):
        name = f"{target} = {name}" if len(p.classes) == 2 else name
        some = np.union1d(_some_points(len(found.thresholds)), _hull(found))
        points = zip(found.false_positive_rate[some].tolist(), found.recall[some].tolist(), strict=True)
        curves.append((f"{name} (AUC {found.auc:.3f})", tuple(points)))
    if curves:
        title = f"ROC curve: {curves[0][0]}" if len(curves) == 1 else "ROC curves: each class against the others"
        mark = "roc-dot" if len(p.classes) == 2 else ""
        yield Chart(title, "false positive rate", "true positive rate", tuple(curves), mark=mark)


def _hull(at: Thresholds) -> np.ndarray:
    """Return the thresholds on the upper convex hull of the ROC curve: one of them has the least of any two costs."""
    kept: list[int] = []
    x, y = at.false_positive_rate, at.recall
    for i in range(len(x)):
        while len(kept) > 1:
            a, b = kept[-2:]
            if (x[b] - x[a]) * (y[i] - y[a]) < (y[b] - y[a]) * (x[i] - x[a]):
                break
            kept.pop()
        kept.append(i)
    return np.array(kept, np.intp)


def _some_points(n: int) -> np.ndarray:
    return np.unique(np.linspace(0, n - 1, _CURVE_POINTS).round().astype(int))


def _reliability(p: Predictions, target: str) -> Chart:
    """Return whether probabilities are frequencies: of the rarest of two classes, of several of the predicted one."""
    k = p.code_of(None)
    what = f"{target} = {p.classes[k]}" if len(p.classes) == 2 else "the predicted class"
    came, shares = (p.true == k, p.proba[:, k]) if len(p.classes) == 2 else (p.true == p.predicted, p.proba.max(axis=1))
    found = calibration_table(came, np.clip(shares, 0.0, 1.0), sample_weight=p.weights)
    sizes = 2.5 + 9.0 * np.sqrt(found.n_rows / found.n_rows.sum())
    points = tuple(zip(found.predicted.tolist(), found.observed.tolist(), sizes.tolist(), strict=True))
    line = tuple((x, y) for x, y, _ in points)
    title = f"Calibration: {what} (mean error {found.error:.3f})"
    return Chart(title, "predicted probability", "observed frequency", ((what, line),), points)


def _costs(p: Predictions, target: str) -> dict[str, Any] | None:
    """Return the data of the slider: what thresholds on the probability of the rarest of two classes do.

    ``rule`` has for each position of the slider the place of the threshold that has the least expected cost.
    """
    found = next(_curves(p), None) if len(p.classes) == 2 else None
    if found is None:
        return None
    label, at = found
    rules = np.array([at.place(t) for t in (1.0 / (1.0 + _RATIOS)).tolist()])
    some = np.union1d(_hull(at), rules)
    return {
        "label": f"{target} = {label}",
        "code": p.code_of(None),
        "rule": np.searchsorted(some, rules).tolist(),
        "positives": at.positives,
        "negatives": at.negatives,
        "thresholds": [None if np.isinf(t) else t for t in at.thresholds[some].tolist()],
        "recall": at.recall[some].tolist(),
        "falseAlarms": at.false_positive_rate[some].tolist(),
    }


def _whys(choice: ClassifierChoice, p: Predictions, table: Table) -> Iterator[Why]:
    """Yield explanations: of the rows that are predicted right with the most certainty, and of the worst mistakes.

    Each row of the table is explained by a model that was not trained on it.
    """
    if not hasattr(choice.classifier, "explain"):
        return
    model_of = cache(lambda fold: _fold_model(choice, p, table, fold))
    for i in (*_surest(p), *p.worst(_MISTAKES).tolist()):
        true, likely = p.classes[p.true[i]], p.classes[p.predicted[i]]
        model = model_of(int(p.folds[i]))
        if true not in model.classes_.tolist():
            continue
        row = table.drop([choice.comparison.target]).take([p.rows[i]])
        is_right = true == likely
        why = model.explain(row, label=likely, against=None if is_right else true)[0]
        told = "predicted right" if is_right else f"predicted {likely}, P({true}) = {p.proba[i, p.true[i]]:.3g}"
        yield _why(f"Row {p.rows[i] + 1}: {true}, {told}", why)


def _fold_model(choice: ClassifierChoice, p: Predictions, table: Table, fold: int) -> Any:
    """Return the chosen model as it was when this fold was held out: learned from the other compared rows."""
    found = choice.comparison
    (candidate,) = as_candidates(choice.name, random_state=found.random_state)
    train = np.zeros(table.n_rows, np.bool_)
    train[found.compared] = True
    train[p.rows[p.folds == fold]] = False
    return candidate.fitted(labelled(table.take(train), found.target))


def _surest(p: Predictions) -> list[int]:
    """Return the row of each of two classes that is predicted right with the most certainty."""
    right = np.flatnonzero(p.predicted == p.true)
    order = right[np.argsort(-p.log_proba[right, p.true[right]], kind="stable")]
    firsts = {int(p.true[i]): int(i) for i in order[::-1].tolist()}
    return [firsts[k] for k in sorted(firsts, key=lambda k: -p.log_proba[firsts[k], k])[:_SURE]]


def _why(title: str, why: Any) -> Why:
    first, *lines, last = [_worded(*row) for row in why.rows()]
    return Why(title, why.headline, (first, *lines[:_WEIGHTS], *_others(lines[_WEIGHTS:]), last))


def _worded(feature: str, value: str, weight: float) -> tuple[str, str, float]:
    """Return a line of an explanation whose conditions stand behind the value: «5, given recommend»."""
    name, bar, given = feature.partition(" | ")
    return name, f"{value} (given {given})" if bar else value, weight


def _others(lines: Sequence[tuple[str, str, float]]) -> list[tuple[str, str, float]]:
    return [(f"… {counted(len(lines), 'other')}", "", sum(weight for *_, weight in lines))] if lines else []


# Rows


def _odd_rows(table: Table, p: Predictions | None) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return rows worth a second look, as lines under headings; rows are counted from 1."""
    odd = [("Outliers", tuple(_far_values(table))), ("Duplicate rows", tuple(_repeated(table)))]
    if p is not None:
        worst = [
            f"Row {p.rows[i] + 1}: {p.classes[p.true[i]]}, but P({p.classes[p.predicted[i]]}) = "
            f"{p.proba[i, p.predicted[i]]:.3g}"
            for i in p.worst(_ODD_ROWS).tolist()
            if p.proba[i, p.predicted[i]] >= _CONFIDENT
        ]
        odd.insert(0, ("Confident but wrong predictions: is the class right?", tuple(worst)))
    return tuple(odd)


def _far_values(table: Table) -> list[str]:
    """Return numbers that are farther from the median than ten times the distance of the quartiles."""
    found, n_found = [], 0
    for variable, values, _ in table:
        known = np.isfinite(values) if variable.is_continuous else np.zeros(0, bool)
        if known.sum() < 10 or variable.dates:
            continue
        half = 0.25 * np.where(known, values, 0.0)  # differences of numbers of any size
        low, centre, high = np.quantile(half[known], [0.25, 0.5, 0.75])
        times = np.abs(half - centre) / (high - low) if high > low else np.zeros(len(values))
        middle = float(np.median(values[known])) if abs(centre) < 1e300 else 4.0 * centre
        far = np.flatnonzero(known & (times > _FAR))
        n_found += len(far)
        far = far[np.argsort(-times[far], kind="stable")[:_ODD_ROWS]]
        name, usual = variable.name, f"median {middle:.6g}"
        found += [(float(times[i]), f"Row {i + 1}: {name} = {values[i]:.6g}, {usual}") for i in far.tolist()]
    found.sort(key=lambda pair: -pair[0])
    more = [f"… and {counted(n_found - _ODD_ROWS, 'more value')}"] if n_found > _ODD_ROWS else []
    return [line for _, line in found[:_ODD_ROWS]] + more


def _repeated(table: Table) -> list[str]:
    """Return how many rows are equal to an earlier one, and the first of the most frequent ones."""
    if not table.n_rows:
        return []
    _, firsts, counts = np.unique(table.keys(0), return_index=True, return_counts=True)
    n = table.n_rows - len(counts)
    if not n:
        return []
    order = np.lexsort((firsts, -counts))[:3]
    some = [f"row {firsts[i] + 1} ({counts[i]} times)" for i in order.tolist() if counts[i] > 1]
    rule = f"{counted(n, 'row')} ({100.0 * n / table.n_rows:.3g} %) {'equals' if n == 1 else 'equal'} an earlier one"
    return [f"{rule}; most often {', '.join(some)}."]


# How to reproduce


def _call(file: Path | None, seed: int, **given: object) -> str:
    """Return the Python call that makes the report, with the arguments that differ from their defaults."""
    usual = signature(report).parameters
    names = [repr(file.name) if file is not None else "data"]
    names += [f"{name}={value}" if name == "network" else f"{name}={value!r}" for name, value in given.items()
              if value is not None and value != usual[name].default]  # fmt: skip
    return f"tunbridge.report({', '.join([*names, f'random_state={seed}'])})"


def _recipe(command: str, file: Path | None, table: Table, seed: int) -> tuple[tuple[str, str], ...]:
    """Return what one needs to make the report again."""
    versions = f"tunbridge {__version__}, Python {platform.python_version()}, NumPy {np.__version__}"
    size = f"{file.name}, {file.stat().st_size} bytes" if file is not None and file.is_file() else ""
    rows = f"{counted(table.n_rows, 'row')}, {counted(table.n_columns, 'column')}"
    return (("Command", command), ("File", size), ("Table", rows), ("Random seed", str(seed)), ("Versions", versions))
