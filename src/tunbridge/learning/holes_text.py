"""The report on missing cells as people read it: aligned text, and HTML for a notebook."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from tunbridge._check import shortened
from tunbridge.probability.grid import html_grid

if TYPE_CHECKING:
    from tunbridge.learning.holes import HoleDependence, Missingness

_COLUMNS, _PATTERNS, _TESTS = 20, 8, 12
_NAMES = 4  # of the columns of a pattern
_WIDTH = 32
_WHOLE = 1e15  # larger numbers are not written out
_UNSEEN = "Whether a hole depends on the value that it hides cannot be seen in the data."


def text_report(report: Missingness) -> str:
    """Return the report as text."""
    parts = [_headline(report)]
    if report.missing:
        parts += [
            _grid(["column", "missing", "share"], _column_rows(report), len(report.missing), "column"),
            _grid(["missing together", "rows", "share"], _pattern_rows(report), report.n_patterns, "pattern"),
            _tests_text(report),
        ]
    return "\n\n".join(parts)


def html_report(report: Missingness) -> str:
    """Return the report as HTML tables."""
    grids = [html_grid(["column", "share missing"], list(report.shares.items())[:_COLUMNS], caption=_headline(report))]
    if report.missing:
        patterns = [[_together(p.columns), _amount(p.n), p.n / report.weight] for p in report.patterns[:_PATTERNS]]
        grids.append(html_grid(["missing together", "rows", "share"], patterns, caption="Patterns"))
    if report.dependent:
        rows = [_test_row(test) for test in report.dependent[:_TESTS]]
        grids.append(html_grid(_TEST_HEADER, rows, caption=f"{_verdict(report)} {_UNSEEN}"))
    elif report.missing:
        grids.append(f"<p>{_verdict(report)} {_UNSEEN}</p>")
    return "".join(grids)


_TEST_HEADER = ["holes of", "depend on", "adjusted p", "share of holes"]


def _headline(report: Missingness) -> str:
    size = f"{_counted(report.n_rows, 'row')} × {_counted(report.n_columns, 'column')}"
    if report.weight != report.n_rows:
        size += f" (weight {_amount(report.weight)})"
    if not report.missing:
        return f"Missingness: {size}, no missing cells"
    n = sum(report.missing.values())
    cells = f"{_counted(n, 'missing cell')} ({_percent(n / (report.weight * report.n_columns))})"
    complete = f"{_counted(report.n_complete, 'row')} ({_percent(report.n_complete / report.weight)})"
    return f"Missingness: {size}, {cells}; {complete} {'is' if report.n_complete == 1 else 'are'} complete"


def _column_rows(report: Missingness) -> list[list[str]]:
    shares = report.shares
    some = list(report.missing.items())[:_COLUMNS]
    return [[shortened(name, _WIDTH), _amount(n), _percent(shares[name])] for name, n in some]


def _pattern_rows(report: Missingness) -> list[list[str]]:
    return [[_together(p.columns), _amount(p.n), _percent(p.n / report.weight)] for p in report.patterns[:_PATTERNS]]


def _together(names: Sequence[str]) -> str:
    if not names:
        return "(nothing)"
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return ", ".join(shortened(name, _WIDTH) for name in names[:_NAMES]) + more


def _tests_text(report: Missingness) -> str:
    lines = [_verdict(report)]
    if report.dependent:
        rows = [_test_row(test) for test in report.dependent[:_TESTS]]
        lines.append(_grid(_TEST_HEADER, rows, len(report.dependent), "dependence", left=(0, 1, 3)))
    if report.untested:
        names = ", ".join(shortened(name, _WIDTH) for name in report.untested[:_NAMES])
        more = f" and {len(report.untested) - _NAMES} more" if len(report.untested) > _NAMES else ""
        lines.append(f"Not tried as reasons, with a value for nearly each row or too many states: {names}{more}.")
    return "\n".join([*lines, _UNSEEN])


def _verdict(report: Missingness) -> str:
    if not report.tests:
        return "There are too few rows or columns to test whether the holes depend on other columns."
    if not report.dependent:
        none = f"No holes were found to depend on another column (G-tests, {report.level:g})"
        return f"{none}: nothing speaks against missing completely at random."
    return f"Holes depend on other columns, so they are not completely at random (G-tests, {report.level:g}):"


def _test_row(test: HoleDependence) -> list[str]:
    by_share = sorted(test.shares.items(), key=lambda pair: pair[1])
    ends = [by_share[0], by_share[-1]] if len(by_share) > 1 else by_share
    told = " … ".join(f"{_percent(share)} if {shortened(state, _WIDTH)}" for state, share in ends)
    names = [shortened(name, _WIDTH) for name in (test.column, test.on)]
    return [*names, f"{test.adjusted:.2g}", told]


def _grid(
    header: Sequence[str], rows: Sequence[Sequence[str]], n: int, what: str, *, left: Collection[int] = (0,)
) -> str:
    """Return a table as aligned text, numbers to the right; of n rows those that are not shown are counted."""
    lines = [header, *rows]
    widths = [max(len(line[j]) for line in lines) for j in range(len(header))]
    sides = [str.ljust if j in left else str.rjust for j in range(len(header))]
    texts = [
        "  ".join(side(cell, width) for side, cell, width in zip(sides, line, widths, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join([*texts, *([f"… and {_counted(n - len(rows), f'more {what}')}"] if n > len(rows) else [])])


def _percent(share: float) -> str:
    """Return a share in per cent, never rounded to nothing or to all when it is neither.

    Examples
    --------
    >>> _percent(0.28), _percent(0.62512), _percent(0.00002), _percent(0.99999), _percent(1.0)
    ('28 %', '62.5 %', '< 0.1 %', '> 99.9 %', '100 %')
    """
    if 0.0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1.0:
        return "> 99.9 %"
    return f"{round(100.0 * share, 1):g} %"


def _amount(n: float) -> str:
    return str(int(n)) if n == int(n) and n < _WHOLE else f"{n:.6g}"


def _counted(n: float, noun: str) -> str:
    return f"{_amount(n)} {noun}{'' if n == 1 else 's'}"
