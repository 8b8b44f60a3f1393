"""Round trips over real files notice what a translation of an office document loses."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from office_files import docx, odt, run

from dragoman.documents.office.paragraph import RunFormat
from soak.round_trips.__main__ import main
from soak.round_trips.office_check import differences
from soak.round_trips.text_check import lost_parts, untranslated
from soak.round_trips.trips import Trips, faults_of, files_in, round_trips

_BOLD, _NOTE = "<w:b/>", '<w:r><w:footnoteReference w:id="2"/></w:r>'


def paragraph(*content: str) -> str:
    return f"<w:p>{''.join(content)}</w:p>"


_BEFORE = paragraph(run("one "), run("two", _BOLD), run(" three"), _NOTE) + paragraph(run("four"))
_CAPITALS = paragraph(run("ONE "), run("TWO", _BOLD), run(" THREE"), _NOTE) + paragraph(run("FOUR"))


def found(after: str, *, is_reversed: bool = False) -> str:
    return " ".join(differences(docx(_BEFORE), docx(after), is_reversed=is_reversed))


def test_a_good_translation_has_no_faults() -> None:
    assert found(_CAPITALS) == ""
    after = paragraph(_NOTE, run("eerht "), run("owt", "<w:lang/><w:b w:val='1'/>"), run(" eno"))
    assert found(after + paragraph(run("ruof")), is_reversed=True) == ""


def test_an_initial_is_a_letter_of_the_next_paragraph() -> None:
    frame = '<w:pPr><w:framePr w:dropCap="drop"/></w:pPr>'
    content = docx(paragraph(frame, run("T")) + paragraph(run("he house")))
    assert faults_of("a.docx", content) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (_BOLD, "<w:i/>", "formats of ['TWO']"),
        (_NOTE, "", "lost {'footnoteReference id': 1}"),
        (_NOTE, _NOTE + _NOTE, "new {'footnoteReference id': 1}"),
        ("ONE ", "ONE", "text 'ONE TWO THREE' became 'ONETWO THREE'"),
        ("FOUR", "", "text 'FOUR' became ''"),
        (paragraph(run("FOUR")), "", "lost {'p': 1}"),
    ],
)
def test_faults(old: str, new: str, fault: str) -> None:
    assert fault in found(_CAPITALS.replace(old, new))


def test_files_are_tried_once_and_counted_by_format(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("a.docx", "a/b.docx"):
        (tmp_path / name).write_bytes(docx(_BEFORE))
    (tmp_path / "c.odt").write_bytes(odt("<text:p>one two</text:p>"))
    (tmp_path / "d.docx").write_bytes(b"no document")
    (tmp_path / "e.png").write_bytes(b"x")
    assert len(list(files_in([tmp_path]))) == 3
    assert round_trips(files_in([tmp_path])) == {
        ".docx": Trips(intact=1, refused=1),
        ".odt": Trips(intact=1),
    }
    result = CliRunner().invoke(main, [str(tmp_path), "--format", "docx"])
    assert result.exit_code == 0
    assert result.output.splitlines()[1].split() == ["docx", "1", "1", "100.0%", "1"]


def test_a_fault_of_the_program_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = RunFormat.run

    def careless(form: RunFormat, words: str, hyphens: int = 0) -> str:
        return plain(form, words, hyphens).replace("<w:b/>", "")

    monkeypatch.setattr(RunFormat, "run", careless)
    assert any("formats of" in fault for fault in faults_of("a.docx", docx(_BEFORE)))
    (tmp_path / "a.docx").write_bytes(docx(_BEFORE))
    result = CliRunner().invoke(main, [str(tmp_path), "--show", "1"])
    assert result.exit_code == 1
    assert "a.docx: word/document.xml: formats of ['TWO']" in result.output
    assert "0.0%" in result.output


def test_an_error_of_the_program_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(form: RunFormat, words: str, hyphens: int = 0) -> str:
        raise ValueError("an error")

    monkeypatch.setattr(RunFormat, "run", broken)
    path = tmp_path / "a.docx"
    path.write_bytes(docx(_BEFORE))
    assert round_trips([path]) == {".docx": Trips(faults={path: ["ValueError: an error"]})}


@pytest.mark.parametrize(
    ("name", "before", "after", "fault"),
    [
        ("a.html", "<p id=1>one <b>two</b></p>", "<p id=1>ONE TWO</p>", "lost: ('b',)"),
        ("a.html", '<p title="one">two</p>', '<p title="EINS">ZWEI</p>', ""),
        ("a.html", "<a href=x>one</a>", "<a href=y>ONE</a>", "added: ('a', ('href', 'y'))"),
        ("a.md", "one `two`\n", "ONE `TWO`\n", "lost: ('code_inline', 'two')"),
        ("a.md", "- one\n- two\n", "- ONE\n\n# TWO\n", "heading_open"),
        ("a.md", "**one**two\n", "<strong>ONE</strong>TWO\n", ""),
        ("a.json", '{"en": {"a": "one", "b": 2}}', '{"de": {"a": "ONE", "b": 2}}', ""),
        ("a.json", '{"a": ["one", 2]}', '{"a": ["ONE"]}', "lost: (('a', '1'), 2)"),
        ("a.srt", "1\n0 --> 1\none\n", "1\n0 --> 2\nONE\n", "lost: '0 --> 1'"),
        ("a.po", 'msgid "%s one"\nmsgstr ""\n', 'msgid "%s one"\nmsgstr "ONE"\n', "('%s',)"),
        ("a.xlf", "<a><source>one</source></a>", "<a><source>ONE</source></a>", "'ONE'"),
        ("a.txt", "one\ttwo\n", "ONE TWO\n", "lost: (0, 1)"),
    ],
)
def test_parts_that_a_text_document_lost(name: str, before: str, after: str, fault: str) -> None:
    faults = " ".join(lost_parts(name, before.encode(), after.encode()))
    assert fault in faults if fault else not faults
    assert not list(lost_parts(name, before.encode(), before.encode()))


def test_translations_beside_their_sources_are_made_again() -> None:
    catalogue = 'msgid ""\nmsgstr "Language: fr\\n"\n\n#, fuzzy\nmsgid "one"\nmsgstr "un"\n'
    content, *languages = untranslated("a.po", catalogue.encode())
    assert b'msgstr "un"' not in content and b"fuzzy" not in content
    assert languages == ["en", "fr"]
    assert faults_of("a.po", catalogue.encode()) == []
    xliff = (
        '<xliff version="1.2"><file source-language="it" target-language="es" datatype="x" '
        'original="a"><body><trans-unit id="1"><source>uno</source><target>uno</target>'
        "</trans-unit></body></file></xliff>"
    )
    content, *languages = untranslated("a.xlf", xliff.encode())
    assert b"<target" not in content
    assert languages == ["it", "es"]
