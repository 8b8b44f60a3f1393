"""Kept glossaries are read once, and mean what their owners wrote."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import anyio
import pytest

from dragoman.server.dependencies import ReadGlossaries, glossary_of, time_left
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.service.interface import RefusedError


def test_case_counts_for_terms_that_differ_in_it_alone() -> None:
    glossary = glossary_of([("Polish", "polnisch"), ("polish", "polieren"), ("dog", "Hund")])
    found = [match.term.targets[0] for match in glossary.matches("Polish it, polish a Dog")]
    assert found == ["polnisch", "polieren", "Hund"]


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([("a", "")], "an empty translation of 'a'"),
        ([("\u00e9", "x"), ("e\u0301", "y")], "leave one of them out"),
    ],
)
def test_contradictions_are_refused(entries: list[tuple[str, str]], said: str) -> None:
    with pytest.raises(RefusedError, match=said) as caught:
        glossary_of(entries)
    assert caught.value.kind == "invalid"


def test_each_glossary_is_read_once_while_it_is_held() -> None:
    read: list[str] = []

    def entries_of(name: str) -> list[tuple[str, str]]:
        read.append(name)
        return [(name, name)]

    held = ReadGlossaries(most=2)
    for name in ("a", "b", "a", "c", "a", "b"):
        assert held.get(name, partial(entries_of, name)).terms[0].source == name
    assert read == ["a", "b", "c", "b"]


def test_many_at_once_read_a_glossary_once() -> None:
    """Each would take seconds of the processor for a large one."""
    read: list[str] = []
    begun = Barrier(8)

    def entries() -> list[tuple[str, str]]:
        read.append("a")
        time.sleep(0.2)
        return [("a", "b")]

    held = ReadGlossaries()

    def get(_: int) -> Glossary:
        begun.wait()
        return held.get("a", entries)

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(get, range(8)))
    assert read == ["a"]
    assert all(one is found[0] for one in found)


def test_a_glossary_that_cannot_be_read_keeps_nobody_waiting() -> None:
    def contradictory() -> list[tuple[str, str]]:
        time.sleep(0.05)
        return [("a", "")]

    held = ReadGlossaries()

    def get(_: int) -> None:
        with pytest.raises(RefusedError, match="an empty translation"):
            held.get("a", contradictory)

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(get, range(3), timeout=30))
    assert held.get("a", lambda: [("a", "b")]).terms[0].targets == ("b",)


@pytest.mark.parametrize(("seconds", "left"), [(None, math.inf), (60.0, 59.0), (2.0, 1.8)])
def test_some_time_is_left_to_answer(seconds: float | None, left: float) -> None:
    async def measured() -> float:
        with anyio.move_on_after(seconds):
            return time_left()
        return 0.0

    assert anyio.run(measured) == pytest.approx(left, abs=0.2)
