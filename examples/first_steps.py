"""A short tour: learn a classifier, explain its predictions and save it; build a network and query it; learn a network
from a table, also with missing values; and apply Bayes' rule step by step.

Run it with ``make run``, or with any Python that has Tunbridge installed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score

import tunbridge as tb


def heading(text: str) -> None:
    """Print a heading."""
    print(f"\n{text}\n{'─' * len(text)}")


def play_tennis() -> None:
    """Fourteen days, few enough to check by hand."""
    heading("1. Read a table")
    table = tb.datasets.play_tennis()
    print(table)

    heading("2. Learn a classifier, and explain a prediction")
    model = tb.NaiveBayesClassifier().fit(table, "play")
    day = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
    print(model.explain(day))

    heading("3. Decide, when a wrong «no» costs five times as much as a wrong «yes»")
    print("most probable:", model.predict(day)[0], "  lowest expected cost:", model.decide(day, {"yes": {"no": 5}})[0])

    heading("4. Predict with a missing value")
    found = model.predict_proba(day | {"wind": None})[0]
    print(", ".join(f"P({label}) = {p:.3f}" for label, p in zip(model.classes_, found, strict=True)))


def breast_cancer(folder: Path) -> None:
    """569 tumours, 30 measurements each (Wisconsin diagnostic data, from scikit-learn)."""
    heading("5. Cross-validate on real data: breast cancer, 569 tumours × 30 measurements")
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, data.target.map(dict(enumerate(data.target_names)))
    for numeric in ("gaussian", "kernel", "discretise"):
        scores = cross_val_score(tb.NaiveBayesClassifier(numeric=numeric), X, y, cv=10)
        print(f"numeric={numeric!r:<13} accuracy {scores.mean():.3f} ± {scores.std():.3f} (10 folds)")

    heading("6. Explain the prediction for the first tumour")
    model = tb.NaiveBayesClassifier(numeric="discretise").fit(X, y)
    lines = str(model.explain(X.iloc[:1])[0]).splitlines()
    print("\n".join([*lines[:9], f"… {len(lines) - 10} more features", lines[-1]]))

    heading("7. Save the model, and load it again")
    path = folder / "cancer.tb"
    model.save(path)
    same = tb.load(path)
    print(f"{path.name}: {path.stat().st_size / 1024:.0f} KiB of plain data, no pickle")
    print("first five tumours:", ", ".join(same.predict(X.head())))
    print("\nOn the command line, with your own CSV file:")
    print("  .venv/bin/tunbridge learn data.csv --target COLUMN -o model.tb")
    print("  .venv/bin/tunbridge predict model.tb new.csv --proba")


def alarm(folder: Path) -> None:
    """A network built by hand: burglary, earthquake, alarm, and two neighbours who call."""
    heading("8. Build a Bayesian network: an alarm, its two causes, and two neighbours who call")
    yes_no = ["yes", "no"]
    network = tb.BayesianNetwork(
        {"Burglary": yes_no, "Earthquake": yes_no, "Alarm": yes_no, "JohnCalls": yes_no, "MaryCalls": yes_no},
        [("Burglary", "Alarm"), ("Earthquake", "Alarm"), ("Alarm", "JohnCalls"), ("Alarm", "MaryCalls")],
        {
            "Burglary": {"yes": 0.001, "no": 0.999},
            "Earthquake": {"yes": 0.002, "no": 0.998},
            "Alarm": {("yes", "yes"): [0.95, 0.05], ("yes", "no"): [0.94, 0.06],
                      ("no", "yes"): [0.29, 0.71], ("no", "no"): [0.001, 0.999]},
            "JohnCalls": {"yes": [0.90, 0.10], "no": [0.05, 0.95]},
            "MaryCalls": {"yes": [0.70, 0.30], "no": [0.01, 0.99]},
        },
    )  # fmt: skip
    calls = {"JohnCalls": "yes", "MaryCalls": "yes"}
    print(network)
    print(network.posterior("Burglary", calls))

    heading("9. Explain the posterior: the weight of each call")
    print(network.explain("Burglary", calls, state="yes"))
    seen, done = network.posterior("Burglary", {"Alarm": "yes"}), network.do({"Alarm": "yes"}).posterior("Burglary")
    print(f"\nP(burglary | alarm) = {seen['yes']:.3f}; P(burglary | do(alarm)) = {done['yes']:.3f}")

    heading("10. Write the network to a file that other programs read")
    path = folder / "alarm.bif"
    network.write(path)
    print(f"{path.name}: equal when read again: {tb.read_network(path) == network}")
    print("\nOn the command line, with your own BIF, XMLBIF, NET, DSC or UAI file:")
    print("  .venv/bin/tunbridge network query alarm.bif --target Burglary --given JohnCalls=yes --explain")


def asia(folder: Path) -> None:
    """Patients of a chest clinic, sampled from a known network, so that results can be compared with the truth."""
    heading("11. Learn a network from a table: 5 000 patients × 8 variables")
    truth = tb.example_network("asia")
    table = truth.sample(5000, random_state=1)
    dag = tb.learn_structure(table)
    network = tb.fit_parameters(dag, table)
    for move in dag.trace:
        print(f"  {move.kind} {move.start:>6} → {move.end:<6} {move.gain:+8.1f}   score {move.score:.1f}")
    found = tb.compare_graphs(truth.dag, dag)
    wrong = f"{len(found.reversed)} reversed, {len(found.missing)} missing, {len(found.extra)} extra"
    print(f"{len(found.both)} of the {truth.dag.n_arcs} true arcs found; {wrong}")
    print("direction not determined by the data:", ", ".join(f"{a} – {b}" for a, b in dag.undecided))

    heading("12. Query it, and compare with the true network")
    seen = {"xray": "yes", "smoke": "yes"}
    learned, true = (net.posterior("lung", seen)["yes"] for net in (network, truth))
    print(f"P(lung cancer | abnormal X-ray, smoker) = {learned:.3f} learned, {true:.3f} true")
    votes = tb.bootstrap_structure(table, 20, random_state=0)
    sure, doubtful = (round(20 * votes.strength(*pair)) for pair in (("smoke", "lung"), ("asia", "tub")))
    print(f"of 20 graphs from bootstrap samples, {sure} join smoke and lung, {doubtful} join asia and tub")
    path = folder / "learned.bif"
    network.write(path)
    print(f"{path.name}: {path.stat().st_size} bytes, for any program that reads BIF")

    heading("13. Missing values: patients without dyspnoea are rarely examined, so complete rows are a biased sample")
    rows = truth.sample(2000, random_state=2).to_pandas()
    unseen = (rows["dysp"] == "no") & (np.random.default_rng(0).random(len(rows)) < 0.9)
    rows.loc[unseen, ["tub", "lung", "bronc", "either", "xray"]] = None
    for missing, label in (("complete", "complete rows only"), ("em", "all rows, by EM")):
        share = tb.fit_parameters(truth.dag, rows, missing=missing).posterior("bronc")["yes"]
        print(f"P(bronchitis) = {share:.3f}, {label}")
    print(f"P(bronchitis) = {truth.posterior('bronc')['yes']:.3f}, true")


def bayes() -> None:
    """Bayes' rule for a diagnostic test."""
    heading("14. Bayes' rule step by step: eight in a thousand have the cancer, and a test is positive")
    test = tb.DiagnosticTest(prevalence=0.008, sensitivity=0.98, specificity=0.97)
    print(test.derivation("ppv"))
    print(f"after a second positive test: P(cancer) = {test.posterior(['+', '+'])['diseased']:.3f}")
    print("\nSee docs/bayes.md, «Bayes in ten minutes». On the command line:")
    print("  .venv/bin/tunbridge bayes --prior cancer=0.008 --likelihood cancer=0.98,healthy=0.03")
    print("  .venv/bin/tunbridge test --prevalence 0.008 --sensitivity 0.98 --specificity 0.97")


def report() -> None:
    """A page about a table, beside this one."""
    heading("15. A report: the table, its network and its best classifier as one page that can be mailed")
    table = tb.example_network("asia").sample(1000, random_state=0)
    path = Path("report.html").resolve()
    tb.report(table, "lung", path, title="Patients of a chest clinic", budget=5.0)
    print(f"Open {path.name} in a browser, and click a state in the network: {path}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        play_tennis()
        breast_cancer(Path(name))
        alarm(Path(name))
        asia(Path(name))
        bayes()
        report()
