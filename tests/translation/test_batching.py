from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from agreement import assert_same_translations
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_model import LINES, save_tiny_model
from virtual_time import TimedExecutor, now, run

from dragoman.core.errors import (
    BusyError,
    ConfigError,
    DataError,
    DeadlineError,
    UsageError,
    WorkerError,
)
from dragoman.search import SearchConfig
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.batching import BatchingConfig, RequestBatcher
from dragoman.translation.opening import changed_search
from dragoman.translation.outputs import Translation
from dragoman.translation.terms import UseOfTerms
from dragoman.translation.translator import Translator

SECONDS = 1.0  # that each call of the translator takes


@dataclass
class Call:
    lines: list[str]
    beam: int
    at: float


@dataclass
class Fake:
    """Translates a line into itself, its number, the beam and the prefix."""

    calls: list[Call] = field(default_factory=list)
    glossaries: list[Any] = field(default_factory=list)
    failure: Exception | None = None

    def configure(self, **options: Any) -> SearchConfig:
        return changed_search(SearchConfig(), options)

    def translate_nbest(self, lines: Iterable[str], **options: Any) -> list[list[Translation]]:
        lines, numbers = list(lines), options["numbers"]
        self.calls.append(Call(lines, options["beam"], now()))
        self.glossaries.append(options.get("glossary"))
        if self.failure is not None:
            raise self.failure
        if "poison" in lines:
            raise LookupError("poisoned")
        begins = options.get("prefix", [""] * len(lines))
        return [
            [Translation(expected(line, number, options["beam"], begin), 0.0, 0.0, [], ended=True)]
            for line, number, begin in zip(lines, numbers, begins, strict=True)
        ]


def expected(line: str, number: int, beam: int = 4, prefix: str = "") -> str:
    return f"{prefix}{line}#{number} of beam {beam}"


def answer(lines: list[str], beam: int = 4) -> list[str]:
    return [expected(line, number, beam) for number, line in enumerate(lines)]


def batching(fake: Fake, **config: Any) -> RequestBatcher:
    settings = {"batch_lines": 4, "wait_seconds": 0.5, "queue_lines": 9, **config}
    return RequestBatcher(fake, BatchingConfig(**settings), TimedExecutor(SECONDS))


async def later(seconds: float, work: Coroutine[Any, Any, Any]) -> Any:
    await asyncio.sleep(seconds)
    return await work


def test_requests_that_come_together_share_a_call() -> None:
    fake = Fake()

    async def main() -> None:
        async with batching(fake) as batcher:
            found = await asyncio.gather(
                batcher.translate(["a"]),
                later(0.2, batcher.translate(["b", "c"])),
                later(0.3, batcher.translate(["d"], beam=2)),
                later(0.7, batcher.translate(["e"])),
            )
            wanted = [answer(["a"]), answer(["b", "c"]), answer(["d"], 2), answer(["e"])]
            assert list(found) == wanted

    run(main())
    # The fourth line fills the batch; "d" has a search of its own, and "e" came too late.
    assert [(call.lines, call.beam) for call in fake.calls] == [
        (["a", "b", "c"], 4),
        (["d"], 2),
        (["e"], 4),
    ]


@pytest.mark.parametrize(
    ("share", "batches"),
    [(0.0, [["a"], ["b", "c"], ["d", "e"]]), (0.9, [["a"], ["b", "c", "d"], ["e"]])],
)
def test_while_requests_keep_coming_they_wait_for_a_share_of_the_last_batch(
    share: float, batches: list[list[str]]
) -> None:
    fake = Fake()

    async def main() -> None:
        async with batching(fake, batch_lines=9, wait_share=share) as batcher:
            await batcher.translate(["a"])
            # 0.9 of the second that it took: until "e" comes, though no pause is as long as 0.5
            waits = {"b": 0.0, "c": 0.3, "d": 0.6, "e": 0.95}
            await asyncio.gather(
                *(later(seconds, batcher.translate([line])) for line, seconds in waits.items())
            )

    run(main())
    assert [call.lines for call in fake.calls] == batches


