"""Classifiers: scikit-learn estimators on top of the counts. Each is loaded when it is first used."""

from tunbridge._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__, roles=("classifier",))
