"""What is started again: what was killed, and nothing that has said what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.cli.launching.worker_failures import Failures


def said(code: int) -> dict[str, Any]:
    return {"message": "it", "exit_code": code, "echo": False}


@pytest.mark.parametrize(
    ("errors", "codes", "final", "pause"),
    [
        ([], {1: -9}, False, False),
        ([said(8)], {0: 8, 1: -9}, False, False),
        ([said(8), said(3)], {0: 8, 1: 3}, True, False),
        ([said(1)], {0: 1}, True, False),
        ([], {0: 141}, True, False),
        ([said(143), said(130)], {0: 143, 1: 130}, False, True),
        ([said(143)], {0: 143, 1: -15}, False, True),
        ([said(143)], {0: 143, 1: -9}, False, False),
    ],
)
def test_what_is_final(
    errors: list[dict[str, Any]], codes: dict[int, int], final: bool, pause: bool
) -> None:
    failures = Failures(errors, codes)
    assert (failures.are_final, failures.are_a_pause) == (final, pause)


def test_in_short() -> None:
    assert Failures((), {2: -9, 1: -6, 0: -15}).in_short == "killed: process 1, 2"
    assert Failures((), {0: 8}).in_short == "processes lost those of another machine"
