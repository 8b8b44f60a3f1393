"""`dragoman translate MODEL FILE`."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_line import Outcome, call, one_error
from tiny_model import save_tiny_model

from dragoman.cli.document_places import DocumentPlaces
from dragoman.core.files import storage_errors
from dragoman.saved.model import CONFIDENCE_FILE
from dragoman.text.examples import Direction
from dragoman.translation.service.interface import RefusedError, TextRequest
from dragoman.translation.service.model_service import ModelService
from dragoman.translation.service.translated_text import TranslatedText

TEXT = "a b c\n\n{name} d e\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained model from English into German."""
    folder = tmp_path_factory.mktemp("documents") / "model"
    return save_tiny_model(
        folder, directions=(Direction(source_language="en", target_language="de"),)
    )


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """A document to translate."""
    path = tmp_path / "report.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_a_document_is_translated_beside_itself(model: Path, document: Path) -> None:
    outcome = call("translate", model, document, "--json")
    assert outcome.code == 0, outcome.err
    output = document.with_name("report.de.txt")
    (found,) = json.loads(outcome.out)["documents"]
    assert (found["document"], found["output"]) == (str(document), str(output))
    assert (found["source_language"], found["target_language"], found["texts"]) == ("en", "de", 2)
    lines = output.read_text(encoding="utf-8").split("\n")
    assert (len(lines), lines[1], lines[3]) == (4, "", "")
    assert lines[2].count("{name}") == 1
    assert document.read_text(encoding="utf-8") == TEXT
    assert f"{output}: exists already" in one_error(call("translate", model, document), 2)
    assert call("translate", model, document, "--force", "-q").code == 0
    piped = call("translate", model, "-", "--format", "txt", stdin=TEXT.encode())
    assert piped.out == output.read_text(encoding="utf-8")


