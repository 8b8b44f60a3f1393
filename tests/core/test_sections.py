"""Sections whose keys stand side by side in the file, and one of several configurations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from dragoman.core.config import ComposedConfig, Config, parse
from dragoman.core.errors import ConfigError
from dragoman.core.sections import Flat, OneOf, key_docstrings, keys_of


class Deep(Config):
    rate: float = Field(0.1, ge=0, lt=1)
    """How much
    of it."""
    limit: int | None = None


class Inner(ComposedConfig):
    heads: int = Field(8, ge=1)
    """How many."""
    deep: Flat[Deep] = Deep()

    def conflicts(self) -> Iterator[str]:
        if self.heads == 1:
            yield from self.deep.unread("with one head", "limit")


class Nested(Config):
    count: int = 2


class Outer(ComposedConfig):
    width: int = 512
    inner: Flat[Inner] = Inner()
    nested: Nested = Nested()
    kind: str = "a"

    if TYPE_CHECKING:

        def __init__(self, **values: Any) -> None:
            pass


class Whole(Config):
    model: Outer = Outer()


KEYS = ["width", "heads", "rate", "limit", "nested", "kind"]


def message(values: dict[str, Any], kind: type[Config] = Whole) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(kind, values, "run.yaml")
    return str(caught.value).removeprefix("run.yaml: ")


def test_keys_stand_side_by_side_in_the_order_of_the_fields() -> None:
    assert list(keys_of(Outer)) == list(Outer().model_dump()) == KEYS


def test_docstrings_are_those_below_the_fields() -> None:
    assert key_docstrings(Inner) == {"rate": "How much\nof it.", "heads": "How many."}
    assert key_docstrings(Outer) == key_docstrings(Inner)


def test_code_finds_them_in_their_sections() -> None:
    read = parse(Outer, {"heads": 4, "rate": 0.5, "nested": {"count": 3}}, "run.yaml")
    assert (read.inner.heads, read.inner.deep.rate, read.nested.count) == (4, 0.5, 3)
    assert read == Outer(heads=4, rate=0.5, nested=Nested(count=3))
    assert read == Outer(inner=Inner.model_validate({"heads": 4, "rate": 0.5}), nested={"count": 3})


VALUES = st.fixed_dictionaries(
    {},
    optional={
        "width": st.integers(1, 9),
        "heads": st.integers(2, 9),
        "rate": st.floats(0, 0.9),
        "limit": st.none() | st.integers(0, 9),
        "nested": st.fixed_dictionaries({"count": st.integers(0, 3)}),
    },
)


@given(VALUES, VALUES)
def test_what_is_read_is_dumped_and_read_again(
    values: dict[str, Any], changes: dict[str, Any]
) -> None:
    read = parse(Outer, values, "run.yaml")
    dumped = read.model_dump()
    assert {key: dumped[key] for key in values} == values
    assert parse(Outer, dumped, "run.yaml") == read
    assert Outer.model_validate_json(read.model_dump_json()) == read
    flat = {key: value for key, value in changes.items() if key != "nested"}
    changed = read.model_copy(update=flat)
    assert changed.model_dump() == {**dumped, **flat}
    assert read.model_dump() == dumped


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"heads": 0}, "model.heads: Input should be greater than or equal to 1, found 0"),
        ({"rate": 1}, "model.rate: Input should be less than 1, found 1"),
        ({"head": 3}, "unknown key 'model.head'; did you mean 'heads'?"),
        ({"nested": {"cont": 3}}, "unknown key 'model.nested.cont'; did you mean 'count'?"),
        ({"heads": 1, "limit": 3}, "model: limit: 3 is not read with one head; remove it"),
    ],
)
def test_errors_name_what_the_file_says(values: dict[str, Any], expected: str) -> None:
    assert message({"model": values}) == expected


def test_the_name_of_a_field_is_no_key_of_the_file() -> None:
    for values in ({"inner": {"heads": 3}}, {"inner": {"heads": 3}, "heads": 3}):
        assert message({"model": values}).startswith("unknown key 'model.inner'")
    assert message({"model": {"inner": 3}}).startswith("model.inner: Input should be a section")


class Near(Config):
    family: str = "near"
    steps: int = 1


class Far(Config):
    family: str = "far"
    miles: int = 1


class Distance(OneOf):
    key = "family"
    default = "near"
    question = "is it elsewhere?"

    def find(self, name: str) -> type[Config]:
        if name == "broken":
            raise ConfigError("broken cannot be imported")
        kinds: dict[str, type[Config]] = {"near": Near, "far": Far}
        return kinds[name]

    def at_hand(self) -> list[type[Config]]:
        return [Near]

    def names(self) -> list[str]:
        return ["near", "far", "broken"]


class Way(Config):
    distance: Annotated[Config, Distance()] = Near()


def test_one_of_several_is_chosen_by_its_key() -> None:
    assert parse(Way, {}, "run.yaml").distance == Near()
    assert parse(Way, {"distance": {"steps": 3}}, "run.yaml").distance == Near(steps=3)
    far = parse(Way, {"distance": {"family": "far", "miles": 3}}, "run.yaml")
    assert far.distance == Far(miles=3)
    assert far.model_dump() == {"distance": {"family": "far", "miles": 3}}
    assert Way(distance=Far(miles=3)) == far


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        ({"family": "far", "mile": 3}, "unknown key 'distance.mile'; did you mean 'miles'?"),
        ({"miles": 3}, "unknown key 'distance.miles'"),
        (
            {"family": "fra"},
            "distance.family: Input should be one of 'broken', 'far', 'near', found 'fra'; did you "
            "mean 'far'? Or is it elsewhere?",
        ),
        ({"family": 7}, "'near', found 7; is it elsewhere?"),
        ({"family": ["far"]}, "'near', found ['far']; is it elsewhere?"),
        ({"family": None}, "'near', found None; is it elsewhere?"),
        ({"family": "broken"}, "distance: broken cannot be imported"),
        (7, "distance: Input should be a section of keys, found 7"),
    ],
)
def test_what_is_none_of_them_is_told(distance: Any, expected: str) -> None:
    assert expected in message({"distance": distance}, Way)
