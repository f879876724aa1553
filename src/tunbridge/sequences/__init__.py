"""Symbol sequences: classifiers that read them letter by letter."""

from tunbridge.sequences.classifier import SequenceClassifier
from tunbridge.sequences.explanation import SequenceExplanation
from tunbridge.sequences.stream import SequenceStream

__all__ = ["SequenceClassifier", "SequenceExplanation", "SequenceStream"]
