from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from translation.service.fake_systems import FakeSystem

from dragoman.translation.service import direction_table
from dragoman.translation.service.codes import fitting
from dragoman.translation.service.direction_table import DirectionTable


def table(*pairs: str) -> DirectionTable:
    return DirectionTable([cast(Any, SimpleNamespace(loaded=FakeSystem(*pairs)))])


def test_directions_and_languages_are_sorted() -> None:
    made = table("fr-de", "en-de", "en-cs")
    assert made.directions == [("en", "cs"), ("en", "de"), ("fr", "de")]
    assert (made.sources, made.targets) == (["en", "fr"], ["cs", "de"])


def test_what_two_codes_mean_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counted(code: str, known: Iterable[str]) -> list[str]:
        asked.append(code)
        return fitting(code, known)

    monkeypatch.setattr(direction_table, "fitting", counted)
    made = table("en-de", "en-pt")
    assert [made.pair("EN", "de-AT") for _ in range(3)] == [("en", "de")] * 3
    assert made.pair("en", "pt_BR") == ("en", "pt")
    assert asked == ["de-AT", "EN", "pt_BR", "en"]


def test_clients_cannot_fill_the_memory_with_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direction_table, "_REMEMBERED", 10)
    made = table("en-de")
    for number in range(25):
        assert made.pair("en", f"de-{number}") == ("en", "de")
    made.pair("en", "de-" + "x" * 100)
    assert len(made._meanings) == 5
