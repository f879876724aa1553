"""Networks: findings as they are written on the command line, and a network in the part of a classifier.

    A=x                 the variable is in a state
    A=x|y               it is in one of several
    A=x:0.8,y:0.2       the observation has these likelihoods in each state
    A=1.75              a continuous variable has this value

Names and states may hold any of these marks: a text that is a state is that state, and a longer text is split only
where all its pieces are states.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tunbridge._core.check import did_you_mean, listed, warn_user
from tunbridge._core.memory import size_text
from tunbridge.cli.options import MISSING, Reading
from tunbridge.cli.output import counted, note, shortlist
from tunbridge.cli.usage import UsageError
from tunbridge.data import Variable
from tunbridge.data.columns import to_floats
from tunbridge.data.formats.request import holds_text
from tunbridge.data.formats.spelling import Spelling, parsed
from tunbridge.data.reading import NumberForm, Reading as Record
from tunbridge.data.variable import number_of, seconds_of
from tunbridge.errors import DataError, ZeroProbabilityWarning

if TYPE_CHECKING:
    from tunbridge.inference import Forecast
    from tunbridge.network import BayesianNetwork
    from tunbridge.temporal import DynamicBayesianNetwork

_OR, _AND, _OF = "|", ",", ":"
_SHOWN = 6
_WRITTEN_OUT = 1e9  # entries: larger numbers are rounded

# Findings


@dataclass(frozen=True)
class Findings:
    """What is known.

    Parameters
    ----------
    evidence, --given : NAME=STATE
        Evidence: A=x, one of several states A=x|y, or likelihoods A=x:0.8,y:0.2.
    do : NAME=STATE
        An intervention: set a variable, whatever its parents are.
    """

    evidence: list[str] = ()  # type: ignore[assignment]
    do: list[str] = ()  # type: ignore[assignment]

    def applied(self, net: BayesianNetwork) -> tuple[BayesianNetwork, dict[str, Any]]:
        """Return the network after the interventions, and the findings as inference takes them."""
        settings = read_findings(net, self.do, "--do")
        for name, setting in settings.items():
            if isinstance(setting, list):
                hint = f"A distribution is written {name}=x:0.8,y:0.2."
                raise DataError(f"--do must set {name!r} to one state; got {finding_text(setting)!r}. {hint}")
        changed = net.do(settings) if settings else net
        return changed, read_findings(changed, self.evidence)


def check_targets(net: BayesianNetwork | DynamicBayesianNetwork, names: Iterable[str], path: Path) -> None:
    """Raise unless ``--target`` names variables of a network, each once."""
    seen = set()
    for name in names:
        if name not in net.nodes:
            hint = did_you_mean(name, net.nodes)
            raise DataError(f"--target must name a variable of {path.name}; got {name!r}. {hint}")
        if name in seen:
            raise DataError(f"--target must name a variable once; got {name!r} twice.")
        seen.add(name)


def read_state(net: BayesianNetwork, name: str, text: str) -> Any:
    """Return the state of a variable that ``--state`` names."""
    variable = next(v for v in net.variables if v.name == name)
    found = _state(variable, text)
    if found is None:
        hint = variable.near_states(text)
        raise DataError(f"--state must be a state of {name!r}; got {text!r}. {hint}")
    return found[0]


def read_findings(net: BayesianNetwork, texts: Iterable[str], option: str = "--given") -> dict[str, Any]:
    """Return findings by the name of their variable, as inference takes them."""
    found: dict[str, Any] = {}
    for text in texts:
        name, finding = _read(net, text, option)
        if name in found:
            raise DataError(f"{option} must name a variable once; got {name!r} twice.")
        found[name] = finding
    return found


def given_number(name: str, text: str, record: Record | None) -> float | None:
    """Return the number, or the date in seconds, that a text is; None if it is none.

    Numbers and dates may be written as in the table that was learned from, dates in ISO form, too.

    Examples
    --------
    >>> given_number("age", "12.5", None), given_number("seen", "1970-01-02", None), given_number("age", "12,5", None)
    (12.5, 86400.0, None)
    """
    if record is not None and (name in record.numbers or name in record.dates):
        form = record.numbers.get(name)
        spelling = Spelling(NumberForm(*form) if form else None, record.dates.get(name), (), "")
        found = parsed(pa.array([text]), spelling)
        if not holds_text(found.type):
            return float(to_floats(name, found)[0])
    number = number_of(text)
    number = seconds_of(text) if number is None else number
    return number if number is not None and math.isfinite(number) else None


def finding_text(finding: object) -> str:
    """Return a finding as it is written here.

    Examples
    --------
    >>> finding_text("x"), finding_text(["x", "y"]), finding_text({"x": 0.8, "y": 0.2})
    ('x', 'x|y', 'x:0.8,y:0.2')
    """
    if isinstance(finding, float):
        return f"{finding:.12g}"
    if isinstance(finding, dict):
        return _AND.join(f"{state}{_OF}{value:g}" for state, value in finding.items())
    return _OR.join(map(str, finding)) if isinstance(finding, list) else str(finding)


def _read(net: BayesianNetwork, text: str, option: str) -> tuple[str, Any]:
    """Return the name and the finding of a text; of several ways to cut it, the longest name that has one counts."""
    variables = {v.name: v for v in net.variables}
    cuts = [(text[:i], text[i + 1 :]) for i, sign in enumerate(text) if sign == "="]
    named = [(variables[name], rest) for name, rest in reversed(cuts) if name in variables]
    for variable, rest in named:
        finding = _finding(variable, rest, net.reading)
        if finding is not None:
            return variable.name, finding
    if not cuts:
        raise UsageError(f"{option} must be NAME=STATE; got {text!r}. {_example(variables, text)}")
    if not named:
        name = cuts[0][0]
        raise DataError(
            f"{option} must name a variable of the network; got {name!r}. {did_you_mean(name.strip(), variables)}"
        )
    raise _no_such_state(*named[0], option, variables)


def _example(variables: dict[str, Variable], text: str) -> str:
    """Return a hint for a text that is a variable, or nearly one, without a state."""
    if text not in variables:
        return did_you_mean(text, variables)
    example = 1.5 if variables[text].is_continuous else (variables[text].states or ("x",))[0]
    return f"Write {text}={example}, for example."


def _finding(variable: Variable, text: str, record: Record | None = None) -> Any:
    """Return the finding that a text is; None when it is none."""
    if variable.is_continuous:
        return given_number(variable.name, text, record)
    number = given_number(variable.name, text, record) if variable.cuts is not None else None
    code = variable.find(text if number is None else number)
    if code >= 0:
        return (variable.states or ())[code]
    several = _pieces(text.split(_OR), _OR, lambda piece: _state(variable, piece))
    if several is not None:
        return several[0][0] if len(several) == 1 else [piece[0] for piece in several]
    weighted = _pieces(text.split(_AND), _AND, lambda piece: _weighted_state(variable, piece))
    likelihoods = dict(weighted or [])
    return likelihoods if weighted and len(likelihoods) == len(weighted) else None


def _pieces(parts: list[str], mark: str, read: Callable[[str], tuple[Any, ...] | None]) -> list[tuple[Any, ...]] | None:
    """Return what the pieces of a text read as, marks inside a piece allowed; None when there is no such cut."""
    ways: list[list[tuple[Any, ...]] | None] = [[]]  # how the first n parts can be read
    for end in range(1, len(parts) + 1):
        ways.append(None)
        for start in range(end):
            before, piece = ways[start], read(mark.join(parts[start:end]))
            if before is not None and piece is not None:
                ways[end] = [*before, piece]
                break
    return ways[-1]


def _state(variable: Variable, text: str) -> tuple[Any] | None:
    code = variable.find(text)
    code = variable.find(text.strip()) if code < 0 else code
    return None if code < 0 else ((variable.states or ())[code],)


def _weighted_state(variable: Variable, text: str) -> tuple[Any, float] | None:
    name, sign, number = text.rpartition(_OF)
    state = _state(variable, name) if sign else None
    value = number_of(number)
    return None if state is None or value is None else (state[0], value)


def _no_such_state(variable: Variable, text: str, option: str, variables: dict[str, Variable]) -> DataError:
    """Return the error for a text that is no finding: the piece of it that is no state, and the nearest one."""
    named = [piece.partition("=")[0].strip() for piece in text.split(_AND)[1:] if "=" in piece]
    also = next((name for name in named if name in variables), None)
    if also is not None:
        hint = f"Repeat {option} for {also!r}."
        return DataError(f"{option} must be evidence about one variable; got {variable.name + '=' + text!r}. {hint}")
    if variable.is_continuous:
        what = "date such as 2025-12-24" if variable.dates else "number such as 12.5"
        return DataError(f"{option} must give a {what} for {variable.name!r}, which is continuous; got {text!r}.")
    wrong = _first_wrong(variable, text)
    if wrong is None:
        rule = f"{option} must give likelihoods as in {variable.name}=x:0.8,y:0.2"
        return DataError(f"{rule}; got {text!r}.")
    hint = variable.near_states(wrong)
    if variable.cuts is not None and number_of(wrong.replace(",", ".", 1)) is not None:
        hint = f"Write {wrong.replace(',', '.', 1)}, with a decimal point."
    return DataError(f"{option} must give a state of {variable.name!r}; got {wrong!r}. {hint}")


def _first_wrong(variable: Variable, text: str) -> str | None:
    """Return the first piece of a text that is no state; None when the states are right but not the numbers."""
    weighted = [piece.rpartition(_OF) for piece in text.split(_AND)]
    if any(sign and number_of(number) is not None for _, sign, number in weighted):
        names = [name if sign else number for name, sign, number in weighted]
    else:
        names = text.split(_OR)
    return next((name.strip() for name in names if _state(variable, name) is None), None)


# Forecasts


def forecast_fields(found: Forecast) -> list[tuple[str, str]]:
    """Return a forecast of exact inference as names and values."""
    verdict = "it fits" if found.fits else "it does not fit: observe more, or use --method likelihood-weighting"
    members = shortlist(list(found.largest_clique), most=_SHOWN)
    return [
        ("exact inference", f"{_entries(found.n_entries)} in {found.n_cliques} cliques"),
        ("largest clique", f"{_entries(found.largest_entries)}{members and f': {members}'}"),
        ("memory", f"{size_text(found.n_bytes)} of {size_text(found.limit)}: {verdict}"),
    ]


def _entries(n: float) -> str:
    if math.isinf(n):
        return "too many entries to count"
    noun = "entry" if n == 1 else "entries"
    return f"{round(n)} {noun}" if n < _WRITTEN_OUT else f"{n:.3g} {noun}"


# Rows


@dataclass(frozen=True)
class NetworkTarget:
    """A network that predicts one of its variables from those of the others that a row knows."""

    net: BayesianNetwork
    target_name_: str
    is_quiet: bool = False
    """Whether nothing is said about variables that the rows do not have."""

    @classmethod
    def of(cls, net: BayesianNetwork, target: str | None, path: Path) -> NetworkTarget:
        """Return the network in a file with its target; raise unless the target is one of its variables."""
        if target is None:
            raise UsageError(f"--target must name the variable to predict; {path.name} is a network.")
        check_targets(net, [target], path)
        return cls(net, target)

    @property
    def variables_(self) -> tuple[Variable, ...]:
        """The variables that a prediction may use."""
        return tuple(v for v in self.net.variables if v.name != self.target_name_)

    @property
    def classes_(self) -> np.ndarray:
        """The states of the target, none without a target; those of different types as text."""
        if not self.target_name_:
            return np.empty(0, object)
        states = self.net.variable(self.target_name_).states or ()
        alike = len({type(state) for state in states}) == 1
        return np.array(states if alike else list(map(str, states)), object)

    def predict_proba(self, features: pa.Table) -> np.ndarray:
        """Return the posterior of the target for every row; NaN where the row is impossible, without a warning."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZeroProbabilityWarning)
            return self.net.predict_proba(features, self.target_name_)

    @property
    def is_number(self) -> bool:
        """Whether the target is continuous."""
        return self.net.variable(self.target_name_).is_continuous

    def predict_numbers(self, features: pa.Table) -> np.ndarray:
        """Return the expected value of a continuous target for every row; NaN where the row is impossible."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZeroProbabilityWarning)
            return self.net.predict(features, self.target_name_)

    def reading(self, reading: Reading) -> Reading:
        """Return how rows are read: a marker of missing values that is the name of a state is that state."""
        states = {str(state) for v in self.net.variables for state in v.states or ()} - set(reading.missing)
        kept = [*reading.not_missing, *(mark for mark in MISSING if mark in states)]
        return replace(reading, not_missing=kept)


def check_some_columns(model: NetworkTarget, path: Path, names: Iterable[str]) -> None:
    """Raise unless a file has columns of the network; say which variables are unknown in all of its rows."""
    columns = set(names)
    absent = [v.name for v in model.variables_ if v.name not in columns]
    if absent and len(absent) == len(model.variables_):
        hint = did_you_mean(next(iter(names)), absent)
        raise DataError(f"{path.name} must have columns that are variables of the network; got {listed(names)}. {hint}")
    if absent and not model.is_quiet:
        note(f"Note: unknown, because {path.name} has no such column: {shortlist(absent, most=_SHOWN)}.")


class ImpossibleRows:
    """The rows of a stream that a network holds for impossible: how many, and the first of them."""

    def __init__(self) -> None:
        self.seen = self.n = self.first = 0

    def add(self, impossible: np.ndarray) -> None:
        """Count the rows of a batch."""
        if not self.n and impossible.any():
            self.first = self.seen + int(impossible.argmax()) + 1
        self.n += int(impossible.sum())
        self.seen += len(impossible)

    def warn(self, effect: str) -> None:
        """Warn of them, if there are any."""
        if self.n:
            which = f"row {self.first}" if self.n == 1 else f"the first is row {self.first}"
            what = f"{self.n} of {counted(self.seen, 'row')} ({which}) cannot occur in the network"
            warn_user(f"{what}; {effect}.", ZeroProbabilityWarning)
