"""Every input that was ever found to break a reader: it is refused with an error of the package, or answered properly.

The files are mutated inputs that ``make fuzz`` found and kept (``tools/fuzz``). A name begins with the target that was
given the input. What is done with one is the same as there: a model that loads is asked for its probabilities, which
must be probabilities, and much else.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import pytest

import tunbridge as tb
from tunbridge.errors import TunbridgeError

HERE = Path(__file__).parent
INPUTS = sorted(path for path in (HERE / "inputs").iterdir() if path.suffix)

if sys.platform == "win32":
    pytest.skip("the fuzzer needs the signals and limits of Unix", allow_module_level=True)


@pytest.fixture(scope="module")
def targets():
    sys.path.insert(0, str(HERE.parents[1]))
    from tools.fuzz.targets import TARGETS

    sys.path.pop(0)
    return TARGETS


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_bad_input_is_refused_or_answered(path, targets, tmp_path):
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    with suppress(TunbridgeError):
        targets[path.name.split("-")[0]].use(copy)


@pytest.mark.parametrize("path", [p for p in INPUTS if p.suffix == ".tb"], ids=lambda path: path.name)
def test_bad_model_file_is_refused_at_load(path):
    with pytest.raises(tb.FormatError):
        tb.load(path)
