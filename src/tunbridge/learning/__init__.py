"""Learning: structures by scored search, what is known about arcs, confidence, and tables from counts."""

from tunbridge.learning.backoff import BackOff
from tunbridge.learning.bootstrap import bootstrap_structure, posterior_structure
from tunbridge.learning.constraints import Constraints
from tunbridge.learning.dirichlet import Dirichlet
from tunbridge.learning.em import EM
from tunbridge.learning.exact import Exact
from tunbridge.learning.fitting import Fit, FitStep
from tunbridge.learning.ges import GES
from tunbridge.learning.gradient import GradientAscent
from tunbridge.learning.hidden import StateChoice, choose_states
from tunbridge.learning.hill_climbing import HillClimbing, Tabu
from tunbridge.learning.holes import HoleDependence, HolePattern, Missingness, missingness
from tunbridge.learning.learned import LearnedDAG, TracedMove
from tunbridge.learning.networks import learn_network
from tunbridge.learning.orders import OrderSearch
from tunbridge.learning.parameters import fit_parameters
from tunbridge.learning.problem import Search
from tunbridge.learning.scores import AIC, BIC, FNML, K2, QNML, BDeu, BDs, LogLikelihood, NodeAverage, Score
from tunbridge.learning.sparse_candidate import SparseCandidate
from tunbridge.learning.strengths import ArcStrengths
from tunbridge.learning.structural_em import StructuralEM, StructuralFit, StructuralStep
from tunbridge.learning.structure import learn_structure, score_structure
from tunbridge.learning.trees import FAN, TAN, ChowLiu, KDependence

__all__ = [
    "AIC",
    "BIC",
    "EM",
    "FAN",
    "FNML",
    "GES",
    "K2",
    "QNML",
    "TAN",
    "ArcStrengths",
    "BDeu",
    "BDs",
    "BackOff",
    "ChowLiu",
    "Constraints",
    "Dirichlet",
    "Exact",
    "Fit",
    "FitStep",
    "GradientAscent",
    "HillClimbing",
    "HoleDependence",
    "HolePattern",
    "KDependence",
    "LearnedDAG",
    "LogLikelihood",
    "Missingness",
    "NodeAverage",
    "OrderSearch",
    "Score",
    "Search",
    "SparseCandidate",
    "StateChoice",
    "StructuralEM",
    "StructuralFit",
    "StructuralStep",
    "Tabu",
    "TracedMove",
    "bootstrap_structure",
    "choose_states",
    "fit_parameters",
    "learn_network",
    "learn_structure",
    "missingness",
    "posterior_structure",
    "score_structure",
]
