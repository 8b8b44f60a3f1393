"""Real files translated by pseudo-translators: what is not text has to stay as it is."""

from __future__ import annotations

import sys
from pathlib import Path

# The pseudo-translators are those of the tests, in modules of tests/.
sys.path.append(str(Path(__file__).parents[2] / "tests"))
