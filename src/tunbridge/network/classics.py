"""Small example networks from textbooks."""

from __future__ import annotations

from collections.abc import Callable

from tunbridge._core.check import check_choice
from tunbridge.network.network import BayesianNetwork

_YES_NO = ("yes", "no")


def example_network(name: str) -> BayesianNetwork:
    """Return an example network.

    Parameters
    ----------
    name : {"asia", "burglary", "sprinkler"}
        ``"asia"``: dyspnoea after a visit to Asia (Lauritzen and Spiegelhalter 1988). ``"burglary"``: an alarm, two
        causes and two neighbours who call (Pearl 1988; numbers of Russell and Norvig). ``"sprinkler"``: why is the
        grass wet (Pearl 1988; numbers of Russell and Norvig).

    References
    ----------
    S. L. Lauritzen, D. J. Spiegelhalter (1988). Local computations with probabilities on graphical structures and their
    application to expert systems. Journal of the Royal Statistical Society B 50, 157–224.
    J. Pearl (1988). Probabilistic Reasoning in Intelligent Systems. Morgan Kaufmann.
    S. Russell, P. Norvig. Artificial Intelligence: A Modern Approach, chapter on probabilistic reasoning.

    Examples
    --------
    >>> import tunbridge as tb
    >>> net = tb.example_network("burglary")
    >>> net.posterior("Burglary", {"JohnCalls": "yes", "MaryCalls": "yes"})
    Burglary
    yes       0.284172
    no        0.715828
    """
    check_choice("the example", name, tuple(_MAKERS))
    return _MAKERS[name]()


def _burglary() -> BayesianNetwork:
    names = ["Burglary", "Earthquake", "Alarm", "JohnCalls", "MaryCalls"]
    arcs = [("Burglary", "Alarm"), ("Earthquake", "Alarm"), ("Alarm", "JohnCalls"), ("Alarm", "MaryCalls")]
    cpts = {
        "Burglary": [0.001, 0.999],
        "Earthquake": [0.002, 0.998],
        "Alarm": [[[0.95, 0.05], [0.94, 0.06]], [[0.29, 0.71], [0.001, 0.999]]],
        "JohnCalls": [[0.90, 0.10], [0.05, 0.95]],
        "MaryCalls": [[0.70, 0.30], [0.01, 0.99]],
    }
    return BayesianNetwork(dict.fromkeys(names, _YES_NO), arcs, cpts, name="burglary")


def _sprinkler() -> BayesianNetwork:
    names = ["Cloudy", "Sprinkler", "Rain", "WetGrass"]
    arcs = [("Cloudy", "Sprinkler"), ("Cloudy", "Rain"), ("Sprinkler", "WetGrass"), ("Rain", "WetGrass")]
    cpts = {
        "Cloudy": [0.5, 0.5],
        "Sprinkler": [[0.1, 0.9], [0.5, 0.5]],
        "Rain": [[0.8, 0.2], [0.2, 0.8]],
        "WetGrass": [[[0.99, 0.01], [0.90, 0.10]], [[0.90, 0.10], [0.0, 1.0]]],
    }
    return BayesianNetwork(dict.fromkeys(names, _YES_NO), arcs, cpts, name="sprinkler")


def _asia() -> BayesianNetwork:
    variables = dict.fromkeys(["asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp"], _YES_NO)
    arcs = [
        ("asia", "tub"), ("smoke", "lung"), ("smoke", "bronc"), ("tub", "either"), ("lung", "either"),
        ("either", "xray"), ("either", "dysp"), ("bronc", "dysp"),
    ]  # fmt: skip
    cpts = {
        "asia": [0.01, 0.99],
        "tub": [[0.05, 0.95], [0.01, 0.99]],
        "smoke": [0.5, 0.5],
        "lung": [[0.1, 0.9], [0.01, 0.99]],
        "bronc": [[0.6, 0.4], [0.3, 0.7]],
        "either": [[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]],
        "xray": [[0.98, 0.02], [0.05, 0.95]],
        "dysp": [[[0.9, 0.1], [0.7, 0.3]], [[0.8, 0.2], [0.1, 0.9]]],
    }
    return BayesianNetwork(variables, arcs, cpts, name="asia")


_MAKERS: dict[str, Callable[[], BayesianNetwork]] = {"asia": _asia, "burglary": _burglary, "sprinkler": _sprinkler}
