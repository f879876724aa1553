"""Model files, in: the same for every verb that takes one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tunbridge.cli.networks import is_network_name, load_network, near_file
from tunbridge.errors import DataError, FormatError

_MAKE_ONE = " Make one with tunbridge learn."


def is_model(path: Path) -> bool:
    """Return whether there is a file that begins like a model."""
    from tunbridge.formats import is_other_file

    return path.is_file() and path.stat().st_size > 0 and not is_other_file(path)


def check_model_output(file: Path) -> None:
    """Raise when a model would take the place of something else, such as the data."""
    if file.is_file() and file.stat().st_size and not is_model(file):
        raise DataError(
            f"the model must not replace a file that is no model; got {str(file)!r}. Name another one with -o."
        )


def load_model(path: Path, *, swapped_with: Path | None = None) -> Any:
    """Return the classifier in a file; raise with the nearest name when there is none, or when the order was wrong."""
    model = load_any(path, swapped_with=swapped_with)
    if is_network(model):
        raise DataError(f"the model must be a classifier; {str(path)!r} is a network. Ask it with tunbridge query.")
    return model


def load_any(path: Path, *, swapped_with: Path | None = None) -> Any:
    """Return the classifier or the network in a file."""
    from tunbridge.models import load

    if not path.exists():
        raise DataError(f"the model must be a file that exists; got {str(path)!r}.{near_file(path) or _MAKE_ONE}")
    if is_network_name(path):
        return load_network(path)
    try:
        return load(path)
    except FormatError:
        if (
            swapped_with is not None
            and not is_model(path)
            and (is_model(swapped_with) or is_network_name(swapped_with))
        ):
            raise DataError(f"the model must come first; got {str(path)!r} before {str(swapped_with)!r}.") from None
        raise


def is_network(model: Any) -> bool:
    """Return whether a model is a network; asked in this way because a classifier need not import them."""
    return not hasattr(model, "classes_")
