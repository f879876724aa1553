"""``tunbridge report``: a table, its network and its best classifier as one HTML file."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from shlex import join

import tunbridge as tb
from tunbridge._core.registry import verb
from tunbridge.cli.files import check_output, check_table, load_network
from tunbridge.cli.options import DataFile, Reading
from tunbridge.cli.output import note, reporting
from tunbridge.cli.training import Columns, read_columns


@dataclass(frozen=True)
class About:
    """Options.

    Parameters
    ----------
    target, -t : COL
        The column of the classes.
    output, -o : FILE
        The .html file (default: the table's name with .html).
    random_state, --seed : N >= 0
        The random seed (default: 0).

    Other Parameters
    ----------------
    title : TEXT
        The heading (default: the name of the table).
    network : FILE
        A network to show, instead of one that is learned.
    budget : SECONDS
        The time budget of the classifiers (default: 15).
    max_columns : N >= 2
        How many columns the network has at most (default: 60).
    """

    target: str | None = None
    output: Path | None = None
    random_state: int | None = None
    title: str | None = None
    network: Path | None = None
    budget: float = 15.0
    max_columns: int = 60


@verb("report", rank=11)
def report(data: DataFile, *, about: About, columns: Columns, reading: Reading) -> None:
    """Write a report of a table as one HTML file.

    The file needs no network access. It shows the columns and what looks odd, the most informative pairs, and a learned
    network in which clicks set evidence; with a target the comparison of classifiers with calibration, costs and
    explanations; and rows worth a second look.

    Examples
    --------
    tunbridge report visits.csv
    tunbridge report passengers.csv --target Survived -o titanic.html
    tunbridge report prices.csv --target price --target-bins 3 --ignore id
    tunbridge report visits.csv --network asia.bif --seed 7
    """
    path = about.output or Path(data.name.removesuffix(".gz")).with_suffix(".html")
    check_table(data)
    check_output(path, [data], (".html", ".htm"))
    network = None if about.network is None else load_network(about.network, None)
    table = read_columns(data, columns.split(data, reading), reading, about.target)
    with reporting("report", shares=True, keeps=False) as progress:
        found = tb.report(
            table,
            about.target,
            title=about.title or data.name,
            network=network,
            budget=about.budget,
            max_columns=about.max_columns,
            random_state=about.random_state or 0,
            command=join(["tunbridge", *sys.argv[1:]]),
            source=data,
            progress=progress,
        )
    found.save(path)
    note(f"The report is in {path}: open it in a browser.")
