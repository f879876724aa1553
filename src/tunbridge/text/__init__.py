"""Documents: a classifier that reads raw text."""

from tunbridge.text.explanation import TextExplanation
from tunbridge.text.marked import Span
from tunbridge.text.reader import read_documents
from tunbridge.text.text_classifier import TextClassifier

__all__ = ["Span", "TextClassifier", "TextExplanation", "read_documents"]
