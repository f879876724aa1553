"""Pictures, out: drawn off the screen and written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from tunbridge.cli.output import note

PICTURE_SUFFIXES = (".png", ".svg", ".pdf")

PlotFile = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw it into a .png, .svg or .pdf file as well.")
]


def check_picture(path: Path | None) -> None:
    """Raise unless a picture can be written under this name."""
    from tunbridge.cli.writers import check_output, check_place

    if path is not None:
        check_output(path, inputs=[], suffixes=PICTURE_SUFFIXES)
        check_place(path)


def write_picture(path: Path, draw: Callable[[Any], Any], *, called: str = "picture") -> None:
    """Write what a function draws with :mod:`tunbridge.plots`, which it is given, and say where it is."""
    from tunbridge import plots
    from tunbridge.cli.writers import replacing

    plots.draw_off_screen()
    figure: Any = draw(plots).figure
    with replacing(path) as file:
        figure.savefig(file, dpi=150)
    note(f"The {called} is in {path}.")
