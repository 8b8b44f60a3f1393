"""Targets by the kind of input; ``soak.fuzzing.all_targets`` has all of them."""

from __future__ import annotations

import sys
from pathlib import Path

# Good inputs are made as the tests of the same readers make them, with the modules of tests/.
sys.path.append(str(Path(__file__).parents[3] / "tests"))
