"""All targets, by name; each is made when it is attacked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from soak.fuzzing.target import Target

# Good inputs are made as the tests of the same readers make them, with the modules of tests/.
sys.path.append(str(Path(__file__).parents[3] / "tests"))

from soak.fuzzing.targets import document_files, text_files  # noqa: E402

TARGETS: Mapping[str, Callable[[Path], Target]] = {
    **text_files.TARGETS,
    **document_files.TARGETS,
}
"""Each makes its target, with the files that it needs in a folder."""
