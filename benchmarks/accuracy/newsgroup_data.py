"""The 20 newsgroups, read and cleaned: what is kept of the headers decides what is measured.

The collection of 19 997 messages has all of its headers. ``Newsgroups``, ``Xref``, ``Followup-To`` and often ``Path``
name the group outright; ``References`` and ``Article-I.D.`` tie a message to others of its thread. What is measured
with these left in is not how well words tell the subject. Messages that were sent to several groups are there once for
each, so that a random split may learn from a copy of what it tests with; nearly all copies are of other groups, which
lowers the accuracy instead of raising it, but not by the fault of the model.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

LEAKING = frozenset({"newsgroups", "path", "xref", "followup-to", "article-i.d.", "references"})
"""The header lines that name the group or a thread."""
KEPT_HEADERS = ("subject", "harmless", "all")
_NAME = re.compile(r"([A-Za-z][A-Za-z0-9.-]*):")


class Newsgroups(NamedTuple):
    """Messages and the group of each."""

    texts: list[str]
    groups: np.ndarray

    def take(self, which: np.ndarray) -> Newsgroups:
        """Return some of the messages, by their positions."""
        return Newsgroups([self.texts[i] for i in which], self.groups[which])


def collection(data: Path, headers: str = "subject", *, repeats: bool = False) -> Newsgroups:
    """Return the collection of 19 997 messages.

    Parameters
    ----------
    data : Path
        The folder of the development data.
    headers : {"subject", "harmless", "all"}
        What is kept of the headers: what the subject line says, every line that does not leak, or everything.
    repeats : bool
        Whether messages stay of which, as cleaned, there was one before, be it in another group.
    """
    messages = _messages(data / "text" / "20news_19997.jsonl.gz")
    texts = [cleaned(message["text"], headers) for message in messages]
    groups = np.array([message["group"] for message in messages], object)
    first: dict[str, int] = {}
    for i, text in enumerate(texts):
        first.setdefault(text, i)
    return Newsgroups(texts, groups).take(np.array(range(len(texts)) if repeats else list(first.values())))


def by_date(data: Path, headers: str = "all") -> tuple[Newsgroups, Newsgroups]:
    """Return the older messages, to learn from, and the newer ones, to test with; no message is there twice."""
    messages = _messages(data / "text" / "20news_bydate.jsonl.gz")
    older, newer = ([m for m in messages if m["split"] == part] for part in ("train", "test"))
    first, second = (
        Newsgroups([cleaned(m["text"], headers) for m in part], np.array([m["group"] for m in part], object))
        for part in (older, newer)
    )
    return first, second


def random_split(groups: np.ndarray, seed: int, share: float = 2 / 3) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of messages to learn from, a share of each group drawn at random, and of the others."""
    rng, learn = np.random.default_rng(seed), np.zeros(len(groups), np.bool_)
    for group in sorted(set(groups)):
        own = rng.permutation(np.flatnonzero(groups == group))
        learn[own[: round(share * len(own))]] = True
    return np.flatnonzero(learn), np.flatnonzero(~learn)


def cleaned(message: str, headers: str) -> str:
    r"""Return a message with less of its headers.

    >>> message = "Path: a!b\nNewsgroups: sci.space,\n sci.misc\nSubject: Re: Moon\nLines: 1\n\nFar away."
    >>> cleaned(message, "subject"), cleaned(message, "harmless")
    (' Re: Moon\n\nFar away.', 'Subject: Re: Moon\nLines: 1\n\nFar away.')
    """
    if headers == "all":
        return message
    head, gap, body = _parts(message)
    lines = list(_header_lines(head))
    if headers == "subject":
        kept = [re.sub("^subject:", "", line, flags=re.IGNORECASE) for name, line in lines if name == "subject"]
    else:
        kept = [line for name, line in lines if name not in LEAKING]
    return "\n".join(kept) + gap + body


def _parts(message: str) -> tuple[str, str, str]:
    """Return what is before the first empty line, the ends of lines there, and what is after."""
    found = re.search(r"\n[ \t\r]*(?=\n)", message)
    return (message, "", "") if found is None else (message[: found.start()], "\n", message[found.end() :])


def _header_lines(head: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of headers and their names in small letters; lines that go on have the name of the one before."""
    name = ""
    for line in head.split("\n"):
        found = _NAME.match(line)
        name = found.group(1).lower() if found else name
        yield name, line


@lru_cache(maxsize=2)
def _messages(file: Path) -> list[dict[str, str]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
