"""Runs the examples of a Markdown page, in order, in one folder and one namespace.

Every fenced block of a page is looked at, by its language:

* ``python`` or ``pycon`` with ``>>>`` prompts: run by doctest, output compared (blanks and ``...`` as in docstrings);
* ``python`` without prompts: executed;
* ``console``: every ``$`` line is run by the shell, and what it prints on stdout and stderr compared with the lines
  below it (``...`` stands for anything); a command fails if and only if its last line starts with «tunbridge: »;
* any language with ``title="name"``: written to a file of that name; Python files can be imported by what follows;
* everything else is text to read.

A few commands are for people only, because they install or build things (:data:`NOT_RUN`). ``python
tests/page_runner.py docs/*.md`` shows which examples do not come out as written, and with ``--write`` puts what came
out into the pages.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tunbridge._core import registry

ROOT = Path(__file__).resolve().parents[1]
NOT_RUN = ("make", "pip install", "python -m pip install", "git clone", "cd")
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`]*)$")
_TITLE = re.compile(r'title="([^"]+)"')
_FAILED = re.compile(r"^(tunbridge: |\(exit code).*\n\Z", re.MULTILINE)
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n.*\n(?=\S+: )", re.DOTALL)
_LONG_NUMBER = re.compile(r"\d+\.\d{11,}(?:e-?\d+)?")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file it is (if any), the index of its first line in the page, and its text."""

    language: str
    title: str
    line: int
    indent: int
    text: str


@dataclass(frozen=True)
class Difference:
    """An example that did not come out as written: where the expected output stands, and what came out."""

    what: str
    first: int
    last: int
    indent: int
    expected: str
    got: str

    def __str__(self) -> str:
        shown = [f"line {self.first}: {self.what}", "expected:", self.expected.rstrip(), "got:", self.got.rstrip()]
        return "\n".join(shown)


def blocks_of(text: str) -> list[Block]:
    r"""Return the fenced blocks of a page, those inside lists, tabs and notes too.

    Examples
    --------
    >>> [(b.language, b.title, b.text) for b in blocks_of('a\n\n```csv title="x.csv"\na,b\n```\n')]
    [('csv', 'x.csv', 'a,b\n')]
    """
    found, lines, i = [], text.splitlines(), 0
    while i < len(lines):
        opened = _FENCE.match(lines[i])
        if opened:
            start = i + 1
            end = next(j for j in range(start, len(lines)) if lines[j].strip() == opened["ticks"])
            info, indent = opened["info"].strip(), len(opened["indent"])
            content = "".join(line[indent:] + "\n" for line in lines[start:end])
            title = _TITLE.search(info)
            found.append(Block(info.split(" ")[0], title[1] if title else "", start, indent, content))
            i = end
        i += 1
    return found


def run_page(path: Path, folder: Path, *, lenient: bool = False) -> list[Difference]:
    """Return the examples of a page that did not come out as written; errors in plain code are raised.

    A lenient run leaves out all commands but ``tunbridge``, and does not compare output where the page shows none.
    """
    with _inside(folder), warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        space: dict[str, Any] = {"__name__": "__page__"}
        blocks = blocks_of(path.read_text(encoding="utf-8"))
        return [d for block in blocks for d in _run_block(block, space, path, lenient)]


def _run_block(block: Block, space: dict[str, Any], path: Path, lenient: bool) -> list[Difference]:
    if block.title:
        Path(block.title).write_text(block.text, encoding="utf-8")
        return []
    if block.language == "console":
        return _run_console(block, lenient)
    if block.language not in ("python", "pycon"):
        return []
    if ">>>" in block.text:
        return _run_doctest(block, space, path)
    padding = "\n" * block.line  # so that a traceback has the line of the page
    exec(compile(padding + block.text, str(path), "exec"), space)
    return []


def _run_doctest(block: Block, space: dict[str, Any], path: Path) -> list[Difference]:
    test = doctest.DocTestParser().get_doctest(block.text, {}, path.name, str(path), block.line)
    test.globs = space
    collector = _Collector(block)
    collector.run(test, out=lambda _: None, clear_globs=False)
    return collector.differences


