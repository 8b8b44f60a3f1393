"""`dragoman translate MODEL FILE`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_line import call, one_error
from tiny_model import save_tiny_model

from dragoman.saved.model import CONFIDENCE_FILE
from dragoman.text.examples import Direction
from dragoman.translation.service.interface import RefusedError, TextRequest, TranslatedText
from dragoman.translation.service.model_service import ModelService

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