def test_a_batch_that_is_full_waits_for_no_more_and_a_lone_one_for_its_time() -> None:
    fake = Fake()

    async def main() -> None:
        async with batching(fake) as batcher:
            await batcher.translate(list("abcd"))
            begin = now()
            await batcher.translate(["e"])
            assert now() - begin == pytest.approx(0.5 + SECONDS)

    run(main())
    assert [call.at for call in fake.calls] == pytest.approx([SECONDS, 2 * SECONDS + 0.5])


def test_a_long_request_is_served_in_parts_and_others_in_between() -> None:
    fake = Fake()

    async def main() -> None:
        async with batching(fake) as batcher:
            lines = list("abcdefghi")
            whole, short = await asyncio.gather(
                batcher.translate(lines), later(0.1, batcher.translate(["x"]))
            )
            assert (whole, short) == (answer(lines), answer(["x"]))

    run(main())
    assert [call.lines for call in fake.calls] == [list("abcd"), list("xefg"), ["h", "i"]]


def test_small_requests_come_first_and_long_ones_still_have_their_turns() -> None:
    fake, long = Fake(), [f"{number:02}" for number in range(12)]

    async def main() -> None:
        async with batching(fake, batch_lines=2, queue_lines=40) as batcher:
            small = [
                later(0.1 * place, batcher.translate([one] * 2))
                for place, one in enumerate("bcde", start=1)
            ]
            found = await asyncio.gather(batcher.translate(long), *small)
            assert found == [answer(long), *(answer([one] * 2) for one in "bcde")]

    run(main())
    began = [call.lines[0] for call in fake.calls]
    assert began == ["00", "b", "02", "c", "d", "e", "04", "06", "08", "10"]


def test_characters_bound_a_batch_but_not_a_line() -> None:
    fake = Fake()

    async def main() -> None:
        async with batching(fake, batch_characters=5) as batcher:
            lines = ["aaa", "bb", "c", "dddddddd"]
            assert await batcher.translate(lines) == answer(lines)

    run(main())
    assert [call.lines for call in fake.calls] == [["aaa", "bb"], ["c"], ["dddddddd"]]


def test_as_many_batches_are_at_work_as_are_allowed() -> None:
    class Unlimited(TimedExecutor):
        def submit(self, task: Any, /, *args: Any, **kwargs: Any) -> Any:
            self._free = 0.0
            return super().submit(task, *args, **kwargs)

    fake = Fake()

    async def main() -> None:
        config = BatchingConfig(batch_lines=1, batches_at_once=2)
        async with RequestBatcher(fake, config, Unlimited(SECONDS)) as batcher:
            assert await batcher.translate(list("abcd")) == answer(list("abcd"))

    run(main())
    assert [call.at for call in fake.calls] == pytest.approx([1.0, 1.0, 2.0, 2.0])


def test_lines_of_one_length_go_together_and_the_first_one_always() -> None:
    fake = Fake()

    async def main() -> None:
        async with batching(fake, batch_lines=2) as batcher:
            lines = ["long long", "a", "b", "other long", "c", "d"]
            found = await asyncio.gather(*[batcher.translate([line]) for line in lines])
            assert found == [answer([line]) for line in lines]

    run(main())
    assert [call.lines for call in fake.calls] == [
        ["long long", "other long"],
        *(["a", "b"], ["c", "d"]),
    ]


def test_what_waits_is_shared_out_among_batches_that_can_start() -> None:
    fake = Fake()

    async def main() -> None:
        async with batching(fake, batch_lines=8, batches_at_once=2) as batcher:
            lines = ["aa", "bbbbb", "c", "ddddd", "ee"]
            found = await asyncio.gather(*[batcher.translate([line]) for line in lines])
            assert found == [answer([line]) for line in lines]

    run(main())
    assert [call.lines for call in fake.calls] == [["aa", "ee", "c"], ["bbbbb", "ddddd"]]


