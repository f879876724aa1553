"""Bayesian reasoning: the theory as tools one can use and check. Each part is loaded when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tunbridge.reasoning.bayes import BayesUpdate, bayes_rule
    from tunbridge.reasoning.concepts.concept_evidence import ConceptRow
    from tunbridge.reasoning.concepts.conjunctions import Conjunction, all_conjunctions, count_conjunctions
    from tunbridge.reasoning.concepts.elimination import Elimination, EliminationStep
    from tunbridge.reasoning.concepts.find_s import FindS
    from tunbridge.reasoning.concepts.noisy_concepts import concept_space
    from tunbridge.reasoning.concepts.version_space import VersionSpace
    from tunbridge.reasoning.conjugates.beta_binomial import BetaBinomial
    from tunbridge.reasoning.conjugates.dirichlet_multinomial import DirichletMultinomial
    from tunbridge.reasoning.conjugates.normal_normal import NormalNormal
    from tunbridge.reasoning.derivation import Derivation
    from tunbridge.reasoning.description.code_lengths import (
        code_length,
        exception_bits,
        naming_bits,
        recorded_precision,
        whole_number_bits,
    )
    from tunbridge.reasoning.description.decision_tree import DecisionTree
    from tunbridge.reasoning.description.histograms import Histogram, choose_histogram
    from tunbridge.reasoning.description.polynomials import PolynomialFit, choose_polynomial
    from tunbridge.reasoning.description.shortest import DescriptionChoice, DescriptionLength, shortest_description
    from tunbridge.reasoning.description.structures import choose_structure, structure_description
    from tunbridge.reasoning.description.trees import choose_tree
    from tunbridge.reasoning.diagnosis.case_counts import CaseCounts
    from tunbridge.reasoning.diagnosis.diagnostic import DiagnosticTest
    from tunbridge.reasoning.diagnosis.proportions import proportion_interval
    from tunbridge.reasoning.evolution import Evolution
    from tunbridge.reasoning.hypotheses import HypothesisSpace
    from tunbridge.reasoning.likelihood.basis import Basis, linear
    from tunbridge.reasoning.likelihood.linear_family import LinearFamily
    from tunbridge.reasoning.likelihood.linear_fit import LinearFit
    from tunbridge.reasoning.likelihood.logistic_family import LogisticFamily, LogisticFit
    from tunbridge.reasoning.regions.decision_problem import DecisionProblem
    from tunbridge.reasoning.regions.decision_rules import RulePerformance
    from tunbridge.reasoning.regions.densities import Gaussian
    from tunbridge.reasoning.regions.function_density import Density
    from tunbridge.reasoning.regions.regions import Region
    from tunbridge.reasoning.rules import from_odds, odds, product_rule, sum_rule, total_probability
    from tunbridge.reasoning.steps import BayesStep

__all__ = [
    "Basis",
    "BayesStep",
    "BayesUpdate",
    "BetaBinomial",
    "CaseCounts",
    "ConceptRow",
    "Conjunction",
    "DecisionProblem",
    "DecisionTree",
    "Density",
    "Derivation",
    "DescriptionChoice",
    "DescriptionLength",
    "DiagnosticTest",
    "DirichletMultinomial",
    "Elimination",
    "EliminationStep",
    "Evolution",
    "FindS",
    "Gaussian",
    "Histogram",
    "HypothesisSpace",
    "LinearFamily",
    "LinearFit",
    "LogisticFamily",
    "LogisticFit",
    "NormalNormal",
    "PolynomialFit",
    "Region",
    "RulePerformance",
    "VersionSpace",
    "all_conjunctions",
    "bayes_rule",
    "choose_histogram",
    "choose_polynomial",
    "choose_structure",
    "choose_tree",
    "code_length",
    "concept_space",
    "count_conjunctions",
    "exception_bits",
    "from_odds",
    "linear",
    "naming_bits",
    "odds",
    "product_rule",
    "proportion_interval",
    "recorded_precision",
    "shortest_description",
    "structure_description",
    "sum_rule",
    "total_probability",
    "whole_number_bits",
]

_WHERE = {
    "NormalNormal": "conjugates.normal_normal",
    "DirichletMultinomial": "conjugates.dirichlet_multinomial",
    "BetaBinomial": "conjugates.beta_binomial",
    "LogisticFamily": "likelihood.logistic_family",
    "LogisticFit": "likelihood.logistic_family",
    "LinearFit": "likelihood.linear_fit",
    "LinearFamily": "likelihood.linear_family",
    "Basis": "likelihood.basis",
    "linear": "likelihood.basis",
    "Conjunction": "concepts.conjunctions",
    "all_conjunctions": "concepts.conjunctions",
    "count_conjunctions": "concepts.conjunctions",
    "ConceptRow": "concepts.concept_evidence",
    "Elimination": "concepts.elimination",
    "EliminationStep": "concepts.elimination",
    "FindS": "concepts.find_s",
    "VersionSpace": "concepts.version_space",
    "concept_space": "concepts.noisy_concepts",
    "from_odds": "rules",
    "odds": "rules",
    "product_rule": "rules",
    "sum_rule": "rules",
    "total_probability": "rules",
    "BayesStep": "steps",
    "Derivation": "derivation",
    "Evolution": "evolution",
    "HypothesisSpace": "hypotheses",
    "CaseCounts": "diagnosis.case_counts",
    "DiagnosticTest": "diagnosis.diagnostic",
    "proportion_interval": "diagnosis.proportions",
    "BayesUpdate": "bayes",
    "bayes_rule": "bayes",
    "code_length": "description.code_lengths",
    "exception_bits": "description.code_lengths",
    "naming_bits": "description.code_lengths",
    "recorded_precision": "description.code_lengths",
    "whole_number_bits": "description.code_lengths",
    "DescriptionChoice": "description.shortest",
    "DescriptionLength": "description.shortest",
    "shortest_description": "description.shortest",
    "Histogram": "description.histograms",
    "choose_histogram": "description.histograms",
    "PolynomialFit": "description.polynomials",
    "choose_polynomial": "description.polynomials",
    "choose_structure": "description.structures",
    "structure_description": "description.structures",
    "DecisionProblem": "regions.decision_problem",
    "RulePerformance": "regions.decision_rules",
    "Gaussian": "regions.densities",
    "Density": "regions.function_density",
    "Region": "regions.regions",
    "DecisionTree": "description.decision_tree",
    "choose_tree": "description.trees",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
