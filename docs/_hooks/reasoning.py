"""What the pages about Bayesian reasoning need at build time: pictures drawn by the code they show."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from mkdocs.structure.files import File, Files


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pictures to the site."""
    import tunbridge as tb

    tb.plots.draw_off_screen()
    for name, draw in _PICTURES.items():
        files.append(File.generated(config, f"images/{name}.svg", content=_svg(draw())))
    return files


def _svg(axes: Any) -> bytes:
    """Return a picture as SVG."""
    import matplotlib.pyplot as plt

    content = io.BytesIO()
    axes.figure.savefig(content, format="svg")
    plt.close(axes.figure)
    return content.getvalue()


def _coin_evolution() -> Any:
    import tunbridge as tb

    coins = {name: {"H": name, "T": rest} for name, rest in (("1/3", "2/3"), ("1/2", "1/2"), ("2/3", "1/3"))}
    tosses = "THTTHTTTHHTTHTTTHTTHTHTTTTHTHTTTTHTTHTTTHTHT"
    return tb.plots.evolution(tb.HypothesisSpace(coins).evolution(tosses))


def _conjugate_updates() -> Any:
    import tunbridge as tb

    prior = tb.reasoning.BetaBinomial(2, 2)
    beliefs = {"prior": prior, "after 7 of 10": prior.update(7, 3), "after 70 of 100": prior.update(70, 30)}
    return tb.plots.updates(beliefs, level=0.95, xlabel="probability of heads")


def _two_pages() -> Any:
    import tunbridge as tb

    old, new = (tb.reasoning.BetaBinomial().update(bought, trials=1000) for bought in (120, 150))
    return tb.plots.updates({"old page": old, "new page": new}, level=0.95, xlabel="share of visitors who buy")


def _predictive_values() -> Any:
    import tunbridge as tb

    test = tb.DiagnosticTest(0.008, 0.98, 0.97)
    return tb.plots.predictive_values({"one test": test, "two, both positive": test.in_series(test)})


def _degrees() -> Any:
    import tunbridge as tb

    return tb.plots.description_lengths(_cubic()[2])


def _polynomials() -> Any:
    import numpy as np

    from tunbridge.plots.axes import AGAINST, FOR, NEUTRAL, new_axes

    x, y, choice = _cubic()
    axes, fine = new_axes(None, 6.8, 4.2), np.linspace(-2, 2, 400)
    axes.plot(x, y, "o", color="black", markersize=4, label="readings")
    styles = {"degree 1": (NEUTRAL, "--", 1.4), "degree 3": (FOR, "-", 2.2), "degree 10": (AGAINST, "-.", 1.4)}
    for name, (colour, line, width) in styles.items():
        axes.plot(fine, choice[name].model(fine), color=colour, linestyle=line, linewidth=width, label=name)
    axes.set(xlabel="x", ylabel="y")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return axes


def _cubic() -> Any:
    import numpy as np

    from tunbridge.reasoning import choose_polynomial

    x = np.linspace(-2, 2, 30)
    y = (x**3 - 2 * x + np.random.default_rng(0).normal(scale=0.5, size=30)).round(1)
    return x, y, choose_polynomial(x, y)


def _histograms() -> Any:
    import numpy as np

    from tunbridge.plots.axes import AGAINST, new_axes
    from tunbridge.reasoning import choose_histogram

    minutes = np.random.default_rng(1).lognormal(1.0, 0.8, 400).round(1)
    equal, free = choose_histogram(minutes).model, choose_histogram(minutes, widths="free").model
    axes = new_axes(None, 6.8, 3.8)
    axes.stairs(equal.densities, equal.edges, fill=True, color="#9dc6e0", label="bins of equal width")
    axes.stairs(free.densities, free.edges, color=AGAINST, linewidth=2, label="bins of free width")
    axes.set(xlabel="minutes", ylabel="density")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return axes


def _fish() -> Any:
    from tunbridge.reasoning import DecisionProblem, Gaussian

    return DecisionProblem({"salmon": Gaussian(3, variance=1), "bass": Gaussian(5, variance=1)})


def _overlap() -> Any:
    import tunbridge as tb

    return tb.plots.decision_regions(_fish(), xlabel="lightness")


def _boundary_prior() -> Any:
    import tunbridge as tb

    return tb.plots.boundaries(_fish(), xlabel="lightness")


def _boundary_loss() -> Any:
    import tunbridge as tb

    return tb.plots.boundaries(_fish(), vary="loss", xlabel="lightness")


def _unequal_variances() -> Any:
    import tunbridge as tb
    from tunbridge.reasoning import DecisionProblem, Gaussian

    parts = {"good": Gaussian(10, deviation=0.2), "worn": Gaussian(10.2, deviation=0.6)}
    return tb.plots.decision_regions(DecisionProblem(parts, prior={"good": 0.8}))


def _decision_plane() -> Any:
    import numpy as np

    import tunbridge as tb
    from tunbridge.reasoning import DecisionProblem, Gaussian

    salmon = Gaussian([3, 6], variance=[[1, 0.6], [0.6, 1.5]])
    bass = Gaussian([5, 7.5], variance=[[1.2, -0.4], [-0.4, 0.6]])
    caught = np.random.default_rng(1)
    kinds = {"salmon": salmon, "bass": bass}
    points = {name: caught.multivariate_normal(kind.mean, kind.variance, 60) for name, kind in kinds.items()}
    return tb.plots.decision_regions(DecisionProblem(kinds), points=points, xlabel="lightness", ylabel="width")


_PICTURES: dict[str, Callable[[], Any]] = {
    "coin-evolution": _coin_evolution,
    "decision-regions": _overlap,
    "boundary-prior": _boundary_prior,
    "boundary-loss": _boundary_loss,
    "unequal-variances": _unequal_variances,
    "decision-plane": _decision_plane,
    "predictive-values": _predictive_values,
    "conjugate-updates": _conjugate_updates,
    "two-pages": _two_pages,
    "description-lengths": _degrees,
    "description-polynomials": _polynomials,
    "description-histograms": _histograms,
}