def test_prefixes_are_those_of_the_request() -> None:
    fake = Fake()

    async def main() -> None:
        async with batching(fake) as batcher:
            one, two, three = await asyncio.gather(
                batcher.translate(["a", "b"], prefix=["x ", ""]),
                batcher.translate(["c"], prefix="y "),
                batcher.translate(["d"]),
            )
            assert one == [expected("a", 0, prefix="x "), expected("b", 1)]
            assert two == [expected("c", 0, prefix="y ")]
            assert three == answer(["d"])
            with pytest.raises(DataError, match="1 lines and 2 prefixes"):
                await batcher.translate(["a"], prefix=["x", "y"])

    run(main())
    assert len(fake.calls) == 2


def test_requests_with_the_same_glossary_share_a_call() -> None:
    fake = Fake()
    one, other = Glossary.of({"a": "b"}), Glossary.of({"a": "b"})

    async def main() -> None:
        async with batching(fake) as batcher:
            await asyncio.gather(
                batcher.translate(["a"], glossary=one),
                batcher.translate(["b"]),
                batcher.translate(["c"], glossary=one),
                batcher.translate(["d"], glossary=other),
            )

    run(main())
    assert [call.lines for call in fake.calls] == [["a", "c"], ["b"], ["d"]]
    assert fake.glossaries == [one, None, other]


def test_lines_of_a_batch_say_nothing_about_a_glossary(caplog: pytest.LogCaptureFixture) -> None:
    class Counting(Fake):
        def translate_nbest(self, lines: Iterable[str], **options: Any) -> list[list[Translation]]:
            UseOfTerms.note(lines=100, terms=0)
            return super().translate_nbest(lines, **options)

    async def main() -> None:
        async with batching(Counting()) as batcher:
            await batcher.translate(["a"], glossary=Glossary.of({"a": "b"}))

    run(main())
    assert not caplog.messages


def test_a_full_queue_refuses_and_later_has_room() -> None:
    fake = Fake()

    async def main() -> None:
        async with batching(fake) as batcher:
            first = asyncio.ensure_future(batcher.translate(list("abcdefgh")))
            await asyncio.sleep(0)
            with pytest.raises(BusyError, match=r"8 of at most 9 lines are waiting .* for 2 more"):
                await batcher.translate(["x", "y"])
            with pytest.raises(DataError, match="10 lines are more than the 9 that may wait"):
                await batcher.translate(list("abcdefghij"))
            await asyncio.sleep(0.1)  # four of them are at work
            assert batcher.waiting_lines == 4
            assert await batcher.translate(["x", "y"]) == answer(["x", "y"])
            assert await first == answer(list("abcdefgh"))
            assert batcher.waiting_lines == 0

    run(main())


def test_a_request_past_its_deadline_is_dropped_and_holds_nobody_up() -> None:
    fake = Fake()

    async def main() -> None:
        async with batching(fake) as batcher:
            first = asyncio.ensure_future(batcher.translate(list("abcd")))  # from 0 to 1
            late = asyncio.ensure_future(batcher.translate(["late"], deadline=0.75))
            await asyncio.sleep(0.1)
            other = asyncio.ensure_future(batcher.translate(["x"]))
            with pytest.raises(DeadlineError, match="not ready at its deadline"):
                await late
            assert now() == pytest.approx(0.75)
            assert await first == answer(list("abcd"))
            assert await other == answer(["x"])
            with pytest.raises(DeadlineError, match="before the request arrived"):
                await batcher.translate(["x"], deadline=now())

    run(main())
    assert [call.lines for call in fake.calls] == [list("abcd"), ["x"]]


def test_a_request_at_work_at_its_deadline_is_dropped_alone() -> None:
    fake = Fake()

    async def main() -> None:
        async with batching(fake) as batcher:
            found = await asyncio.gather(
                batcher.translate(["a"], deadline=1.2),
                batcher.translate(["b"], deadline=1.6),
                return_exceptions=True,
            )
            assert isinstance(found[0], DeadlineError)
            assert found[1] == answer(["b"])

    run(main())


