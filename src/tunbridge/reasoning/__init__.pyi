from tunbridge.reasoning.basis import Basis as Basis, linear as linear
from tunbridge.reasoning.bayes import (
    BayesUpdate as BayesUpdate,
    bayes_rule as bayes_rule,
    from_odds as from_odds,
    odds as odds,
    product_rule as product_rule,
    sum_rule as sum_rule,
    total_probability as total_probability,
)
from tunbridge.reasoning.code_lengths import (
    DescriptionChoice as DescriptionChoice,
    DescriptionLength as DescriptionLength,
    code_length as code_length,
    exception_bits as exception_bits,
    naming_bits as naming_bits,
    recorded_precision as recorded_precision,
    shortest_description as shortest_description,
    whole_number_bits as whole_number_bits,
)
from tunbridge.reasoning.concept_learners import FindS as FindS, VersionSpace as VersionSpace
from tunbridge.reasoning.conjugate import (
    BetaBinomial as BetaBinomial,
    DirichletMultinomial as DirichletMultinomial,
    NormalNormal as NormalNormal,
)
from tunbridge.reasoning.conjunctions import (
    Conjunction as Conjunction,
    all_conjunctions as all_conjunctions,
    concept_space as concept_space,
    count_conjunctions as count_conjunctions,
)
from tunbridge.reasoning.decision_problem import DecisionProblem as DecisionProblem, RulePerformance as RulePerformance
from tunbridge.reasoning.densities import Density as Density, Gaussian as Gaussian
from tunbridge.reasoning.derivation import Derivation as Derivation
from tunbridge.reasoning.diagnostic import DiagnosticTest as DiagnosticTest
from tunbridge.reasoning.families import (
    LinearFamily as LinearFamily,
    LinearFit as LinearFit,
    LogisticFamily as LogisticFamily,
    LogisticFit as LogisticFit,
)
from tunbridge.reasoning.hypotheses import (
    BayesStep as BayesStep,
    Evolution as Evolution,
    HypothesisSpace as HypothesisSpace,
)
from tunbridge.reasoning.number_models import (
    Histogram as Histogram,
    PolynomialFit as PolynomialFit,
    choose_histogram as choose_histogram,
    choose_polynomial as choose_polynomial,
)
from tunbridge.reasoning.proportions import CaseCounts as CaseCounts, proportion_interval as proportion_interval
from tunbridge.reasoning.regions import Region as Region
from tunbridge.reasoning.trees import (
    DecisionTree as DecisionTree,
    choose_structure as choose_structure,
    choose_tree as choose_tree,
    structure_description as structure_description,
)
from tunbridge.reasoning.version_space import (
    ConceptRow as ConceptRow,
    Elimination as Elimination,
    EliminationStep as EliminationStep,
)
