"""Predictive values of diagnostic tests against the prevalence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._core.check import check_choice, check_number, counted, shortened
from tunbridge.errors import DataError
from tunbridge.plots.axes import COLOURS, NEUTRAL, SHAPES, hide_spines, new_axes
from tunbridge.reasoning.diagnostic import DiagnosticTest, percent_text
from tunbridge.reasoning.numbers import as_float

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 400
_LONGEST = 24
_USUAL, _LEAST = 1e-4, 1e-12


def predictive_values(
    tests: object,
    ax: Axes | None = None,
    *,
    scale: str = "log",
    lowest: float | None = None,
    npv: bool = True,
) -> Axes:
    """Draw PPV and NPV of a test, or of several, against the prevalence, and return the axes.

    Parameters
    ----------
    tests : DiagnosticTest, sequence of them, or mapping of name to DiagnosticTest
        Up to seven. A test with a prevalence is marked there.
    ax : matplotlib Axes, optional
        The axes to draw on. Default: a new figure.
    scale : {'log', 'linear'}
        The axis of the prevalence.
    lowest : float, optional
        The start of a logarithmic axis. Default: 0.01 %, or lower if a mark is lower.
    npv : bool
        Whether to draw the NPV too, as a dashed line.

    Returns
    -------
    matplotlib.axes.Axes
        Solid lines are PPV, dashed ones NPV; filled points mark the test's own prevalence, a ring the prevalence at
        which half of the positive results are right.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.plots.draw_off_screen()
    >>> ax = tb.plots.predictive_values(tb.DiagnosticTest(0.008, 0.98, 0.97))
    >>> for text in ax.get_legend().get_texts():
    ...     print(text.get_text())
    PPV = P(diseased | +)
    NPV = P(healthy | -)
    at prevalence 0.8 %: PPV 20.9 %, NPV 99.98 %
    PPV 50 % at prevalence 2.97 %
    """
    check_choice("scale", scale, ("log", "linear"))
    named = _named(tests)
    start = _start(named.values()) if lowest is None else check_number("lowest", lowest, above=0, high=0.5)
    axes = new_axes(ax, 6.4, 4.0 + 0.2 * len(named))
    along = np.geomspace(start, 1.0, _POINTS) if scale == "log" else np.linspace(0.0, 1.0, _POINTS)
    axes.axhline(0.5, color=NEUTRAL, linewidth=0.6, zorder=1)
    for i, (name, test) in enumerate(named.items()):
        _add(axes, name, test, along, (COLOURS[i], SHAPES[i]), npv=npv)
    if npv and "" not in named:
        axes.plot([], [], color=NEUTRAL, linestyle="--", label="NPV")
    _finish(axes, scale, start, columns=2 if "" in named else 1)
    return axes


def _add(axes: Axes, name: str, test: DiagnosticTest, along: np.ndarray, look: tuple[str, str], *, npv: bool) -> None:
    """Draw the curves of a test, its own values, and where its PPV is one half."""
    colour, shape = look
    own = {label: value for label, value in _own(test).items() if label == "PPV" or npv}
    half = _half(test)
    ppv_label, npv_label, own_label, half_label = _labels(name, test, own, half)
    ppvs = _curve(as_float(test.sensitivity), as_float(test.false_positive_rate), along)
    axes.plot(along, ppvs, color=colour, linewidth=1.8, label=ppv_label, zorder=2)
    if npv:
        npvs = 1.0 - _curve(as_float(test.false_negative_rate), as_float(test.specificity), along)
        axes.plot(along, npvs, color=colour, linewidth=1.4, linestyle="--", label=npv_label, zorder=2)
    if own and test.prevalence is not None:
        x, values = as_float(test.prevalence), [as_float(value) for value in own.values()]
        axes.axvline(x, color=colour, linewidth=0.8, linestyle=":", zorder=1)
        axes.plot([x] * len(values), values, shape, color=colour, markeredgecolor="white", label=own_label, zorder=4)
    if half is not None:
        axes.plot([half], [0.5], "o", color=colour, fillstyle="none", markersize=9, label=half_label, zorder=3)


def _named(tests: object) -> dict[str, DiagnosticTest]:
    """Return tests by name; a single one has none."""
    found: dict[str, Any] = {"": tests}
    if isinstance(tests, Mapping):
        found = {str(name): test for name, test in tests.items()}
    elif isinstance(tests, Sequence) and not isinstance(tests, str):
        found = {f"test {i}": test for i, test in enumerate(tests, 1)}
    if not 1 <= len(found) <= len(COLOURS):
        raise DataError(f"a diagram must show one to {len(COLOURS)} tests; got {counted(len(found), 'test')}.")
    for test in found.values():
        if not isinstance(test, DiagnosticTest):
            raise DataError(f"a diagram must show DiagnosticTests; got {shortened(repr(test))}.")
    return found


def _start(tests: Iterable[DiagnosticTest]) -> float:
    """Return the start of a logarithmic axis that shows all marks."""
    marks = [as_float(x) for test in tests for x in (test.prevalence, _half(test)) if x]
    return 10.0 ** math.floor(math.log10(max(_LEAST, min([_USUAL, *marks]))))


def _curve(above: float, below: float, along: np.ndarray) -> np.ndarray:
    """Return above π / (above π + below (1 − π)), NaN where it is 0/0."""
    whole = above * along + below * (1.0 - along)
    return np.divide(above * along, whole, out=np.full_like(along, np.nan), where=whole > 0.0)


def _labels(name: str, test: DiagnosticTest, own: Mapping[str, Any], half: float | None) -> tuple[str, str, str, str]:
    """Return the legend of the PPV, the NPV, the own prevalence and the ring.

    A single test has a line for each of them; with several tests each has one line.
    """
    at = "" if test.prevalence is None else f"at prevalence {percent_text(test.prevalence)}"
    values = ", ".join(f"{label} {percent_text(value)}" for label, value in own.items())
    fifty = "" if half is None else f"PPV 50 % at prevalence {percent_text(half)}"
    if not name:
        return "PPV = P(diseased | +)", "NPV = P(healthy | -)", f"{at}: {values}" if values else "_", fifty or "_"
    parts = [f"{at} {values}" if values else "", fifty.replace("prevalence ", "") if values else fifty]
    return ": ".join([shortened(name, _LONGEST), "; ".join(filter(None, parts)) or "PPV"]), "_", "_", "_"


def _own(test: DiagnosticTest) -> dict[str, Any]:
    """Return the predictive values at the test's own prevalence."""
    found: dict[str, Any] = {}
    for name in ("ppv", "npv"):
        try:
            found[name.upper()] = test.measure(name)
        except DataError:  # it is never positive, or never negative
            continue
    return found


def _half(test: DiagnosticTest) -> float | None:
    try:
        return as_float(test.prevalence_for(ppv="1/2"))
    except DataError:  # its PPV is the same at every prevalence
        return None


def _finish(axes: Axes, scale: str, start: float, columns: int) -> None:
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "25 %", "50 %", "75 %", "100 %"])
    axes.set_ylabel("predictive value")
    axes.set_xlabel("prevalence")
    if scale == "log":
        axes.set_xscale("log")
        ticks = [10.0**power for power in range(math.ceil(math.log10(start) - 1e-9), 1)]
        axes.set_xlim(start, 1.0)
    else:
        ticks = [0.0, 0.25, 0.5, 0.75, 1.0]
        axes.set_xlim(-0.01, 1.01)
    axes.set_xticks([], minor=True)
    axes.set_xticks(ticks, [f"{100 * tick:g} %" for tick in ticks])
    hide_spines(axes)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=columns, frameon=False, fontsize=9)
