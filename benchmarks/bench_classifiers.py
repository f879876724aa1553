"""Classifiers with dependences between features: speed, beside pyAgrum's tree-augmented classifier."""

from __future__ import annotations

import numpy as np

import tunbridge as tb
from benchmarks.harness import Grid, Result, Section, best_of, timed
from benchmarks.samples import shared

_ROWS = 1_000_000
_PEER_FIT_ROWS = 50_000
_PEER_PREDICT_ROWS = 2_000
_TARGET = "HYPOVOLEMIA"


def run() -> Section:
    return [*_trees(), *_dependences()]


def _trees() -> Section:
    data = shared()
    if data is None:
        return [Grid(("not measured",), (("TAN: the ALARM network is not there",),))]
    sample = tb.read_network(data / "networks" / "alarm.bif").sample(_ROWS, random_state=0)
    states = np.array([f"s{k}" for k in range(16)], object)
    texts = {name: states[sample.codes(name)] for name in sample.names}  # pyAgrum takes TRUE and FALSE for numbers
    table = tb.as_table(texts)
    fit = best_of(lambda: tb.TANClassifier().fit(table, _TARGET), 3)
    clf = tb.TANClassifier().fit(table, _TARGET)
    predict = best_of(lambda: clf.predict_proba(table), 3)
    peer_fit, peer_predict, remark = _agrum(texts)
    text_fit, text_predict = _from_text(texts)
    return [
        _line("TAN, ALARM 1 000 000 × 37: fit", fit, peer_fit, 50, f"peer: 50 000 rows, times 20; {remark}"),
        _line("the same: predict_proba", predict, peer_predict, 500, "peer: 2 000 rows, times 500"),
        _line("the same from a pandas frame of text: fit", text_fit, peer_fit, None, "the peer's too is one of text"),
        _line("the same from a pandas frame of text: predict_proba", text_predict, peer_predict, None, ""),
    ]


def _line(work: str, ours: float, peer: float | None, goal: int | None, remark: str) -> Result:
    remark = remark if peer is not None else ""
    reached = None if peer is None or goal is None else peer / ours >= goal
    name = "pyAgrum BNClassifier" if peer is not None else "–"
    return Result(work, ours, peer, name, "–" if goal is None else f"≥ {goal} ×", reached, remark)


def _from_text(texts: dict[str, np.ndarray]) -> tuple[float, float]:
    import pandas as pd

    frame = pd.DataFrame(texts)
    X, y = frame.drop(columns=_TARGET), frame[_TARGET]
    clf = tb.TANClassifier().fit(X, y)
    return best_of(lambda: tb.TANClassifier().fit(X, y), 2), best_of(lambda: clf.predict_proba(X), 2)


def _agrum(texts: dict[str, np.ndarray]) -> tuple[float | None, float | None, str]:
    """Return pyAgrum's times for all rows, from some of them, and how good both are on rows that neither saw."""
    try:
        import pandas as pd
        from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
        from pyagrum.skbn import BNClassifier
    except ImportError:
        return None, None, ""
    frame = pd.DataFrame({name: column[:_PEER_FIT_ROWS] for name, column in texts.items()})
    X, y = frame.drop(columns=_TARGET), frame[_TARGET]
    processor = DiscreteTypeProcessor(defaultDiscretizationMethod="NoDiscretization", defaultNumberOfBins=None)
    peer = BNClassifier(type_processor=processor, learningMethod="TAN", prior="Smoothing", priorWeight=1)
    fit = timed(lambda: peer.fit(X, y))
    rows = X.iloc[:_PEER_PREDICT_ROWS]
    predict = timed(lambda: peer.predict_proba(rows))
    new = slice(_ROWS - _PEER_PREDICT_ROWS, _ROWS)
    test = pd.DataFrame({name: column[new] for name, column in texts.items()})
    ours = tb.TANClassifier().fit(X, y)
    losses = [_log_loss(p.predict_proba(test.drop(columns=_TARGET)), test[_TARGET]) for p in (ours, peer)]
    remark = f"log-loss on new rows {losses[0]:.4f} against {losses[1]:.4f}"
    return fit * _ROWS / _PEER_FIT_ROWS, predict * _ROWS / _PEER_PREDICT_ROWS, remark


def _log_loss(probabilities: np.ndarray, labels: object) -> float:
    codes = np.array([int(str(label)[1:]) for label in labels])  # type: ignore[attr-defined]
    return float(-np.log(probabilities[np.arange(len(codes)), codes]).mean())


def _dependences() -> Section:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 8, (_ROWS, 50)), rng.integers(0, 5, _ROWS)
    fit = best_of(lambda: tb.KDBClassifier(2, categorical="all").fit(X, y), 2)
    clf = tb.KDBClassifier(2, categorical="all").fit(X, y)
    predict = best_of(lambda: clf.predict_proba(X), 2)
    return [
        Result("k-DB (k = 2), 1 000 000 × 50, 8 states, 5 classes: fit", fit, goal="< 10 s", reached=fit < 10),
        Result("the same: predict_proba", predict),
    ]
