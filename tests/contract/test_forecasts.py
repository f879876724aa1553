"""Every public call whose result or working memory grows with a product of sizes is forecast before it allocates.

Each call below would take a few MB. The limit is 100 kB, so that all of them must refuse, with a size and a way out;
nothing large is ever computed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import tunbridge as tb
from tunbridge._core.registry import entries

LIMIT = 100_000
N = 5_000

Call = Callable[[], Any]


def _rows(n: int, k: int = 4, states: int = 3) -> dict[str, list[str]]:
    rng = np.random.default_rng(0)
    return {f"v{i}": [f"s{s}" for s in rng.integers(0, states, n)] for i in range(k)}


@cache
def _table(n: int = N, k: int = 4) -> tb.Table:
    return tb.as_table(_rows(n, k))


@cache
def _classifier(name: str) -> Any:
    if name in ("text", "sequence", "hmm"):
        return entries("classifier")[name].load()().fit(["ab ba", "aa bb", "bb ab", "ba"], [0, 1, 0, 1])
    return entries("classifier")[name].load()().fit(_rows(60), [0, 1, 2] * 20)


@cache
def _many_classes() -> Any:
    return tb.NaiveBayesClassifier().fit({"x": ["a", "b"] * 1000}, np.arange(2000))


@cache
def _many_states() -> tb.Table:
    return tb.as_table({"a": [f"a{i}" for i in range(300)], "b": [f"b{i}" for i in range(300)]})


@cache
def _asia() -> tb.BayesianNetwork:
    return tb.example_network("asia")


@cache
def _asia_rows() -> tb.Table:
    return _asia().sample(20_000, random_state=0)


@cache
def _wide() -> tb.Table:
    return tb.as_table(_rows(10, 200))


@cache
def _chain() -> tb.BayesianNetwork:
    return tb.learn_network(_rows(100, 10, 8), search="chow-liu")


def _given(name: str) -> Any:
    """Return more rows than answers fit for, as the classifier reads them."""
    return ["ab ba"] * N if name in ("text", "sequence", "hmm") else _table()


CLASSIFIERS = sorted(entries("classifier"))
VARIABLES = [tb.Variable(f"v{i}", [str(s) for s in range(30)]) for i in range(4)]
NO_YES = [tb.Variable(f"x{i}", ["no", "yes"]) for i in range(21)]
TEXTS = [" ".join(f"w{i * j % 997}" for j in range(30)) for i in range(400)]

PREPARED: dict[str, tuple[Call, Call]] = {  # what is made before the limit is set, and the call
    **{
        f"{name}.{method}": (
            lambda n=name: (_classifier(n), _given(n)),
            lambda n=name, m=method: getattr(_classifier(n), m)(_given(n)),
        )
        for name in CLASSIFIERS
        for method in ("predict_proba", "predict_log_proba")
    },
    "predict_joint_log_proba": (_table, lambda: _classifier("nb").predict_joint_log_proba(_table())),
    "BayesNet.predict_joint_log_proba": (_table, lambda: _classifier("bn").predict_joint_log_proba(_table())),
    "decide": (_table, lambda: _classifier("nb").decide(_table())),
    "decide among classes": (_many_classes, lambda: _many_classes().decisions({"x": ["a"]})),
    "explain": (_table, lambda: _classifier("nb").explain(_table())),
    "what_if": (_table, lambda: _classifier("nb").what_if(_table())),
    "fit with many classes": (_table, lambda: tb.NaiveBayesClassifier().fit(_table(), np.arange(N))),
    "fit numbers with many classes": (_table, lambda: tb.NaiveBayesClassifier().fit(np.ones((N, 2)), np.arange(N))),
    "TAN pairs": (_wide, lambda: tb.TANClassifier().fit(_wide(), [0, 1] * 5)),
    "KDB pairs": (_wide, lambda: tb.KDBClassifier().fit(_wide(), [0, 1] * 5)),
    "AODE pairs": (_wide, lambda: tb.AODEClassifier().fit(_wide(), [0, 1] * 5)),
    "A2DE triples": (_wide, lambda: tb.A2DEClassifier().fit(_wide(), [0, 1] * 5)),
    "BayesNet gains": (_wide, lambda: tb.BayesNetClassifier().fit(_wide(), [0, 1] * 5)),
    "forest": (_wide, lambda: tb.BayesForestClassifier().fit(_wide(), [0, 1] * 5)),
    "semi-supervised": (_table, lambda: tb.SemiSupervisedClassifier().fit(_table(), np.arange(N) // 2)),
    "calibrated": (_table, lambda: tb.CalibratedClassifier().fit(_table(), np.arange(N) // 4)),
    "sample": (_asia, lambda: _asia().sample(10**6)),
    "sample given evidence": (_asia, lambda: _asia().sample(10**6, evidence={"xray": "yes"})),
    "sample absurdly many": (_asia, lambda: _asia().sample(10**12)),
    "posteriors of rows": (_asia_rows, lambda: _asia().posteriors(_asia_rows())),
    "network.predict_proba": (_asia_rows, lambda: _asia().predict_proba(_asia_rows(), "lung")),
    "network.predict": (_asia_rows, lambda: _asia().predict(_asia_rows(), "lung")),
    "log_likelihood": (_asia_rows, lambda: _asia().log_likelihood(_asia_rows())),
    "impute": (_asia_rows, lambda: _asia().impute(_asia_rows())),
    "joint posterior": (_chain, lambda: _chain().posterior(list(_chain().nodes))),
    "joint interval": (_chain, lambda: _chain().posterior(["v0", "v1"], interval=0.9)),
    "as_table": (lambda: None, lambda: tb.as_table({"x": ["a"] * 10**5})),
    "to_pandas": (_table, lambda: _table().to_pandas()),
    "to_arrow": (_table, lambda: _table().to_arrow()),
    "discretise": (lambda: None, lambda: tb.discretise(np.random.default_rng(0).normal(size=(20_000, 4)))),
    "Discretiser": (
        lambda: None,
        lambda: tb.Discretiser(method="width").fit(np.ones((2, 4))).transform(np.ones((20_000, 4))),
    ),
    "dense counts": (_many_states, lambda: tb.Counter(_many_states()).family("a", ["b"]).dense()),
    "pairs of states": (_many_states, lambda: tb.Counter(_many_states()).pairs()),
    "CPT of many states": (_many_states, lambda: tb.fit_parameters(tb.DAG(["a", "b"], [("a", "b")]), _many_states())),
    **{
        f"search {search}": (_wide, lambda s=search: tb.learn_structure(_wide(), search=s))
        for search in ("hill-climbing", "tabu", "ges", "chow-liu", "sparse-candidate")
    },
    "bootstrap": (_wide, lambda: tb.bootstrap_structure(_wide(), n=2)),
    "deterministic table": (lambda: None, lambda: tb.deterministic(VARIABLES[0], VARIABLES[1:], lambda *a: a[0])),
    "noisy-or as a table": (
        lambda: None,
        lambda: tb.noisy_or(NO_YES[0], dict.fromkeys(NO_YES[1:], 0.5)).to_pandas(),
    ),
    "nb-svm": (lambda: None, lambda: tb.TextClassifier(model="nb-svm").fit(TEXTS, np.arange(400) // 4)),
    "contexts": (
        lambda: None,
        lambda: tb.SequenceClassifier(order=5).fit(["".join(map(str, range(i, i + 99))) for i in range(99)], [0] * 99),
    ),
}


@pytest.mark.parametrize("call", PREPARED)
def test_it_is_forecast(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare, work = PREPARED[call]
    prepare()
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", str(LIMIT))
    with pytest.raises(tb.MemoryForecastError, match=r"would need .*, and the limit is 97\.7 KiB\. \w+"):
        work()
