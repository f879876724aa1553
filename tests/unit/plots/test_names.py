from __future__ import annotations

import subprocess
import sys

from tunbridge import plots


def test_every_name_of_the_stub_can_be_loaded() -> None:
    assert {"decision_regions", "evolution", "iterations", "nomogram", "updates"} <= set(plots.__all__)
    assert all(callable(getattr(plots, name)) for name in plots.__all__)


def test_a_plot_loads_its_own_module_only() -> None:
    code = "import sys, tunbridge.plots as p; p.reliability; assert 'tunbridge.plots.regions' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
