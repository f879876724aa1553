"""``tunbridge warmup``: compile everything now."""

from __future__ import annotations

import time

from tunbridge._core.registry import verb
from tunbridge._warmup import warm_up
from tunbridge.cli.output import say


@verb("warmup", rank=90)
def warmup() -> None:
    """Compile all kernels now, so that later runs start fast.

    Examples
    --------
    tunbridge warmup
    tunbridge --debug warmup
    """
    start = time.perf_counter()
    warm_up()
    say(f"All kernels are compiled; that took {time.perf_counter() - start:.1f} s.")
