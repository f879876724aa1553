"""Networks: a graph and its conditional tables, validated, with one-line doors to inference and files."""

from tunbridge.network.adaptation import NetworkUpdate, update_network
from tunbridge.network.classics import example_network
from tunbridge.network.drift import DriftMonitor, DriftSignal
from tunbridge.network.files import read_network
from tunbridge.network.merging import merge_networks
from tunbridge.network.network import BayesianNetwork

__all__ = [
    "BayesianNetwork",
    "DriftMonitor",
    "DriftSignal",
    "NetworkUpdate",
    "example_network",
    "merge_networks",
    "read_network",
    "update_network",
]
