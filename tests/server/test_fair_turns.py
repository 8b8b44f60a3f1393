"""Little work does not wait for much, and much is not put off for ever; in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
import virtual_time
from echo_service import EchoService
from hypothesis import given
from hypothesis import strategies as st
from virtual_time import now

from dragoman.documents.file_translation import translate_file
from dragoman.server.fair_turns import FairTurns, TurnTakingService
from dragoman.translation.service import offloading
from dragoman.translation.service.interface import TextRequest
from dragoman.translation.service.translated_text import TranslatedText


@pytest.fixture(autouse=True)
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads have no virtual time."""
    monkeypatch.setattr(offloading, "_AT_ONCE", 10**9)


SPEED = 1000.0  # characters a second


class SteadyService(EchoService):
    """Translates so many characters a second, and says how much it was given at once."""

    def __init__(self) -> None:
        super().__init__()
        self.most = self._now = 0

    async def translate(
        self, requests: Sequence[TextRequest], *, seconds: float | None = None
    ) -> list[TranslatedText]:
        self._now += 1
        self.most = max(self.most, self._now)
        await asyncio.sleep(sum(len(one.text) for one in requests) / SPEED)
        self._now -= 1
        return await super().translate(requests, seconds=seconds)


def lines(characters: int, of_one: int = 100) -> bytes:
    """A text file of about so many characters."""
    return b"\n\n".join([b"x" * of_one] * (characters // of_one))


class Office:
    """Translates files in turns, and notes how long each took."""

    def __init__(self, at_once: int = 2) -> None:
        self.service, self.turns = SteadyService(), FairTurns(at_once)
        self.seconds: dict[str, float] = {}

    async def translate(self, name: str, content: bytes, begin: float = 0.0) -> None:
        await asyncio.sleep(begin)
        service = TurnTakingService(self.service, self.turns)
        await translate_file(service, f"{name}.txt", content, TextRequest("", "de", "en"))
        self.seconds[name] = now() - begin


@pytest.mark.parametrize("large", [1, 2, 3, 10])
def test_a_small_file_waits_for_two_pieces_of_large_ones_at_most(large: int) -> None:
    office = Office()

    async def main() -> None:
        await asyncio.gather(
            *(office.translate(f"large {number}", lines(100_000)) for number in range(large)),
            office.translate("tiny", lines(500), begin=33.2),
            office.translate("small", lines(3000), begin=33.3),
            office.translate("other", lines(3000), begin=33.4),
        )

    virtual_time.run(main())
    piece = 64 * 100 / SPEED
    assert office.seconds["tiny"] < 1
    assert office.seconds["small"] < 2 * piece + 3
    assert office.seconds["other"] < 2 * piece + 6
    assert office.service.most <= 3
    # Whatever waits, nothing stands idle.
    assert max(office.seconds.values()) < large * 100 / 2 + 100


def test_without_turns_it_would_wait_for_all_of_them() -> None:
    """What the test above can tell."""
    office = Office()
    places = asyncio.Semaphore(2)

    async def in_line(name: str, content: bytes, begin: float = 0.0) -> None:
        await asyncio.sleep(begin)
        async with places:
            await translate_file(office.service, "a.txt", content, TextRequest("", "de", "en"))
        office.seconds[name] = now() - begin

    async def main() -> None:
        large = (in_line(f"large {number}", lines(100_000)) for number in range(2))
        await asyncio.gather(*large, in_line("small", lines(500), begin=33.3))

    virtual_time.run(main())
    assert office.seconds["small"] > 60


def test_large_texts_come_in_pieces_of_bounded_length() -> None:
    office = Office(at_once=1)

    async def main() -> None:
        await asyncio.gather(
            office.translate("large", lines(400_000, of_one=8_000)),
            office.translate("small", lines(3000), begin=20),
        )

    virtual_time.run(main())
    assert office.seconds["small"] < 2 * 8.1 + 3


def test_a_large_file_is_not_put_off_for_ever_by_small_ones() -> None:
    office = Office(at_once=1)

    async def main() -> None:
        # As many as there is time for, and more.
        small = (office.translate(f"{one}", lines(2500), 2.5 * one) for one in range(160))
        await asyncio.gather(office.translate("large", lines(20_000)), *small)

    virtual_time.run(main())
    assert office.seconds["large"] < 200


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(1, 3))
def test_all_get_all_their_turns_and_none_stands_idle(pieces: list[int], at_once: int) -> None:
    turns, done = FairTurns(at_once), [0] * len(pieces)
    at_work = 0

    async def work(number: int) -> None:
        nonlocal at_work
        for piece in range(pieces[number]):
            async with turns.turn(piece):
                at_work += 1
                assert at_work <= at_once
                await asyncio.sleep(1)
                at_work -= 1
            done[number] += 1

    async def main() -> float:
        await asyncio.gather(*(work(number) for number in range(len(pieces))))
        return now()

    seconds = virtual_time.run(main())
    assert done == pieces
    # The longest may be left alone at the end.
    assert sum(pieces) / at_once <= seconds <= sum(pieces) / at_once + max(pieces)


def test_who_is_cancelled_while_waiting_takes_no_turn() -> None:
    turns = FairTurns(1)

    async def work(seconds: float) -> None:
        async with turns.turn(0):
            await asyncio.sleep(seconds)

    async def main() -> None:
        first = asyncio.create_task(work(5))
        others = [asyncio.create_task(work(1)) for _ in range(4)]
        await asyncio.sleep(1)
        others[0].cancel()
        await asyncio.sleep(4)  # the second has its turn just now
        others[1].cancel()
        await asyncio.gather(first, *others, return_exceptions=True)
        assert [one.cancelled() for one in others] == [True, True, False, False]
        await asyncio.wait_for(work(1), 2)  # its turn is not lost

    virtual_time.run(main())
