"""Makes newsgroup_message.json: what a model of the twenty newsgroups says of a message that was written for the page.

Run from the root, with the development data at hand: ``python -m docs._hooks.newsgroup_message``.
"""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.accuracy.newsgroup_data import collection
from benchmarks.samples import shared

import tunbridge as tb

KEPT = Path(__file__).with_suffix(".json")
MESSAGE = """Computers on the shuttle

Does anybody know which processors fly on the shuttle? A friend who
worked for a contractor says that the orbiter still has core memory, and
that one launch was put off because two of the computers disagreed by a
few milliseconds. I would have thought that radiation in orbit is harder
on modern chips than on an old circuit with large transistors, and that
power and weight matter more than speed. Is there a good book about it,
or a file somewhere that I could get by ftp?
"""


def main() -> None:
    """Learn from the whole collection, and keep what is said of the message."""
    data = shared()
    assert data is not None, "the development data must be there"
    messages = collection(data)
    clf = tb.TextClassifier("nb-svm").fit(messages.texts, messages.groups)
    told = clf.explain(MESSAGE)
    KEPT.write_text(json.dumps(told.to_dict(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(told)
    print({group: round(p, 3) for group, p in sorted(told.probabilities.items(), key=lambda each: -each[1])[:5]})


if __name__ == "__main__":
    main()
