"""Lines that a second search is due for wait together, and hold up no others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from virtual_time import TimedExecutor, now, run

from dragoman.core.errors import BusyError, DeadlineError
from dragoman.search import SearchConfig
from dragoman.translation.batching import BatchingConfig, RequestBatcher
from dragoman.translation.opening import changed_search
from dragoman.translation.outputs import Translation

FIRST, SECOND = 1.0, 3.0  # seconds of the two searches


@dataclass
class Fake:
    """Translates a line into itself and its number; a second search is due for "late ..."."""

    firsts: list[list[str]] = field(default_factory=list)
    seconds: list[tuple[float, list[str]]] = field(default_factory=list)
    """With the time when each ended."""

    def configure(self, **options: Any) -> SearchConfig:
        return changed_search(SearchConfig(), options)

    def translate_nbest(self, lines: Iterable[str], **options: Any) -> list[list[Translation]]:
        lines = list(lines)
        self.seconds.append((now(), lines))
        if "late poison" in lines:
            raise LookupError("poisoned")
        return [[answer(*pair)] for pair in zip(lines, options["numbers"], strict=True)]

    def first_searches(self, config: SearchConfig) -> Callable[..., list[list[Translation]]] | None:
        return None if config.beam == 1 else self._first

    def _first(self, lines: Iterable[str], **options: Any) -> list[list[Translation]]:
        lines = list(lines)
        self.firsts.append(lines)
        return [
            [] if line.startswith("late") else [answer(line, number)]
            for line, number in zip(lines, options["numbers"], strict=True)
        ]


def answer(line: str, number: int = 0) -> Translation:
    return Translation(f"{line}#{number}", 0.0, 0.0, [], ended=True)


def batching(fake: Fake, **config: Any) -> RequestBatcher:
    settings = {"batch_lines": 4, "wait_seconds": 0.1, "queue_lines": 9, **config}
    executors = TimedExecutor(SECOND), TimedExecutor(FIRST)
    return RequestBatcher(fake, BatchingConfig(**settings), *executors)


async def timed(work: Any, after: float = 0.0) -> tuple[Any, Any]:
    await asyncio.sleep(after)
    found = await work
    return now(), found


def test_the_other_lines_of_a_batch_are_answered_at_once() -> None:
    fake = Fake()

    async def main() -> None:
        async with batching(fake) as batcher:
            quick, late = await asyncio.gather(
                timed(batcher.translate(["a"])), timed(batcher.translate(["b", "late c", "d"]))
            )
        assert quick == (pytest.approx(FIRST), ["a#0"])
        # Nothing else comes for 0.1 s.
        assert late == (pytest.approx(FIRST + 0.1 + SECOND), ["b#0", "late c#1", "d#2"])

    run(main())
    assert fake.firsts == [["a", "b", "late c", "d"]]
    assert [lines for _, lines in fake.seconds] == [["late c"]]


def test_lines_of_several_batches_are_searched_for_together() -> None:
    fake = Fake()

    async def main() -> None:
        async with batching(fake, batch_lines=2, queue_lines=40) as batcher:
            requests = [["late 1"], ["a"], ["b"], ["late 2"], ["c"], ["d"], ["e"], ["late 3"]]
            found = await asyncio.gather(*map(batcher.translate, requests))
            assert found == [[f"{lines[0]}#0"] for lines in requests]

    run(main())
    assert len(fake.firsts) == 4
    first, *others = (lines for _, lines in fake.seconds)
    assert len(fake.seconds) == 2, fake.seconds
    assert sorted([*first, *others[0]]) == ["late 1", "late 2", "late 3"]


def test_no_line_waits_longer_than_a_second_for_others() -> None:
    fake = Fake()

    async def main() -> None:
        async with batching(fake) as batcher:
            await batcher.translate(["late 0"])  # it learns how long a search takes
            begin, others = now(), [timed(batcher.translate(["a"]), at / 2) for at in range(20)]
            found, *_ = await asyncio.gather(timed(batcher.translate(["late"])), *others)
            assert found == (pytest.approx(begin + 0.1 + FIRST + 1.0 + SECOND), ["late#0"])

    run(main())


def test_a_deadline_brings_a_search_forward() -> None:
    fake = Fake()

    async def main() -> None:
        async with batching(fake) as batcher:
            await batcher.translate(["late 0"])  # it learns how long a search takes
            begin, others = now(), [timed(batcher.translate(["a"]), at / 2) for at in range(20)]
            found, *_ = await asyncio.gather(
                timed(batcher.translate(["late"], deadline=begin + 4.5)), *others
            )
            assert found == (pytest.approx(begin + 4.1), ["late#0"])
            with pytest.raises(DeadlineError):
                await batcher.translate(["late"], deadline=now() + 2)

    run(main())


def test_late_lines_count_as_waiting_and_hold_up_others_if_they_are_many() -> None:
    fake, lines = Fake(), [f"late {at}" for at in range(10)]

    async def main() -> None:
        async with batching(fake, batch_lines=2, queue_lines=10) as batcher:
            requests = [asyncio.ensure_future(batcher.translate([line])) for line in lines]
            await asyncio.sleep(6.5)  # two lines have their translations, two are searched for
            assert len(fake.firsts) == 3
            assert batcher.waiting_lines == 2 + 4, "of a batch, and without a batch"
            with pytest.raises(BusyError, match="6 of at most 10 lines"):
                await batcher.translate(list("abcde"))
            assert await asyncio.gather(*requests) == [[f"{line}#0"] for line in lines]

    run(main())


def test_only_the_request_that_fails_gets_the_error() -> None:
    fake = Fake()

    async def main() -> None:
        async with batching(fake) as batcher:
            good, bad = await asyncio.gather(
                batcher.translate(["late a"]),
                batcher.translate(["late poison"]),
                return_exceptions=True,
            )
        assert good == ["late a#0"]
        assert isinstance(bad, LookupError)

    run(main())


def test_closing_answers_late_lines_and_callers_may_leave() -> None:
    fake = Fake()

    async def main() -> None:
        batcher = batching(fake)
        kept, left = (
            asyncio.ensure_future(batcher.translate([one])) for one in ("late 1", "late 2")
        )
        await asyncio.sleep(1.11)
        left.cancel()
        await batcher.close()
        assert await kept == ["late 1#0"]

    run(main())
    assert [lines for _, lines in fake.seconds] == [["late 1"]]


def test_other_settings_and_prefixes_take_one_search() -> None:
    fake = Fake()

    async def main() -> None:
        async with batching(fake) as batcher:
            assert await batcher.translate(["late a"], beam=1) == ["late a#0"]
            assert await batcher.translate(["late b"], prefix="x") == ["late b#0"]

    run(main())
    assert not fake.firsts
