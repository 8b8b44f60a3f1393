"""The command ``check``: errors of translations in files, without a model."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command_line import CommandLine, call, one_error

from dragoman.cli.commands import check as command
from dragoman.translation.checking.findings import FINDING_KINDS
from dragoman.workflows.checked_files import CheckedPair, check_files
from dragoman.workflows.material import Choice

HEADER = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\nLanguage: de\\n"\n'
GOOD = [
    ("Hello, {name}", "Hallo, {name}"),
    ("Save", "Speichern"),
    ("The device is offline", "Das Gerät ist offline"),
]


def catalogue(path: Path, *pairs: tuple[str, str]) -> Path:
    """A catalogue whose first message is in line 5, the next in line 8."""
    entries = [f"\nmsgid {json.dumps(one)}\nmsgstr {json.dumps(other)}\n" for one, other in pairs]
    path.write_text(HEADER + "\n" + "".join(entries), encoding="utf-8")
    return path


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    return catalogue(
        tmp_path / "de.po", ("Hello, {name}", "Hallo"), ("2 files", "3 Dateien"), *GOOD[1:]
    )


def test_nothing_is_said_about_good_translations(tmp_path: Path, dragoman: CommandLine) -> None:
    outcome = dragoman("check", catalogue(tmp_path / "de.po", *GOOD))
    assert (outcome.code, outcome.out) == (0, "")
    assert "3 translations checked: no errors found" in outcome.err


def test_each_error_has_its_place(wrong: Path, dragoman: CommandLine) -> None:
    outcome = dragoman("check", wrong)
    assert "the translations have 1 error; see above" in one_error(outcome, 3)
    lines = outcome.out.splitlines()
    assert lines[0].endswith("de.po:5: error: placeholders wrong: '{name}' is missing")
    assert lines[1] == "    'Hello, {name}' → 'Hallo'"
    assert lines[2].endswith("de.po:8: warning: numbers wrong: '2' is missing")
    assert "placeholders wrong 1, numbers wrong 2" in outcome.err


def test_warnings_alone_are_no_failure_unless_asked(tmp_path: Path, dragoman: CommandLine) -> None:
    path = catalogue(tmp_path / "de.po", ("One file", "1 Datei"))
    assert dragoman("check", path).code == 0
    assert "1 error;" in one_error(dragoman("check", path, "--strict"), 3)


def test_kinds_are_chosen(wrong: Path, dragoman: CommandLine) -> None:
    assert dragoman("check", wrong, "--except", "placeholders").code == 0
    only = dragoman("check", wrong, "--only", "numbers", "--only", "empty", "--json")
    assert json.loads(only.out)["counts"] == {"numbers": 2}


def test_the_options_name_every_kind() -> None:
    options = {option.name: option for option in command.check.params}
    for name in ("only", "without"):
        assert list(options[name].type.choices) == list(FINDING_KINDS)  # type: ignore[attr-defined]


def test_files_are_checked_together(tmp_path: Path) -> None:
    files = [
        catalogue(tmp_path / "a.po", ("Save", "Speichern"), ("Open", "Öffnen")),
        catalogue(tmp_path / "b.po", ("Save", "Speichern"), ("Open", "Öffnen")),
        catalogue(tmp_path / "c.po", ("Save", "Sichern")),
    ]
    report = check_files(files, Choice())
    (one,) = report.findings
    assert (one.pair.file.name, one.pair.line, one.finding.kind) == ("c.po", 5, "inconsistent")
    assert report.pairs == 5 and report.errors == 0


def test_plural_forms_of_one_entry_are_no_contradiction(tmp_path: Path) -> None:
    path = tmp_path / "de.po"
    path.write_text(
        f'{HEADER}\nmsgid "%d googol"\nmsgid_plural "%d googol"\n'
        'msgstr[0] "%d Googol"\nmsgstr[1] "%d Googols"\n',
        encoding="utf-8",
    )
    assert check_files([path], Choice()).findings == []


def test_plain_files_are_two_sides(tmp_path: Path) -> None:
    (tmp_path / "ui.en").write_text("Save {n} files\nOpen\n", encoding="utf-8")
    (tmp_path / "ui.de").write_text("Dateien speichern\n\n", encoding="utf-8")
    report = check_files([tmp_path / "ui.en", tmp_path / "ui.de"], Choice())
    found = [(one.pair.line, one.finding.kind) for one in report.findings]
    assert found == [(1, "placeholders"), (2, "empty")]
    assert report.findings[0].pair.file.name == "ui.de"


def test_terms_are_those_of_the_glossary(tmp_path: Path, dragoman: CommandLine) -> None:
    glossary = tmp_path / "terms.tsv"
    glossary.write_text("device\tApparat\n", encoding="utf-8")
    path = catalogue(tmp_path / "de.po", *GOOD)
    outcome = dragoman("check", path, "--glossary", glossary)
    assert "'device' should be 'Apparat'" in outcome.out and outcome.code == 3


def test_entries_without_lines_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "app.xlf"
    units = "".join(
        f'<trans-unit id="{at}"><source>{source}</source><target>{target}</target></trans-unit>'
        for at, (source, target) in enumerate([("Save", "Speichern"), ("Open {file}", "Öffnen")])
    )
    path.write_text(
        '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a" '
        f'source-language="en" target-language="de" datatype="x"><body>{units}</body></file>'
        "</xliff>",
        encoding="utf-8",
    )
    (one,) = check_files([path], Choice()).findings
    assert one.pair.place.endswith("app.xlf: unit 2")
    assert one.to_json()["unit"] == 2


def test_all_languages_of_a_project_are_checked(tmp_path: Path, dragoman: CommandLine) -> None:
    for language, text in (("de", "Hallo"), ("fr", "Bonjour, {name}"), ("ko", "{nam}, 안녕")):
        folder = tmp_path / "locale" / language / "LC_MESSAGES"
        folder.mkdir(parents=True)
        catalogue(folder / "app.po", ("Hello, {name}", text))
    outcome = dragoman("check", tmp_path / "locale", "--json")
    found = [
        (one["file"].split("/")[-3], one["line"], one["text"])
        for one in json.loads(outcome.out)["findings"]
    ]
    assert found == [("de", 5, "{name}"), ("ko", 5, "{name}"), ("ko", 5, "{nam}")]
    only = dragoman("check", tmp_path / "locale", "--target", "fr")
    assert (only.code, only.out) == (0, "")
    assert "languages there: " in one_error(
        dragoman("check", tmp_path / "locale", "--target", "ja"), 3
    )


def test_files_of_keys_are_checked_by_their_keys(tmp_path: Path, dragoman: CommandLine) -> None:
    for folder, text in (("values", "Open {file}"), ("values-de", "Öffnen")):
        (tmp_path / "res" / folder).mkdir(parents=True)
        (tmp_path / "res" / folder / "strings.xml").write_text(
            f'<resources><string name="open">{text}</string></resources>', encoding="utf-8"
        )
    outcome = dragoman("check", tmp_path / "res", "--sarif", tmp_path / "check.sarif")
    assert outcome.code == 3
    expected = "values-de/strings.xml: open: error: placeholders wrong: '{file}' is missing"
    assert expected in outcome.out
    results = json.loads((tmp_path / "check.sarif").read_text("utf-8"))["runs"][0]["results"]
    (location,) = results[0]["locations"]
    assert "region" not in location["physicalLocation"]
    assert location["logicalLocations"] == [{"fullyQualifiedName": "open"}]


def test_a_key_is_the_names_that_lead_to_a_string(tmp_path: Path) -> None:
    for language, text in (("en", "Open {file}"), ("de", "Öffnen")):
        values = {"menu": {"file": [text]}}
        (tmp_path / f"{language}.json").write_text(json.dumps(values), encoding="utf-8")
        fluent = f"open = { {'en': 'Save', 'de': 'x'}[language] }\n    .title = {text}\n"
        (tmp_path / f"{language}.ftl").write_text(
            fluent.replace("{file}", "{ $file }"), encoding="utf-8"
        )
    found = check_files([tmp_path], Choice("en", "de")).findings
    keys = {one.pair.key for one in found if one.finding.kind == "placeholders"}
    assert keys == {"menu.file.0", "open.title"}
    assert {one.to_json()["key"] for one in found} == keys


def test_sarif_names_file_line_and_rule(
    wrong: Path, dragoman: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(wrong.parent)
    spaced = wrong.rename("de mo.po")
    assert dragoman("check", spaced.name, "--sarif", "check.sarif").code == 3
    report = json.loads(Path("check.sarif").read_text(encoding="utf-8"))
    (run,) = report["runs"]
    assert report["version"] == "2.1.0"
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == set(FINDING_KINDS)
    first = run["results"][0]
    assert (first["ruleId"], first["level"]) == ("placeholders", "error")
    place = first["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "de%20mo.po"}, "region": {"startLine": 5}}


def test_a_report_does_not_replace_what_it_reads(wrong: Path, dragoman: CommandLine) -> None:
    assert "would be overwritten" in one_error(dragoman("check", wrong, "--sarif", wrong), 2)


def test_a_broken_file_is_named(tmp_path: Path, dragoman: CommandLine) -> None:
    path = tmp_path / "de.po"
    path.write_text('msgid "a"\n', encoding="utf-8")
    assert "de.po:1" in one_error(dragoman("check", path), 3)


def test_neither_torch_nor_a_model_is_needed(wrong: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert call("check", wrong).code == 3


def test_a_place_is_written_as_compilers_do() -> None:
    assert CheckedPair(Path("a/de.po"), 3, "line", "", "").place == "a/de.po:3"
