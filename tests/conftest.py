"""What holds for all tests: properties are checked on the same examples every time.

Tensors here are small, and threads that wait for one another on a busy machine cost more than
they give; so tests that use PyTorch do so on one thread, and so do the processes they start.
"""

from __future__ import annotations

import os

from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when PyTorch is first imported

# No deadline: a machine that is busy with something else must not fail a test.
settings.register_profile(
    "repeatable", deadline=None, derandomize=True, database=None, max_examples=50
)
settings.load_profile("repeatable")
