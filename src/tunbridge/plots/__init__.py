"""Plots of results.

Each function draws into Matplotlib axes and returns them, so that the plot can be changed, combined and saved like any
other. Matplotlib is optional: ``pip install "tunbridge[plots]"``. The colours suit colour-blind people, and everything
that a colour shows is also shown by a number, a shape or a side.

The names stand in ``__init__.pyi``; each is loaded when it is first used.
"""

from tunbridge._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
