from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tunbridge import reasoning


def test_the_stub_for_type_checkers_has_the_same_names() -> None:
    stub = Path(reasoning.__file__).with_suffix(".pyi").read_text()
    assert sorted(re.findall(r"\b(\w+) as \1\b", stub)) == sorted(reasoning.__all__)
    assert all(hasattr(reasoning, name) for name in reasoning.__all__)


def test_only_the_concept_learners_load_scikit_learn() -> None:
    names = [name for name in reasoning.__all__ if name not in ("FindS", "VersionSpace")]
    code = (
        f"import sys, tunbridge.reasoning as r; [getattr(r, n) for n in {names}]; assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
