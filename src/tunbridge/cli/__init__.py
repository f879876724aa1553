"""The command line: a table in, a model, predictions or an explanation out; a network in, answers out.

Every verb (``learn``, ``evaluate``, ``predict``, ``explain``, ``query``, ``sample``, ``convert``, ``describe``,
``datasets``, ``warmup``) has a file here, with a function that is thin over the library. What is heavy (NumPy, Arrow,
scikit-learn, numba) is imported inside these functions, so that ``tunbridge --help`` answers at once.
"""

from __future__ import annotations


def main() -> None:
    """Run the command line and end the process with its exit code."""
    from tunbridge.cli.app import app

    app(prog_name="tunbridge")
