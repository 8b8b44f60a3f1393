"""What holds for all tests of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from dragoman.models.cost import cost


@pytest.fixture(scope="session", autouse=True)
def counted_once() -> Iterator[None]:
    """Counting a model's operations takes longer than most of what asks for them here."""
    remembered = cache(cost)
    with pytest.MonkeyPatch.context() as patch:
        for module in ("models.cost", "apps.doctor.machine", "apps.compare.plan"):
            patch.setattr(f"dragoman.{module}.cost", remembered)
        yield