def test_a_caller_that_is_cancelled_leaves_the_queue() -> None:
    fake = Fake()

    async def main() -> None:
        async with batching(fake) as batcher:
            gone = asyncio.ensure_future(batcher.translate(["gone"]))
            other = asyncio.ensure_future(batcher.translate(["a"]))
            await asyncio.sleep(0.1)
            gone.cancel()
            await asyncio.sleep(0)
            assert batcher.waiting_lines == 1
            assert await other == answer(["a"])
            at_work = asyncio.ensure_future(batcher.translate(["at work"]))
            await asyncio.sleep(1.0)
            at_work.cancel()
            assert await batcher.translate(["b"]) == answer(["b"])
            assert gone.cancelled()
            assert at_work.cancelled()

    run(main())
    assert [call.lines for call in fake.calls] == [["a"], ["at work"], ["b"]]


@pytest.mark.parametrize("steps", range(6))
def test_tasks_end_with_their_event_loop_even_as_a_request_arrives(steps: int) -> None:
    async def main() -> None:
        batcher = batching(Fake())
        begun = [asyncio.ensure_future(batcher.translate([line])) for line in "ab"]
        await asyncio.sleep(0.1)
        begun.append(asyncio.ensure_future(batcher.translate(["c"])))
        for _ in range(steps):
            await asyncio.sleep(0)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        _, going_on = await asyncio.wait(others, timeout=0.2)
        assert not going_on

    run(main())


def test_an_error_that_one_request_causes_reaches_its_caller_alone() -> None:
    fake = Fake()

    async def main() -> None:
        async with batching(fake) as batcher:
            found = await asyncio.gather(
                batcher.translate(["a"]),
                batcher.translate(["poison"]),
                batcher.translate(["b"]),
                return_exceptions=True,
            )
            assert isinstance(found[1], LookupError)
            assert [found[0], found[2]] == [answer(["a"]), answer(["b"])]
            with pytest.raises(ConfigError, match="did you mean 'beam'"):
                await batcher.translate(["a"], baem=3)
            with pytest.raises(UsageError, match="one string"):
                await batcher.translate("a")

    run(main())


def test_who_is_late_while_others_are_tried_alone_is_not_tried() -> None:
    fake = Fake()

    async def main() -> None:
        async with batching(fake) as batcher:
            found = await asyncio.gather(
                batcher.translate(["a"]),
                batcher.translate(["poison"]),
                batcher.translate(["late"], deadline=2.0),
                return_exceptions=True,
            )
            assert found[0] == answer(["a"])
            assert [type(one) for one in found[1:]] == [LookupError, DeadlineError]

    run(main())
    assert [call.lines for call in fake.calls] == [["a", "poison", "late"], ["a"], ["poison"]]


def test_a_failing_engine_is_told_to_all_who_wait() -> None:
    fake = Fake(failure=WorkerError("a process was ended from outside"))

    async def main() -> None:
        async with batching(fake) as batcher:
            requests = [batcher.translate([line, line]) for line in "abcd"]
            found = await asyncio.gather(*requests, return_exceptions=True)
            assert [type(one) for one in found] == [WorkerError] * 4
            assert batcher.waiting_lines == 0
            fake.failure = None
            assert await batcher.translate(["a"]) == answer(["a"])

    run(main())


def test_closing_answers_those_who_wait_and_takes_no_more() -> None:
    fake = Fake()

    async def main() -> None:
        batcher = batching(fake)
        waiting = [asyncio.ensure_future(batcher.translate([line])) for line in "abcdef"]
        await asyncio.sleep(0)
        await asyncio.gather(batcher.close(), batcher.close())
        assert [one.result() for one in waiting] == [answer([line]) for line in "abcdef"]
        with pytest.raises(UsageError, match="closed"):
            await batcher.translate(["a"])
        await batcher.close()
        assert await batching(fake).translate([]) == []

    run(main())


