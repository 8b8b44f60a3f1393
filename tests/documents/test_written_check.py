"""A written document is read again, and what differs stays as it was."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from document_models import SayingService

from dragoman.core.errors import DataError
from dragoman.documents import written_check
from dragoman.documents.file_translation import TranslatedFile, translate_file
from dragoman.documents.filetypes import OpenDocument
from dragoman.documents.filetypes.spliced_document import SplicedDocument
from dragoman.documents.marks import marked_text
from dragoman.documents.marks.marked_document import OutlineBlock
from dragoman.documents.marks.marked_text import MarkedText
from dragoman.documents.written_check import CHANGED, checked
from dragoman.translation.service.interface import TextRequest


class Cells(OpenDocument):
    """A careless format: cells between ``|``, codes of signs such as ``$``, and ``!`` ends it all.

    Args:
        content: the file.
        is_located: whether a block says which text it is.
    """

    def __init__(self, content: bytes, *, is_located: bool = True) -> None:
        if b"!" in content:
            raise DataError("a file with ! is not read")
        self._cells = content.decode().split("|")
        self._is_located = is_located
        self.times_written = 0

    @property
    def texts(self) -> Sequence[MarkedText]:
        return [MarkedText(one, []) for one in self._cells]

    @property
    def outline(self) -> Sequence[OutlineBlock]:
        return [
            OutlineBlock(
                [sign for sign in one if sign in "$%"],
                one,
                [word for word in one.split() if word.startswith("{")],
                [at] if self._is_located else (),
            )
            for at, one in enumerate(self._cells)
        ]

    def written(self, translations: Sequence[str]) -> bytes:
        self.times_written += 1
        return "|".join(translations).encode()


def cells(content: str, said: str, *, is_located: bool = True) -> tuple[str, list[int], int]:
    """A file of cells as it is written, what of it is left, and how often it was written."""
    document = Cells(content.encode(), is_located=is_located)
    found = checked(document, said.split("/"), Cells)
    return found.content.decode(), found.left, document.times_written


@pytest.mark.parametrize(
    ("said", "written", "left"),
    [
        ("A/B$/{c} C/D", "A|B$|{c} C|D", []),
        ("A/$ B/C {c} {c}/D", "A|$ B|C {c} {c}|D", []),
        ("A/B/{c} C/D", "A|b$|{c} C|D", [1]),
        ("A/B$$/{c} C/D", "A|b$|{c} C|D", [1]),
        ("A/B%/{c} C/D$", "A|b$|{c} C|d", [1, 3]),
        ("A/B$/C/D", "A|B$|c {c}|D", [2]),
        ("A|A/B$/{c} C/D", "a|B$|{c} C|D", [0]),
        ("A/B$/{c} C/D|", "A|B$|{c} C|d", [3]),
        ("A/B|$/{c} C/D!", "A|b$|{c} C|d", [1, 3]),
        ("!/!/!/!", "a|b$|c {c}|d", [0, 1, 2, 3]),
    ],
)
@pytest.mark.parametrize("is_located", [True, False])
def test_a_text_that_changes_more_than_words_stays(
    said: str, written: str, left: list[int], is_located: bool
) -> None:
    assert cells("a|b$|c {c}|d", said, is_located=is_located)[:2] == (written, left)


def test_a_good_document_is_written_once() -> None:
    assert cells("|".join("abc"), "A/B/C")[2] == 1


def test_many_texts_that_break_a_document_cost_no_more_than_a_bound() -> None:
    said = ["A!" if at % 3 else "A" for at in range(3000)]
    written, left, times = cells("|".join("a" * 3000), "/".join(said))
    assert "!" not in written
    assert set(left) >= {at for at in range(3000) if at % 3}
    assert times <= written_check._MOST_PROBES + written_check._MOST_ROUNDS + 1


def test_few_texts_that_break_a_large_document_are_found() -> None:
    said = ["A|" if at in (7, 2500) else "A" for at in range(3000)]
    assert cells("|".join("a" * 3000), "/".join(said))[1] == [7, 2500]


def test_nothing_is_translated_where_only_the_source_can_be_written() -> None:
    class Never(Cells):
        @property
        def outline(self) -> Sequence[OutlineBlock]:
            return [OutlineBlock([str(id(self))])]

    found = checked(Never(b"a|b"), ["A", "B"], Never)
    assert found == (b"a|b", [0, 1])


def file_by(name: str, content: str, said: dict[str, str]) -> TranslatedFile:
    service = SayingService(lambda text: said.get(text, text.upper()))
    return asyncio.run(translate_file(service, name, content.encode(), TextRequest("", "de", "en")))


def test_a_page_whose_translation_would_be_markup_is_left_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if escaping, which is right, had a fault."""
    monkeypatch.setattr(marked_text, "_ESCAPES", {})
    content = "<p>one</p>\n<ul><li>two <b>three</b></li></ul><p>{user} four</p>"
    found = file_by("a.html", content, {"two three": "two three <x y", "one": "one <!-- one"})
    assert found.content.decode() == content.replace("{user} four", "{user} FOUR")
    assert found.untranslated == (("one", CHANGED), ("two three", CHANGED))


def test_a_target_of_a_text_that_is_left_stays_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    def outline(document: SplicedDocument) -> list[OutlineBlock]:
        return [OutlineBlock([document._text.count("BAD") * "bad"])]

    monkeypatch.setattr(SplicedDocument, "outline", property(outline))
    content = 'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "{}"\nmsgstr ""\n\n#, fuzzy\n'
    content = content.format("bad") + 'msgid "good"\nmsgstr ""\n'
    found = file_by("a.po", content, {})
    assert found.content.decode() == content.replace('"good"\nmsgstr ""', '"good"\nmsgstr "GOOD"')
    assert found.untranslated == (("bad", CHANGED),)
