"""The options of structure learning: what they are called here, and the search, score and constraints they make.

They are checked before the table is read, so that nobody waits for a mistake.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunbridge._check import did_you_mean, listed
from tunbridge.cli.failures import UsageError
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.data import Table
    from tunbridge.learning import Constraints, Score, Search

_SEARCH_PANEL = "How a network is searched for"
_KNOWN_PANEL = "What is known about its arcs"
_CUT_PANEL = "How a network takes numbers"

DEFAULT_SEARCH, DEFAULT_BINS = "hill-climbing", 5
DEFAULT_SCORE, DEFAULT_SCORE_OF_MISSING = "bic", "nal"
_STEPLESS = ("exact", "k-dependence")
_AVERAGES = ("nal", "pnal")


class Cuts(StrEnum):
    """How numbers are cut into intervals, if at all."""

    frequency = "frequency"
    width = "width"
    mdl = "mdl"
    none = "none"


@dataclass(frozen=True)
class Structure:
    """How a network is learned."""

    search: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="hill-climbing (unless said), tabu, orders, ges, exact, sparse-candidate or chow-liu; around a "
            "--target tan, fan or k-dependence.",
            rich_help_panel=_SEARCH_PANEL,
        ),
    ] = None
    score: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:NUMBER]",
            help="bic (unless said), aic, bdeu, bds, k2, fnml, qnml, loglik, or nal (unless said where cells are "
            "missing); bdeu:10 has the equivalent sample size 10.",
            rich_help_panel=_SEARCH_PANEL,
        ),
    ] = None
    max_parents: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="The most parents of a variable.", rich_help_panel=_SEARCH_PANEL),
    ] = None
    restarts: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="How often to search again from another place (hill-climbing, tabu, orders).",
            rich_help_panel=_SEARCH_PANEL,
        ),
    ] = None
    candidates: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            min=1,
            help="Candidates for the parents of each variable (sparse-candidate); 10 unless said.",
            rich_help_panel=_SEARCH_PANEL,
        ),
    ] = None
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Kept up to date, and read at the start, so that a search can go on (sparse-candidate).",
            rich_help_panel=_SEARCH_PANEL,
        ),
    ] = None
    k: Annotated[
        int | None,
        typer.Option(
            "--k",
            metavar="K",
            min=0,
            help="The most parents beside the class (k-dependence); 1 unless said.",
            rich_help_panel=_SEARCH_PANEL,
        ),
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="What decides where chance does; 0 unless said.", rich_help_panel=_SEARCH_PANEL
        ),
    ] = None
    bootstrap: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            help="Learn from so many resampled tables, and keep the arcs that most agree on.",
            rich_help_panel=_SEARCH_PANEL,
        ),
    ] = None
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            min=0,
            max=1,
            help="With --bootstrap: the least share of the graphs that must join two variables. Otherwise more than "
            "half.",
            rich_help_panel=_SEARCH_PANEL,
        ),
    ] = None
    structural_em: Annotated[
        bool | None,
        typer.Option(
            "--structural-em/--no-structural-em",
            help="Where cells are missing: find the graph and its tables together, completing the rows in turns (the "
            "usual way), or score each family in the rows that have all its cells.",
            rich_help_panel=_SEARCH_PANEL,
        ),
    ] = None
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw the score after each move into a .png, .svg or .pdf file.",
            rich_help_panel=_SEARCH_PANEL,
        ),
    ] = None
    require: Annotated[
        list[str] | None,
        typer.Option(metavar="'A->B'", help="An arc that must be there; repeatable.", rich_help_panel=_KNOWN_PANEL),
    ] = None
    forbid: Annotated[
        list[str] | None,
        typer.Option(metavar="'A->B'", help="An arc that must not be there; repeatable.", rich_help_panel=_KNOWN_PANEL),
    ] = None
    tier: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Variables of one time; repeat it, the earliest first: later ones cause nothing earlier.",
            rich_help_panel=_KNOWN_PANEL,
        ),
    ] = None
    tiers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The same from a file, a line for each tier.", rich_help_panel=_KNOWN_PANEL),
    ] = None
    root: Annotated[
        list[str] | None,
        typer.Option(metavar="COL", help="A variable without parents; repeatable.", rich_help_panel=_KNOWN_PANEL),
    ] = None
    leaf: Annotated[
        list[str] | None,
        typer.Option(metavar="COL", help="A variable without children; repeatable.", rich_help_panel=_KNOWN_PANEL),
    ] = None
    cuts: Annotated[
        Cuts | None,
        typer.Option(
            help="Cut numbers into intervals of about as many rows, of one width, or such that they tell the classes "
            "of --target apart; or leave them as they are (none).",
            rich_help_panel=_CUT_PANEL,
        ),
    ] = None
    bins: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=2, help=f"How many intervals; {DEFAULT_BINS} unless said.", rich_help_panel=_CUT_PANEL
        ),
    ] = None

    @property
    def given(self) -> list[str]:
        """The options that were given, as they are written."""
        names = [f.name for f in fields(self) if getattr(self, f.name) not in (None, [])]
        return [f"--{name.replace('_', '-')}" for name in names]

    @property
    def search_name(self) -> str:
        """The name of the search, as the library writes it."""
        return (self.search or DEFAULT_SEARCH).strip().lower().replace("_", "-").replace(" ", "-")

    def check(self, target: str | None) -> None:
        """Raise unless the options fit each other."""
        if self.cuts is Cuts.mdl and target is None:
            raise UsageError("--cuts mdl must come with --target, whose classes it tells apart.")
        if self.cuts is Cuts.none and self.bins is not None:
            raise UsageError("--bins must come with --cuts frequency or width; with none nothing is cut.")
        if self.cuts is Cuts.mdl and self.bins is not None:
            raise UsageError("--bins must come with --cuts frequency or width; mdl finds the number of intervals.")
        if self.tier and self.tiers is not None:
            raise UsageError("tiers must come from --tier or from --tiers; got both.")
        if self.threshold is not None and self.bootstrap is None:
            raise UsageError("--threshold must come with --bootstrap.")
        for name in ("trace", "checkpoint"):
            if self.bootstrap is not None and getattr(self, name) is not None:
                raise UsageError(f"--{name} must come with a single search; got --bootstrap.")
        if self.structural_em and self.cuts is Cuts.none:
            raise UsageError("--structural-em must come with states or intervals; got --cuts none.")
        for name in ("bootstrap", "trace", "checkpoint"):
            if self.structural_em and getattr(self, name) is not None:
                raise UsageError(f"--{name} must come with a single search; got --structural-em, which makes several.")
        if self.trace is not None and self.search_name in _STEPLESS:
            raise UsageError(f"--trace must come with a search that makes moves; {self.search_name} makes none.")

    def make_search(self, target: str | None) -> Search:
        """Return the search with its options; raise for those that it does not have."""
        kinds = _searches()
        if self.search_name not in kinds:
            raise _not_among("--search", self.search, kinds)
        kind = kinds[self.search_name]
        if self.score is not None and not kind.is_scored:
            raise UsageError(f"--score must come with a search by score; {self.search_name} goes by information alone.")
        chosen = self._search_options(kind)
        if "target" in {f.name for f in fields(kind)}:
            if target is None:
                raise UsageError(f"--search {self.search_name} must come with --target, the class it is built around.")
            chosen["target"] = target
        return kind(**chosen)

    def _search_options(self, kind: Any) -> dict[str, Any]:
        """Return the arguments of a search that the options give."""
        own = {f.name for f in fields(kind)} - ({"k"} if kind.name == "sparse-candidate" else set())
        own |= {"candidates"} if kind.name == "sparse-candidate" else set()
        chosen: dict[str, Any] = {}
        for name in ("restarts", "candidates", "checkpoint", "k"):
            value = getattr(self, name)
            if value is not None and name not in own:
                raise UsageError(f"--{name} must come with --search {_OWNERS[name]}; got {self.search_name}.")
            if value is not None:
                chosen["k" if name == "candidates" else name] = value
        return chosen

    def alternates(self, search: Search, table: Table) -> bool:
        """Return whether the graph and its tables are found together, as is usual where cells are missing."""
        if not table.missing or self.structural_em is not None:
            return bool(table.missing and self.structural_em)
        single = any(option is not None for option in (self.bootstrap, self.trace, self.checkpoint))
        averages = (self.score or "").partition(":")[0] in _AVERAGES
        numbers = any(v.is_continuous for v in table.variables)
        return search.is_scored and not (single or averages or numbers)

    def make_score(self, *, averaged: bool = False) -> Score:
        """Return the score; a number after its name is its first option.

        Where nobody says, it is one that is ``averaged`` over the rows that a family is complete in, or BIC.
        """
        from tunbridge.learning.scores import SCORES, as_score

        usual = DEFAULT_SCORE_OF_MISSING if averaged else DEFAULT_SCORE
        name, sign, number = (self.score or usual).partition(":")
        try:
            score = as_score(name)
        except DataError:
            raise _not_among("--score", self.score, SCORES) from None
        own = [f.name for f in fields(score)]
        if sign and not own:
            raise UsageError(f"--score {name} must come without a number; got {self.score!r}.")
        try:
            return replace(score, **{own[0]: _number(number)}) if sign else score
        except DataError as error:
            raise UsageError(f"in --score {self.score}, {error}") from None

    def make_constraints(self) -> Constraints | None:
        """Return what is known about the arcs; None when that is nothing."""
        from tunbridge.learning import Constraints

        if not any((self.require, self.forbid, self.tier, self.tiers, self.root, self.leaf)):
            return None
        return Constraints(
            required=_arcs("--require", self.require),
            forbidden=_arcs("--forbid", self.forbid),
            tiers=_tiers("--tier", self.tier or ()) if self.tiers is None else _tier_file(self.tiers),
            roots=self.root or (),
            leaves=self.leaf or (),
        )


_OWNERS = {
    "restarts": "hill-climbing, tabu or orders",
    "candidates": "sparse-candidate",
    "checkpoint": "sparse-candidate",
    "k": "k-dependence",
}


def _searches() -> dict[str, Any]:
    from tunbridge.learning import FAN, GES, TAN, ChowLiu, Exact, HillClimbing, KDependence, OrderSearch, Tabu
    from tunbridge.learning import SparseCandidate as Sparse

    kinds = (HillClimbing, Tabu, OrderSearch, GES, Exact, Sparse, ChowLiu, TAN, FAN, KDependence)
    return {kind.name: kind for kind in kinds}


def _not_among(option: str, given: str | None, known: Iterable[str]) -> UsageError:
    """Return the error for a name that is none of those known."""
    names = list(known)
    near = did_you_mean(given, names)
    hint = f" {near}" if near.startswith("Did") else ""  # the names are listed already
    return UsageError(f"{option} must be one of {listed(names, most=len(names))}; got {given!r}.{hint}")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DataError(f"what follows the colon must be a number; got {text!r}.") from None


def _arcs(option: str, texts: Iterable[str] | None) -> list[str]:
    for text in texts or ():
        if "->" not in text and "→" not in text:
            hint = "Quote it: without quotes the shell takes > for a file to write to."
            raise UsageError(f"{option} must be an arc such as 'A->B'; got {text!r}. {hint}")
    return list(texts or ())


def _tiers(what: str, lines: Iterable[str]) -> list[list[str]]:
    """Return the names in each line, which are written as in a CSV file: a name with a comma stands in quotes."""
    found = [[name.strip() for name in row] for row in csv.reader(lines, skipinitialspace=True) if row]
    for row in found:
        if "" in row:
            raise UsageError(f"{what} must be names with commas between them; got {','.join(row)!r}.")
    return found


def _tier_file(path: Path) -> list[list[str]]:
    from tunbridge.cli.networks import near_file

    if not path.is_file():
        raise DataError(f"--tiers must be a file that exists; got {str(path)!r}.{near_file(path)}")
    try:
        found = _tiers(f"each line of {path.name}", path.read_text(encoding="utf-8-sig").splitlines())
    except UnicodeDecodeError:
        raise DataError(f"--tiers must be a text file in UTF-8; {path.name} is none.") from None
    if not found:
        raise DataError(f"--tiers must hold a line of names for each tier; {path.name} is empty.")
    return found
