"""Print the size of the house: how much code there is, how it is spread, and how far one row travels through it.

    python tools/house.py            the table, and the largest folders
    python tools/house.py --rooms    lines of code and files of each room as well
    python tools/house.py --where    the places behind the counts as well

It only prints: no number here fails a build. «Code» is every line that is not blank, not a comment and not part of a
docstring.
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "tunbridge"
_RUN = 6  # lines that make a repeat
_NOT_PRIVATE = {"_replace", "_asdict", "_fields", "_make", "_repr_html_"}  # public names of named tuples and notebooks
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Module(NamedTuple):
    """A parsed file."""

    path: Path
    name: str
    tree: ast.Module
    code: dict[int, str]


Places = dict[str, list[tuple[Module, list[tuple[int, str]]]]]
"""For each thing that is counted, where it stands: the line and what is there, by module."""


def modules() -> list[Module]:
    """Return every module of the package."""
    return [_module(path) for path in sorted(SOURCE.rglob("*.py"))]


def _module(path: Path) -> Module:
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
    return Module(path, name, tree, _code_lines(text, tree))


def _code_lines(text: str, tree: ast.Module) -> dict[int, str]:
    """Return the lines of code by number, without blanks, comments and docstrings."""
    documented = [n for n in ast.walk(tree) if isinstance(n, (ast.Module, ast.ClassDef, *_FUNCTIONS))]
    prose = {line for node in documented for line in _docstring_lines(node)}
    used = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            used.update(range(token.start[0], token.end[0] + 1))
    lines = text.splitlines()
    return {i: lines[i - 1] for i in sorted(used - prose) if i <= len(lines) and lines[i - 1].strip()}


def _docstring_lines(node: ast.AST) -> Iterator[int]:
    """Yield the lines of strings that stand alone in a body: docstrings, and those below attributes."""
    for statement in node.body:  # type: ignore[attr-defined]
        text = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            yield from range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def functions(module: Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function and method of a module."""
    for node in ast.walk(module.tree):
        if isinstance(node, _FUNCTIONS):
            yield node


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    """Return the parameters of a function without self and cls."""
    given = function.args
    found = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return [a for a in found if a.arg not in ("self", "cls")]


def plain_any(module: Module) -> list[tuple[int, str]]:
    """Return the parameters that are typed plain Any."""
    found = [a for f in functions(module) for a in parameters(f)]
    return [(a.lineno, a.arg) for a in found if isinstance(a.annotation, ast.Name) and a.annotation.id == "Any"]


def local_imports(module: Module) -> list[tuple[int, str]]:
    """Return the imports inside functions."""
    nodes = {n for f in functions(module) for n in ast.walk(f) if isinstance(n, (ast.Import, ast.ImportFrom))}
    return sorted((n.lineno, ast.unparse(n)) for n in nodes)


def private_reads(module: Module) -> list[tuple[int, str]]:
    """Return the reads of a private attribute of something other than self, cls, super() or an own class."""
    own = {n.name for n in ast.walk(module.tree) if isinstance(n, ast.ClassDef)} | {"self", "cls"}
    found = []
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Attribute) or not node.attr.startswith("_") or node.attr.startswith("__"):
            continue
        base = node.value
        if node.attr in _NOT_PRIVATE or (isinstance(base, ast.Name) and base.id in own):
            continue
        if isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id == "super":
            continue
        found.append((node.lineno, ast.unparse(node)))
    return sorted(found)


def many_parameters(module: Module, most: int) -> list[tuple[int, str]]:
    """Return the functions with more than so many parameters (constructors of estimators have one for each setting)."""
    found = [(f.lineno, f.name, len(parameters(f))) for f in functions(module) if f.name != "__init__"]
    return [(line, f"{name}({n})") for line, name, n in found if n > most]


def importers(found: list[Module]) -> dict[str, set[str]]:
    """Return which modules import each module."""
    names = {m.name for m in found}
    out: dict[str, set[str]] = defaultdict(set)
    for module in found:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                wanted = {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import):
                wanted = {alias.name for alias in node.names}
            else:
                continue
            for name in wanted & names:
                out[name].add(module.name)
    return out


