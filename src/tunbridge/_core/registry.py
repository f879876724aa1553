"""The registry: the one list of what can be chosen by name.

A class says next to its definition by which name people choose it::

    @classifier("tan")
    class TANClassifier(BayesClassifier):
        ...

and everything that lists names reads them here: the names of the package, ``load``, ``compare_classifiers``, the
choices and help of the command line, the warm-up. Adding a classifier, score, search or file format is one file.

Entries are found without importing anything: the folder of a role is scanned for its decorator, and the module is
imported by :meth:`Entry.load`. Scanning the forty files of a folder takes a few milliseconds; importing them takes a
hundred times as long. For this the decorator must stand at the start of a line above the class or function, and its
arguments must be literals. A class outside the package is registered when its module is imported.

The other arguments of ``@classifier`` are

- ``file``: what its files are called inside, default: its name;
- ``help``: what it is in a few words, default: the first line of its docstring;
- ``variants``: further names for it with some parameters set, ``{name: (help, {parameter: value})}``;
- ``rank``: where it stands in lists, the simplest models first;
- ``default``: the name under which ``compare_classifiers`` takes it when no models are named;
- ``compared=False``: it needs another classifier inside, or rows that are no table.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from tunbridge._core.check import did_you_mean
from tunbridge.errors import DataError

T = TypeVar("T", bound=Callable[..., Any])

_PACKAGE = __name__.partition(".")[0]
_ROOT = Path(__file__).parents[1]
_FOLDERS = {
    "classifier": ("classifiers", "text", "sequences", "temporal"),
    "score": ("learning/scores",),
    "search": ("learning/searches",),
    "table_format": ("data/formats",),
    "network_format": ("formats",),
    "model": ("temporal",),
    "verb": ("cli/verbs",),
}
"""The folders of the package in which the classes of each role live."""

_ATTRIBUTE = "registry_entry"
"""Where a registered class or function carries its entry."""

_REGISTERED: dict[str, dict[str, Entry]] = {role: {} for role in _FOLDERS}
_DEFINITION = re.compile(
    rf"""^@(?P<role>{"|".join(_FOLDERS)})\((?P<arguments>(?:[^()]|\([^()]*\))*)\)\n # decorator, literal arguments
        (?:@.*\n)*                                                 # other decorators
        (?:class|def)\ (?P<object>\w+)(?:(?!\n(?:class|def|@))[\s\S])*?:\n  # the class or function
        \s+r?\"\"\"(?P<summary>[^\n]*?)(?:\"\"\")?\n                 # the first line of its docstring
    """,
    re.MULTILINE | re.VERBOSE,
)


@dataclass(frozen=True)
class Entry:
    """Something that can be chosen by name.

    Parameters
    ----------
    role : str
        What it is: ``"classifier"``, ``"score"``, ``"search"``, ``"table_format"``,
        ``"network_format"``, ``"model"`` or ``"verb"``.
    name : str
        The name by which people choose it.
    summary : str
        The first line of its docstring, without the full stop.
    module, object : str
        Where it is defined.
    details : mapping
        The other arguments of its decorator.
    """

    role: str
    name: str
    summary: str
    module: str
    object: str
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """What its files are called inside."""
        return str(self.details.get("file", self.name))

    def load(self) -> Any:
        """Return the class or function; its module is imported if it was not yet."""
        return getattr(import_module(self.module), self.object)


def entries(role: str) -> dict[str, Entry]:
    """Return everything registered for a role by name, ordered by the detail ``rank`` (default: 100) and name.

    Examples
    --------
    >>> "tan" in entries("classifier")
    True
    """
    found = _scanned(role) | _REGISTERED[role]
    return dict(sorted(found.items(), key=lambda item: (item[1].details.get("rank", 100), item[0])))


def entry(role: str, name: str) -> Entry:
    """Return what is registered for a role by that name; raise with the nearest name.

    Examples
    --------
    >>> entry("classifier", "tann")
    Traceback (most recent call last):
    tunbridge.errors.DataError: classifier must be one that is registered; got 'tann'. Did you mean 'tan'?
    """
    found = _REGISTERED[role].get(name) or _scanned(role).get(name)
    if found is None:
        what = role.replace("_", " ")
        hint = did_you_mean(name, entries(role))
        raise DataError(f"{what} must be one that is registered; got {name!r}. {hint}", parameter=role)
    return found


def file_entry(role: str, kind: str) -> Entry | None:
    """Return what is registered for files of a kind, or None.

    Examples
    --------
    >>> file_entry("classifier", "naive-bayes").object
    'NaiveBayesClassifier'
    """
    return next((found for found in entries(role).values() if found.file == kind), None)


def _decorator(role: str) -> Callable[..., Callable[[T], T]]:
    def register(name: str, **details: Any) -> Callable[[T], T]:
        def add(registered: T) -> T:
            summary = (registered.__doc__ or "").strip().partition("\n")[0].rstrip(".")
            made = Entry(role, name, summary, registered.__module__, registered.__qualname__, details)
            _REGISTERED[role][name] = made
            setattr(registered, _ATTRIBUTE, made)
            return registered

        return add

    register.__doc__ = f"Register the class or function below as a {role.replace('_', ' ')} of that name."
    return register


classifier = _decorator("classifier")
score = _decorator("score")
search = _decorator("search")
table_format = _decorator("table_format")
network_format = _decorator("network_format")
model = _decorator("model")
verb = _decorator("verb")


@cache
def _scanned(role: str) -> dict[str, Entry]:
    """Return the entries of a role that the files of the package define."""
    files = [path for folder in _FOLDERS[role] for path in sorted((_ROOT / folder).rglob("*.py"))]
    return {found.name: found for path in files for found in _definitions(path) if found.role == role}


@cache
def _definitions(path: Path) -> tuple[Entry, ...]:
    return tuple(_read(path.read_text("utf-8"), ".".join((_PACKAGE, *path.relative_to(_ROOT).with_suffix("").parts))))


def _read(source: str, module: str) -> Iterator[Entry]:
    for found in _DEFINITION.finditer(source):
        call = ast.parse(f"f({found['arguments']})", mode="eval").body
        assert isinstance(call, ast.Call)
        details = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
        name = ast.literal_eval(call.args[0])
        yield Entry(found["role"], name, found["summary"].rstrip("."), module, found["object"], details)
