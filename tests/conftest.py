"""What holds for all tests: properties are checked on the same examples every time.

Tensors here are small, and threads that wait for one another on a busy machine cost more than
they give; so tests that use PyTorch do so on one thread, and so do the processes they start,
whatever the environment says.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from command_line import CommandLine

for _library in ("OMP", "MKL", "OPENBLAS"):  # read when PyTorch and NumPy are first imported
    os.environ[f"{_library}_NUM_THREADS"] = "1"

# No deadline: a machine that is busy with something else must not fail a test.
settings.register_profile(
    "repeatable", deadline=None, derandomize=True, database=None, max_examples=50
)
settings.load_profile("repeatable")


# Real text: tests that read it are skipped where it is not there.
_SHARED = Path(__file__).parents[2] / "shared" / "data"
if _SHARED.is_dir():
    os.environ.setdefault("DRAGOMAN_CORPORA", str(_SHARED))


@pytest.fixture
def dragoman() -> CommandLine:
    from command_line import call

    return call
