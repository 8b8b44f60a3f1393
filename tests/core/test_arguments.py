"""Wrong use from Python: one clear error, of one line and of one family, whatever is passed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_model import save_tiny_model

import dragoman
from dragoman.core.arguments import check_lines, check_path
from dragoman.core.errors import ConfigError, DragomanError, SavedError, UsageError
from dragoman.search import SearchConfig
from dragoman.translation import building as module
from dragoman.translation.translator import Translator

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("saved") / "model")


@pytest.fixture(scope="module")
def translator(path: Path) -> Translator:
    return Translator.load(path, device="cpu")


class Mute:
    """Has neither words for itself nor a length."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")


class Odd:
    def __fspath__(self) -> bytes:
        return b"model"


DEEP: list[Any] = []
for _ in range(5000):
    DEEP = [DEEP]
LOOP: dict[str, Any] = {}
LOOP["loop"] = LOOP

odd = st.one_of(
    st.sampled_from(
        [
            *(None, True, object(), Mute(), Odd(), print, Path("nowhere"), DEEP, LOOP, 3 + 1j),
            *(np.arange(30).reshape(6, 5), np.float32(0.5), torch.ones(3), torch.tensor(2), set()),
            *(
                2**63,
                10**5000,
                -(10**30),
                1e300,
                float("nan"),
                float("-inf"),
                "int4",
                "\ud800",
                "\0",
            ),
        ]
    ),
    st.integers(-3, 20),
    st.floats(-2, 20),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.lists(
        st.one_of(st.none(), st.integers(), st.binary(max_size=2), st.text(max_size=3)), max_size=3
    ),
    st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=2),
)
options = st.dictionaries(
    st.one_of(st.sampled_from(sorted(SearchConfig.model_fields)), st.text(min_size=1, max_size=4)),
    odd,
    max_size=2,
)


def works_or_is_told(call: Callable[[], object]) -> None:
    """It gives something, or raises one error of ours, with one line that can be printed."""
    try:
        call()
    except DragomanError as error:
        text = str(error)
        assert text
        assert len(text.splitlines()) == 1, text
        assert len(text) < 1000


@settings(max_examples=60)
@given(lines=odd, options=options)
def test_whatever_is_translated_is_translated_or_told(
    translator: Translator, lines: Any, options: dict[str, Any]
) -> None:
    works_or_is_told(lambda: translator.translate(lines, beam=1))
    works_or_is_told(lambda: translator.translate_nbest(["a b"], **options))


@settings(max_examples=50)
@given(one=odd, other=odd)
def test_whatever_is_scored_or_looked_at_is_told(
    translator: Translator, one: Any, other: Any
) -> None:
    works_or_is_told(lambda: translator.score(one, other))
    works_or_is_told(lambda: translator.score(["a"], other))
    works_or_is_told(lambda: translator.attention(one, other))
    works_or_is_told(lambda: translator.attention("a", other))


@settings(max_examples=60)
@given(value=odd, name=st.sampled_from(["device", "precision", "workers", "beam", "presicion"]))
def test_whatever_is_opened_is_opened_or_told(path: Path, value: Any, name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "WorkerEngine", lambda *_: None)  # starting processes is not meant
        works_or_is_told(lambda: dragoman.load(value))
        works_or_is_told(lambda: dragoman.load(path, **{"device": "cpu", name: value}))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "the house",
            r"expected a list of strings, not one string, 'the house'; put it .*: \[text\]",
        ),
        (b"the house", r"expected a list of strings, not bytes; decode them"),
        (None, "expected a list of strings or another iterable, found None"),
        (7, r"expected a list of strings or another iterable, found 7 \(int\)"),
        ([1], r"line 1: expected a string, found 1 \(int\)"),
        (["a", None], "line 2: expected a string, found None"),
        (["a", b"a"], r"line 2: expected a string, not bytes; decode them"),
    ],
)
def test_what_are_no_lines_is_said(translator: Translator, lines: Any, message: str) -> None:
    for call in (translator.translate, translator.translate_nbest):
        with pytest.raises(UsageError, match=f"^{message}"):
            call(lines)
    with pytest.raises(TypeError, match=message):  # as Python would have it
        list(translator.stream(lines))


def test_which_side_is_wrong_is_said(translator: Translator) -> None:
    with pytest.raises(UsageError, match=r"^source line 2: "):
        translator.score(["a", 2], ["a", "b"])  # type: ignore[list-item]
    with pytest.raises(UsageError, match=r"^target line 1: "):
        translator.score(["a"], [None])  # type: ignore[list-item]
    with pytest.raises(UsageError, match=r"^source: expected a string, found \['a'\] \(list\)"):
        translator.attention(["a"])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"^target: expected a string, found 1 \(int\)"):
        translator.attention("a", 1)  # type: ignore[arg-type]


def test_a_wrong_call_is_told_before_anything_is_asked_of_the_stream(
    translator: Translator,
) -> None:
    for call in (translator.stream, translator.stream_nbest):
        with pytest.raises(UsageError):
            call("the house")
        with pytest.raises(ConfigError):
            call(["the house"], beam=0)


def test_lines_are_checked_when_their_turn_comes() -> None:
    lines = check_lines(["a", "b", 3])  # type: ignore[list-item]
    assert [next(lines), next(lines)] == ["a", "b"]
    with pytest.raises(UsageError, match="line 3"):
        next(lines)


def test_errors_of_the_callers_own_lines_stay_theirs(translator: Translator) -> None:
    def broken() -> Any:
        yield "a"
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        translator.translate(broken())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"workers": -1},
            "load options: workers: Input should be greater than or equal to 1, found -1",
        ),
        ({"workers": 0}, "load options: workers: .* found 0"),
        ({"workers": "many"}, "load options: workers: .* found 'many'"),
        ({"precision": "int4"}, "load options: precision: .*'float32'.* found 'int4'"),
        ({"precison": "auto"}, "load options: unknown key 'precison'; did you mean 'precision'"),
        ({"device": 7}, "device: expected a string such as 'cpu' or 'cuda:1', found 7"),
    ],
)
def test_options_of_opening_are_told(path: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        dragoman.load(path, **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            ["one", "two"],
            r"found \['one', 'two'\] \(list\); give several one by one: load\('one', 'two'\)",
        ),
        (b"model", r"expected the path of a model or run .*, found b'model' \(bytes\)"),
        (None, "expected the path of a model or run .*, found None"),
        ("", "an empty name is not a path"),
    ],
)
def test_what_is_no_path_is_said(given: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        dragoman.load(given)
    with pytest.raises(SavedError, match="no such model or run"):
        dragoman.load("nowhere\0at all")


def test_paths_may_be_of_any_kind_that_names_one() -> None:
    assert check_path("runs/my") == check_path(Path("runs/my")) == Path("runs/my")
