"""What is no text comes out of every format as it went in, whatever the model says."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import NamedTuple

import pytest
from document_models import SayingService, file_by
from hypothesis import example, given, settings
from hypothesis import strategies as st
from office_files import docx, epub, odt, part, pptx, run, translated, xlsx

MARKS = ["{name}", "%(count)d", "https://a.example/x?y=1", "a.b@c.example", "``a b``", ":ref:`x y`"]
MARKS += ["{user_name}", "%(a_b)d", "{{.Name}}", "%name%", "[[name]]"]
MARKS += ["#{x}", "%1$tY", "%(n)r", "${a}"]
FORMS = {
    "a.txt": "{}\n",
    "a.html": "<p>{}</p>\n",
    "a.md": "{}\n",
    "a.rst": "{}\n",
    "a.adoc": "{}\n",
    "a.srt": "1\n00:00:01,000 --> 00:00:02,000\n{}\n",
    "a.vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\n{}\n",
}
SAID = st.lists(
    st.sampled_from(
        [*MARKS, "{other}", "<b>", "Wort", " ", "x", "*", "#", "1.", "-", "\n", "|", "語"]
    ),
    max_size=8,
).map("".join)


@pytest.mark.parametrize("name", FORMS)
@given(st.lists(st.sampled_from(MARKS), min_size=1, max_size=4), SAID)
@example(["{name}"], "")
@example(["%(count)d", "%(count)d"], "{name}{name}")
def test_what_programs_read_is_there_as_often_as_before(
    name: str, marks: list[str], said: str
) -> None:
    if name == "a.md":
        marks = [mark for mark in marks if "`" not in mark]  # code is markup there
    content = FORMS[name].format("Words " + " and ".join(marks) + " end.")
    found = file_by(lambda _: said, name, content).replace("\\", "").replace("\n", " ")
    assert {mark: found.count(mark) for mark in marks} == {
        mark: marks.count(mark) for mark in marks
    }


class Office(NamedTuple):
    """A format of office programs: a file of one paragraph, and the part that has it."""

    write: Callable[[str], bytes]
    place: str


OFFICE = {
    "a.docx": Office(lambda text: docx(f"<w:p>{run(text)}</w:p>"), "word/document.xml"),
    "a.odt": Office(lambda text: odt(f"<text:p>{text}</text:p>"), "content.xml"),
    "a.odp": Office(
        lambda text: odt(f"<text:p>{text}</text:p>", kind="presentation"), "content.xml"
    ),
    "a.ods": Office(
        lambda text: odt(f"<text:p>{text}</text:p>", kind="spreadsheet"), "content.xml"
    ),
    "a.epub": Office(lambda text: epub(f"<p>{text}</p>"), "OPS/my page.xhtml"),
    "a.pptx": Office(lambda text: pptx(f"<a:r><a:t>{text}</a:t></a:r>"), "slide1.xml"),
    "a.xlsx": Office(lambda text: xlsx(f"<t>{text}</t>"), "xl/sharedStrings.xml"),
}


@pytest.mark.parametrize("name", OFFICE)
@settings(max_examples=25)
@given(st.lists(st.sampled_from(MARKS), min_size=1, max_size=4), SAID)
@example(["{name}"], "")
def test_documents_of_office_programs_keep_it_too(name: str, marks: list[str], said: str) -> None:
    content = OFFICE[name].write("Words " + " and ".join(marks) + " end.")
    found = translated(name, content, SayingService(lambda _: said))
    text = html.unescape(re.sub("<[^>]*>", "", part(found, OFFICE[name].place)))
    assert {mark: text.count(mark) for mark in marks} == {mark: marks.count(mark) for mark in marks}


@pytest.mark.parametrize("mark", ["{user_name}", "%(a_b)d", "{{a_b.c}}", "<API_KEY>", "{a*b}"])
@pytest.mark.parametrize(
    "form", ["Use {}, please.\n", "# Use {}\n", "|a|b|\n|-|-|\n|Use {}|c|\n", "![Use {} here](a)\n"]
)
def test_signs_that_could_be_markup_of_markdown_cut_no_placeholder(form: str, mark: str) -> None:
    content = form.replace("{}", mark)
    for model in (str, lambda text: text.replace(mark, ""), lambda text: f"{text} {mark}"):
        assert file_by(model, "a.md", content).count(mark) == 1
    assert file_by(str, "a.md", content) == content


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.md", "**a** b " * 101 + "{a_b}\n"),
        (
            "a.docx",
            docx(f"<w:p>{(run('a', '<w:b/>') + run('b')) * 101}{run('{a')}{run('_b}')}</w:p>"),
        ),
    ],
)
def test_a_text_that_is_divided_for_its_many_marks_is_not_within_one(
    name: str, content: str | bytes
) -> None:
    raw = content.encode() if isinstance(content, str) else content
    found = translated(name, raw, SayingService(lambda _: "x"))
    text = found.decode() if name == "a.md" else part(found, OFFICE[name].place)
    assert re.sub("<[^>]*>", "", text).count("{a_b}") == 1


def test_runs_cut_no_placeholder() -> None:
    cut = ["Hello {user", "_name", "} and {{", "first", "}}."]
    word = "<w:proofErr/>".join(f"<w:r><w:t>{one}</w:t></w:r>" for one in cut[:2])
    word += "".join(map(run, cut[2:]))
    slide = "".join(f"<a:r><a:t>{one}</a:t></a:r>" for one in cut)
    for name, content in (("a.docx", docx(f"<w:p>{word}</w:p>")), ("a.pptx", pptx(slide))):
        found = translated(name, content, SayingService(lambda _: "Hallo und."))
        text = re.sub("<[^>]*>", "", part(found, OFFICE[name].place))
        assert [text.count(one) for one in ("{user_name}", "{{first}}")] == [1, 1]


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("a.html", "<p>Hello {<b>user</b>} and you</p>"),
        ("a.html", "<p>Hello {user<!-- c -->} and <i>you</i></p>"),
        ("a.md", "Hello {*user*} and you\n"),
        ("a.txt", "Hello {user} and you\n"),
    ],
)
@pytest.mark.parametrize("said", ["{user}", "{user} {user}", "{other} {user}"])
def test_what_markup_cuts_is_no_invention(name: str, before: str, said: str) -> None:
    assert file_by(lambda text: text.replace("{user}", said), name, before) == before


def test_codes_of_xliff_within_a_placeholder_stay_there() -> None:
    before = (
        '<xliff version="1.2"><file source-language="en" target-language="de"><trans-unit id="1">'
        '<source>Hello {<g id="1">user</g>} and you</source></trans-unit></file></xliff>'
    )
    found = file_by(lambda text: text.replace("Hello", "Hallo"), "a.xlf", before)
    assert 'Hallo {<g id="1">user</g>} and you</target>' in found
