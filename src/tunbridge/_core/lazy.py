"""Packages whose names are loaded when they are first used.

The names of a package are listed once, in its stub ``__init__.pyi``: type checkers and editors read it, and so does
:func:`lazy_names`, which turns ``from tunbridge.counts import Counter as Counter`` into an import that is made when
``tunbridge.Counter`` is first used. What the registry knows is found as well, so that a new classifier, score or
search is a name of the package without being listed anywhere.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from tunbridge._core.registry import entries

_ELSEWHERE = {
    "BayesianNetwork": "BN BayesNet BayesianModel DiscreteBayesianNetwork LinearGaussianBayesianNetwork fastBN",
    "CPT": "TabularCPD",
    "NaiveBayesClassifier": "NaiveBayes GaussianNB CategoricalNB MixedNB",
    "HMMClassifier": "HMMClassification SequentialClassifier GMMHMMClassifier",
    "HiddenMarkovModel": "CategoricalHMM DenseHMM GMMHMM GaussianHMM HMM MultinomialHMM PoissonHMM SparseHMM "
    "VariationalCategoricalHMM VariationalGaussianHMM hmm",
    "SequenceClassifier": "MarkovChain",
    "TextClassifier": "MultinomialNB BernoulliNB ComplementNB CountVectorizer",
    "as_table": "DataFrame from_pandas",
    "classify": "GridSearchCV best_model choose fit learn train",
    "compare_classifiers": "compare cross_val_score cross_validate evaluate score",
    "discretise": "KBinsDiscretizer cut qcut",
    "example_network": "get_example_model",
    "fit_parameters": "BayesianEstimator ExpectationMaximization MaximumLikelihoodEstimator",
    "impute": "IterativeImputer SimpleImputer fillna",
    "learn_network": "BNLearner fit_network train_network",
    "learn_structure": "HillClimbSearch TreeSearch ges hc tabu",
    "load": "load_model open",
    "read_network": "BIFReader loadBN read_bif",
    "read_table": "load_table read read_arrow read_csv read_excel read_parquet",
}
"""Names of other libraries, and those that people try, by what they are here."""


def lazy_names(
    package: str, file: str, *, roles: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package, read from the stub beside its file.

    Parameters
    ----------
    package : str
        Its name, ``__name__``.
    file : str
        Its file, ``__file__``.
    roles : sequence of str
        The roles of the registry whose classes are names of the package too.

    Examples
    --------
    >>> import tunbridge
    >>> "Counter" in tunbridge.__all__, "TANClassifier" in dir(tunbridge)
    (True, True)
    """
    places = _places(Path(file).with_suffix(".pyi"))

    def find(name: str) -> tuple[str, str] | None:
        if name in places or name.startswith("_"):
            return places.get(name)
        found = (entry for role in roles for entry in entries(role).values() if entry.object == name)
        return next(((entry.module, name) for entry in found), None)

    def get(name: str) -> Any:
        place = find(name)
        if place is None and (name.startswith("_") or not find_spec(f"{package}.{name}")):
            raise AttributeError(f"module {package!r} has no attribute {name!r}{_hint(name, names())}")
        value = import_module(f"{package}.{name}") if place is None else _load(*place)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        registered = (entry.object for role in roles for entry in entries(role).values())
        return sorted({*places, *registered, *vars(sys.modules[package])} - {lazy_names.__name__})

    return get, names, sorted(places)


def _hint(name: str, names: Sequence[str]) -> str:
    """Return which name of a package was meant: the one that another library calls so, or one that is spelled alike.

    Examples
    --------
    >>> _hint("discretize", ["discretise"]), _hint("read_csv", ["read_table"]), _hint("_x", ["x"])
    (". Did you mean 'discretise'?", ". Did you mean 'read_table'?", '')
    """
    if name.startswith("_"):
        return ""
    plain = {known.lower(): known for known in reversed(names) if not known.startswith("_")}
    meant = next((here for here, others in _ELSEWHERE.items() if name in others.split()), "")
    near = [meant] if meant in names else [plain[n] for n in get_close_matches(name.lower(), plain, n=1)]
    return f". Did you mean {near[0]!r}?" if near else ""


def _places(stub: Path) -> dict[str, tuple[str, str]]:
    """Return the module and the name there of each name that a stub imports."""
    imports = [node for node in ast.parse(stub.read_text("utf-8")).body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name: (str(node.module), alias.name) for node in imports for alias in node.names}


def _load(module: str, name: str) -> Any:
    """Return a name of a module, or its submodule of that name."""
    found = import_module(module)
    if name not in vars(found) and find_spec(f"{module}.{name}"):
        return import_module(f"{module}.{name}")
    return getattr(found, name)


class LazyModule(ModuleType):
    """A module that is imported when one of its names is first used.

    Examples
    --------
    >>> LazyModule("math").sqrt(9.0)
    3.0
    """

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)  # from now on without this detour
        return value
