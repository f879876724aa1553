"""Documents: a classifier that reads raw text."""

from tunbridge.text.explanation import Span, TextExplanation
from tunbridge.text.folders import read_documents
from tunbridge.text.text_classifier import TextClassifier

__all__ = ["Span", "TextClassifier", "TextExplanation", "read_documents"]
