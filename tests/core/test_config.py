"""Configurations are strict, and say in one line what is wrong and where."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError, field_validator

from dragoman.core.config import Config, override, parse, read_yaml, to_yaml
from dragoman.core.errors import ConfigError
from dragoman.core.sections import OneOf
from dragoman.core.strict_yaml import load_yaml


class Round(Config):
    family: Literal["round"] = "round"
    radius: float = Field(default=1.0, gt=0)


class Square(Config):
    family: Literal["square"] = "square"
    side: float = 1.0


class Part(Config):
    path: str
    weight: float | None = 1.0


class Training(Config):
    seed: int = 1
    steps: int = Field(default=10, gt=0)
    """How many steps."""


class Data(Config):
    parts: tuple[Part, ...] = ()
    seed: int = 1
    tags: tuple[str, ...] = ()

    @field_validator("tags")
    @classmethod
    def _check(cls, tags: tuple[str, ...]) -> tuple[str, ...]:
        if "bad" in tags:
            raise ValueError("no tag is called bad")
        return tags


class OneShape(OneOf):
    key = "family"
    default = "round"

    def find(self, name: str) -> type[Config]:
        kinds: dict[str, type[Config]] = {"round": Round, "square": Square}
        return kinds[name]

    def at_hand(self) -> list[type[Config]]:
        return [Round, Square]

    def names(self) -> list[str]:
        return ["round", "square"]


class Run(Config):
    shape: Annotated[Config, OneShape()] = Round()
    training: Training = Training()
    data: Data = Data()


def message(values: dict[str, Any], kind: type[Config] = Run) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(kind, values, "run.yaml")
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2
    return str(caught.value)


class Numbers(Config):
    whole: int = 1
    maybe: float | None = None
    several: tuple[Annotated[float, Field(ge=0)], ...] | None = None
    by_step: float | dict[int, Annotated[float, Field(ge=0)]] = 1.0
    either: bool | int = False
    switch: bool = False
    parts: tuple[Training, ...] = ()


class TestTruthValues:
    @pytest.mark.parametrize("value", [True, False])
    def test_they_are_not_numbers_wherever_they_are(self, value: bool) -> None:
        for values, key in (
            ({"whole": value}, "whole"),
            ({"maybe": value}, "maybe"),
            ({"several": [1, value]}, "several.1"),
            ({"by_step": value}, "by_step"),
            ({"by_step": {1: value}}, "by_step.1"),
            ({"by_step": {value: 1}}, "by_step"),
            ({"parts": [{"steps": 2}, {"seed": value}]}, "parts.1.seed"),
        ):
            told = message(values, Numbers)
            assert told.startswith("run.yaml: ")
            assert f"{key}: Input should be a valid " in told
            assert f"found '{str(value).lower()}'" in told

    def test_they_stay_where_they_may_be(self) -> None:
        found = parse(Numbers, {"either": True, "switch": True}, "run.yaml")
        assert (found.either, found.switch) == (True, True)

    def test_text_is_a_number_if_it_spells_one(self) -> None:
        """YAML reads 1e-4 as text."""
        found = parse(Numbers, {"whole": "12", "by_step": {"3": "1e-4"}}, "run.yaml")
        assert (found.whole, found.by_step) == (12, {3: 1e-4})


class TestParse:
    def test_values_are_typed_and_frozen(self) -> None:
        run = parse(Run, {"shape": {"family": "square", "side": 2}}, "run.yaml")
        assert run.shape == Square(side=2.0)
        with pytest.raises(ValidationError):
            run.training.seed = 3  # type: ignore[misc]

    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            ({"trainng": {}}, "run.yaml: unknown key 'trainng'; did you mean 'training'?"),
            (
                {"training": {"step": 1}},
                "run.yaml: unknown key 'training.step'; did you mean 'steps'?",
            ),
            (
                {"training": {"radius": 1}},
                "run.yaml: unknown key 'training.radius'; did you mean 'shape.radius'?",
            ),
            (
                {"shape": {"family": "round", "radus": 1}},
                "run.yaml: unknown key 'shape.radus'; did you mean 'radius'?",
            ),
            (
                {"data": {"parts": [{"path": "a"}, {"pth": "b"}]}},
                "run.yaml: unknown key 'data.parts.1.pth'; did you mean 'path'?",
            ),
        ],
    )
    def test_an_unknown_key_gets_a_suggestion(self, values: dict[str, Any], expected: str) -> None:
        assert message(values) == expected

    def test_a_suggestion_prefers_the_same_section(self) -> None:
        assert message({"training": {"sead": 1}}).endswith("did you mean 'seed'?")
        assert message({"data": {"sead": 1}}).endswith("did you mean 'seed'?")

    def test_a_key_in_the_wrong_section_is_told_its_own(self) -> None:
        assert message({"tags": []}).endswith("did you mean 'data.tags'?")
        assert message({"part": []}).endswith("did you mean 'data.parts'?")

    def test_of_keys_of_one_name_the_outermost_is_meant(self) -> None:
        class Text(Config):
            language: str = ""

        class Languages(Config):
            language: str = ""
            data: Data = Data()
            text: Text = Text()

        assert message({"data": {"language": "de"}}, Languages).endswith("did you mean 'language'?")

    def test_an_unknown_key_like_no_other_gets_a_place_to_look(self) -> None:
        assert "docs/configuration.md" in message({"xyzzy": 1})
        assert "docs/configuration.md" in message({"training": {"saving_weight": 1}})

    @pytest.mark.parametrize(
        ("values", "key", "found"),
        [
            ({"training": {"steps": "many"}}, "training.steps", "'many'"),
            ({"training": {"steps": 0}}, "training.steps", "0"),
            ({"training": {"steps": 1.5}}, "training.steps", "1.5"),
            ({"training": [1]}, "training", "[1]"),
            ({"shape": {"family": "round", "radius": -1}}, "shape.radius", "-1"),
            ({"data": {"parts": [{"path": 3}]}}, "data.parts.0.path", "3; put it in quotes"),
            (
                {"data": {"parts": [{"path": "a", "weight": "x"}]}},
                "data.parts.0.weight",
                "'x'",
            ),
        ],
    )
    def test_a_wrong_value_is_named_with_its_key(
        self, values: dict[str, Any], key: str, found: str
    ) -> None:
        assert message(values).startswith(f"run.yaml: {key}: ")
        assert message(values).endswith(f", found {found}")

    def test_what_yaml_reads_as_no_text_is_to_be_put_in_quotes(self) -> None:
        class Sets(Config):
            test: dict[str, str]

        values = load_yaml("test: {no: a, 2016: b, de: 2001-01-01, fr: on, en: [c]}")
        assert message(values, Sets) == (
            "run.yaml: 5 problems: (1) test.False: Input should be a valid string, found False; "
            "put it in quotes  (2) test.2016: Input should be a valid string, found 2016; put it "
            "in quotes  (3) test.de: Input should be a valid string, found datetime.date(2001, 1, "
            "1); put it in quotes  (4) test.fr: Input should be a valid string, found True; put it "
            "in quotes  (5) test.en: Input should be a valid string, found ['c']"
        )

    def test_an_unknown_family_names_those_there_are(self) -> None:
        text = message({"shape": {"family": "oval"}})
        assert text == (
            "run.yaml: shape.family: Input should be one of 'round', 'square', found 'oval'"
        )
        near = message({"shape": {"family": "sqare"}})
        assert near.endswith("found 'sqare'; did you mean 'square'?")

    def test_a_key_of_another_family_is_not_suggested(self) -> None:
        text = message({"shape": {"family": "square", "radius": 1}})
        assert text.startswith("run.yaml: unknown key 'shape.radius'; remove it")
        assert message({"shape": {"family": "square", "sides": 1}}).endswith("mean 'side'?")

    def test_a_missing_key_is_named(self) -> None:
        assert message({"data": {"parts": [{}]}}) == (
            "run.yaml: missing key 'data.parts.0.path'; add it"
        )

    def test_every_problem_is_named(self) -> None:
        values = {"training": {"steps": 0, "sead": 1}, "data": {"parts": [{}]}, "shap": {}}
        assert message(values) == (
            "run.yaml: 4 problems: (1) training.steps: Input should be greater than 0, found 0  "
            "(2) unknown key 'training.sead'; did you mean 'seed'?  "
            "(3) missing key 'data.parts.0.path'; add it  "
            "(4) unknown key 'shap'; did you mean 'shape'?"
        )

    def test_conflicts_are_all_named_and_only_between_values_that_are_right(self) -> None:
        class Window(Config):
            low: int = 1
            high: int = 2
            step: int = Field(1, gt=0)

            def conflicts(self) -> Iterator[str]:
                if self.low > self.high:
                    yield f"low {self.low} is above high {self.high}"
                yield from self.unread("where low is 7", *(["step"] if self.low == 7 else []))

        class Outer(Config):
            window: Window = Window()

        assert message({"window": {"low": 7, "step": 3}}, Outer) == (
            "run.yaml: 2 problems: (1) window: low 7 is above high 2  "
            "(2) window: step: 3 is not read where low is 7; remove it"
        )
        assert message({"low": 7, "step": 0}, Window) == (
            "run.yaml: step: Input should be greater than 0, found 0"
        )

    def test_a_list_that_is_not_read_is_shown_as_people_write_it(self) -> None:
        class Tags(Config):
            tags: tuple[str, ...] = ()

            def conflicts(self) -> Iterator[str]:
                yield from self.unread("here", "tags")

        assert message({"tags": ["<a>", "<b>"]}, Tags) == (
            "run.yaml: configuration: tags: <a>, <b> is not read here; remove it"
        )

    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            # a misspelt key is not also a missing one
            (
                {"data": {"parts": [{"pth": "a"}]}},
                "unknown key 'data.parts.0.pth'; did you mean 'path'?",
            ),
            # the keys of a family that is misspelt are not also unknown
            (
                {"shape": {"famly": "square", "side": 2}},
                "unknown key 'shape.famly'; did you mean 'family'?",
            ),
            # a list whose only item is wrong is not also too short
            ({"some": [{"steps": 0}]}, "some.0.steps: Input should be greater than 0, found 0"),
        ],
    )
    def test_what_only_follows_from_a_problem_is_none(
        self, values: dict[str, Any], expected: str
    ) -> None:
        class Wide(Run):
            some: tuple[Training, ...] = Field((Training(),), min_length=1)

        assert message(values, Wide) == f"run.yaml: {expected}"

    @pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), "1e400", "inf"])
    def test_numbers_are_finite(self, value: object) -> None:
        values = {"data": {"parts": [{"path": "a", "weight": value}]}}
        assert message(values).startswith("run.yaml: data.parts.0.weight: Input should be a finite")

    @pytest.mark.parametrize(
        "value", [2**63, -(2**63) - 1, 10**5000], ids=["above", "below", "far"]
    )
    def test_whole_numbers_fit_into_64_bits(self, value: object) -> None:
        assert message({"seed": value}, Training).startswith("run.yaml: seed: Input should fit")
        assert parse(Training, {"seed": 2**63 - 1}, "x").seed == 2**63 - 1

    def test_what_is_no_section_or_list_is_told_without_python(self) -> None:
        assert message({"training": 5}) == (
            "run.yaml: training: Input should be a section of keys, found 5"
        )
        assert message({"data": {"tags": "x"}}) == (
            "run.yaml: data.tags: Input should be a list, found 'x'"
        )

    def test_own_checks_speak_for_themselves(self) -> None:
        assert message({"data": {"tags": ["bad"]}}).startswith(
            "run.yaml: data.tags: no tag is called bad"
        )

    def test_a_long_wrong_value_is_cut(self) -> None:
        assert len(message({"training": {"steps": "x" * 10_000}})) < 300


class TestReadYaml:
    def read(self, tmp_path: Path, content: bytes) -> Any:
        path = tmp_path / "run.yaml"
        path.write_bytes(content)
        return read_yaml(path)

    def test_a_mapping(self, tmp_path: Path) -> None:
        assert self.read(tmp_path, "a: {b: ü}\n".encode()) == {"a": {"b": "ü"}}

    def test_a_byte_order_mark_and_windows_line_ends(self, tmp_path: Path) -> None:
        assert self.read(tmp_path, b"\xef\xbb\xbfa: 1\r\nb: 2\r\n") == {"a": 1, "b": 2}

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            (b"a: 1\na: 2\n", r"run.yaml:2: .*'a' occurs twice"),
            (b"a:\n  b: 1\n  b: 2\n", r"run.yaml:3: .*'b' occurs twice"),
            (b"a: [1\nb: 2\n", r"run.yaml:2: not valid YAML"),
            (b"a: \x01\n", r"run.yaml: not valid YAML"),
            (b"a: \xe9\n", r"run.yaml: not UTF-8 at byte 4"),
            (b"- a\n", r"run.yaml: expected a mapping .*found \['a'\]"),
            (b"", r"run.yaml: expected a mapping .*found nothing"),
            (b"a: !!python/object/apply:os.getcwd []\n", r"run.yaml:1: not valid YAML"),
        ],
    )
    def test_bad_files(self, tmp_path: Path, content: bytes, problem: str) -> None:
        with pytest.raises(ConfigError, match=problem) as caught:
            self.read(tmp_path, content)
        assert "\n" not in str(caught.value)

    def test_a_file_without_end_is_refused(self, tmp_path: Path) -> None:
        content = b"# nothing\n" * 110_000
        with pytest.raises(ConfigError, match=r"run.yaml: too large for a configuration"):
            self.read(tmp_path, content)

    def test_what_yaml_can_do_to_a_reader_is_refused_with_its_line(self, tmp_path: Path) -> None:
        content = b"a: 1\nb: &b [*b]\n"
        with pytest.raises(ConfigError, match=r"run.yaml:2: not valid YAML: an alias is inside"):
            self.read(tmp_path, content)

    def test_missing_and_unreadable(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="no such configuration file"):
            read_yaml(tmp_path / "none.yaml")
        with pytest.raises(ConfigError, match="a directory; name a configuration file"):
            read_yaml(tmp_path)

    def test_anchors_and_merges_still_work(self, tmp_path: Path) -> None:
        content = b"a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}\n"
        assert self.read(tmp_path, content)["b"] == {"k": 3, "l": 2}


class TestOverride:
    def test_values_are_yaml_and_the_original_stays(self) -> None:
        values = {"training": {"steps": 1}}
        changed = override(values, ["training.steps=2", "training.rate=1.0e-3", "data.tags=[a, b]"])
        assert changed == {"training": {"steps": 2, "rate": 1e-3}, "data": {"tags": ["a", "b"]}}
        assert values == {"training": {"steps": 1}}

    def test_later_settings_win_and_values_may_hold_equals_signs(self) -> None:
        assert override({}, ["a=1", "a=b=c"]) == {"a": "b=c"}

    def test_an_empty_section_can_be_set_into(self) -> None:
        assert override({"training": None}, ["training.steps=2"]) == {"training": {"steps": 2}}

    def test_a_value_in_a_list_is_set_there_and_nowhere_else(self) -> None:
        shared = [{"kind": "a"}, {"kind": "b"}]  # as by an alias of YAML
        values = {"parts": [{"of": shared}, {"of": shared}]}
        changed = override(values, ["parts.1.of.0.kind=c", "parts.0.of.1=null"])
        assert changed == {
            "parts": [{"of": [{"kind": "a"}, None]}, {"of": [{"kind": "c"}, {"kind": "b"}]}]
        }
        assert shared == [{"kind": "a"}, {"kind": "b"}]

    def test_null_and_empty(self) -> None:
        assert override({"a": 1, "b": 1}, ["a=null", "b="]) == {"a": None, "b": None}

    @pytest.mark.parametrize(
        ("setting", "problem"),
        [
            ("training.steps", "expected KEY=VALUE, such as training.max_steps=500"),
            ("=3", "expected KEY=VALUE"),
            ("a=[1", "not valid YAML"),
            ("a=99999999999999999999", "not valid YAML: a whole number that does not fit"),
            (
                "data.parts.0.path.x=1",
                "path is not a section; set it as a whole: data.parts.0.path",
            ),
            ("data.parts.1.path=x", "1 is no place in a list of 1; they are numbered from 0"),
            ("data.parts.one=x", "one is no place in a list of 1"),
            ("training.steps.x=1", "steps is not a section"),
        ],
    )
    def test_settings_that_make_no_sense(self, setting: str, problem: str) -> None:
        values = {"data": {"parts": [{"path": "a"}]}, "training": {"steps": 1}}
        with pytest.raises(ConfigError, match=problem) as caught:
            override(values, [setting])
        assert str(caught.value).startswith(f"--set {setting}: ")
        assert "\n" not in str(caught.value)

    def test_all_that_make_no_sense_are_named(self) -> None:
        with pytest.raises(ConfigError) as caught:
            override({"a": 1}, ["a.b=1", "seed=7", "steps", "c=[1"])
        assert str(caught.value).startswith("3 problems: (1) --set a.b=1: a is not a section")
        for said in ("(2) --set steps: expected KEY=VALUE", "(3) --set c=[1: not valid YAML"):
            assert said in str(caught.value)

    def test_a_misspelt_setting_is_found_when_parsed(self) -> None:
        assert "did you mean 'steps'" in message(override({}, ["training.stps=3"]))


plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc", min_size=1), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.text("abc", min_size=1), plain_values))
def test_written_yaml_reads_back_the_same_in_the_same_order(values: dict[str, Any]) -> None:
    again = yaml.safe_load(to_yaml(values))
    assert again == values
    assert list(again) == list(values)


def test_a_place_of_thousands_of_digits_is_no_place() -> None:
    with pytest.raises(ConfigError, match="9 is no place in a list of 1"):
        override({"a": [1]}, ["a." + "9" * 5000 + "=2"])


def test_a_message_about_thousands_of_problems_tells_the_first(tmp_path: Path) -> None:
    class Small(Config):
        size: int = 1

    wrong: dict[str, object] = {f"key{number}": 1 for number in range(3000)}
    with pytest.raises(ConfigError, match=r"3000 problems: .*and 2980 more") as caught:
        parse(Small, {**wrong}, "file")
    assert len(str(caught.value)) < 8000
    with pytest.raises(ConfigError) as caught:
        parse(Small, {"k" * 100_000: 1}, "file")
    assert len(str(caught.value)) < 1000
