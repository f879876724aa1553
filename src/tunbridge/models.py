"""The front door for model files: one function that reads any of them.

What a kind of model needs is imported when a file of that kind is read: a network does without scikit-learn.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from tunbridge._check import listed
from tunbridge.errors import FormatError
from tunbridge.formats.native import read_model


def load(path: str | PathLike[str]) -> Any:
    """Return the model that a file holds, as it was saved: a classifier or a network.

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
    kind, content = read_model(path)
    if kind not in _LOADERS:
        raise FormatError(
            f"the model must be one of {listed(_LOADERS)}; {path!s} holds {kind!r}. Is Tunbridge too old?"
        )
    try:
        return _LOADERS[kind](content)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise FormatError(
            f"{path!s} must hold a model of kind {kind!r}; its content does not fit ({error})."
        ) from error


def _naive_bayes(content: Mapping[str, Any]) -> Any:
    from tunbridge.classifiers import NaiveBayesClassifier

    return NaiveBayesClassifier.from_content(content)


def _network(content: Mapping[str, Any]) -> Any:
    from tunbridge.formats.native_network import network_parts
    from tunbridge.network import BayesianNetwork

    parts = network_parts(content)
    return BayesianNetwork.from_tables(parts.cpts, name=parts.name, properties=parts.properties)


_LOADERS = {"naive-bayes": _naive_bayes, "network": _network}