def one_importer(found: list[Module]) -> list[str]:
    """Return the modules that one other module imports and no package exports."""
    users, packages = importers(found), {m.name for m in found if m.path.name == "__init__.py"}
    ordinary = [m.name for m in found if m.name not in packages]
    return [name for name in ordinary if len(users[name]) == 1 and not users[name] & packages]


def cycles(found: list[Module]) -> list[list[str]]:
    """Return the groups of modules that import each other, imports in functions and for type checkers included."""
    users, names = importers(found), [m.name for m in found]
    edges = [(names.index(user), i) for i, name in enumerate(names) for user in users[name] if user != name]
    graph = coo_array((np.ones(len(edges)), tuple(zip(*edges, strict=True))), shape=(len(names), len(names)))
    _, label = connected_components(graph, connection="strong")
    groups = [[names[i] for i in np.flatnonzero(label == k)] for k in np.unique(label)]
    return [group for group in groups if len(group) > 1]


def repeats(found: list[Module]) -> list[tuple[str, str, int]]:
    """Return the pairs of files that share a run of six lines of code or more, with the lines they share."""
    windows: dict[tuple[str, ...], set[tuple[int, int]]] = defaultdict(set)
    for k, module in enumerate(found):
        lines = [" ".join(line.split()) for line in module.code.values()]
        kept = [line for line in lines if not line.startswith(("import ", "from ")) and line.strip("()[]{},:\"'")]
        for i in range(len(kept) - _RUN + 1):
            windows[tuple(kept[i : i + _RUN])].add((k, i))
    shared: Counter[tuple[int, int]] = Counter()
    for places in windows.values():
        files = sorted({k for k, _ in places})
        shared.update((a, b) for i, a in enumerate(files) for b in files[i + 1 :])
    pairs = [(found[a].name, found[b].name, n + _RUN - 1) for (a, b), n in shared.items()]
    return sorted(pairs, key=lambda pair: -pair[2])


def folders(found: list[Module]) -> Counter[str]:
    """Return how many files lie in each folder."""
    return Counter(str(m.path.parent.relative_to(SOURCE.parent)) for m in found)


def room_of(module: Module) -> str:
    """Return the room of a module: its folder below the package."""
    parts = module.path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else "(top)"


class Walk(NamedTuple):
    """What was passed on the way of one row."""

    functions: int
    files: int
    changes: int


def walk(work: Callable[[], object]) -> Walk:
    """Return how many functions and files work passes, and how often it goes from one room into another.

    Of each function the first call counts only, so that loops and helpers called everywhere do not.
    """
    passed: dict[tuple[str, str], str] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(SOURCE)) and not code.co_name.startswith("<"):
            key = (code.co_filename, code.co_qualname)
            passed.setdefault(key, Path(code.co_filename).relative_to(SOURCE).parts[0])

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    rooms = [room for room in passed.values() if room != "_core" and not room.endswith(".py")]  # checks are no room
    changes = sum(a != b for a, b in pairwise(rooms))
    return Walk(len(passed), len({file for file, _ in passed}), changes)


def walks() -> dict[str, Walk]:
    """Return the ways of one row: a classifier's fit, EM, and the command line; each once all is loaded."""
    import tunbridge as tb
    from tunbridge.cli.app import app

    tennis = tb.datasets.play_tennis()
    asia = tb.example_network("asia").sample(200, random_state=0)
    dag, incomplete = tb.learn_structure(asia), asia.to_pandas()
    incomplete.loc[::7, "lung"] = None
    with TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        asia.to_pandas().to_csv(f"{folder}/asia.csv", index=False)
        words = ["network", "learn", f"{folder}/asia.csv", "-o", f"{folder}/asia.tb"]
        works: dict[str, Callable[[], object]] = {
            "naive Bayes fit": lambda: tb.NaiveBayesClassifier().fit(tennis, "play"),
            "EM": lambda: tb.fit_parameters(dag, incomplete),
            "tunbridge network learn": lambda: _ended(lambda: app(words)),
        }
        for work in works.values():
            work()
        return {name: walk(work) for name, work in works.items()}


