"""What the pages need at build time: pictures drawn by the code they show, and output without doctest's marks."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pictures to the site."""
    for name, content in _pictures().items():
        files.append(File.generated(config, f"images/{name}.svg", content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page's text with the blank lines of output as such; doctest needs them marked."""
    return markdown.replace("<BLANKLINE>\n", "\n")


def _pictures() -> dict[str, bytes]:
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import cross_val_predict

    import tunbridge as tb

    tb.plots.draw_off_screen()
    tennis = tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")
    day = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    found = cross_val_predict(tb.NaiveBayesClassifier(), X, y, cv=10, method="predict_proba")
    calibrated = tb.CalibratedClassifier(method="isotonic")
    right = cross_val_predict(calibrated, X, y, cv=10, method="predict_proba")
    shares = {"naive Bayes": found[:, 1], "isotonic": right[:, 1]}
    asia = tb.example_network("asia")
    walk = tb.learn_structure(asia.sample(2000, random_state=5), search=tb.Tabu(restarts=0))
    votes = tb.bootstrap_structure(asia.sample(1000, random_state=0), 100, random_state=0)
    return {
        "explanation": _svg(tb.plots.explanation(tennis.explain(day))),
        "importance": _svg(tb.plots.importance(tennis.importance())),
        "nomogram": _svg(tb.plots.nomogram(tennis)),
        "reliability": _svg(tb.plots.reliability(y == 1, shares, n_bins=5)),
        "tan-versus-naive-bayes": _svg(_versus({"naive Bayes": "NB", "TAN": "TAN hierarchical"})),
        "bayes-forest-versus-forest": _svg(
            _versus({"a random forest": "random forest", "a Bayes forest": "Bayes forest"})
        ),
        "trace": _svg(tb.plots.trace(walk, skip=5)),
        "strengths": _svg(tb.plots.strengths(votes)),
    }


def _versus(models: dict[str, str]) -> Any:
    """Draw the measured errors of two models on the sets of the accuracy benchmark."""
    import tunbridge as tb

    measured = json.loads((Path(__file__).parents[2] / "benchmarks" / "accuracy" / "uci.json").read_text("utf-8"))
    both = {name: figures for name, figures in measured.items() if figures.keys() >= set(models.values())}
    errors = [{name: 100 - figures[m][0] for name, figures in both.items()} for m in models.values()]
    across, up = models
    return tb.plots.versus(*errors, names=(across, up))


def _svg(axes: Any) -> bytes:
    stream = io.BytesIO()
    axes.figure.savefig(stream, format="svg", bbox_inches="tight")
    return stream.getvalue()
