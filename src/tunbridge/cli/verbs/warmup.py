"""``tunbridge warmup``: compile everything now."""

from __future__ import annotations

import time

from tunbridge._core.registry import verb
from tunbridge._warmup import PARTS, warm_up
from tunbridge.cli.output import reporting, say


@verb("warmup", rank=90)
def warmup() -> None:
    """Compile all kernels now, so that later runs start fast.

    Each core compiles another part; a progress bar shows how far it is.

    Examples
    --------
    tunbridge warmup
    tunbridge --debug warmup
    """
    start, done = time.perf_counter(), []
    with reporting("compiling", shares=True) as show:

        def report(part: str) -> None:
            done.append(part)
            if show:
                show(part, len(done) / len(PARTS))

        warm_up(report, n_jobs=None)
    say(f"All kernels are compiled; that took {time.perf_counter() - start:.1f} s.")