def _ended(command: Callable[[], object]) -> None:
    with suppress(SystemExit):
        command()


def options_of_help() -> tuple[str, int]:
    """Return the help page with the most options that are shown, and how many."""
    pages = []
    for words in _verbs():
        shown = io.StringIO()
        with redirect_stdout(shown), suppress(SystemExit):
            from tunbridge.cli.app import app

            app([*words, "--help"])
        pages.append((" ".join(words), sum(_is_option(line) for line in shown.getvalue().splitlines())))
    return max(pages, key=lambda page: page[1])


def _is_option(line: str) -> bool:
    return line.strip(" │*").startswith("-")


def _verbs() -> list[list[str]]:
    from tunbridge._core.registry import entries

    return [name.split() for name in entries("verb")]


def report(*, rooms: bool, where: bool) -> Iterator[str]:
    """Yield the lines of the report."""
    found = modules()
    code = {m.name: len(m.code) for m in found}
    counted = {
        "parameters typed plain Any": [(m, plain_any(m)) for m in found],
        "imports inside functions": [(m, local_imports(m)) for m in found],
        "reads of another object's private attribute": [(m, private_reads(m)) for m in found],
        "functions with more than six parameters": [(m, many_parameters(m, 6)) for m in found],
        "functions with more than twelve parameters": [(m, many_parameters(m, 12)) for m in found],
    }
    pairs, alone = repeats(found), one_importer(found)
    yield f"{sum(code.values()):7} lines of code (docstrings, comments and blanks not counted)"
    yield f"{len(found):7} files, {sum(n < 60 for n in code.values())} of them under 60 lines of code"
    yield f"{len(alone):7} modules that one other module imports"
    largest = ", ".join(f"{name} {n}" for name, n in folders(found).most_common(3))
    yield f"{max(folders(found).values()):7} files in the largest folder ({largest})"
    yield f"{len(pairs):7} pairs of files that share six lines or more ({sum(n for *_, n in pairs)} lines)"
    for what, places in counted.items():
        yield f"{sum(len(lines) for _, lines in places):7} {what}"
    rings = cycles(found)
    yield f"{len(rings):7} groups of modules that import each other ({sum(map(len, rings))} modules)"
    page, n = options_of_help()
    yield f"{n:7} options on the longest help page (tunbridge {page})"
    for name, way in walks().items():
        yield f"{way.changes:7} room changes: {name} ({way.functions} functions, {way.files} files)"
    if rooms:
        yield from _rooms(found)
    if where:
        yield from _where(counted, pairs, alone, rings)


def _rooms(found: list[Module]) -> Iterator[str]:
    lines, files = Counter[str](), Counter[str]()
    for module in found:
        lines[room_of(module)] += len(module.code)
        files[room_of(module)] += 1
    yield ""
    yield from (f"{n:7} lines of code in {files[room]:3} files: {room}" for room, n in lines.most_common())


def _where(
    counted: Places, pairs: list[tuple[str, str, int]], alone: list[str], rings: list[list[str]]
) -> Iterator[str]:
    for what, places in counted.items():
        yield f"\n{what}:"
        yield from (f"  {m.path.relative_to(ROOT)}:{line} {text}" for m, lines in places for line, text in lines)
    yield "\nshared lines:"
    yield from (f"  {n:3} {a} ~ {b}" for a, b, n in pairs)
    yield "\none importer:"
    yield from (f"  {name}" for name in alone)
    yield "\nimport each other:"
    yield from (f"  {', '.join(group)}" for group in rings)


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description="Print the size of the house.")
    parser.add_argument("--rooms", action="store_true", help="lines of code and files of each room")
    parser.add_argument("--where", action="store_true", help="the places behind the counts")
    given = parser.parse_args()
    for line in report(rooms=given.rooms, where=given.where):
        print(line)


if __name__ == "__main__":
    main()
