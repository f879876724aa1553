"""``tunbridge warmup``: compile everything now, so that nothing waits for it later."""

from __future__ import annotations

import time

from tunbridge.cli.output import say


def warmup() -> None:
    """Compile all kernels now, so that later runs start fast.

    Examples
    --------
    tunbridge warmup
    tunbridge --debug warmup
    """
    from tunbridge.kernels.warmup import warm_up

    start = time.perf_counter()
    warm_up()
    say(f"All kernels are compiled; that took {time.perf_counter() - start:.1f} s.")
