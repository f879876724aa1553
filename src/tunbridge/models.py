"""The front door for model files: one function that reads any of them."""

from __future__ import annotations

from os import PathLike
from typing import Any

from tunbridge._check import listed
from tunbridge.classifiers import NaiveBayesClassifier
from tunbridge.classifiers.files import KIND as NAIVE_BAYES
from tunbridge.errors import FormatError
from tunbridge.formats.native import read_model

_LOADERS = {NAIVE_BAYES: NaiveBayesClassifier.from_content}


def load(path: str | PathLike[str]) -> Any:
    """Return the model that a file holds, as it was saved.

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
