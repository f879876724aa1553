"""Networks: a graph and its conditional tables, validated, with one-line doors to inference and files."""

from tunbridge.network.classics import example_network
from tunbridge.network.files import read_network
from tunbridge.network.network import BayesianNetwork

__all__ = ["BayesianNetwork", "example_network", "read_network"]