times = st.integers(0, 40).map(lambda n: n / 8)


@dataclass
class Plan:
    at: float
    lines: int
    beam: int
    deadline: float | None
    cancelled: float | None


plans = st.builds(
    Plan,
    times,
    st.integers(1, 7),
    st.integers(1, 2),
    st.none() | times.map(lambda t: t + 0.0625),
    st.none() | times,
)


@settings(max_examples=30)
@given(plan=st.lists(plans, max_size=8), at_once=st.integers(1, 2))
def test_each_caller_gets_its_own_answer_or_one_error_in_time(
    plan: list[Plan], at_once: int
) -> None:
    """Whatever comes when, is cancelled or is late; and nothing is left behind."""
    fake = Fake()

    async def request(batcher: RequestBatcher, name: int, one: Plan) -> None:
        await asyncio.sleep(one.at)
        lines = [f"{name}.{n}" for n in range(one.lines)]
        deadline = None if one.deadline is None else one.at + one.deadline
        try:
            found = await batcher.translate(lines, deadline=deadline, beam=one.beam)
        except BusyError:
            assert now() == one.at
        except DeadlineError:
            assert deadline is not None
            assert now() == pytest.approx(deadline)
        else:
            assert found == answer(lines, one.beam)
            assert deadline is None or now() <= deadline

    async def main() -> None:
        batcher = batching(fake, queue_lines=16, batches_at_once=at_once)
        tasks = [
            asyncio.ensure_future(request(batcher, name, one)) for name, one in enumerate(plan)
        ]
        for task, one in zip(tasks, plan, strict=True):
            if one.cancelled is not None:
                asyncio.get_running_loop().call_at(one.cancelled, task.cancel)
        found = await asyncio.gather(*tasks, return_exceptions=True)
        for outcome, one in zip(found, plan, strict=True):
            cancelled = one.cancelled is not None and isinstance(outcome, asyncio.CancelledError)
            assert outcome is None or cancelled, outcome
        assert batcher.waiting_lines == 0
        await batcher.close()

    run(main())
    asked = [line for call in fake.calls for line in call.lines]
    assert len(asked) == len(set(asked))
    for call in fake.calls:
        assert 1 <= len(call.lines) <= 4
        assert {plan[int(line.split(".")[0])].beam for line in call.lines} == {call.beam}


def test_a_translator_gives_each_caller_what_it_would_give_it_alone(tmp_path: Path) -> None:
    translator = Translator.load(save_tiny_model(tmp_path / "model"), device="cpu")
    sampling: dict[str, Any] = {"sampling": {"seed": 5}, "nbest": 2}
    requests = [LINES[:2], ["b a", "", "c"], ["e"], ["a b " * 600, "d"]]

    async def main() -> list[list[list[Translation]]]:
        async with RequestBatcher(translator) as batcher:
            return await asyncio.gather(
                *(batcher.translate_nbest(lines, **sampling) for lines in requests)
            )

    for lines, found in zip(requests, asyncio.run(main()), strict=True):
        assert_same_translations(found, translator.translate_nbest(lines, **sampling))

    async def too_long() -> None:
        async with RequestBatcher(translator) as batcher:
            found = await asyncio.gather(
                batcher.translate(["a", "b"]),
                batcher.translate(["a", "a b " * 600]),
                return_exceptions=True,
            )
            assert found[0] == translator.translate(["a", "b"])
            assert isinstance(found[1], DataError)
            assert str(found[1]).startswith("line 2: ")

    asyncio.run(too_long())


def test_a_translator_that_raises_stop_iteration_leaves_no_caller_waiting() -> None:
    async def main() -> None:
        async with batching(Fake(failure=StopIteration("mine"))) as batcher:
            for lines in (["a"], ["b", "c"]):
                with pytest.raises(RuntimeError, match="the translator raised StopIter") as caught:
                    await batcher.translate(lines)
                assert isinstance(caught.value.__cause__, StopIteration)

    run(main())
