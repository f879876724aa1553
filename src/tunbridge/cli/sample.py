"""``tunbridge sample``: rows drawn from a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunbridge.cli.networks import Do, Given, NetworkFile, NetworkFormat, load_network
from tunbridge.cli.output import counted, note, say, tracked

if TYPE_CHECKING:
    from tunbridge.data import Table
    from tunbridge.network import BayesianNetwork

_CELLS = 2**23  # of a batch: enough for the threads, little for the memory
_MOST_ROWS = 2**18


def sample(
    network: NetworkFile,
    n: Annotated[int, typer.Option("--rows", "-n", metavar="N", min=1, help="The number of rows.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="A .csv, .tsv or .parquet file. Otherwise CSV to stdout."),
    ] = None,
    given: Given = None,
    do: Do = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Equal seeds give equal rows. Otherwise a new one, which is told."),
    ] = None,
    format: NetworkFormat = None,
) -> None:
    """Draw rows from a network.

    They are written in batches, so that memory does not grow with their number. With findings they are drawn exactly
    from the distribution given these. With the same seed a longer file begins with the rows of a shorter one.

    Examples
    --------
    tunbridge sample alarm.bif -n 1000 -o rows.csv --seed 0
    tunbridge sample alarm.bif -n 1000 --given HR=HIGH --given "CVP=LOW|NORMAL"
    tunbridge sample alarm.bif -n 10000000 -o rows.parquet
    """
    from tunbridge.cli.findings import read_findings
    from tunbridge.cli.writers import check_output, write_batches

    output = None if output == Path("-") else output
    check_output(output, inputs=[network])
    net = load_network(network, format, do=do)
    evidence = read_findings(net, given or [])
    chosen = _new_seed() if seed is None else seed
    tables = tracked(_tables(net, n, chosen, evidence), "sampling", hidden=output is None)
    write_batches(output, (table.to_arrow() for table in tables))
    if output is not None:
        say(f"{counted(n, 'row')} in {output}; seed {chosen}")
    elif seed is None:
        note(f"Note: the seed was {chosen}.")


def _tables(net: BayesianNetwork, n: int, seed: int, evidence: dict[str, Any]) -> Iterator[Table]:
    """Yield the rows in batches of a size that the network alone decides, each with a seed of its own."""
    import numpy as np

    size = max(1, min(_MOST_ROWS, _CELLS // max(1, len(net.nodes))))
    seeds = np.random.SeedSequence(seed)
    for start in range(0, n, size):
        own = int(seeds.spawn(1)[0].generate_state(1, np.uint64)[0])
        yield net.sample(min(size, n - start), random_state=own, evidence=evidence)


def _new_seed() -> int:
    import secrets

    return secrets.randbelow(10**9)
