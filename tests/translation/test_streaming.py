"""Lines through an engine: prefixes, numbers, and one unbroken stream of batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_model import TINY_LM, save_tiny_model

from dragoman.core.errors import ConfigError, DataError, UsageError
from dragoman.search import Hypothesis, SearchConfig
from dragoman.translation.call_options import LineOptions
from dragoman.translation.engines.engine import Engine, SearchedBatch, SourceBatch
from dragoman.translation.translator import Translator

few = settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
texts = st.lists(st.sampled_from("abcde"), max_size=5).map(" ".join)
SEARCHES: list[dict[str, Any]] = [{"beam": 1}, {"beam": 3}, {"sampling": {"seed": 3}}]


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return Translator.load(save_tiny_model(tmp_path_factory.mktemp("m") / "model"), device="cpu")


@pytest.mark.parametrize("options", SEARCHES, ids=["greedy", "beam", "sample"])
@few
@given(lines=st.lists(st.tuples(texts, texts), max_size=6), buffer=st.integers(1, 4))
def test_translations_begin_with_their_prefixes(
    translator: Translator, options: dict[str, Any], lines: list[tuple[str, str]], buffer: int
) -> None:
    found = translator.translate(
        [text for text, _ in lines],
        prefix=[prefix for _, prefix in lines],
        buffer_lines=buffer,
        **options,
    )
    for translation, (text, prefix) in zip(found, lines, strict=True):
        assert translation.startswith(prefix) if text else translation == ""
    free = [text for text, prefix in lines if not prefix]
    if "sampling" not in options:
        assert translator.translate(free, **options) == [
            one for one, (_, prefix) in zip(found, lines, strict=True) if not prefix
        ]


def test_one_prefix_is_of_every_line_and_its_score_counts(translator: Translator) -> None:
    found = translator.translate_nbest(["a b", "c"], prefix=" e  d ")
    for (best, *_), line in zip(found, ["a b", "c"], strict=True):
        assert best.text.startswith("e d")
        (scored,) = translator.score([line], [best.text])
        assert scored.log_probability == pytest.approx(best.log_probability, rel=1e-4)
    long = "a b c d e a b c d e"
    (best,) = translator.translate_nbest(["a"], prefix=long, maximum_length=2)[0]
    assert (best.text, best.ended) == (long, False)


def test_a_system_has_a_prefix_and_a_call_another(tmp_path: Path) -> None:
    path = save_tiny_model(tmp_path / "model")
    with Translator.load(path, device="cpu", prefix="c c") as translator:
        assert translator.translate(["a"])[0].startswith("c c")
        assert translator.translate(["a"], prefix="d d")[0].startswith("d d")
        assert translator.translate(["a"], prefix="") == Translator.load(
            path, device="cpu"
        ).translate(["a"])


def test_a_prefix_that_cannot_be_written_costs_its_own_line(translator: Translator) -> None:
    prefix = ["a", "\u2603 b", "a " * 2000, ""]
    found = translator.translate_nbest(["a b"] * 4, prefix=prefix)
    reasons = [best.refused or "" for best, *_ in found]
    assert (reasons[0], reasons[3]) == ("", "")
    assert reasons[1].startswith("line 2: prefix '\u2603 b': the target vocabulary lacks")
    assert "'\u2047 b'" in reasons[1]
    assert reasons[2].startswith("line 3: prefix: 2000 pieces are more than")
    with pytest.raises(DataError, match="line 2: prefix"):
        translator.translate(["a"] * 2, prefix=prefix[:2])
    assert translator.translate(["", " "], prefix=prefix[1:3]) == ["", ""]


def test_prefixes_and_numbers_are_one_for_each_line(translator: Translator) -> None:
    with pytest.raises(DataError, match="prefixes: found 1, fewer than there are lines"):
        translator.translate(["a", "b"], prefix=["a"])
    with pytest.raises(DataError, match="numbers: found 1, fewer than there are lines"):
        translator.translate(["a", "b"], numbers=[3])
    with pytest.raises(DataError, match="prefixes: found more than the 1 lines; give one per line"):
        translator.translate(["a"], prefix=["a", "b"])
    with pytest.raises(DataError, match="prefixes: found more than the 0 lines"):
        translator.translate([], prefix=iter(["a"]))
    with pytest.raises(DataError, match="numbers: found more than the 1 lines; give one per line"):
        translator.translate(["a"], numbers=[3, 4])
    assert len(translator.translate(["a"], numbers=count(3))) == 1
    with pytest.raises(UsageError, match=r"numbers: expected a list .*, found 5 \(int\)"):
        translator.stream(["a"], numbers=5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"progress: expected a function, found 3 \(int\)"):
        translator.stream(["a"], progress=3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="numbers: expected whole numbers from 0 on, found -1"):
        translator.translate(["a"], numbers=[-1])
    with pytest.raises(UsageError, match=r"prefix 1: expected a string, found 3 \(int\)"):
        translator.translate(["a"], prefix=[3])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="expected a list of strings"):
        translator.stream(["a"], prefix=3)  # type: ignore[arg-type]


def test_numbers_decide_what_is_drawn_and_what_errors_name(translator: Translator) -> None:
    options: dict[str, Any] = {"sampling": {"seed": 3}}
    lines = ["a b c d e"] * 6
    whole = translator.translate(lines, **options)
    assert len({*whole}) > 1
    assert translator.translate(lines[:2], numbers=[4, 1], **options) == [whole[4], whole[1]]
    with pytest.raises(DataError, match=r"^line 8: "):
        translator.translate(["a " * 2000], numbers=[7])


class Ahead(Engine):
    """An engine that takes batches ahead of what it gives, as workers do, and translates none."""

    has_token_scores = False

    def __init__(self, ahead: int) -> None:
        self.ahead, self.most = ahead, 0
        self.fails_at: int | None = None

    def search(
        self, batches: Iterable[SourceBatch], config: SearchConfig
    ) -> Iterator[SearchedBatch]:
        pending: deque[SourceBatch] = deque()
        for batch in batches:
            pending.append(batch)
            self.most = max(self.most, len(pending))
            if len(pending) >= self.ahead:
                yield self._found(pending.popleft())
        while pending:
            yield self._found(pending.popleft())

    def _found(self, batch: SourceBatch) -> SearchedBatch:
        if self.fails_at in batch.numbers:
            raise LookupError("a worker failed")
        found = [[Hypothesis(ids, 0.0, 0.0, ended=True)] for ids in batch.sources]
        return SearchedBatch(batch, found)

    def close(self) -> None:
        """There is nothing."""


def with_engine(translator: Translator, engine: Ahead) -> Translator:
    """One vocabulary serves both sides, so that its translations are the lines themselves."""
    return Translator(translator.models, translator.vocabularies, translator.search, engine)


LINES = ["a b c", "", "d", "e e", "a " * 2000, "", "", "", "", "c b", "d a b", "c", "e"]
ANSWERS = ["" if len(line) > 99 else line for line in LINES]


@few
@given(
    lines=st.lists(texts, max_size=30),
    buffer=st.integers(1, 7),
    ahead=st.integers(1, 5),
    tokens=st.integers(1, 60),
)
def test_lines_come_back_in_order_whatever_is_taken_ahead(
    translator: Translator, lines: list[str], buffer: int, ahead: int, tokens: int
) -> None:
    engine, counts = Ahead(ahead), list[int]()
    found = with_engine(translator, engine).translate(
        lines, buffer_lines=buffer, batch_tokens=tokens, beam=1, progress=counts.append
    )
    assert found == lines
    assert counts == sorted({*counts})
    assert counts[-1:] == [len(lines)][: len(lines)]


def test_batches_of_the_next_buffer_are_taken_while_others_are_at_work(
    translator: Translator,
) -> None:
    engine = Ahead(5)
    lines = [text for text in "abcde" for _ in range(4)]
    options: LineOptions = {"buffer_lines": 2, "batch_tokens": 3, "beam": 1}
    assert with_engine(translator, engine).translate(lines, **options) == lines
    assert engine.most == 5  # a buffer has two batches at most


@pytest.mark.parametrize("ahead", [1, 2, 4])
@pytest.mark.parametrize("buffer", [1, 2, 3, 99])
def test_refused_and_empty_lines_keep_their_places(
    ahead: int, buffer: int, translator: Translator
) -> None:
    found = with_engine(translator, Ahead(ahead)).translate_nbest(
        LINES, buffer_lines=buffer, batch_tokens=4, beam=1
    )
    assert [best.text for best, *_ in found] == ANSWERS
    assert [n for n, (best, *_) in enumerate(found) if best.refused] == [4]


@pytest.mark.parametrize("last", [["", ""], ["a " * 2000] * 2])
def test_progress_reaches_the_end_when_the_last_lines_need_no_search(
    last: list[str], translator: Translator
) -> None:
    for lines in (last, ["a", "b", *last]):
        counts = list[int]()
        translator.translate_nbest(lines, buffer_lines=2, progress=counts.append)
        assert counts[-1] == len(lines)


def test_memory_is_bounded_and_a_line_alone_is_answered_at_once(translator: Translator) -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        while True:
            read += 1
            yield "a b"

    options: LineOptions = {"batch_tokens": 4, "beam": 1}  # each line is a batch
    engine = with_engine(translator, Ahead(4))
    options["buffer_lines"] = 3
    stream = engine.stream(endless(), **options)
    for answered in range(1, 30):
        next(stream)
        assert read <= answered + 2 + 4 + 2  # its buffer, those at work, and their last buffer
    read = 0
    options["buffer_lines"] = 1
    alone = engine.stream(endless(), **options)
    for answered in range(1, 9):
        next(alone)
        assert read == answered


@pytest.mark.parametrize("buffer", [1, 2, 3, 99])
@pytest.mark.parametrize("ahead", [1, 4])
def test_what_came_before_an_error_of_the_lines_is_translated(
    ahead: int, buffer: int, translator: Translator
) -> None:
    def broken() -> Iterator[str]:
        yield from ["a", "b", "c", "d"]
        raise LookupError("mine")

    engine = with_engine(translator, Ahead(ahead))
    stream = engine.stream(broken(), buffer_lines=buffer, batch_tokens=2, beam=1)
    assert [next(stream) for _ in range(4)] == ["a", "b", "c", "d"]
    with pytest.raises(LookupError, match="mine"):
        next(stream)


def test_what_came_before_an_error_of_the_engine_is_translated(translator: Translator) -> None:
    ahead = Ahead(4)
    ahead.fails_at = 5
    engine = with_engine(translator, ahead)
    stream = engine.stream(["a"] * 9, buffer_lines=2, batch_tokens=2, beam=1)
    assert [next(stream) for _ in range(4)] == ["a"] * 4
    with pytest.raises(LookupError, match="a worker failed"):
        next(stream)


def test_a_stream_that_is_closed_in_the_middle_leaves_nothing_open(translator: Translator) -> None:
    closed = False

    class Watched(Ahead):
        def search(self, batches: Iterable[SourceBatch], config: SearchConfig) -> Iterator[Any]:
            nonlocal closed
            try:
                yield from super().search(batches, config)
            finally:
                closed = True

    engine = with_engine(translator, Watched(3))
    stream = engine.stream(["a"] * 9, buffer_lines=2, batch_tokens=2, beam=1)
    next(stream)
    assert not closed
    stream.close()  # type: ignore[attr-defined]
    assert closed
    assert engine.translate(["b"]) == ["b"]


def test_a_language_model_continues_its_line_and_has_no_prefix(tmp_path: Path) -> None:
    translator = Translator.load(save_tiny_model(tmp_path / "lm", config=TINY_LM), device="cpu")
    found = translator.translate(["a b", "", "c"])
    assert [text.startswith(line) for text, line in zip(found, ["a b", "", "c"], strict=True)]
    with pytest.raises(ConfigError, match="put the prefix there"):
        translator.translate(["a"], prefix="b")
