"""Learning: structures by scored search, what is known about arcs, confidence, and tables from counts."""

from tunbridge.learning.bootstrap import bootstrap_structure, posterior_structure
from tunbridge.learning.constraints import Constraints
from tunbridge.learning.exact import Exact
from tunbridge.learning.ges import GES
from tunbridge.learning.hill_climbing import HillClimbing, Tabu
from tunbridge.learning.learned import LearnedDAG, TracedMove
from tunbridge.learning.orders import OrderSearch
from tunbridge.learning.parameters import fit_parameters
from tunbridge.learning.problem import Search
from tunbridge.learning.scores import AIC, BIC, FNML, K2, QNML, BDeu, BDs, LogLikelihood, NodeAverage, Score
from tunbridge.learning.sparse_candidate import SparseCandidate
from tunbridge.learning.strengths import ArcStrengths
from tunbridge.learning.structure import learn_network, learn_structure, score_structure
from tunbridge.learning.trees import FAN, TAN, ChowLiu, KDependence

__all__ = [
    "AIC",
    "BIC",
    "FAN",
    "FNML",
    "GES",
    "K2",
    "QNML",
    "TAN",
    "ArcStrengths",
    "BDeu",
    "BDs",
    "ChowLiu",
    "Constraints",
    "Exact",
    "HillClimbing",
    "KDependence",
    "LearnedDAG",
    "LogLikelihood",
    "NodeAverage",
    "OrderSearch",
    "Score",
    "Search",
    "SparseCandidate",
    "Tabu",
    "TracedMove",
    "bootstrap_structure",
    "fit_parameters",
    "learn_network",
    "learn_structure",
    "posterior_structure",
    "score_structure",
]
