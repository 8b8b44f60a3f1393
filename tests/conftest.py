"""What holds for all tests: properties are checked on the same examples every time."""

from __future__ import annotations

from hypothesis import settings

# No deadline: a machine that is busy with something else must not fail a test.
settings.register_profile(
    "repeatable", deadline=None, derandomize=True, database=None, max_examples=50
)
settings.load_profile("repeatable")
