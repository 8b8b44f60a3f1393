"""What callers of a service are told while the processes that translate are away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from threading import Event, Thread
from typing import Any, cast

import pytest
from translation.service.fake_systems import FakeSystem, service_of

from dragoman.core.errors import NoWorkersError
from dragoman.translation.outputs import Translation
from dragoman.translation.service.interface import RefusedError, TextRequest
from dragoman.translation.service.model_service import ModelService
from dragoman.translation.service.served_system import MeasuredTranslator


def with_lost_workers(failures: int) -> FakeSystem:
    """A system whose processes were killed, and can be started after so many failures."""
    system = FakeSystem("en-de")
    translator, left = system.translator, [failures]
    translate = translator.translate_nbest
    translator.is_ready = False

    def starting(lines: Iterable[str], **options: Any) -> list[list[Translation]]:
        left[0] -= 1
        if left[0] >= 0:
            raise NoWorkersError("others cannot be started")
        translator.is_ready = True
        return translate(lines, **options)

    translator.translate_nbest = starting  # type: ignore[method-assign]
    return system


def run(use: Callable[[ModelService], Awaitable[None]], *systems: FakeSystem) -> None:
    async def main() -> None:
        async with service_of(*systems) as service:
            await use(service)

    asyncio.run(main())


def test_requests_are_refused_as_busy_until_there_are_processes_again() -> None:
    async def use(service: ModelService) -> None:
        wanted = [TextRequest("One. Two.", "de", "en")]
        with pytest.raises(RefusedError, match="being started again; try again later") as refused:
            await service.translate(wanted)
        assert (refused.value.kind, refused.value.retry_after) == ("busy", 5.0)
        assert (await service.translate(wanted))[0].text == "ONE.de TWO.de"

    run(use, with_lost_workers(1))


def test_asking_whether_a_service_is_ready_starts_processes_again() -> None:
    """Nobody else may ask for anything: a balancer sends nothing to what is not ready."""
    broken, whole = with_lost_workers(1), FakeSystem("de-en")

    async def use(service: ModelService) -> None:
        looks = 0
        while not service.is_ready():
            looks += 1
            await asyncio.sleep(0.005)
        assert looks >= 2
        assert len(broken.translator.calls) == 1
        assert whole.translator.calls == []

    run(use, broken, whole)


def test_a_service_without_systems_is_not_ready() -> None:
    async def use(service: ModelService) -> None:
        assert not service.is_ready()

    run(use)


def test_what_several_threads_do_is_all_counted() -> None:
    """As with workers, each of whose batches has a thread."""
    is_counting, is_counted = Event(), Event()

    class Found(list[list[Translation]]):
        def __len__(self) -> int:
            if not is_counting.is_set():  # the first one, until the second one is counted
                is_counting.set()
                is_counted.wait(timeout=60)
            return super().__len__()

    class Translator:
        def translate_nbest(self, lines: Iterable[str], **options: Any) -> Found:
            return Found([[] for _ in lines])

    measured = MeasuredTranslator(cast(Any, Translator()))
    first = Thread(target=measured.translate_nbest, args=(["a"],))
    first.start()
    is_counting.wait(timeout=60)
    measured.translate_nbest(["b", "c"])
    is_counted.set()
    first.join()
    assert (measured.lines, measured.batches) == (3, 2)
