"""Tunbridge: Bayesian learning for Python.

``import tunbridge as tb`` costs next to nothing: every public name is loaded when it is first used. The names stand in
``__init__.pyi``; classifiers, scores and searches are found by the registry as well.
"""

from tunbridge._version import __version__ as __version__


def _load():  # type: ignore[no-untyped-def]
    """Put the functions that find names in the place of those below, which wait until a name is used."""
    from tunbridge._core.lazy import lazy_names

    found = lazy_names(__name__, __file__, roles=("classifier", "score", "search"))
    globals().update(zip(("__getattr__", "__dir__", "__all__"), found, strict=True))
    return found


def __getattr__(name):  # type: ignore[no-untyped-def]
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    get, _, names = _load()
    return names if name == "__all__" else get(name)


def __dir__():  # type: ignore[no-untyped-def]
    return _load()[1]()
