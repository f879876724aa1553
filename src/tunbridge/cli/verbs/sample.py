"""``tunbridge network sample``: rows drawn from a network."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._core.registry import verb
from tunbridge.cli.files import is_a, load_either, table_output, write_batches
from tunbridge.cli.networks import Findings, read_findings
from tunbridge.cli.options import NetworkFile, NetworkFormat, TableOutput
from tunbridge.cli.output import counted, note, say, tracked
from tunbridge.cli.usage import refuse

if TYPE_CHECKING:
    from tunbridge.data import Table
    from tunbridge.network import BayesianNetwork
    from tunbridge.temporal import DynamicBayesianNetwork

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
    slices: int | None = None,
    format: NetworkFormat = None,
) -> None:
    """Draw rows from a network.

    They are written in batches, so that memory does not grow with their number. With evidence they are drawn exactly
    from the conditional distribution. With the same seed a longer file begins with the rows of a shorter one. Of a
    dynamic network whole sequences are drawn.

    Parameters
    ----------
    n, --rows, -n : N >= 1
        The number of rows; of a dynamic network, of sequences.
    random_state, --seed : N >= 0
        The random seed: equal seeds give equal rows (default: a new one, which is shown).
    slices : N >= 1
        Of a dynamic network: the number of slices of each sequence.

    Examples
    --------
    tunbridge network sample alarm.bif -n 1000 -o rows.csv --seed 0
    tunbridge network sample alarm.bif -n 1000 --given HR=HIGH --given "CVP=LOW|NORMAL"
    tunbridge network sample alarm.bif -n 10000000 -o rows.parquet
    tunbridge network sample rain.tb -n 100 --slices 365 -o years.csv
    """
    output = table_output(output, [network])
    whole = load_either(network, format)
    seed = secrets.randbelow(10**9) if random_state is None else random_state
    if is_dynamic := is_a("DynamicBayesianNetwork", whole):
        drawn = _sequences(whole, n, slices, seed, findings, network)
    else:
        refuse((slices is not None, f"--slices must come with a dynamic network; {network.name} is a static one."))
        drawn = _tables(*findings.applied(whole), n, seed)
    tables = tracked(drawn, "sampling", hidden=output is None)
    write_batches(output, (table.to_arrow() for table in tables))
    if output is not None:
        size = f"{counted(n, 'sequence')} of {counted(slices or 0, 'slice')}" if is_dynamic else counted(n, "row")
        say(f"{size} in {output}; seed {seed}")
    elif random_state is None:
        note(f"Note: the seed was {seed}.")


def _sequences(
    net: DynamicBayesianNetwork, n: int, slices: int | None, seed: int, findings: Findings, path: Path
) -> Iterator[Table]:
    """Yield all sequences as one table, after the interventions."""
    refuse(
        (slices is None, f"--slices must give the length of the sequences; {path.name} is a dynamic network."),
        (bool(findings.evidence), f"--given must come with a static network; {path.name} is a dynamic one."),
    )
    settings = read_findings(net.first, findings.do, "--do")
    yield (net.do(settings) if settings else net).sample(slices or 1, n, random_state=seed)


def _tables(net: BayesianNetwork, evidence: dict[str, Any], n: int, seed: int) -> Iterator[Table]:
    """Yield the rows in batches of a size that depends on the network alone, each with a seed of its own."""
    size = max(1, min(_MOST_ROWS, _CELLS // max(1, len(net.nodes))))
    seeds = np.random.SeedSequence(seed)
    for start in range(0, n, size):
        own = int(seeds.spawn(1)[0].generate_state(1, np.uint64)[0])
        yield net.sample(min(size, n - start), random_state=own, evidence=evidence)