class _Collector(doctest.DocTestRunner):
    """A doctest runner that keeps what did not come out."""

    def __init__(self, block: Block) -> None:
        super().__init__(optionflags=FLAGS)
        self.block, self.differences = block, []

    def report_failure(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        self._keep(example, _TRACEBACK.sub("Traceback (most recent call last):\n    ...\n", got))

    def report_unexpected_exception(self, out: Any, test: Any, example: doctest.Example, exc_info: Any) -> None:
        kind, value, _ = exc_info
        text = f"Traceback (most recent call last):\n    ...\n{kind.__module__}.{kind.__qualname__}: {value}\n"
        self._keep(example, text.replace("builtins.", ""))

    def _keep(self, example: doctest.Example, got: str) -> None:
        first = self.block.line + example.lineno + example.source.count("\n")
        last = first + example.want.count("\n")
        self.differences.append(
            Difference(example.source.strip(), first + 1, last + 1, self.block.indent, example.want, _blanked(got))
        )


def _run_console(block: Block, lenient: bool) -> list[Difference]:
    differences = []
    for at, command, expected in _commands(block):
        if command.startswith(NOT_RUN) or (lenient and not command.startswith("tunbridge ")):
            continue
        got = _output_of(command)
        silent_success = lenient and not expected and not _FAILED.search(got)
        if not silent_success and not _is_alike(expected, got):
            differences.append(Difference(command, at, at + expected.count("\n"), block.indent, expected, got))
    return differences


def _commands(block: Block) -> Iterator[tuple[int, str, str]]:
    """Yield for each command of a console block the line at which its output starts, itself, and that output."""
    lines = block.text.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("$ ")]
    if not starts or starts[0] != 0:
        raise ValueError(f"line {block.line + 1}: a console block must start with a $ line")
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        end = start
        while lines[end].endswith("\\"):
            end += 1
        command = "\n".join(line.removeprefix("$ ").removeprefix("> ") for line in lines[start : end + 1])
        yield block.line + end + 2, command, "".join(f"{line}\n" for line in lines[end + 1 : stop])


def _output_of(command: str) -> str:
    """Return what a command prints; an exit code that its output does not explain stands at the end."""
    words = shlex.split(command, comments=True)
    plain = words[0] == "tunbridge" and not set(command) & set("|<>&;$`\n")
    text, code = _run_here(words[1:]) if plain else _run_shell(command)
    got = _stripped(text)
    told = bool(_FAILED.search(got))
    return got if told == (code != 0) else f"{got}(exit code {code})\n"


def _run_here(words: list[str]) -> tuple[str, int]:
    """Run ``tunbridge`` in this process, which saves its start."""
    from tunbridge.cli.app import app

    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            app(words, prog_name="tunbridge")
        except SystemExit as end:
            code = int(end.code or 0)
    output.flush()
    return output.buffer.getvalue().decode(), code  # type: ignore[attr-defined]


def _run_shell(command: str) -> tuple[str, int]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PATH": path},
        timeout=300,
        check=False,
    )
    return done.stdout.decode(), done.returncode


def _stripped(text: str) -> str:
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def _is_alike(expected: str, got: str) -> bool:
    return doctest.OutputChecker().check_output(_rounded(_stripped(expected)), _rounded(got), doctest.ELLIPSIS)


def _rounded(text: str) -> str:
    """Return text with ten digits of long numbers, whose last digits depend on the machine."""
    return _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.10g}", text)


def _blanked(got: str) -> str:
    return re.sub(r"(?m)^\s*$(?=\n)", "<BLANKLINE>", got)


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Work in a folder, from which Python files can be imported; what these register is forgotten at the end."""
    before, modules, variables = os.getcwd(), set(sys.modules), dict(os.environ)
    registered = {role: dict(found) for role, found in registry._REGISTERED.items()}
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    os.environ.pop("TUNBRIDGE_DATA", None)
    os.environ["MPLBACKEND"] = "agg"
    os.environ["TUNBRIDGE_CACHE"] = str(folder / ".cache")  # so that downloaded data sets do not show
    try:
        yield
    finally:
        os.chdir(before)
        sys.path.remove(str(folder))
        os.environ.clear()
        os.environ.update(variables)
        for role, found in registry._REGISTERED.items():
            for name in [n for n, e in found.items() if not e.module.startswith("tunbridge.")]:
                if name not in registered.get(role, {}):
                    del found[name]
        for name in set(sys.modules) - modules:
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]


def _rewrite(path: Path, differences: list[Difference]) -> None:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    for d in sorted(differences, key=lambda d: -d.first):
        lines[d.first - 1 : d.last - 1] = [textwrap.indent(d.got, " " * d.indent)]
    path.write_text("".join(lines), encoding="utf-8")


def main(words: list[str]) -> int:
    """Run the pages that are named; with ``--write`` correct them."""
    n_different = 0
    for name in [w for w in words if w != "--write"]:
        path = Path(name).resolve()
        with tempfile.TemporaryDirectory() as folder:
            differences = run_page(path, Path(folder))
        n_different += len(differences)
        for d in differences:
            print(f"\n{name}, {d}")
        if "--write" in words and differences:
            _rewrite(path, differences)
    return 1 if n_different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