def test_a_text_that_cannot_be_translated_stays_and_is_listed(
    model: Path, document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translate = ModelService.translate

    async def refusing(
        self: ModelService, requests: Sequence[TextRequest], *, seconds: float | None = None
    ) -> list[TranslatedText]:
        if any("c" in one.text for one in requests):
            raise RefusedError("invalid", "too hard")
        return await translate(self, requests, seconds=seconds)

    monkeypatch.setattr(ModelService, "translate", refusing)
    outcome = call("translate", model, document, "--json")
    assert outcome.code == 3
    (found,) = json.loads(outcome.out)["documents"]
    assert found["untranslated"] == [{"text": "a b c", "reason": "too hard"}]
    assert "1 text could not be translated" in outcome.err
    lines = document.with_name("report.de.txt").read_text(encoding="utf-8").split("\n")
    assert lines[0] == "a b c"
    assert lines[2] != "{name} d e"


def test_missing_terms_are_reported(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "report.txt"
    path.write_text("".join(f"a b {'c ' * count}\n\n" for count in range(1, 8)), encoding="utf-8")
    terms = tmp_path / "terms.tsv"
    terms.write_text("a b\t北\n", encoding="utf-8")  # which the vocabulary does not have
    outcome = call("translate", model, path, "--glossary", terms, "--json")
    assert outcome.code == 0, outcome.err
    (found,) = json.loads(outcome.out)["documents"]
    assert [one["terms"] for one in found["missing"]] == [["北"]] * 7
    assert found["missing"][0]["text"] == "a b c"
    assert len(caplog.messages) == 6
    assert caplog.messages[0] == f"{path}: 'a b c': the translation lacks '北'; check it"
    assert caplog.messages[5].startswith(f"{path}: 2 more like these; --json")


def test_degenerate_translations_are_reported(
    model: Path, document: Path, caplog: pytest.LogCaptureFixture
) -> None:
    outcome = call("translate", model, document, "--degenerate", "keep", "--json")
    (found,) = json.loads(outcome.out)["documents"]
    assert found["missing"] == []
    assert found["faults"][0] == {"text": "a b c", "faults": ["repetition"]}
    assert f"{document}: 'a b c': the translation repeats itself; check it" in caplog.messages


def test_several_documents_go_into_a_directory(model: Path, document: Path) -> None:
    other = document.with_name("page.html")
    other.write_text("<p>1</p>", encoding="utf-8")
    folder = document.parent / "out"
    folder.mkdir()
    assert call("translate", model, document, other, "--output", folder, "-q").code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["page.de.html", "report.de.txt"]
    assert (folder / "page.de.html").read_text(encoding="utf-8") == "<p>1</p>"


def test_a_slash_says_that_a_new_output_is_a_directory(
    model: Path, document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(document.parent)
    for name in ("report.txt", "report.md"):
        Path(name).write_text("a b\n", encoding="utf-8")
        outcome = call("translate", model, name, "--output", "new/translated/", "-q")
        assert outcome.code == 0, outcome.err
    found = sorted(path.name for path in Path("new/translated").iterdir())
    assert found == ["report.de.md", "report.de.txt"]
    assert call("translate", model, "report.md", "--output", "plain", "-q").code == 0
    assert Path("plain").is_file()
    refused = call("translate", model, "report.md", "--output", "plain/", "--force")
    assert "--output plain/: there is a file of this name" in one_error(refused, 2)
    lines = call("translate", model, "--output", "lines/", stdin=b"a\n")
    assert "--output lines/: this names a directory; name a file" in one_error(lines, 2)
    assert not Path("lines").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["report.txt", "--nbest", "2"], 2, "--nbest is for lines, not for documents"),
        (["report.txt", "--alignment", "a"], 2, "--alignment is for lines, not for documents"),
        (["report.txt", "--output", "report.txt", "--force"], 2, "this is an input"),
        (["report.txt", "--output", "report.html"], 2, "the translation of a .txt file is one"),
        (["report.txt", "--mbr", "4", "--beam", "3"], 2, "--beam: --mbr chooses among samples"),
        (["report.txt", "--to", "fr"], 2, "no direction of the model is into fr; it has en-de"),
        (["report.txt", "--keep", "names.txt", "--output", "names.txt", "--force"], 2, "an input"),
        (["missing.txt"], 3, "missing.txt: no such file"),
        (["notes.pdf"], 3, "neither a model, which is a directory, nor a document"),
        (["bad.txt"], 3, "bad.txt: the file is not UTF-8 at byte 1"),
        (["-"], 2, "say by --format"),
        (["report.txt", "-", "--format", "txt"], 2, "- is for one document at a time"),
        (["report.txt", "--to", "de_AT"], 2, "into de_AT; it has en-de; did you mean 'de'?"),
        (["locale"], 2, "locale: neither a model nor a document; to translate the files of a pro"),
        (["--force"], 2, "--force is for documents"),
        (["report.txt", "--adapter", "ui=x"], 2, "a document is translated by one system"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_written(
    model: Path,
    document: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(document.parent)
    Path("notes.pdf").write_bytes(b"x")
    Path("bad.txt").write_bytes(b"\xff")
    Path("names.txt").write_text("Ada\n")
    Path("locale").mkdir()
    before = sorted(Path().iterdir())
    assert message in one_error(call("translate", model, *arguments), code)
    assert sorted(Path().iterdir()) == before
    assert document.read_text(encoding="utf-8") == TEXT
    assert Path("names.txt").read_text() == "Ada\n"


def test_a_document_as_lines_is_warned_about(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines, strings = tmp_path / "lines.txt", tmp_path / "ui.po"
    for path in (lines, strings):
        path.write_text('msgid "a b"\n')
    assert call("translate", model, "--input", lines, "--input", strings).code == 0
    (message,) = [one for one in caplog.messages if "--input" in one]
    assert message.startswith(f"--input {strings}: each of its lines is translated as it stands")


def test_a_document_asks_for_no_confidence(
    model: Path, document: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """So an old calibration of the model is nothing to warn about."""
    copy = document.with_name("calibrated")
    shutil.copytree(model, copy)
    (copy / CONFIDENCE_FILE).write_text("{}")
    assert call("translate", copy, document, "-q").code == 0
    assert not caplog.messages


def test_a_model_without_names_of_languages_needs_them(tmp_path: Path, document: Path) -> None:
    nameless = save_tiny_model(tmp_path / "nameless")
    line = one_error(call("translate", nameless, document), 2)
    assert "name them by --from and --to" in line
    assert call("translate", nameless, document, "--from", "en", "--to", "fr", "-q").code == 0
    assert document.with_name("report.fr.txt").exists()


@pytest.fixture
def several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with documents of which some can be translated: a, d and e."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "d.html", "e.txt"):
        Path(name).write_text("a b c\n", encoding="utf-8")
    Path("bytes.txt").write_bytes(b"a\xff")
    Path("notes.pdf").write_bytes(b"x")
    Path("broken.docx").write_bytes(b"PK")
    Path("strings.xml").write_text("<other/>")
    Path("french.po").write_text('msgid ""\nmsgstr "Language: fr\\n"\n\nmsgid "a"\nmsgstr ""\n')
    Path("done.txt").write_text("a b\n", encoding="utf-8")
    Path("done.de.txt").write_text("kept", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("bytes.txt", 3, "bytes.txt: the file is not UTF-8 at byte 2"),
        ("notes.pdf", 3, "notes.pdf: files of the format '.pdf' are not translated"),
        ("missing.txt", 3, "missing.txt: no such file"),
        ("broken.docx", 3, "broken.docx: "),
        ("strings.xml", 3, "strings.xml: the file begins with <other>"),
        ("french.po", 3, "french.po: "),
        ("done.txt", 2, "done.de.txt: exists already"),
    ],
)
def test_a_refused_document_stops_no_other(
    model: Path, several: Path, name: str, code: int, message: str
) -> None:
    outcome = call("translate", model, "a.txt", name, "d.html", "--json")
    line = one_error(outcome, code)
    assert message in line
    assert line.endswith("; the other 2 documents are translated")
    found = json.loads(outcome.out)
    assert [one["document"] for one in found["documents"]] == ["a.txt", "d.html"]
    ((refused),) = found["refused"]
    assert refused["document"] == name
    assert refused["error"] in line
    assert Path("a.de.txt").is_file()
    assert Path("d.de.html").is_file()
    assert Path("done.de.txt").read_text(encoding="utf-8") == "kept"


def test_all_refused_documents_are_named_in_one_line(
    model: Path, several: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = one_error(call("translate", model, "bytes.txt", "a.txt", "missing.txt", "e.txt"), 3)
    assert "2 problems: (1) missing.txt: no such file" in line  # found before any is translated
    assert "(2) bytes.txt: the file is not UTF-8" in line

    async def none(*arguments: object, **options: object) -> None:
        raise AssertionError("no model is needed")

    monkeypatch.setattr(ModelService, "open", none)
    outcome = call("translate", model, "gone.md", "missing.txt", "--to", "de", "--json")
    assert "2 problems: (1) gone.md: no such file" in one_error(outcome, 3)
    assert "translated" not in outcome.err
    assert json.loads(outcome.out)["documents"] == []
    assert [one["document"] for one in json.loads(outcome.out)["refused"]] == [
        "gone.md",
        "missing.txt",
    ]


def test_texts_that_stayed_are_told_beside_refused_documents(
    model: Path, several: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refusing(
        self: ModelService, requests: Sequence[TextRequest], *, seconds: float | None = None
    ) -> list[TranslatedText]:
        raise RefusedError("invalid", "too hard")

    monkeypatch.setattr(ModelService, "translate", refusing)
    line = one_error(call("translate", model, "a.txt", "done.txt"), 2)
    assert "(1) done.de.txt: exists already" in line
    assert "(2) 1 text could not be translated and stayed in the source language" in line


def failing(monkeypatch: pytest.MonkeyPatch, name: str, number: int) -> None:
    """Have one document meet an error of the system when it is written."""
    write = DocumentPlaces.write

    def refused(self: DocumentPlaces, output: Path, content: bytes) -> None:
        with storage_errors(output):
            if output.name == name:
                raise OSError(number, os.strerror(number))
        write(self, output, content)

    monkeypatch.setattr(DocumentPlaces, "write", refused)


def test_what_forbids_one_file_stops_no_other(
    model: Path, several: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, "a.de.txt", errno.EACCES)
    line = one_error(call("translate", model, "a.txt", "d.html"), 6)
    assert "cannot write a.de.txt: permission denied" in line
    assert Path("d.de.html").is_file()


def test_a_full_disk_ends_the_command(
    model: Path, several: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failing(monkeypatch, "a.de.txt", errno.ENOSPC)
    outcome = call("translate", model, "bytes.txt", "a.txt", "d.html")
    assert "cannot write a.de.txt: the disk is full" in one_error(outcome, 6)
    assert not Path("d.de.html").exists()
    assert [one for one in caplog.messages if one.startswith("bytes.txt: the file is not UTF-8")]


def test_an_interruption_ends_the_command(
    model: Path, several: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: DocumentPlaces, output: Path, content: bytes) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(DocumentPlaces, "write", interrupted)
    outcome: Outcome = call("translate", model, "a.txt", "d.html")
    assert outcome.code == 130
    assert not Path("a.de.txt").exists()
