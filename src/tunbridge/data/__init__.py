"""Data: variables, tables, readers, discretisers and the small classic example sets.

The names stand in ``__init__.pyi``; each is loaded when it is first used.
"""

from tunbridge._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
