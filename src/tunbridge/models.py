"""The front door for model files: one function that reads any of them.

What a kind of model needs is imported when a file of that kind is read: tables do without texts and sequences.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from tunbridge._core.check import listed
from tunbridge._core.registry import entries, file_entry
from tunbridge.errors import FormatError
from tunbridge.formats.native import read_model, rebuilding, uncollected

_NETWORK = "network"


@uncollected()
def load(path: str | PathLike[str]) -> Any:
    """Return the model that a file holds, as it was saved: a classifier, a network, or a model of sequences.

    Examples
    --------
    >>> import os, tempfile
    >>> import tunbridge as tb
    >>> clf = tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "tennis.tb")
    ...     clf.save(path)
    ...     same = tb.load(path)
    >>> same.classes_.tolist()
    ['no', 'yes']
    """
    try:
        kind, content = read_model(path)
    except FormatError:
        if (other := _network_file(path)) is not None:
            raise other from None
        raise
    found = file_entry("classifier", kind) or file_entry("model", kind)
    if found is None and kind != _NETWORK:
        known = [_NETWORK, *(each.file for role in ("classifier", "model") for each in entries(role).values())]
        raise FormatError(f"the model must be one of {listed(known)}; {path!s} holds {kind!r}. Is Tunbridge too old?")
    with rebuilding(str(path), kind):
        return _network(content) if found is None else found.load().from_content(content)


def _network_file(path: str | PathLike[str]) -> FormatError | None:
    """Return the error for a file whose name says that it is a network in the format of other programs."""
    from tunbridge.formats.network_files import SUFFIXES

    name = str(path)
    suffix = Path(name.lower().removesuffix(".gz")).suffix
    if suffix not in SUFFIXES or suffix == ".tb":
        return None
    return FormatError(f"a model must be a file that save() wrote; got {name!r}. read_network reads network files.")


def _network(content: Mapping[str, Any]) -> Any:
    from tunbridge.formats.native_network import network_parts
    from tunbridge.network import BayesianNetwork

    parts = network_parts(content)
    return BayesianNetwork.from_tables(parts.cpts, name=parts.name, properties=parts.properties, reading=parts.reading)
