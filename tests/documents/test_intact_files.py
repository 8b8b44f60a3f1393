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
from office_files import docx, odt, part, pptx, run, translated

MARKS = "{name}", "%(count)d", "https://a.example/x?y=1", "a.b@c.example", "``a b``", ":ref:`x y`"
FORMS = {
    "a.txt": "{}\n",
    "a.html": "<p>{}</p>\n",
    "a.md": "{}\n",
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
    "a.pptx": Office(lambda text: pptx(f"<a:r><a:t>{text}</a:t></a:r>"), "slide1.xml"),
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
