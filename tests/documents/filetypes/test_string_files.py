"""All files of strings: what goes in comes out, whatever the translation is."""

from __future__ import annotations

import asyncio
import csv
import html
import io
import json
import plistlib
from collections.abc import Callable
from typing import NamedTuple
from xml.etree.ElementTree import fromstring

import javaproperties
import polib
import pytest
import yaml
from echo_service import EchoService
from hypothesis import given, settings
from hypothesis import strategies as st
from string_files import translated

from dragoman.documents.file_translation import translate_file
from dragoman.translation.service.interface import TextRequest

PLACEHOLDERS = ["%1$s", "%d", "{name}", "{{x}}", "%(y)s", "%@", "$t(key)", "https://a.example/b"]
SIGNS = ["%", "{", "}", "'", '"', "\\", "&", "<", ">", "#", "]]>", "\u00a0", "\n", ": ", "é"]
PART = st.sampled_from([*PLACEHOLDERS, *SIGNS, "word", "Some. Words", " ", " "])
TEXT = st.lists(PART, max_size=8).map("".join)
SOURCE = st.lists(st.sampled_from([*PLACEHOLDERS, "word", "it's", "a & b", '"q"', "."]), max_size=6)


class Case(NamedTuple):
    """A format: a file with a string, and the string that other programs read from it."""

    name: str
    write: Callable[[str], str]
    read: Callable[[str], str]


def xml(text: str) -> str:
    return html.escape(text, quote=False)


def found_text(content: str, path: str) -> str:
    found = fromstring(content).find(path)
    return "" if found is None else "".join(found.itertext())


def in_catalogue(content: str) -> str:
    (entry,) = json.loads(content)["strings"].values()
    german = entry.get("localizations", {}).get("de")
    return "" if german is None else str(german["stringUnit"]["value"])


CASES = [
    Case(
        "a.po",
        lambda text: f'msgid {json.dumps(text, ensure_ascii=False)}\nmsgstr ""\n',
        lambda content: str(polib.pofile(content)[0].msgstr),
    ),
    Case(
        "a.xlf",
        lambda text: (
            '<xliff version="1.2"><file source-language="en"><trans-unit id="1"><source>'
            f"{xml(text)}</source></trans-unit></file></xliff>"
        ),
        lambda content: found_text(content, ".//target"),
    ),
    Case(
        "a.tmx",
        lambda text: (
            '<tmx><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>'
            f"{xml(text)}</seg></tuv></tu></body></tmx>"
        ),
        lambda content: found_text(content, ".//tuv[2]/seg"),
    ),
    Case(
        "a.json",
        lambda text: json.dumps({"a": [text]}),
        lambda content: str(json.loads(content)["a"][0]),
    ),
    Case(
        "a.yml",
        lambda text: yaml.safe_dump({"a": text}),
        lambda content: str(yaml.safe_load(content)["a"]),
    ),
    Case(
        "a.xcstrings",
        lambda text: json.dumps({"sourceLanguage": "en", "strings": {text: {}}}),
        in_catalogue,
    ),
    Case(
        "a.strings",
        lambda text: f'"a" = {json.dumps(text, ensure_ascii=False)};\n',
        lambda content: str(json.loads(content[len('"a" = ') : -2])),
    ),
    Case(
        "a.stringsdict",
        lambda text: plistlib.dumps({"a": {"b": text}}).decode(),
        lambda content: str(plistlib.loads(content.encode())["a"]["b"]),
    ),
    Case(
        "a.resx",
        lambda text: f'<root><data name="a"><value>{xml(text)}</value></data></root>',
        lambda content: found_text(content, "data/value"),
    ),
    Case(
        "a.ts",
        lambda text: f"<TS><message><source>{xml(text)}</source></message></TS>",
        lambda content: found_text(content, "message/translation"),
    ),
    Case(
        "a.csv",
        lambda text: 'en,de\n"' + text.replace('"', '""') + '",\n',
        lambda content: list(csv.reader(io.StringIO(content, newline="")))[1][1],
    ),
    Case(
        "a.properties",
        lambda text: javaproperties.dumps({"a": text}, timestamp=False),
        lambda content: str(javaproperties.loads(content)["a"]),
    ),
    Case(
        "a.xml",
        lambda text: (
            '<resources><string name="a">'
            + xml(text.replace("'", "\\'").replace('"', '\\"'))
            + "</string></resources>"
        ),
        lambda content: found_text(content, "string"),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[one.name for one in CASES])
@settings(max_examples=25)
@given(SOURCE, TEXT)
def test_placeholders_come_out_as_they_went_in(case: Case, parts: list[str], by: str) -> None:
    source = " ".join(["Word", *parts])
    found = case.read(translated(case.name, case.write(source), by=lambda _: by))
    if case.name in WITHOUT and not found:
        return  # what cannot be written is left to people
    for one in PLACEHOLDERS:
        if one == "%d":
            assert found.count("%d") + found.count("$d") == source.count("%d")
        elif one == "%@":
            assert found.count("%@") + found.count("$@") == source.count("%@")
        else:
            assert found.count(one) == source.count(one)
    if case.name in IN_PLACE:
        assert translated(case.name, case.write(source), by=str) == case.write(source)


WITHOUT = ("a.po", "a.xlf", "a.tmx", "a.xcstrings", "a.ts", "a.csv")
"""Formats that have translations beside the source, or none."""
IN_PLACE = ("a.json", "a.yml", "a.strings", "a.stringsdict", "a.properties", "a.resx", "a.xml")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.po", b'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "a"\nmsgstr   "b"\n#~ msgid "x"\n'),
        ("a.pot", b"\xef\xbb\xbf# nothing\r\n"),
        ("a.xlf", b'<xliff version="1.2" ><file source-language="en"/></xliff>'),
        ("a.tmx", b'<tmx ><header srclang="en"/><body/></tmx>\n'),
        ("a.json", b'{"en": {"a":1 , "b": "%s"}}'),
        ("a.arb", b'{"@@locale":"en"}'),
        ("a.yml", b"# nothing\r\n"),
        ("a.yaml", b"en:\n  a:   12\n"),
        ("a.xml", b"<resources ><string name='a'>@string/b</string></resources>"),
        ("a.strings", "\ufeff/* nothing */".encode("utf-16-le")),
        ("a.stringsdict", b"<plist ><dict/></plist>"),
        ("a.xcstrings", b'{"sourceLanguage" : "en","strings":{"":{ }, "%@" :{}}}'),
        ("a.resx", b"<root ><data name='a' type='x'><value>A b</value></data></root>\r\n"),
        ("a.ts", b"<!DOCTYPE TS><TS ><context/></TS>\r\n"),
        ("a.csv", b'en;de\r\n"A b";"c"\r\n12;\r\n'),
        ("a.properties", b"# nothing\r\n\xfc = 12\n ! \xfc\n"),
    ],
)
def test_a_file_with_nothing_to_translate_comes_back_byte_for_byte(
    name: str, content: bytes
) -> None:
    found = asyncio.run(translate_file(EchoService(), name, content, TextRequest("", "de", "en")))
    assert (found.content, found.characters) == (content, 0)


def test_a_file_says_its_language() -> None:
    content = b'<xliff version="2.0" srcLang="en-US"><file id="f"><unit id="u"><segment><source>A b'
    content += b"</source></segment></unit></file></xliff>"
    found = asyncio.run(translate_file(EchoService(), "a.xlf", content, TextRequest("", "de")))
    assert found.source == "en"
    assert b"<target>A Bde</target>" in found.content
