"""The golden files: one model file of every kind, what each answers, and results of the main algorithms on fixed seeds.

``golden/*.tb`` and ``golden/answers.json`` were written at commit 040f3ef by

    python tests/reference/golden_models.py

They are not to be written again: later versions must read these files and give these answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tunbridge as tb

GOLDEN = Path(__file__).parent / "golden"


def patients() -> dict[str, list[Any]]:
    """Return a small mixed table with missing values: categories, an integer, a float, a class of three values."""
    rng = np.random.default_rng(20)
    n = 120
    group = rng.integers(0, 3, n)
    columns: dict[str, list[Any]] = {
        "colour": [("red", "green", "blue")[(g + int(rng.random() < 0.3)) % 3] for g in group],
        "shape": [("round", "square")[int(rng.random() < (0.2, 0.5, 0.9)[g])] for g in group],
        "size": [round(float(rng.normal(g, 1.0)), 3) for g in group],
        "age": [int(x) for x in rng.integers(20, 70, n) + 10 * group],
        "kind": [("a", "b", "c")[g] for g in group],
    }
    for name in ("colour", "size"):
        for i in rng.choice(n, 8, replace=False):
            columns[name][i] = None
    return columns


def categories() -> tb.Table:
    """Return a table of categories without missing values."""
    return tb.example_network("asia").sample(300, random_state=3)


TEXTS = [
    "You have won a prize, claim it now",
    "Win free tickets now",
    "Are you free for lunch?",
    "Lunch at noon, see you",
]
LABELS = ["spam", "spam", "ham", "ham"]
NAMES = ["anna", "nina", "maria", "otto", "hugo", "bruno"]
SEXES = ["f", "f", "f", "m", "m", "m"]

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "naive-bayes": lambda: tb.NaiveBayesClassifier(numeric="gaussian"),
    "naive-bayes-kernel": lambda: tb.NaiveBayesClassifier(numeric="kernel", smoothing=tb.MEstimate(2)),
    "naive-bayes-discretise": lambda: tb.NaiveBayesClassifier(numeric="discretise", class_prior="uniform"),
    "selective-naive-bayes": lambda: tb.SelectiveNaiveBayesClassifier(),
    "joined-naive-bayes": lambda: tb.JoinedNaiveBayesClassifier(),
    "weighted-naive-bayes": lambda: tb.WeightedNaiveBayesClassifier(),
    "tan": lambda: tb.TANClassifier(),
    "tan-gaussian": lambda: tb.TANClassifier(numeric="gaussian", forest="bic"),
    "kdb": lambda: tb.KDBClassifier(k=2),
    "kdb-gaussian": lambda: tb.KDBClassifier(k=1, numeric="gaussian"),
    "selective-kdb": lambda: tb.SelectiveKDBClassifier(),
    "multinet": lambda: tb.MultinetClassifier(),
    "aode": lambda: tb.AODEClassifier(),
    "a2de": lambda: tb.A2DEClassifier(),
    "bayes-net": lambda: tb.BayesNetClassifier(search=tb.Tabu(length=5), criterion=tb.BDeu(ess=5)),
    "bayes-forest": lambda: tb.BayesForestClassifier(n_networks=3, random_state=0),
    "bayes-optimal": lambda: tb.BayesOptimalClassifier(
        {
            "naive Bayes": tb.NaiveBayesClassifier(numeric="gaussian"),
            "TAN": tb.TANClassifier(),
            "k-DB": tb.KDBClassifier(),
        }
    ),
    "calibrated": lambda: tb.CalibratedClassifier(tb.NaiveBayesClassifier(numeric="gaussian"), method="platt"),
    "semi-supervised": lambda: tb.SemiSupervisedClassifier(tb.NaiveBayesClassifier(numeric="discretise")),
}


def fitted(name: str) -> Any:
    """Return the classifier of that name, fitted to the patients."""
    table, model = patients(), CLASSIFIERS[name]()
    if name == "semi-supervised":
        table["kind"] = [None if i % 3 == 0 else k for i, k in enumerate(table["kind"])]
    return model.fit(table, "kind")


OTHERS: dict[str, Callable[[], Any]] = {
    "text": lambda: tb.TextClassifier().fit(TEXTS, LABELS),
    "text-bernoulli": lambda: tb.TextClassifier(model="bernoulli", ngrams=(1, 2)).fit(TEXTS, LABELS),
    "text-nb-svm": lambda: tb.TextClassifier(model="nb-svm").fit(TEXTS, LABELS),
    "sequence": lambda: tb.SequenceClassifier(order=2).fit(NAMES, SEXES),
    "sequence-position": lambda: tb.SequenceClassifier(model="position").fit([n[:4] for n in NAMES], SEXES),
}


def probabilities(name: str, model: Any) -> list[Any]:
    """Return what a model answers for the rows it was fitted to."""
    if name.startswith("text"):
        rows: Any = [*TEXTS, "Claim your free lunch now"]
    elif name.startswith("sequence"):
        rows = [n[:4] for n in NAMES] if name.endswith("position") else [*NAMES, "nana"]
    else:
        rows = {k: v for k, v in patients().items() if k != "kind"}
    return np.asarray(model.predict_proba(rows)).tolist()


def networks() -> dict[str, Any]:
    """Return a discrete network, one with continuous variables, and one with noisy and sparse tables."""
    table = categories()
    discrete = tb.learn_network(table, search="tabu")
    numbers = {k: patients()[k] for k in ("shape", "size", "age", "kind")}
    dag = tb.DAG(arcs=[("kind", "size"), ("kind", "shape"), ("size", "age")])
    mixed = tb.fit_parameters(dag, numbers)
    cold = {"flu": ["no", "yes"], "cold": ["no", "yes"], "fever": ["no", "yes"]}
    arcs = [("flu", "fever"), ("cold", "fever")]
    noisy = tb.noisy_or(
        tb.Variable("fever", ["no", "yes"]),
        {tb.Variable("flu", ["no", "yes"]): 0.8, tb.Variable("cold", ["no", "yes"]): 0.4},
        leak=0.05,
    )
    sparse = tb.BayesianNetwork(cold, arcs, {"flu": [0.9, 0.1], "cold": [0.7, 0.3], "fever": noisy})
    return {"network": discrete, "network-mixed": mixed, "network-noisy": sparse}


QUERIES = {
    "network": ("lung", {"xray": "yes", "smoke": "yes"}),
    "network-mixed": ("kind", {"size": 1.5}),
    "network-noisy": ("flu", {"fever": "yes"}),
}


MODELS = ("nb", "tan", "kdb2", "aode")


def results() -> dict[str, Any]:
    """Return numbers that the main algorithms give on fixed seeds."""
    table = tb.example_network("asia").sample(2000, random_state=1)
    out: dict[str, Any] = {}
    for search in ("hill-climbing", "tabu", "orders", "ges", "exact", "sparse-candidate", "chow-liu"):
        dag = tb.learn_structure(table, search=search, random_state=0)
        out[f"structure {search}"] = sorted(map(list, dag.arcs))
    dag = tb.learn_structure(table, search="tabu")
    for score in ("bic", "aic", "bdeu", "bds", "k2", "fnml", "qnml", "nal", "loglik"):
        out[f"score {score}"] = family_scores(dag, table, score)
    frame = table.to_pandas()
    frame.loc[::3, ["lung", "bronc"]] = None
    for missing in ("em", "gradient", "available", "complete"):
        net = tb.fit_parameters(dag, frame, missing=missing)
        out[f"missing {missing}"] = dict(net.posterior("lung", {"xray": "yes"}))
    net = tb.fit_parameters(dag, frame)
    out["log-likelihood"] = float(np.sum(net.log_likelihood(frame)))
    out["sample"] = [[str(x) for x in row] for row in net.sample(5, random_state=7).to_pandas().values.tolist()]
    imputed = net.impute(frame).to_pandas()
    out["imputed"] = {c: imputed[c].value_counts().sort_index().tolist() for c in ("lung", "bronc")}
    most = net.most_probable({"xray": "yes"})
    out["most probable"] = {str(k): str(v) for k, v in most.items()}
    update = net.update({name: ["yes", "no"] for name in net.nodes})
    out["update"] = dict(update.posterior("lung", {"xray": "yes"}))
    strengths = tb.bootstrap_structure(table, 10, random_state=0)
    out["bootstrap"] = strengths.strength("smoke", "lung")
    posterior = tb.posterior_structure(table.select(["smoke", "lung", "bronc", "dysp"]), 200, random_state=0)
    out["mcmc"] = posterior.strength("smoke", "lung")
    models = {"nb": tb.NaiveBayesClassifier(numeric="gaussian")} | {name: name for name in MODELS[1:]}
    comparison = tb.compare_classifiers(patients(), "kind", models, random_state=0)
    out["comparison"] = [line.split()[1:8:3] for line in str(comparison).splitlines() if line.startswith(MODELS)]
    return out


def family_scores(dag: Any, table: Any, score: str) -> dict[str, float]:
    """Return the score of each family."""
    try:
        return dict(tb.score_structure(dag, table, score, by_family=True))
    except TypeError:  # at commit 040f3ef
        return dict(tb.score_structure(dag, table, score))


def write() -> None:
    """Write the golden files."""
    GOLDEN.mkdir(exist_ok=True)
    answers: dict[str, Any] = {"models": {}, "networks": {}, "results": results()}
    for name, model in [*((n, fitted(n)) for n in CLASSIFIERS), *((n, make()) for n, make in OTHERS.items())]:
        model.save(GOLDEN / f"{name}.tb")
        answers["models"][name] = probabilities(name, model)
    for name, net in networks().items():
        net.write(GOLDEN / f"{name}.tb")
        answers["networks"][name] = dict(net.posterior(*QUERIES[name]))
    (GOLDEN / "answers.json").write_text(json.dumps(answers, indent=0) + "\n")


if __name__ == "__main__":
    write()
