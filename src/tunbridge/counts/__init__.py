"""Counts: everything else is learned from them."""

from tunbridge.counts.counter import Counter
from tunbridge.counts.information import conditional_mutual_information, entropy, mutual_information
from tunbridge.counts.moments import Moments, moments_within
from tunbridge.counts.records import Counts, PairCounts, TripleCounts, merge_states

__all__ = [
    "Counter",
    "Counts",
    "Moments",
    "PairCounts",
    "TripleCounts",
    "conditional_mutual_information",
    "entropy",
    "merge_states",
    "moments_within",
    "mutual_information",
]
