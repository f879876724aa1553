"""Mutated input for every reader of the package: what is refused must be refused with a sentence, quickly.

``python -m tools.fuzz --minutes 10`` (``make fuzz MINUTES=10``) takes good files that the package's own writers make,
mutates them (:mod:`tools.fuzz.mutations`, for model files :mod:`tools.fuzz.models`), gives them to the readers and uses
what was read (:mod:`tools.fuzz.targets`). An input is *bad* if the package raises anything but its own errors, crashes,
takes more than 5 seconds or 2 GB, or answers with something that is no probability. Bad inputs are minimised and
written to ``tests/regressions/inputs``.
"""
