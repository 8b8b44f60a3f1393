"""Strings in YAML: comments, anchors and styles stay."""

from __future__ import annotations

import pytest
import yaml
from string_files import opened, texts, translated

from dragoman.core.errors import DataError

FILE = """# top
en:
  hello: Hello world   # comment
  quoted: "Say \\"hi\\" to %{name}"
  single: 'It''s me'
  anchor: &a Shared text
  alias: *a
  items:
    one: "%{count} item"
    other: "%{count} items"
  flow: {one: "%{count} day", other: "%{count} days"}
  literal: |
    First line
    second line

    third
  folded: >-
    Folded text
    goes on

    New one
  truth: yes
  number: 12
  date: "%d.%m.%Y"
  more: plain text
    over lines
  list:
  - January
  - "February"
"""


@pytest.mark.parametrize("end", [" \n", "\n   \n", "\n\n \n", " "])
@pytest.mark.parametrize("style", ["|", "|+", ">-"])
def test_white_space_behind_a_block_stays(style: str, end: str) -> None:
    source = f"a: {style}\n  some text{end}"
    assert translated("a.yml", source) == source.replace("some text", "SOME TEXT")


def test_scalars_keep_their_style() -> None:
    found = translated("a.yml", FILE, "pl")
    for line in (
        "pl:",
        "  hello: HELLO WORLD   # comment",
        '  quoted: "SAY \\"HI\\" TO %{name}"',
        "  single: 'IT''S ME'",
        "  anchor: &a SHARED TEXT",
        "  alias: *a",
        '  flow: {one: "%{count} DAY", few: "%{count} DAYS", many: "%{count} DAYS", '
        'other: "%{count} DAYS"}',
        "  literal: |\n    FIRST LINE\n    SECOND LINE\n\n    THIRD",
        "  folded: >-\n    FOLDED TEXT GOES ON\n\n    NEW ONE",
        "  truth: yes\n  number: 12",
        "  more: PLAIN TEXT OVER LINES",
        '  - JANUARY\n  - "FEBRUARY"',
    ):
        assert f"{line}\n" in found
    read = yaml.safe_load(found)["pl"]
    assert list(read["items"]) == ["one", "few", "many", "other"]
    assert read["folded"] == "FOLDED TEXT GOES ON\nNEW ONE"


def test_identity_gives_the_same_bytes() -> None:
    assert translated("a.yml", FILE, "en", by=str) == FILE
    assert opened("a.yml", FILE).source_language == "en"


def test_line_ends_of_windows_stay() -> None:
    found = translated("a.yml", FILE.replace("\n", "\r\n"), "pl")
    assert found == translated("a.yml", FILE, "pl").replace("\n", "\r\n")


@pytest.mark.parametrize(
    "content",
    [
        'x: &f "%{count} item"\np:\n  one: "a %{count}"\n  other: *f\n',
        'p:\n  one: &f "%{count} item"\n  other: *f\n',
        'p:\n  other: &f "%{count} item"\n  one: *f\n',
        'p:\n  one: "a %{count}"\n  other: &f "%{count} item"\nx: *f\n',
        'p:\n  other: &f "%{count} item"\n  one: one item\nq: {one: b c, other: *f}\n',
    ],
)
@pytest.mark.parametrize("target", ["de", "pl"])
def test_aliases_among_forms_of_a_plural_stay(content: str, target: str) -> None:
    found = yaml.safe_load(translated("a.yml", content, target))
    for key, value in yaml.safe_load(content).items():
        forms = value.items() if isinstance(value, dict) else [("", value)]
        for name, text in forms:
            written = found[key][name] if name else found[key]
            assert written == text.upper().replace("COUNT", "count")


def test_what_is_no_plain_scalar_is_quoted() -> None:
    for text in ("yes", "12", "a: b", "- x", "x #y", "[a]", "*x", "!x", "no\u2028x", "@x", "~"):
        found = translated("a.yml", "a: One two\nb: z\n", by=lambda _, text=text: text)  # type: ignore[misc]
        assert yaml.safe_load(found)["a"] == text
    assert translated("a.yml", "en:\n  a: b\n", "no", by=str) == '"no":\n  a: b\n'


def test_a_question_within_brackets_is_quoted() -> None:
    content = "within: {a: One two, b: [x y]}\nbelow: Who are you?\n"
    found = translated("a.yml", content, by=lambda text: f"{text.rstrip('?')}?")
    assert yaml.safe_load(found) == {
        "within": {"a": "One two?", "b": ["x y?"]},
        "below": "Who are you?",
    }
    assert found.endswith("\nbelow: Who are you?\n")


@pytest.mark.parametrize("style", ["|", ">", "|-", ">-", "|+", "|2"])
@pytest.mark.parametrize("text", ["x y", " x", "a # b", "- a: b", "it's \u0085"])
def test_blocks_are_read_again(style: str, text: str) -> None:
    content = f"a: {style}\n  one two\n\n  three\nb: c\n"
    found = translated("a.yml", content, by=lambda _: text)
    lines = yaml.safe_load(found)["a"].split("\n")
    assert [one for one in lines if one] == [text, text]
    assert yaml.safe_load(found)["b"] == text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x: 1\na: !!python/object/apply:os.system ['x']", "!!python at line 2"),
        ("a: b\na: c", "'a' occurs twice, at lines 1 and 2"),
        ("a: &a [x, *a]", "line 1"),
        ("a: [", "line 1"),
        ("a: b\n---\nc: d", "another document at line 2"),
        ("[" * 300, "levels deep"),
        ("a: \x01", "special characters"),
        (b"a: \xff", "not UTF-8"),
    ],
)
def test_bad_files(content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened("a.yaml", content)


def test_aliases_that_multiply_are_refused() -> None:
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 8)]
    with pytest.raises(DataError, match="100,000 values"):
        texts("a.yml", "\n".join(lines))
