"""Learning from arriving rows: updating a network, merging networks, detecting drift."""

from tunbridge.learning.arriving.drift import DriftMonitor, DriftSignal
from tunbridge.learning.arriving.merging import merge_networks
from tunbridge.learning.arriving.update import NetworkUpdate, update_network

__all__ = ["DriftMonitor", "DriftSignal", "NetworkUpdate", "merge_networks", "update_network"]
