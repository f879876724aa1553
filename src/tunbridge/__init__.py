"""Tunbridge: Bayesian learning for Python.

``import tunbridge as tb`` costs next to nothing: every public name is loaded when it is first used. The names stand in
``__init__.pyi``; classifiers, scores and searches are found by the registry as well.
"""

from tunbridge._core.lazy import lazy_names
from tunbridge._version import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__, roles=("classifier", "score", "search"))
