"""Makes docstrings readable as Markdown: references as code, and types as the words that they are.

The docstrings have Sphinx's cross-references (``:func:`load```), which Markdown does not know. And the parser of
numpydoc takes "array-like" for a difference, and of "{"a", "b"} or a mapping" sees the braces alone.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:\w+:)?(?:class|func|meth|mod|attr|data|exc):`~?([^`]+)`")
_CHOICES = re.compile(r"^( *\w[\w, ]* : )\{([^}\n]*)\}(?=,? (?!optional)\S)", re.MULTILINE)


class Roles(griffe.Extension):
    """Rewrites docstrings before they are parsed."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Change the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = readable(obj.docstring.value)


def readable(text: str) -> str:
    """Return a docstring without Sphinx's roles and with types that are taken for words."""
    text = _CHOICES.sub(r"\1\2", _ROLE.sub(r"`\1`", text))
    return text.replace("array-like", "array\N{NON-BREAKING HYPHEN}like")
