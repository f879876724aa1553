"""Graphs without probability: directed acyclic graphs, their equivalence classes, separation, comparison."""

from tunbridge.graph.comparison import GraphComparison, compare_graphs, shd
from tunbridge.graph.dag import CPDAG, DAG
from tunbridge.graph.undirected import UndirectedGraph

__all__ = ["CPDAG", "DAG", "GraphComparison", "UndirectedGraph", "compare_graphs", "shd"]
