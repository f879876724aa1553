"""Reports: HTML pages that need no network access, with posteriors that are recomputed in the page.

The package is called like its function: ``tunbridge.report(data)`` is :func:`tunbridge.report.report`, whether or not a
module of the package was imported before.
"""

import sys
from types import ModuleType
from typing import Any

from tunbridge.report.export import engine_script, network_data
from tunbridge.report.report import DataReport, report

__all__ = ["DataReport", "engine_script", "network_data", "report"]


class _Room(ModuleType):
    """The package as a function."""

    def __call__(self, *args: Any, **kwargs: Any) -> DataReport:
        return report(*args, **kwargs)


sys.modules[__name__].__class__ = _Room
