"""The pictures of the README: a network with its marginals, an explanation, and a report, as files in docs/images.

``python -m tools.pictures`` writes them. The report is a screenshot by Chromium; without it that file stays as it is.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import tunbridge as tb

FOLDER = Path(__file__).parents[1] / "docs" / "images"


def main() -> None:
    """Write the three pictures."""
    FOLDER.mkdir(exist_ok=True)
    net = tb.example_network("asia")
    evidence = {"xray": "yes", "smoke": "yes"}
    tb.draw(net, evidence=evidence, strengths="information", target="lung").save(FOLDER / "network.svg")
    tb.plots.draw_off_screen()
    table = tb.datasets.play_tennis()
    day = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
    axes = tb.plots.explanation(tb.NaiveBayesClassifier().fit(table, "play").explain(day))
    axes.figure.savefig(FOLDER / "explanation.svg", bbox_inches="tight", metadata={"Date": None})
    browser = shutil.which("chromium")
    if browser is None or not hasattr(tb, "report"):
        sys.exit("no Chromium: the picture of the report stays as it is")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        tb.report(net.sample(2000, random_state=0), target="lung", random_state=0).save(page)
        size = "--window-size=1180,900"
        picture = f"--screenshot={FOLDER / 'report.png'}"
        subprocess.run(
            [browser, "--headless", "--no-sandbox", "--hide-scrollbars", size, picture, page.as_uri()], check=True
        )


if __name__ == "__main__":
    main()
