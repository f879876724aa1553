"""Model files, in: the same for every verb that takes one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tunbridge.errors import DataError, FormatError


def is_model(path: Path) -> bool:
    """Return whether there is a file that begins like a model."""
    from tunbridge.formats import is_other_file

    return path.is_file() and path.stat().st_size > 0 and not is_other_file(path)


def load_model(path: Path, *, swapped_with: Path | None = None) -> Any:
    """Return the model in a file; raise with the nearest name when there is none, or when the order was wrong."""
    from tunbridge.models import load

    if not path.exists():
        raise DataError(f"the model must be a file that exists; got {str(path)!r}.{_near(path)}")
    try:
        return load(path)
    except FormatError:
        if swapped_with is not None and not is_model(path) and is_model(swapped_with):
            raise DataError(f"the model must come first; got {str(path)!r} before {str(swapped_with)!r}.") from None
        raise


def _near(path: Path) -> str:
    import difflib

    try:
        names = [file.name for file in path.parent.iterdir()]
    except OSError:
        return f" There is no folder {str(path.parent)!r}."
    near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.6)
    return f" Did you mean {str(path.with_name(near[0]))!r}?" if near else " Make one with tunbridge learn."
