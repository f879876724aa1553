"""Learning: structures by search, constraints, confidence of arcs, parameters, missing values, and arriving data.

Every name is loaded when it is first used. The names are listed in ``__init__.pyi``; scores and searches are found by
the registry as well.
"""

from tunbridge._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__, roles=("score", "search"))
