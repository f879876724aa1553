"""``tunbridge network sample``: rows drawn from a network."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._core.registry import verb
from tunbridge.cli.files import load_network, table_output, write_batches
from tunbridge.cli.networks import Findings
from tunbridge.cli.options import NetworkFile, NetworkFormat, TableOutput
from tunbridge.cli.output import counted, note, say, tracked

if TYPE_CHECKING:
    from tunbridge.data import Table
    from tunbridge.network import BayesianNetwork

_CELLS = 2**23  # of a batch: enough for the threads, little for the memory
_MOST_ROWS = 2**18


@verb("network sample", old="sample", rank=33)
def sample(
    network: NetworkFile,
    *,
    n: int,
    output: TableOutput = None,
    findings: Findings,
    random_state: int | None = None,
    format: NetworkFormat = None,
) -> None:
    """Draw rows from a network.

    They are written in batches, so that memory does not grow with their number. With evidence they are drawn exactly
    from the conditional distribution. With the same seed a longer file begins with the rows of a shorter one.

    Parameters
    ----------
    n, --rows, -n : N >= 1
        The number of rows.
    random_state, --seed : N >= 0
        The random seed: equal seeds give equal rows (default: a new one, which is shown).

    Examples
    --------
    tunbridge network sample alarm.bif -n 1000 -o rows.csv --seed 0
    tunbridge network sample alarm.bif -n 1000 --given HR=HIGH --given "CVP=LOW|NORMAL"
    tunbridge network sample alarm.bif -n 10000000 -o rows.parquet
    """
    output = table_output(output, [network])
    net, evidence = findings.applied(load_network(network, format))
    seed = secrets.randbelow(10**9) if random_state is None else random_state
    tables = tracked(_tables(net, n, seed, evidence), "sampling", hidden=output is None)
    write_batches(output, (table.to_arrow() for table in tables))
    if output is not None:
        say(f"{counted(n, 'row')} in {output}; seed {seed}")
    elif random_state is None:
        note(f"Note: the seed was {seed}.")


def _tables(net: BayesianNetwork, n: int, seed: int, evidence: dict[str, Any]) -> Iterator[Table]:
    """Yield the rows in batches of a size that depends on the network alone, each with a seed of its own."""
    size = max(1, min(_MOST_ROWS, _CELLS // max(1, len(net.nodes))))
    seeds = np.random.SeedSequence(seed)
    for start in range(0, n, size):
        own = int(seeds.spawn(1)[0].generate_state(1, np.uint64)[0])
        yield net.sample(min(size, n - start), random_state=own, evidence=evidence)
