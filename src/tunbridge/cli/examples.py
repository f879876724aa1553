"""The files that the examples of the README and the pages use, made by code: ``tunbridge datasets get titanic``.

*titanic* has the published numbers of passengers by class, sex, age group and survival; their names and exact ages are
made up. *messages* are made of phrases. *visits* are drawn from the network Asia, with gaps.

References
----------
R. J. M. Dawson (1995). The «unusual episode» data revisited. Journal of Statistics Education 3(3).
S. L. Lauritzen, D. J. Spiegelhalter (1988). Local computations with probabilities on graphical structures. JRSS B 50,
157–224 (the network Asia).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

import tunbridge as tb
from tunbridge.cli.files import write_batches
from tunbridge.errors import DataError

_PASSENGERS = {  # (class, sex, is a child): (survived, lost)
    (1, "male", False): (57, 118), (1, "female", False): (140, 4), (1, "male", True): (5, 0),
    (1, "female", True): (1, 0), (2, "male", False): (14, 154), (2, "female", False): (80, 13),
    (2, "male", True): (11, 0), (2, "female", True): (13, 0), (3, "male", False): (75, 387),
    (3, "female", False): (76, 89), (3, "male", True): (13, 35), (3, "female", True): (14, 17),
}  # fmt: skip
_AGES = {1: 40, 2: 33, 3: 27}  # of adults by class, in the mean
_NEW_ROWS = 10
_HAM = (
    ("Are you free for lunch", "See you at the station", "Can you call me", "I am on the train", "Happy birthday"),
    ("today?", "at noon", "after work", "tomorrow", "when you are home"),
    ("Mum", "Tom", "Anna", "love", "thanks"),
)
_SPAM = (
    ("You have won a prize", "Win free tickets", "Claim your cash", "Urgent, your account", "Cheap loans"),
    ("call now", "reply WIN", "text STOP to end", "only today", "click the link"),
    ("100% free", "guaranteed", "limited offer", "cost 1.50 per min", "no risk"),
)
_MESSAGES, _SPAM_SHARE, _MIXED = 400, 0.25, 0.15


def titanic() -> Iterator[tuple[str, pa.Table]]:
    """Yield the passengers of the Titanic, and a few without their fate."""
    rng = np.random.default_rng(1912)
    rows = []
    for (level, sex, is_child), (survived, lost) in _PASSENGERS.items():
        for fate in ["yes"] * survived + ["no"] * lost:
            age = int(rng.integers(1, 15)) if is_child else int(np.clip(rng.normal(_AGES[level], 11), 15, 74))
            rows.append({"Survived": fate, "Pclass": level, "Sex": sex, "Age": age if rng.random() > 0.2 else None})
    order = rng.permutation(len(rows)).tolist()
    passengers = [{"Name": f"Passenger {n + 1}", **rows[i]} for n, i in enumerate(order)]
    columns = ["Survived", "Pclass", "Name", "Sex", "Age"]
    known, new = passengers[:-_NEW_ROWS], passengers[-_NEW_ROWS:]
    yield "passengers.csv", pa.Table.from_pylist(known).select(columns)
    yield "new.csv", pa.Table.from_pylist(new).select(columns[1:])


def messages() -> Iterator[tuple[str, pa.Table]]:
    """Yield short messages, a quarter of them spam."""
    rng = np.random.default_rng(160)
    is_spam = rng.random(_MESSAGES) < _SPAM_SHARE
    kinds = is_spam[:, None] ^ (rng.random((_MESSAGES, len(_HAM))) < _MIXED)  # now and then a phrase of the other kind
    texts = [", ".join(str(rng.choice((_SPAM if s else _HAM)[k])) for k, s in enumerate(row)) for row in kinds.tolist()]
    yield "messages.csv", pa.table({"label": np.where(is_spam, "spam", "ham"), "text": texts})


def visits() -> Iterator[tuple[str, pa.Table]]:
    """Yield visits to a clinic, drawn from the network Asia; lung cancer is unknown in every third of them."""
    net = tb.example_network("asia")
    for name, n in (("visits.csv", 500), ("later.csv", 100)):
        rows = net.sample(n, random_state=n).to_arrow()
        lung = [None if i % 3 == 0 else state for i, state in enumerate(rows["lung"].to_pylist())]
        yield name, rows.set_column(rows.column_names.index("lung"), "lung", [lung])


EXAMPLES: dict[str, Callable[[], Iterator[tuple[str, pa.Table]]]] = {
    "titanic": titanic, "messages": messages, "visits": visits,
}  # fmt: skip


def write_example(name: str) -> dict[str, int]:
    """Write the files of an example into the working folder; return their names and numbers of rows."""
    written = {}
    for file, table in EXAMPLES[name]():
        write_new(Path(file), table)
        written[file] = table.num_rows
    if name == "visits":
        with _new(Path("asia.bif")) as path:
            tb.example_network("asia").write(path)
    return written


def write_new(file: Path, table: pa.Table) -> None:
    """Write a table to a file; raise if there is another file of this name."""
    with _new(file) as path:
        write_batches(path, iter([table]))


@contextmanager
def _new(file: Path) -> Iterator[Path]:
    """Give a temporary name for a file, which is moved to its place unless another file is there."""
    with TemporaryDirectory(dir=".", prefix=".tunbridge-") as folder:
        made = Path(folder) / file.name
        yield made
        if file.exists() and file.read_bytes() != made.read_bytes():
            hint = "Move it away, or use another folder."
            raise DataError(
                f"the file to write must not exist yet; got {str(file)!r}, which holds something else. {hint}"
            )
        made.replace(file)
