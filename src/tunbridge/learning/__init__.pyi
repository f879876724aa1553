"""The names of the package, each once (see ``_core.lazy``)."""

from tunbridge.learning.arriving import (
    DriftMonitor as DriftMonitor,
    DriftSignal as DriftSignal,
    NetworkUpdate as NetworkUpdate,
    merge_networks as merge_networks,
    update_network as update_network,
)
from tunbridge.learning.constraints import Constraints as Constraints
from tunbridge.learning.imputing import FilledCell as FilledCell, Imputed as Imputed, impute as impute
from tunbridge.learning.learned import (
    LearnedDAG as LearnedDAG,
    TracedMove as TracedMove,
)
from tunbridge.learning.missing.em import EM as EM
from tunbridge.learning.missing.fitting import (
    Fit as Fit,
    FitStep as FitStep,
)
from tunbridge.learning.missing.gradient import GradientAscent as GradientAscent
from tunbridge.learning.missing.hidden import (
    StateChoice as StateChoice,
    choose_states as choose_states,
)
from tunbridge.learning.missing.missingness import (
    HoleDependence as HoleDependence,
    HolePattern as HolePattern,
    MissingDependence as MissingDependence,
    Missingness as Missingness,
    MissingPattern as MissingPattern,
    missingness as missingness,
)
from tunbridge.learning.missing.structural_em import (
    StructuralEM as StructuralEM,
    StructuralFit as StructuralFit,
    StructuralStep as StructuralStep,
)
from tunbridge.learning.networks import learn_network as learn_network
from tunbridge.learning.parameters.backoff import BackOff as BackOff
from tunbridge.learning.parameters.dirichlet import Dirichlet as Dirichlet
from tunbridge.learning.parameters.fit import fit_parameters as fit_parameters
from tunbridge.learning.scores.discrete import (
    AIC as AIC,
    BIC as BIC,
    FNML as FNML,
    K2 as K2,
    QNML as QNML,
    BDeu as BDeu,
    BDs as BDs,
    LogLikelihood as LogLikelihood,
    NodeAverage as NodeAverage,
    Score as Score,
)
from tunbridge.learning.searches.exact import Exact as Exact
from tunbridge.learning.searches.ges import GES as GES
from tunbridge.learning.searches.hill_climbing import HillClimbing as HillClimbing
from tunbridge.learning.searches.orders import OrderSearch as OrderSearch
from tunbridge.learning.searches.problem import Search as Search
from tunbridge.learning.searches.sparse_candidate import SparseCandidate as SparseCandidate
from tunbridge.learning.searches.tabu import Tabu as Tabu
from tunbridge.learning.searches.trees import (
    FAN as FAN,
    TAN as TAN,
    ChowLiu as ChowLiu,
    KDependence as KDependence,
)
from tunbridge.learning.structure import (
    learn_structure as learn_structure,
    score_structure as score_structure,
)
from tunbridge.learning.uncertainty.bootstrap import bootstrap_structure as bootstrap_structure
from tunbridge.learning.uncertainty.mcmc import posterior_structure as posterior_structure
from tunbridge.learning.uncertainty.strengths import ArcStrengths as ArcStrengths
