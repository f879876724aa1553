"""What is fuzzed: for each format seeds, made by the package's own writers, a mutation, and a use of what was read.

A use raises nothing, or an error of the package. What was read is not only parsed but asked: a network for all
posteriors, a model for the probabilities of rows; :func:`check_probabilities` raises AssertionError where these are not
probabilities.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import tunbridge as tb
from tools.fuzz.grammars import mutate_json_lines, table_mutation, text_mutation
from tools.fuzz.models import GOLDEN, model_seeds, mutate_model, use_model
from tools.fuzz.mutations import Mutation, mutate_arguments
from tunbridge._core.registry import entries
from tunbridge.errors import TunbridgeError


class Target(NamedTuple):
    """A kind of input: the suffix of its files, good inputs, how they are mutated, and how they are used."""

    suffix: str
    seeds: Callable[[], list[bytes]]
    mutate: Mutation
    use: Callable[[Path], None]


def check_probabilities(values: Any) -> None:
    """Raise AssertionError unless the rows are distributions; NaN stands for rows of probability zero."""
    table = np.asarray(values, dtype=np.float64)
    known = table[~np.isnan(table).any(axis=-1)] if table.ndim > 1 else table
    if not (np.all(known >= 0) and np.allclose(known.sum(axis=-1), 1, rtol=0, atol=1e-6)):
        raise AssertionError(f"probabilities must sum to 1; got {known.sum(axis=-1)[:5]}")


def use_network(path: Path) -> None:
    """Read a network in every dialect of its format, ask it for all marginals, and write it."""
    with suppress(TunbridgeError):
        if path.suffix in (".uai", ".xdsl"):
            tb.read_network(path, dialect="agrum")
    net = tb.read_network(path)
    for answer in net.posteriors().values():
        if isinstance(answer, tb.Distribution):
            check_probabilities(list(answer.values()))
    net.sample(3, random_state=0)
    with TemporaryDirectory() as folder:
        net.write(Path(folder) / "again.tb")


def use_table(path: Path) -> None:
    """Read a table and convert it."""
    tb.read_table(path).to_arrow()


def use_command(path: Path) -> None:
    """Run a command line, one argument a line, in a folder with a few files."""
    from tunbridge.cli.app import app

    words = path.read_text("utf-8", "replace").replace("\x00", "").split("\n")
    with TemporaryDirectory() as folder:
        before = Path.cwd()
        os.chdir(folder)
        try:
            for name, content in _COMMAND_FILES.items():
                Path(name).write_bytes(content())
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as said:
                try:
                    app(words)
                except SystemExit as end:
                    if end.code not in (0, 1, 2, None) or "Traceback" in said.getvalue():
                        raise AssertionError(f"exit {end.code}: {said.getvalue()[-300:]}") from None
        finally:
            os.chdir(before)


def _network_seeds(suffix: str) -> Callable[[], list[bytes]]:
    def seeds() -> list[bytes]:
        odd = tb.BayesianNetwork(
            {"a b": ["<5", "12+"], "ü": ["x", "y", "z"], "c": ["0", "1"]},
            [("a b", "c"), ("ü", "c")],
            {"a b": [0.25, 0.75], "ü": [0.2, 0.3, 0.5], "c": np.full((2, 3, 2), 0.5)},
        )
        nets = [tb.example_network("asia"), odd, _noisy()]
        if suffix == ".net":
            nets.append(_mixed())
        return [_written(net, suffix) for net in nets]

    return seeds


def _noisy() -> tb.BayesianNetwork:
    causes = [tb.Variable(name, ["no", "yes"]) for name in ("cold", "flu")]
    effect = tb.noisy_or(tb.Variable("fever", ["no", "yes"]), dict(zip(causes, (0.4, 0.8), strict=True)), leak=0.1)
    return tb.BayesianNetwork.from_tables([*(tb.CPT(v, (), np.array([0.9, 0.1])) for v in causes), effect])


def _mixed() -> tb.BayesianNetwork:
    d, x, y = tb.Variable("d", ["a", "b"]), tb.Variable("x"), tb.Variable("y")
    means = tb.LinearGaussian(x, [d], [1.0, -2.0], variances=[1.0, 0.5])
    line = tb.LinearGaussian(y, [x], 0.5, coefficients=[2.0], variances=0.1)
    return tb.BayesianNetwork.from_tables([tb.CPT(d, (), np.array([0.3, 0.7])), means, line])


def _written(net: tb.BayesianNetwork, suffix: str) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"seed{suffix}"
        net.write(path)
        return path.read_bytes()


def _table_seeds(suffix: str) -> Callable[[], list[bytes]]:
    def seeds() -> list[bytes]:
        mixed = tb.as_table({"a": ["x", "y", None, "z;,\"'\n"], "b": [1.5, None, -3e9, 0.0], "c": [1, 2, 3, 4]})
        return [_table_bytes(table, suffix) for table in (mixed, tb.datasets.play_tennis())]

    return seeds


def _table_bytes(table: tb.Table, suffix: str) -> bytes:
    frame = table.to_pandas()
    if suffix in (".csv", ".tsv"):
        return frame.to_csv(index=False, sep="," if suffix == ".csv" else "\t").encode()
    if suffix == ".jsonl":
        return frame.to_json(orient="records", lines=True).encode()
    if suffix == ".arff":
        return _arff(table).encode()
    out = io.BytesIO()
    frame.to_parquet(out) if suffix == ".parquet" else frame.to_feather(out)
    return out.getvalue()


def _arff(table: tb.Table) -> str:
    def attribute(name: str) -> str:
        states = table.variable(name).states
        return "numeric" if states is None else "{" + ",".join(_quoted(s) for s in states) + "}"

    rows = [[_quoted(value) for value in row] for row in table.to_pandas().itertuples(index=False)]
    head = [f"@attribute {_quoted(name)} {attribute(name)}" for name in table.names]
    return "\n".join(["@relation r", *head, "@data", *(",".join(row) for row in rows)]) + "\n"


def _quoted(value: Any) -> str:
    if value is None or value != value:
        return "?"
    text = str(value).replace("\n", " ")
    return text if text.isalnum() or isinstance(value, float) else "'" + text.replace("'", "\\'") + "'"


_COMMANDS = (
    "learn data.csv --target play -o m.tb", "predict model.tb data.csv --proba -o out.csv", "describe data.csv",
    "evaluate data.csv --target play --models nb,tan --folds 2", "explain model.tb --given outlook=Sunny",
    "network learn data.csv -o n.bif", "network query net.bif --target lung --given xray=yes", "datasets play_tennis",
    "network sample net.bif -n 5 --seed 1 -o s.csv", "network convert net.bif net.xmlbif",
    "network update net.tb s.csv",
    "bayes --prior cancer=0.008 --likelihood cancer=0.98,healthy=0.03", "impute net.bif data.csv -o i.csv",
    "test --prevalence 0.008 --sensitivity 0.98 --specificity 0.97", "text learn texts.csv --target label -o t.tb",
)  # fmt: skip
_COMMAND_FILES: dict[str, Callable[[], bytes]] = {
    "data.csv": lambda: _table_bytes(tb.datasets.play_tennis(), ".csv"),
    "net.bif": lambda: _written(tb.example_network("asia"), ".bif"),
    "model.tb": lambda: (GOLDEN / "naive-bayes.tb").read_bytes(),
    "texts.csv": lambda: b"label,text\nspam,win a prize\nham,lunch at noon\nspam,free prize\nham,see you\n",
}


def _command_seeds() -> list[bytes]:
    return [command.replace(" ", "\n").encode() for command in _COMMANDS]


def _targets() -> Iterator[tuple[str, Target]]:
    for name, entry in entries("network_format").items():
        if not entry.details.get("binary"):
            suffix = entry.details["suffixes"][0]
            yield name, Target(suffix, _network_seeds(suffix), text_mutation(name), use_network)
    yield "tb", Target(".tb", model_seeds, mutate_model, use_model)
    for name in ("csv", "tsv", "arff"):
        yield name, Target(f".{name}", _table_seeds(f".{name}"), text_mutation(name), use_table)
    yield "jsonl", Target(".jsonl", _table_seeds(".jsonl"), mutate_json_lines, use_table)
    for name in ("parquet", "arrow"):
        yield name, Target(f".{name}", _table_seeds(f".{name}"), table_mutation(name == "parquet"), use_table)
    yield "arguments", Target(".txt", _command_seeds, mutate_arguments, use_command)


TARGETS = dict(_targets())

if sys.platform == "win32":
    raise SystemExit("The fuzzer needs the signals and limits of Unix.")
