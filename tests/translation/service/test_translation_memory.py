from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence

from translation.service.fake_systems import FakeSystem, service_of

from dragoman.translation.service.interface import TextRequest


def test_a_memory_that_hangs_keeps_nobody_waiting_who_does_not_ask_it() -> None:
    answers = threading.Event()

    def remember(texts: Sequence[str], source: str, target: str) -> Mapping[str, str]:
        answers.wait()
        return {}

    async def main() -> None:
        async with service_of(FakeSystem("en-de"), remember=remember) as service:
            try:
                asking = [
                    asyncio.ensure_future(service.translate([TextRequest("One.", "de", "en")]))
                    for _ in range(64)
                ]
                await asyncio.sleep(0.05)
                # So long that a thread divides it into sentences.
                long = TextRequest("One. " * 1000, "de", "en", memory=False)
                await asyncio.wait_for(service.translate([long]), 10)
                assert not any(one.done() for one in asking)
            finally:
                answers.set()
            assert [one.text for (one,) in await asyncio.gather(*asking)] == ["ONE.de"] * 64

    asyncio.run(main())
