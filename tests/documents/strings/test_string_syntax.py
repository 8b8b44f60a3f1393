"""Which placeholders hold: as formats, flags and other strings of a file show."""

from __future__ import annotations

import html
import json
import random
import re
from collections.abc import Callable

import pytest
import yaml
from document_models import Model, file_by
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.documents.strings.string_placeholders import filled_in, in_order, kept
from dragoman.documents.strings.string_syntax import ANY, StringSyntax, flagged_syntax, shown_syntax
from dragoman.text.placeholder_notations import NOTATIONS

EXAMPLES = [
    example
    for row in NOTATIONS
    if row.scope != "declared" and row.family not in ("emoji", "escapes", "swift")
    for example in row.examples
]


def shuffled(text: str) -> str:
    words = text.split(" ")
    random.Random(len(text)).shuffle(words)
    return " ".join(words)


MODELS: list[Model] = [
    str.upper,
    lambda text: " ".join(reversed(text.split(" "))),
    lambda text: text[::-1],
    lambda text: "Wort",
    lambda text: f"{text} {text}",
    lambda text: text.swapcase(),
    shuffled,
]


def po(text: str) -> str:
    raw = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "{raw}"\nmsgstr ""\n'


def xliff(text: str) -> str:
    return (
        '<xliff version="1.2"><file source-language="en" target-language="de"><trans-unit id="1">'
        f"<source>{html.escape(text, quote=False)}</source></trans-unit></file></xliff>"
    )


def android(text: str) -> str:
    raw = re.sub(r"([\\'\"])", r"\\\1", html.escape(text, quote=False))
    return f'<resources><string name="a">{raw}</string></resources>'


def apple(text: str) -> str:
    raw = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"a" = "{raw}";\n'


def from_po(written: str) -> str:
    return re.sub(r"\\(.)", r"\1", written.rpartition('msgstr "')[2].rstrip('"\n'))


FORMATS: dict[str, tuple[Callable[[str], str], Callable[[str], str]]] = {
    "a.json": (lambda text: json.dumps({"a": text}), lambda raw: json.loads(raw)["a"]),
    "a.yml": (
        lambda text: f"en:\n  a: {json.dumps(text)}\n",
        lambda raw: yaml.safe_load(raw)["de"]["a"],
    ),
    "a.po": (po, lambda raw: from_po(raw.replace('"\n"', ""))),
    "a.xlf": (
        xliff,
        lambda raw: html.unescape("".join(re.findall("<target[^>]*>(.*)</target>", raw))),
    ),
    "strings.xml": (
        android,
        lambda raw: re.sub(r"\\(.)", r"\1", html.unescape(re.findall('"a">(.*)</string>', raw)[0])),
    ),
    "a.strings": (apple, lambda raw: re.sub(r"\\(.)", r"\1", re.findall('= "(.*)"', raw)[0])),
}


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=120)
@given(st.sampled_from(EXAMPLES), st.sampled_from(MODELS))
def test_strings_keep_each_placeholder_whatever_the_model_writes(
    name: str, example: str, model: Model
) -> None:
    write, read = FORMATS[name]
    before = f"Seven trees of {example} and nine"
    after = read(file_by(model, name, write(before)))
    if model("ab") == "ba" and after in ("", before):
        return  # mixed-up letters can be another placeholder, for which the string is refused
    assert after.count(example) == 1
    assert after != before or after == model(before)


