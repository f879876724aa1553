"""What the pages about text and sequences need at build time: explanations in colours, pictures of their own data.

A page has ``<div data-explanation="…"></div>`` where an explanation is to stand. Models are learned from what the page
itself defines in its first Python block, so that reader and picture have the same data.
"""

from __future__ import annotations

import ast
import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

_HERE = Path(__file__).parent
_DOCS, _NEWSGROUPS = _HERE.parent, _HERE.parents[1] / "benchmarks" / "accuracy" / "newsgroups.json"
_PLACE = re.compile(r'<div data-explanation="(\w+)"></div>')
_CURVES = {
    "NB-SVM": "NB-SVM",
    "complement": "complement, weighted",
    "multinomial": "multinomial",
    "equal length": "multinomial, equal length",
    "equal length, EM": "… with unlabelled messages (EM)",
}


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pictures to the site."""
    for name, content in _pictures().items():
        files.append(File.generated(config, f"images/{name}.svg", content=content))
    return files


def on_page_content(html: str, *, page: Any, **_: Any) -> str:
    """Return a page with explanations where they are to stand."""
    return _PLACE.sub(lambda place: _EXPLANATIONS[place[1]](), html)


def _messages() -> str:
    import tunbridge as tb

    labels, texts = zip(*_defined("text.md", "messages"), strict=True)
    return tb.TextClassifier().fit(texts, labels).explain("Claim your free lunch now! Reply tomorrow").to_html()


def _newsgroup() -> str:
    return told((_HERE / "newsgroup_message.json").read_text("utf-8")).to_html()


_EXPLANATIONS = {"messages": _messages, "newsgroup": _newsgroup}


def told(text: str) -> Any:
    """Return the explanation of a text that JSON holds."""
    from tunbridge.decisions.evidence import Evidence
    from tunbridge.text.explanation import Span, TextExplanation

    kept: dict[str, Any] = {k: v for k, v in json.loads(text).items() if k != "log_odds"}
    evidence = tuple(Evidence(e["feature"], e["value"], e["weight"]) for e in kept.pop("evidence"))
    spans = tuple(Span(**span) for span in kept.pop("spans"))
    return TextExplanation(**{**kept, "evidence": evidence, "spans": spans, "unknown": tuple(kept["unknown"])})


def _pictures() -> dict[str, bytes]:
    import tunbridge as tb

    tb.plots.draw_off_screen()
    names = {language: group.split() for language, group in _defined("sequences.md", "names").items()}
    labels = [language for language, group in names.items() for _ in group]
    chain = tb.SequenceClassifier(order=1, ignore_case=True).fit([n for group in names.values() for n in group], labels)
    donors, others = (_listed("sequences.md", name) for name in ("donors", "others"))
    sites = tb.SequenceClassifier("position", order=0, alphabet="ACGT")
    sites.fit(donors + others, ["donor"] * len(donors) + ["other"] * len(others))
    quakes = tb.datasets.earthquakes()["count"]
    hmm = tb.HiddenMarkovModel(3, "poisson", random_state=0).fit(quakes)
    return {
        "hmm-states": _svg(tb.plots.states(hmm, quakes)),
        "log-odds-name": _svg(tb.plots.log_odds(chain.explain("Marini"))),
        "log-odds-site": _svg(tb.plots.log_odds(sites.explain("CAGGTACGT"))),
        "newsgroups-learning-curve": _svg(_learning_curve(json.loads(_NEWSGROUPS.read_text("utf-8")))),
    }


def _learning_curve(kept: Mapping[str, Any]) -> Any:
    """Draw the measured accuracies by the number of messages with a label."""
    import tunbridge as tb

    means, errors = (
        {
            shown: {n: value / 100 for n, value in zip(kept["sizes"], kept["curves"][name][what], strict=True)}
            for name, shown in _CURVES.items()
        }
        for what in ("mean", "error")
    )
    return tb.plots.learning_curve(means, errors=errors, what="messages with a label")


def _defined(page: str, name: str) -> Any:
    """Return what a page defines under a name in a Python block of its own."""
    found = re.search(rf"^```python\n{name} = (.*?)^```$", (_DOCS / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None, f"{page} must define {name}"
    return ast.literal_eval(found[1])


def _listed(page: str, name: str) -> list[str]:
    """Return the words of a text that an example of a page splits."""
    found = re.search(rf'^>>> {name} = "([^"]*)"\.split\(\)$', (_DOCS / page).read_text("utf-8"), re.MULTILINE)
    assert found is not None, f"{page} must split {name}"
    return found[1].split()


def _svg(axes: Any) -> bytes:
    stream = io.BytesIO()
    axes.figure.savefig(stream, format="svg", bbox_inches="tight")
    return stream.getvalue()
