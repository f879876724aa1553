"""Counts: the engine that everything else is learned from."""

from tunbridge.counts.counter import Counter
from tunbridge.counts.information import conditional_mutual_information, entropy, mutual_information
from tunbridge.counts.moments import Moments, moments_within
from tunbridge.counts.records import Counts, PairCounts
from tunbridge.counts.states import merge_states

__all__ = [
    "Counter",
    "Counts",
    "Moments",
    "PairCounts",
    "conditional_mutual_information",
    "entropy",
    "merge_states",
    "moments_within",
    "mutual_information",
]
