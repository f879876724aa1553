"""Bayesian reasoning: the theory as tools to use and to check. Each module is loaded when it is first used."""

from importlib import import_module
from typing import Any

_MODULES = {
    "bayes": "BayesUpdate bayes_rule from_odds odds product_rule sum_rule total_probability",
    "code_lengths": "DescriptionChoice DescriptionLength code_length exception_bits naming_bits recorded_precision "
    "shortest_description whole_number_bits",
    "concept_learners": "FindS VersionSpace",
    "conjugate": "BetaBinomial DirichletMultinomial NormalNormal",
    "conjunctions": "Conjunction all_conjunctions concept_space count_conjunctions",
    "decision_problem": "DecisionProblem RulePerformance",
    "densities": "Density Gaussian",
    "derivation": "Derivation",
    "diagnostic": "DiagnosticTest",
    "families": "LinearFamily LinearFit LogisticFamily LogisticFit",
    "basis": "Basis linear",
    "hypotheses": "BayesStep Evolution HypothesisSpace",
    "number_models": "Histogram PolynomialFit choose_histogram choose_polynomial",
    "proportions": "CaseCounts proportion_interval",
    "regions": "Region",
    "version_space": "ConceptRow Elimination EliminationStep",
    "trees": "DecisionTree choose_structure choose_tree structure_description",
}
"""The public names by module; ``__init__.pyi`` has the same for type checkers."""

_WHERE = {name: module for module, names in _MODULES.items() for name in names.split()}
__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
