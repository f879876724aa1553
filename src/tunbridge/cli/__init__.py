"""The command line: a table in, a model, predictions or an explanation out; a network in, answers out.

Every verb has a function in ``cli/verbs`` that is thin over the library. Only the module of the verb that is called is
imported, so that ``tunbridge --help`` answers at once.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    for stream in ("stdin", "stdout", "stderr"):
        if getattr(sys, stream) is None:  # it was closed; a file that is opened later must not take its place
            setattr(sys, stream, open(os.devnull, "r" if stream == "stdin" else "w"))  # noqa: SIM115
    from tunbridge.cli.signals import leave, listen

    listen()
    from tunbridge.cli.app import NoPandas, app

    sys.meta_path.insert(0, NoPandas())
    try:
        app(prog_name="tunbridge")
    except SystemExit as end:
        leave(end.code if isinstance(end.code, int) else int(end.code is not None))
