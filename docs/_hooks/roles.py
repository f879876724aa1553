"""Shows the cross-references of docstrings (``:func:`load```), which Markdown does not know, as code."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:\w+:)?(?:class|func|meth|mod|attr|data|exc):`~?([^`]+)`")


class Roles(griffe.Extension):
    """Turns Sphinx roles into code."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Change the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = _ROLE.sub(r"`\1`", obj.docstring.value)
