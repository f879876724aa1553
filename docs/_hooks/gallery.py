"""The gallery: every plot, drawn when the pages are built, with its call below it."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from mkdocs.structure.files import File, Files

_DAYS = ["no", "no", "yes", "yes", "no", None, "yes", "yes", "yes", "no", "no", "no", None, None, "no", "yes"]
_CALLS = {
    "network": "tb.plots.network(net, evidence={'xray': 'yes'})",
    "cpt": "tb.plots.cpt(net, 'dysp')",
    "posterior": "tb.plots.posterior(net.posterior('lung', {'xray': 'yes'}), prior=net.posterior('lung'))",
    "strength_matrix": "tb.plots.strength_matrix(tb.bootstrap_structure(table))",
    "strengths": "tb.plots.strengths(tb.bootstrap_structure(table))",
    "trace": "tb.plots.trace(tb.learn_structure(table))",
    "explanation": "tb.plots.explanation(model.explain(day))",
    "importance": "tb.plots.importance(model.importance())",
    "nomogram": "tb.plots.nomogram(model)",
    "roc": "tb.plots.roc(came_true, {'naive Bayes': p, 'TAN': q})",
    "precision_recall": "tb.plots.precision_recall(came_true, {'naive Bayes': p, 'TAN': q})",
    "lift": "tb.plots.lift(came_true, {'naive Bayes': p, 'TAN': q})",
    "cost_curve": "tb.plots.cost_curve(came_true, {'naive Bayes': p, 'TAN': q}, false_negative=5)",
    "reliability": "tb.plots.reliability(came_true, {'naive Bayes': p, 'TAN': q})",
    "confusion": "tb.plots.confusion(matrix, classes)",
    "performance": "tb.plots.performance(came_true, p, matrix=(matrix, classes))",
    "landscape": "tb.plots.landscape(model, iris.data, 'petal length (cm)', 'petal width (cm)', label='versicolor')",
    "learning_curve": "tb.plots.learning_curve({'naive Bayes': {50: 0.90, 100: [0.93, 0.94], 200: 0.95}}, what='rows')",
    "versus": "tb.plots.versus(errors_of_one, errors_of_the_other, names=('naive Bayes', 'TAN'))",
    "log_odds": "tb.plots.log_odds(names.explain('nana'))",
    "states": "tb.plots.states(hmm, counts)",
    "transitions": "tb.plots.transitions(hmm)",
    "durations": "tb.plots.durations(hmm, counts)",
    "forecast": "tb.plots.forecast(hmm.forecast(counts, steps=20), history=counts[-40:])",
    "state_choice": "tb.plots.state_choice(hmm.choose_states(counts))",
    "iterations": "tb.plots.iterations(tb.EM().fit(dag, rows))",
    "slices": "tb.plots.slices(weather.smooth(days, 'Rain'))",
    "decision_regions": "tb.plots.decision_regions(problem)",
    "boundaries": "tb.plots.boundaries(problem)",
    "predictive_values": "tb.plots.predictive_values(test)",
    "evolution": "tb.plots.evolution(space.evolution('THTTHTTTHH'))",
    "updates": "tb.plots.updates({'prior': prior, 'after 7 of 10': prior.update(7, 3)})",
    "description_lengths": "tb.plots.description_lengths(choose_polynomial(x, y))",
}


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pictures to the site."""
    for name, content in _pictures().items():
        files.append(File.generated(config, f"images/{name}.svg", content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page with the pictures of the gallery in their place."""
    if "{gallery}" not in markdown:
        return markdown
    shown = [f"### {n}\n\n![{n}](images/gallery-{n}.svg)\n\n`{_CALLS[n]}`\n" for n in _drawings()]
    return markdown.replace("{gallery}", "\n".join(shown))


@cache
def _pictures() -> dict[str, bytes]:
    import tunbridge as tb

    net = tb.example_network("asia")
    seen = tb.draw(net, evidence={"xray": "yes"}, strengths="information", target="lung")
    learned = tb.learn_structure(net.sample(500, random_state=0), random_state=0)
    found = {"network-evidence": seen.svg.encode(), "network-against": tb.draw(learned, against=net).svg.encode()}
    umbrella, days = _umbrella(), [{"Umbrella": state} for state in ["yes", "yes", "no", "yes", "yes"]]
    found["dynamic-slice"] = tb.draw(umbrella).svg.encode()
    ahead = umbrella.predict(days, "Rain", steps=3)
    answers = {"filter": umbrella.filter(days, "Rain"), "smooth": umbrella.smooth(days, "Rain"), "predict": ahead}
    found["dynamic-answers"] = _svg(tb.plots.slices(answers, state="yes"))
    return found | {f"gallery-{name}": _svg(draw()) for name, draw in _drawings().items()}


@cache
def _drawings() -> dict[str, Callable[[], Any]]:
    import tunbridge as tb

    plots = tb.plots
    plots.draw_off_screen()
    net = tb.example_network("asia")
    table = net.sample(1000, random_state=0)
    tennis = tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")
    day = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
    later = net.sample(2000, random_state=1)
    true = np.array([table.variable("lung").states[c] == "yes" for c in later.codes("lung")])
    shares = {
        name: model.fit(table, "lung").predict_proba(later.drop(["lung"]))[:, list(model.classes_).index("yes")]
        for name, model in {"naive Bayes": tb.NaiveBayesClassifier(), "TAN": tb.TANClassifier()}.items()
    }
    votes = tb.bootstrap_structure(table, 50, random_state=0)
    called = shares["TAN"] >= 0.5
    matrix = [[int(np.sum(row & column)) for column in (~called, called)] for row in (~true, true)]
    regimes = tb.HiddenMarkovModel.from_parameters(
        [0.5, 0.3, 0.2],
        [[0.93, 0.05, 0.02], [0.04, 0.9, 0.06], [0.05, 0.1, 0.85]],
        tb.emissions.Poisson(rates=[[2.0], [9.0], [20.0]]),
    )
    counts = regimes.sample(300, random_state=3).observations
    hmm = tb.HiddenMarkovModel(3, "poisson", random_state=0).fit(counts)
    return {
        "network": lambda: plots.network(net, evidence={"xray": "yes"}),
        "cpt": lambda: plots.cpt(net, "dysp"),
        "posterior": lambda: plots.posterior(net.posterior("lung", {"xray": "yes"}), prior=net.posterior("lung")),
        "strength_matrix": lambda: plots.strength_matrix(votes),
        "strengths": lambda: plots.strengths(votes),
        "trace": lambda: plots.trace(tb.learn_structure(table, search=tb.Tabu(restarts=0)), skip=5),
        "explanation": lambda: plots.explanation(tennis.explain(day)),
        "importance": lambda: plots.importance(tennis.importance()),
        "nomogram": lambda: plots.nomogram(tennis),
        "roc": lambda: plots.roc(true, shares),
        "precision_recall": lambda: plots.precision_recall(true, shares),
        "lift": lambda: plots.lift(true, shares),
        "cost_curve": lambda: plots.cost_curve(true, shares, false_negative=5),
        "reliability": lambda: plots.reliability(true, shares, n_bins=5),
        "confusion": lambda: plots.confusion(matrix, ["no", "yes"]),
        "performance": lambda: plots.performance(true, shares["TAN"], matrix=(matrix, ["no", "yes"])),
        "landscape": _landscape,
        "learning_curve": lambda: plots.learning_curve(
            {"naive Bayes": {50: 0.90, 100: [0.93, 0.94], 200: 0.95}}, what="rows"
        ),
        "versus": lambda: plots.versus(
            {"a": 12.0, "b": 7.0, "c": 21.0}, {"a": 10.0, "b": 7.5, "c": 15.0}, names=("naive Bayes", "TAN")
        ),
        "log_odds": lambda: plots.log_odds(
            tb.SequenceClassifier(order=2).fit(["anna", "nina", "otto", "hugo"], ["f", "f", "m", "m"]).explain("nana")
        ),
        "states": lambda: plots.states(hmm, counts),
        "transitions": lambda: plots.transitions(hmm),
        "durations": lambda: plots.durations(hmm, counts),
        "forecast": lambda: plots.forecast(hmm.forecast(counts, steps=20), history=counts[-40:]),
        "state_choice": lambda: plots.state_choice(hmm.choose_states(counts)),
        "iterations": lambda: plots.iterations(
            tb.EM().fit(tb.DAG(arcs=[("rain", "wet")]), {"rain": ["no", "yes", None], "wet": ["no", "yes", "yes"]})
        ),
        "slices": lambda: plots.slices(_weather().smooth([{"Umbrella": x} for x in _DAYS], "Rain")),
        "decision_regions": lambda: plots.decision_regions(_fish()),
        "boundaries": lambda: plots.boundaries(_fish()),
        "predictive_values": lambda: plots.predictive_values(tb.DiagnosticTest(0.008, 0.98, 0.97)),
        "evolution": lambda: plots.evolution(
            tb.HypothesisSpace({"1/3": {"H": "1/3", "T": "2/3"}, "1/2": {"H": "1/2", "T": "1/2"}}).evolution(
                "THTTHTTTHH"
            )
        ),
        "updates": lambda: plots.updates(
            {"prior": tb.reasoning.BetaBinomial(2, 2), "after 7 of 10": tb.reasoning.BetaBinomial(2, 2).update(7, 3)}
        ),
        "description_lengths": _degrees,
    }


def _umbrella() -> Any:
    import tunbridge as tb

    return tb.DynamicBayesianNetwork.hidden_markov(
        [0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.8, 0.2], [0.1, 0.9]],
        states=["no", "yes"], symbols=["no", "yes"], hidden="Rain", observed="Umbrella",
    )  # fmt: skip


def _weather() -> Any:
    import tunbridge as tb

    stay, carried = [[0.8, 0.15, 0.05], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]], [[0.95, 0.05], [0.6, 0.4], [0.1, 0.9]]
    names = {"states": ["none", "drizzle", "heavy"], "symbols": ["no", "yes"], "hidden": "Rain", "observed": "Umbrella"}
    return tb.DynamicBayesianNetwork.hidden_markov([0.5, 0.3, 0.2], stay, carried, **names)


def _fish() -> Any:
    from tunbridge.reasoning import DecisionProblem, Gaussian

    return DecisionProblem({"salmon": Gaussian(3, variance=1), "bass": Gaussian(5, variance=1)})


def _landscape() -> Any:
    from sklearn.datasets import load_iris

    import tunbridge as tb

    iris = load_iris(as_frame=True)
    model = tb.NaiveBayesClassifier().fit(iris.data, iris.target_names[iris.target])
    return tb.plots.landscape(model, iris.data, "petal length (cm)", "petal width (cm)", label="versicolor")


def _degrees() -> Any:
    import tunbridge as tb
    from tunbridge.reasoning import choose_polynomial

    x = np.linspace(-2, 2, 30)
    noise = np.random.default_rng(0).normal(scale=0.5, size=30)
    return tb.plots.description_lengths(choose_polynomial(x, (x**3 - 2 * x + noise).round(1)))


def _svg(axes: Any) -> bytes:
    stream = io.BytesIO()
    axes.figure.savefig(stream, format="svg", bbox_inches="tight")
    return stream.getvalue()
