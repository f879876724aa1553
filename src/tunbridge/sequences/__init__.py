"""Symbol sequences: classification by Markov chains."""

from tunbridge.sequences.classifier import SequenceClassifier
from tunbridge.sequences.explanation import SequenceExplanation
from tunbridge.sequences.model import SequenceStream

__all__ = ["SequenceClassifier", "SequenceExplanation", "SequenceStream"]
