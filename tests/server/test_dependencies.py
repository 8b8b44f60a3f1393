from __future__ import annotations

import math

import anyio
import pytest

from dragoman.server.dependencies import time_left


@pytest.mark.parametrize(("seconds", "left"), [(None, math.inf), (60.0, 59.0), (2.0, 1.8)])
def test_some_time_is_left_to_answer(seconds: float | None, left: float) -> None:
    async def measured() -> float:
        with anyio.move_on_after(seconds):
            return time_left()
        return 0.0

    assert anyio.run(measured) == pytest.approx(left, abs=0.2)
