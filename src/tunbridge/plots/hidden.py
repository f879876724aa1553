"""Pictures of hidden Markov models: states over time, transitions, durations, forecasts, and the number of states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import counted, did_you_mean, listed, shortened
from tunbridge.errors import DataError
from tunbridge.plots.axes import AGAINST, COLOURS, FOR, NEUTRAL, SHAPES, hide_spines, new_axes, plain_labels, same_marks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tunbridge.temporal import Forecast, HiddenMarkovModel, StatesChoice
    from tunbridge.temporal.panel import Panel

_MOST_POINTS = 20_000
_MOST_SYMBOLS, _MOST_NUMBERS = 12, 12
_MOST_BINS = 40
_LABEL = 26
_LEVELS = (0.5, 0.8, 0.95)
_SHADES = (0.45, 0.28, 0.15)


def states(
    hmm: HiddenMarkovModel,
    X: Any,
    ax: Axes | None = None,
    *,
    sequence: Any = None,
    column: str | None = None,
    steps: tuple[int, int] | None = None,
) -> Axes:
    """Draw a sequence with the most probable state of each step, the probabilities of states below; return the axes.

    Parameters
    ----------
    hmm : HiddenMarkovModel
        A fitted model.
    X : array, text, list or frame
        One sequence, or several with ``sequence``.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.
    sequence : object, optional
        Which of several sequences: the value in the sequence column of a frame, or the position in a list.
    column : str, optional
        The observed column; default: the first number, or the first column.
    steps : (int, int), optional
        The first step to draw, and the one after the last; default: all.

    Returns
    -------
    matplotlib.axes.Axes
        Colour and shape of a point show its state on the most probable path (Viterbi); the bands below are the
        probabilities of the states given the whole sequence.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.plots.draw_off_screen()
    >>> counts = [2, 1, 0, 2, 1, 9, 11, 8, 12, 9, 1, 2, 0, 1, 10, 9, 8]
    >>> hmm = tb.HiddenMarkovModel(2, "poisson", random_state=0).fit(counts)
    >>> ax = tb.plots.states(hmm, counts)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['state 0', 'state 1']
    """
    panel = _one(hmm, X, sequence)
    first, stop = steps or (0, panel.table.n_rows)
    if not 0 <= first < stop <= panel.table.n_rows:
        raise DataError(f"steps must be a range within 0 and {panel.table.n_rows}; got {steps}.", parameter="steps")
    j = _column_of(hmm, column)
    names = list(hmm.state_names_)
    path = np.array([names.index(name) for name in np.concatenate(_listed(hmm.predict(panel))).tolist()])
    proba = np.concatenate(_listed(hmm.predict_proba(panel)))
    at = np.arange(first, stop)
    every = at[:: max(1, len(at) // _MOST_POINTS)]
    axes = new_axes(ax, 7.2, 3.8)
    _observations(axes, hmm, j, every, panel.values()[every, j], path[every])
    axes.set_xlim(first - 0.5, stop - 0.5)
    (below,) = _below(axes, [3, 1])
    colours = [COLOURS[k % len(COLOURS)] for k in range(len(names))]
    below.stackplot(every, proba[every].T, colors=colours, step="mid", linewidth=0, alpha=0.85)
    below.set(ylim=(0, 1), xlabel="step", ylabel="P(state)")
    below.set_yticks([0, 1], ["0", "1"])
    axes.tick_params(labelbottom=False)
    for each in (axes, below):
        hide_spines(each)
    columns = min(len(names), 6)
    legend = axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=columns, frameon=False, fontsize=9)
    same_marks(legend, 36.0)
    plain_labels(legend.get_texts())
    return axes


def _below(axes: Axes, heights: list[int]) -> list[Axes]:
    """Return axes with the same horizontal axis below the given ones, which give up room for them."""
    spec = axes.get_subplotspec()
    if spec is None:  # placed by hand
        tops = np.cumsum(heights)[:-1] / heights[0]
        return [axes.inset_axes((0, -0.05 * (i + 1) - top, 1, h / heights[0]), sharex=axes)
                for i, (top, h) in enumerate(zip(tops.tolist(), heights[1:], strict=True))]  # fmt: skip
    rows = spec.subgridspec(len(heights), 1, height_ratios=heights)
    axes.set_subplotspec(rows[0])
    return [axes.figure.add_subplot(rows[i], sharex=axes) for i in range(1, len(heights))]


def _listed(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


def _observations(axes: Axes, hmm: HiddenMarkovModel, j: int, at: np.ndarray, x: np.ndarray, path: np.ndarray) -> None:
    """Draw the observations as points, and those of numbers as a thin line too."""
    variable = hmm.variables_[j]
    if variable.is_continuous:
        axes.plot(at, x, color=NEUTRAL, linewidth=0.5, alpha=0.6, zorder=1)
    size = float(np.clip(3000 / max(1, len(at)), 4, 30))
    for k, name in enumerate(hmm.state_names_):
        own = path == k
        axes.scatter(
            at[own], x[own], s=size, color=COLOURS[k % len(COLOURS)], marker=SHAPES[k % len(SHAPES)], linewidth=0,
            label=name if isinstance(name, str) else f"state {name}", zorder=2, rasterized=len(at) > 2000,
        )  # fmt: skip
    if variable.is_categorical and variable.n_states <= _MOST_SYMBOLS:
        texts = [shortened(str(s), 14) for s in variable.states or ()]
        axes.set_yticks(range(len(texts)), texts)
        plain_labels(axes.get_yticklabels())
        axes.set_ylim(-0.5, len(texts) - 0.5)
    plain_labels([axes.set_ylabel(shortened(variable.name, 24))])


def _one(hmm: HiddenMarkovModel, X: Any, sequence: Any) -> Panel:
    """Return one of the sequences, its steps in their order."""
    panel = hmm._read(X)
    keys = list(panel.keys)
    if sequence is None and panel.n_sequences != 1:
        raise DataError(
            f"X must have one sequence; got {panel.n_sequences}. Name one with sequence=, such as {keys[0]!r}."
            if keys else "X must have one sequence; got none."
        )  # fmt: skip
    if sequence is not None and sequence not in keys:
        raise DataError(
            f"sequence must be one of X, {listed(keys, most=5)}; got {sequence!r}. {did_you_mean(sequence, keys)}"
        )
    found = panel.take(np.array([0 if sequence is None else keys.index(sequence)]))
    if not found.table.n_rows:
        raise DataError("the sequence must have a step to draw; it is empty.")
    return found


def _column_of(hmm: HiddenMarkovModel, column: str | None) -> int:
    names = [v.name for v in hmm.variables_]
    if column is None:
        return next((j for j, v in enumerate(hmm.variables_) if v.is_continuous), 0)
    if column not in names:
        raise DataError(f"column must be one of {listed(names)}; got {column!r}. {did_you_mean(column, names)}")
    return names.index(column)


def transitions(hmm: HiddenMarkovModel, ax: Axes | None = None) -> Axes:
    """Draw the transition matrix with what each state emits, and return the axes.

    Parameters
    ----------
    hmm : HiddenMarkovModel
        A fitted model.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A row is a state, a column the next one; the darker a cell, the more probable. Beside a row stands what the
        state emits and how many steps it lasts on average.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.plots.draw_off_screen()
    >>> weather = tb.HiddenMarkovModel.from_parameters(
    ...     [0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]],
    ...     symbols=["umbrella", "none"], states=["rain", "dry"])
    >>> ax = tb.plots.transitions(weather)
    >>> [text.get_text() for text in ax.texts]
    ['0.70', '0.30', '0.30', '0.70']
    """
    from tunbridge.temporal.summary import state_rows

    matrix, rows = hmm.transitions_, state_rows(hmm)
    n = len(matrix)
    axes = new_axes(ax, 3.6 + 0.55 * min(n, 16), 1.4 + 0.55 * min(n, 16))
    axes.imshow(matrix, cmap="Blues", vmin=0.0, vmax=1.0, aspect="equal")
    texts = [f"{name}: {shortened(words, _LABEL)}\n{share}, {steps} steps" for name, share, steps, words in rows]
    shown = texts if n <= _MOST_NUMBERS else [row[0] for row in rows]
    axes.set_yticks(range(n), shown, fontsize=8)
    axes.set_xticks(range(n), [shortened(row[0], 10) for row in rows], fontsize=8 if n <= _MOST_NUMBERS else 6)
    plain_labels([*axes.get_xticklabels(), *axes.get_yticklabels()])
    for i, j in np.ndindex(n, n) if n <= _MOST_NUMBERS else ():
        colour = "white" if matrix[i, j] > 0.55 else "black"
        axes.text(j, i, f"{matrix[i, j]:.2f}", ha="center", va="center", color=colour, fontsize=9)
    axes.set_xlabel("next state")
    axes.set_anchor("E")  # room for the labels
    axes.tick_params(length=0)
    hide_spines(axes, "left", "bottom")
    return axes


def durations(hmm: HiddenMarkovModel, X: Any, ax: Axes | None = None) -> Axes:
    """Draw how long the decoded states last, and how long the model lets them last; return the axes.

    Parameters
    ----------
    hmm : HiddenMarkovModel
        A fitted model.
    X : as for :meth:`HiddenMarkovModel.predict`
        The sequences.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Bars are the shares of runs of the most probable paths, the line is the distribution of the model: geometric, or
        that of explicit durations. Runs that the beginning or the end of a sequence cuts off are left out. Bars beside
        the line say that durations are not geometric, or that the state is not one state. Very short stays are rare
        among bars, because the most probable path leaves them out.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.plots.draw_off_screen()
    >>> counts = [2, 1, 0, 2, 1, 9, 11, 8, 12, 9, 1, 2, 0, 1, 10, 9, 8]
    >>> hmm = tb.HiddenMarkovModel(2, "poisson", random_state=0).fit(counts)
    >>> tb.plots.durations(hmm, counts).get_title(loc="left")
    'state 0: 1 run, mean 4; model 4.49'
    """
    from tunbridge.temporal.summary import duration_probabilities, mean_durations

    panel = hmm._read(X)
    runs = _runs(hmm, panel)
    n, means = len(hmm.state_names_), mean_durations(hmm)
    longest = max([5, *(int(r.max(initial=0)) for r in runs)])
    n_bins = min(longest, _MOST_BINS, 6 + 2 * int(np.sqrt(max(len(r) for r in runs))))
    bins = np.unique(np.linspace(1, longest + 1, n_bins + 1).astype(int))
    model = duration_probabilities(hmm, longest)
    axes = new_axes(ax, 5.6, 0.9 + 1.3 * n)
    panels = [axes, *_below(axes, [1] * n)]
    centres, widths = (bins[:-1] + bins[1:] - 1) / 2, np.diff(bins)
    for k, each in enumerate(panels):
        counts = np.histogram(runs[k], bins)[0]
        expected = np.add.reduceat(model[k], bins[:-1] - 1) / widths
        colour = COLOURS[k % len(COLOURS)]
        each.bar(centres, counts / max(1, counts.sum()) / widths, 0.9 * widths, color=colour, alpha=0.45)
        each.plot(centres, expected, color="black", linewidth=1.2, marker=".")
        of = f", mean {runs[k].mean():.3g}" if len(runs[k]) else ""
        title = f"state {hmm.state_names_[k]}: {counted(len(runs[k]), 'run')}{of}; model {means[k]:.3g}"
        plain_labels([each.set_title(title, fontsize=9, loc="left")])
        each.tick_params(labelbottom=k == n - 1)
        hide_spines(each)
    panels[-1].set_xlabel("steps in the state")
    panels[n // 2].set_ylabel("share per step")
    return axes


def _runs(hmm: HiddenMarkovModel, panel: Panel) -> list[np.ndarray]:
    """Return the lengths of the runs of each state on the most probable paths, without those at the ends."""
    names = {name: k for k, name in enumerate(hmm.state_names_)}
    found: list[list[int]] = [[] for _ in names]
    for path in hmm._paths(panel)[1]:
        codes = np.array([names[name] for name in path.tolist()], np.int64)
        starts = np.flatnonzero(np.diff(codes)) + 1
        for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            found[codes[a]].append(b - a)
    return [np.array(lengths, np.int64) for lengths in found]


def forecast(
    forecast: Forecast, ax: Axes | None = None, *, history: ArrayLike | None = None, column: str | None = None
) -> Axes:
    """Draw a forecast: of numbers a fan of intervals, of symbols their probabilities; return the axes.

    Parameters
    ----------
    forecast : Forecast
        The result of :meth:`HiddenMarkovModel.forecast`.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.
    history : array-like, optional
        The last values of the column before the forecast.
    column : str, optional
        The column; default: the first number, or the first column.

    Returns
    -------
    matplotlib.axes.Axes
        Bands hold the future value with a probability of 50 %, 80 % and 95 %; the line is its mean.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.plots.draw_off_screen()
    >>> counts = [2, 1, 0, 2, 1, 9, 11, 8, 12, 9, 1, 2, 0, 1, 10, 9, 8]
    >>> hmm = tb.HiddenMarkovModel(2, "poisson", random_state=0).fit(counts)
    >>> ax = tb.plots.forecast(hmm.forecast(counts, steps=5), history=counts)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['observed', 'mean', '50 %', '80 %', '95 %']
    """
    if isinstance(forecast, list):
        raise DataError(
            f"forecast must be that of one sequence; got {counted(len(forecast), 'forecast')}. Draw one of them."
        )
    names = [v.name for v in forecast.variables]
    if column is not None and column not in names:
        raise DataError(f"column must be one of {listed(names)}; got {column!r}. {did_you_mean(column, names)}")
    numbers = [v.name for v in forecast.variables if v.is_continuous]
    chosen = column or (numbers or names)[0]
    axes = new_axes(ax, 6.4, 3.6)
    ahead = np.arange(1, len(forecast.states) + 1)
    if chosen in numbers:
        _fan(axes, forecast, chosen, ahead, history)
    else:
        _symbols(axes, forecast, chosen, ahead)
    axes.set_xlabel("steps ahead")
    hide_spines(axes)
    return axes


def _fan(axes: Axes, forecast: Forecast, column: str, ahead: np.ndarray, history: ArrayLike | None) -> None:
    if history is not None:
        try:
            past = np.asarray(history, np.float64).reshape(-1)
        except (TypeError, ValueError):
            raise DataError(f"history must be numbers; got {shortened(repr(history))}.", parameter="history") from None
        axes.plot(np.arange(1 - len(past), 1), past, color=NEUTRAL, linewidth=1.0, marker=".", label="observed")
        axes.axvline(0.5, color=NEUTRAL, linewidth=0.8, linestyle=":")
    axes.plot(ahead, forecast.means[column], color=FOR, linewidth=1.8, marker=".", label="mean", zorder=3)
    for level, shade in zip(_LEVELS, _SHADES, strict=True):
        low, high = forecast.interval(level, column).T
        axes.fill_between(ahead, low, high, color=FOR, alpha=shade, linewidth=0, label=f"{100 * level:g} %")
    plain_labels([axes.set_ylabel(shortened(column, 24))])
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, frameon=False, fontsize=9)


def _symbols(axes: Axes, forecast: Forecast, column: str, ahead: np.ndarray) -> None:
    found = forecast.probabilities[column]
    names = next(v.states or () for v in forecast.variables if v.name == column)
    shown = np.argsort(-found.sum(axis=0), kind="stable")[: len(COLOURS)].tolist()
    for i, s in enumerate(shown):
        label = shortened(str(names[s]), 14)
        axes.plot(ahead, found[:, s], color=COLOURS[i], marker=SHAPES[i], markersize=4, linewidth=1.2, label=label)
    axes.set_ylim(-0.02, 1.02)
    plain_labels([axes.set_ylabel(f"P({shortened(column, 20)})")])
    legend = axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=4, frameon=False, fontsize=9)
    plain_labels(legend.get_texts())


def state_choice(choice: StatesChoice, ax: Axes | None = None) -> Axes:
    """Draw the criterion of each number of hidden states, and return the axes.

    Parameters
    ----------
    choice : StatesChoice
        The result of :meth:`HiddenMarkovModel.choose_states`.
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A ring marks the number that was chosen; the dashed line is the log-likelihood, which nearly always rises.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.plots.draw_off_screen()
    >>> counts = [2, 1, 0, 2, 1, 9, 11, 8, 12, 9, 1, 2, 0, 1, 10, 9, 8]
    >>> choice = tb.HiddenMarkovModel(emissions="poisson", random_state=0).choose_states(counts, [1, 2])
    >>> tb.plots.state_choice(choice).get_ylabel()
    'BIC (larger is better)'
    """
    sizes = list(choice.models)
    scores, logs = [choice.scores[n] for n in sizes], [choice.models[n].log_likelihood_ for n in sizes]
    title = {"bic": "BIC", "icl": "ICL", "held-out": "held-out log-likelihood"}[choice.criterion]
    axes = new_axes(ax, 4.8, 3.4)
    axes.plot(sizes, logs, color=NEUTRAL, linewidth=1.0, linestyle="--", marker=".", label="log-likelihood")
    axes.plot(sizes, scores, color=FOR, linewidth=1.6, marker="o", markersize=5, label=title)
    best = choice.n_states
    axes.plot(
        [best], [choice.scores[best]], "o", color=AGAINST, fillstyle="none", markersize=12, markeredgewidth=1.6,
        label=f"chosen: {counted(best, 'state')}",
    )  # fmt: skip
    axes.set_xticks(sizes)
    axes.set(xlabel="hidden states", ylabel=f"{title} (larger is better)")
    hide_spines(axes)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, frameon=False, fontsize=9, columnspacing=1.0)
    return axes
