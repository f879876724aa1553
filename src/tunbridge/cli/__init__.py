"""The command line: a table in, a model, predictions or an explanation out; a network in, answers out.

Every verb has a function in ``cli/verbs`` that is thin over the library. Only the module of the verb that is called is
imported, so that ``tunbridge --help`` answers at once.
"""

from __future__ import annotations


def main() -> None:
    """Run the command line and end the process with its exit code."""
    from tunbridge.cli.signals import leave, listen

    listen()
    from tunbridge.cli.app import app

    try:
        app(prog_name="tunbridge")
    finally:
        leave()