@pytest.mark.parametrize(
    ("flags", "text", "expected"),
    [
        (["c-format"], "%n %p % d :a_b", ["%n", "%p", "% d", ":a_b"]),
        (["c-format"], "%Y-%name", ["%n"]),
        (["fuzzy", "python-format"], "%r %(name)r %(x) d 5%% %a", ["%r", "%(name)r", "%(x) d"]),
        (["python-brace-format"], "{a b!r:>{w}} {}", ["{a b!r:>{w}}", "{}"]),
        (["java-printf-format"], "%-5b %n %tY", ["%-5b", "%n", "%tY"]),
        (["php-format"], "%'010d %b", ["%'010d", "%b"]),
        (["lisp-format"], "~a ~D %", ["~a", "~D"]),
        (["gcc-internal-format"], "%qs of %<x%>", ["%qs", "%<", "%>"]),
        (["php-format"], "5%% of %s", ["%s"]),
        (["go-format"], "5%%d", []),
        (["qt-format"], "%L1 of %n", ["%L1", "%n"]),
        (["go-format"], "%v %[2]d %q", ["%v", "%[2]d", "%q"]),
        (["no-c-format"], "% d of %Y", []),
        (["no-c-format"], "%{x} of %1", ["%{x}", "%1"]),
    ],
)
def test_flags_of_gettext(flags: list[str], text: str, expected: list[str]) -> None:
    syntax = flagged_syntax(flags)
    found = [text[slice(*one)] for one in filled_in(text, syntax)]
    assert [one for one in found if one not in ("%%", "%a")] == expected


@pytest.mark.parametrize(
    ("strings", "text", "expected"),
    [
        (["[sic]", "Hello [user_name]"], "[name]", True),
        (["Hello {name}", "[name] is here"], "[name]", True),
        (["Hello {name}", "as he wrote [sic]"], "[sic]", False),
        (["[sic]", "[optional]"], "[sic]", False),
        (["a :name", "b :count", "c :Name"], "v:n", True),
        (["a :name", "b", "c"], "v:n", False),
    ],
)
def test_other_strings_of_a_file_show_what_holds(
    strings: list[str], text: str, expected: bool
) -> None:
    assert bool(filled_in(text, shown_syntax(strings))) is expected


@pytest.mark.parametrize("text", ["%sLearn more%s now", "%dx%d", "%ddays or %d"])
def test_words_behind_conversions_are_no_names(text: str) -> None:
    found = [text[slice(*one)] for one in filled_in(text)]
    assert set(found) <= {"%s", "%d"}


@pytest.mark.parametrize(
    ("source", "said", "expected"),
    [
        ("Hi :name!", "Hallo:name!", "Hallo :name!"),
        ("Hi %name%", "%name%s Haus", "%name% s Haus"),
        ("Hi $name", "Hallo $names", "Hallo $name s"),
        ("{n}% done", "%{n} bitti", "%{n} bitti"),
        ("{n}% of {n}", "%{n} %{n}", "%{n} %{n}"),
        ("{n} done", "%{n} bitti", None),
        ("%d%% done", "%%%d bitti", "%%%d bitti"),
        ("Hi :name", "Hallo", None),
        ("Hi :name", ":name :name", None),
        ("Hi {a}", "{a} {b}", None),
        ("25 of %s", "%s 25 davon", "%s 25 davon"),
        ("Only %s 25 here", "Hier nur 25 %s", "Hier nur 25 %s"),
        ("Only %s 25 here", "Hier nur 25 %s %s", None),
        ("a: b", "zum :b", "zum :b"),
    ],
)
def test_what_is_kept(source: str, said: str, expected: str | None) -> None:
    assert kept(source, said) == expected


@pytest.mark.parametrize(
    ("flag", "source", "said", "expected"),
    [
        ("go-format", "%s of %d", "von %d %s", "von %[2]d %[1]s"),
        ("java-printf-format", "%b of %d", "von %d %b", "von %2$d %1$b"),
        ("python-format", "%r of %d", "von %d %r", "von %r %d"),
        ("c-format", "%*d of %s", "von %s %*d", "von %*d %s"),
        ("rust-format", "{} {x} of {}", "{} {x} von {}", "{} {x} von {}"),
    ],
)
def test_order(flag: str, source: str, said: str, expected: str) -> None:
    assert in_order(source, said, flagged_syntax([flag])) == expected


def test_fields_of_a_date_may_change_places() -> None:
    assert kept("On %B %d, %Y", "Am %d. %B %Y") == "Am %d. %B %Y"
    assert StringSyntax() == ANY
