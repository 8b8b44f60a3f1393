"""`dragoman translate MODEL --tree FOLDER --to LANGUAGE`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_line import call, one_error
from echo_service import EchoService
from project_trees import STRINGS, catalogue, layouts, write_tree
from tiny_model import save_tiny_model

from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Direction
from dragoman.translation.service.interface import TextRequest
from dragoman.translation.service.model_service import ModelService
from dragoman.translation.service.translated_text import TranslatedText

WRITTEN = {
    "po-files": "locale/fr/LC_MESSAGES/app.po",
    "json-files": "locales/fr/app.json",
    "yaml-files": "config/locales/fr.yml",
    "android-files": "res/values-fr/strings.xml",
    "apple-files": "App/fr.lproj/Main.strings",
    "resx-files": "Properties/Resources.fr.resx",
    "properties-files": "src/main/resources/messages_fr.properties",
    "fluent-files": "locales/fr/main.ftl",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model from English into French, in whose place :func:`echo` answers."""
    folder = tmp_path_factory.mktemp("trees") / "model"
    return save_tiny_model(
        folder, directions=(Direction(source_language="en", target_language="fr"),)
    )


@pytest.fixture(autouse=True)
def echo(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are translated, into capitals."""
    asked: list[str] = []

    async def translate(
        _: ModelService, requests: Sequence[TextRequest], *, seconds: float | None = None
    ) -> list[TranslatedText]:
        asked.extend(request.text for request in requests)
        return await EchoService(("en", "fr")).translate(requests, seconds=seconds)

    monkeypatch.setattr(ModelService, "translate", translate)
    return asked


def french(folder: Path, form: str) -> dict[str, str]:
    part = CorpusPart(
        path=str(folder), format=form, source="en", target="fr", unreviewed=form == "po-files"
    )
    return {pair.source: pair.target for pair in read_pairs(part)}


@pytest.mark.parametrize("form", WRITTEN)
def test_the_missing_language_goes_where_the_project_keeps_it(
    model: Path, tmp_path: Path, form: str, echo: list[str]
) -> None:
    folder = write_tree(tmp_path, layouts()[form])
    before = {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
    outcome = call("translate", model, "--tree", folder, "--to", "fr")
    assert outcome.code == 0, outcome.err
    assert outcome.err.count(str(folder / WRITTEN[form])) == 1
    new = {path for path in folder.rglob("*.*") if path.is_file()} - before.keys()
    assert new == {folder / WRITTEN[form]}
    assert all(path.read_bytes() == content for path, content in before.items())
    assert french(folder, form) == {one: f"{one.upper()}fr" for one in STRINGS}
    assert echo == list(STRINGS)

    again = (folder / WRITTEN[form]).read_bytes()
    assert call("translate", model, "--tree", folder).code == 0
    assert (folder / WRITTEN[form]).read_bytes() == again
    if form != "po-files":  # whose translations are fuzzy, and made again
        assert echo == list(STRINGS)


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("json-files", '{"key1": "Enregistrer", "key0": "", "old": "Vieux"}'),
        ("yaml-files", "fr:\n  k1: Enregistrer\n"),
        ("android-files", "<resources><string name='k1'>Enregistrer</string></resources>"),
        ("apple-files", '"k1" = "Enregistrer";'),
        ("resx-files", "<root><data name='k1'><value>Enregistrer</value></data></root>"),
        ("fluent-files", "k1 = Enregistrer\n"),
        ("properties-files", "k1 : Enregistrer\nk2=\n"),
        ("po-files", catalogue({"Save file": "Enregistrer", "Open": "", "Close": ""})),
    ],
)
def test_translations_that_are_there_stay(
    model: Path, tmp_path: Path, form: str, content: str, echo: list[str]
) -> None:
    folder = write_tree(tmp_path, layouts()[form] | {WRITTEN[form]: content})
    outcome = call("translate", model, "--tree", folder, "--json")
    assert outcome.code == 0, outcome.err
    assert french(folder, form) == {
        "Open": "OPENfr",
        "Save file": "Enregistrer",
        "Close": "CLOSEfr",
    }
    assert sorted(echo) == ["Close", "Open"]
    (found,) = json.loads(outcome.out)["documents"]
    assert found["texts"] == 2


UNITS = "".join(f"<trans-unit id='{text}'><source>{text}</source></trans-unit>" for text in STRINGS)


def xliff(head: str, units: str = UNITS) -> str:
    return f"<xliff version='1.2'><file {head}><body>{units}</body></file></xliff>"


QT = (
    "<TS version='2.1' sourcelanguage='en'><context>"
    f"{UNITS.replace('trans-unit', 'message')}</context></TS>"
)


@pytest.mark.parametrize(
    ("files", "written"),
    [
        (layouts()["tmx-files"], "memory/all.tmx"),
        (layouts()["xcstrings-files"], "App/Localizable.xcstrings"),
        ({"a.csv": "en,fr\n" + "".join(f"{one},\n" for one in STRINGS)}, "a.csv"),
        ({"a_fr.ts": QT}, "a_fr.ts"),
        ({"src/a.ts": "let a = 1;", "a_de.ts": QT, "a.ts": QT}, "a.fr.ts"),
        ({"fr/a.xlf": xliff("source-language='en'")}, "fr/a.xlf"),
        ({"a.xlf": xliff("source-language='en' target-language='fr'")}, "a.xlf"),
        ({"a.xlf": xliff("source-language='en'")}, "a.fr.xlf"),
        (
            {
                "i18n/messages.en.xlf": xliff("source-language='en'"),
                "i18n/messages.de.xlf": xliff("source-language='en' target-language='de'"),
            },
            "i18n/messages.fr.xlf",
        ),
        (
            {
                "messages.xlf": xliff("source-language='en'"),
                "messages.fr.xlf": xliff("source-language='en' target-language='fr'"),
            },
            "messages.fr.xlf",
        ),
    ],
)
def test_files_of_both_languages(
    model: Path, tmp_path: Path, files: dict[str, str], written: str, echo: list[str]
) -> None:
    folder = write_tree(tmp_path, files)
    suffix = Path(written).suffix.removeprefix(".")
    form = f"{ {'xlf': 'xliff', 'ts': 'qt'}.get(suffix, suffix) }-files"
    outcome = call("translate", model, "--tree", folder, "--to", "fr")
    assert outcome.code == 0, outcome.err
    part = CorpusPart(
        path=str(folder),
        format=form,
        source="en",
        target="fr",
        unreviewed=form not in ("tmx-files", "csv-files"),
    )
    found = {pair.source: pair.target for pair in read_pairs(part)}
    assert found == {one: f"{one.upper()}fr" for one in STRINGS}
    for name, content in files.items():
        assert (name == written) or (folder / name).read_text(encoding="utf-8") == content
    again = (folder / written).read_bytes()
    assert call("translate", model, "--tree", folder).code == 0
    assert (folder / written).read_bytes() == again
    assert echo == list(STRINGS)


def test_a_new_catalogue_has_no_translations_of_another_language(
    model: Path, tmp_path: Path
) -> None:
    german = (
        '# Comment of the header.\nmsgid ""\nmsgstr ""\n"Language: de\\n"\n'
        '"Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n"Last-Translator: A\\n"\n'
        '"Content-Type: text/plain; charset=UTF-8\\n"\n\n'
        '#. A hint.\n#: a.c:1\n#, fuzzy, c-format\n#| msgid "Opened"\nmsgid "Open"\n'
        'msgstr "Offen"\n\n#, c-format\nmsgid "%d file"\nmsgid_plural "%d files"\n'
        'msgstr[0] "%d Datei"\nmsgstr[1] "%d Dateien"\n\n#~ msgid "Gone"\n#~ msgstr "Weg"\n'
    )
    folder = write_tree(tmp_path, {"po/de.po": german})
    assert call("translate", model, "--tree", folder, "-q").code == 0
    written = (folder / "po" / "fr.po").read_text(encoding="utf-8")
    for lost in ("Datei", "Offen", "Weg", "Opened", "Last-Translator", "Language: de"):
        assert lost not in written
    for kept in (
        "Language: fr",
        "#. A hint.\n#: a.c:1\n#, fuzzy, c-format",
        "n > 1",
        "%d FILESfr",
    ):
        assert kept in written
    assert (folder / "po" / "de.po").read_text(encoding="utf-8") == german


def test_a_damaged_file_stops_no_other(model: Path, tmp_path: Path) -> None:
    files = layouts()["json-files"]
    folder = write_tree(tmp_path, files | {"b/en.json": "{", "b/de.json": "{}"})
    outcome = call("translate", model, "--tree", folder)
    line = one_error(outcome, 3)
    assert "b/fr.json: not JSON" in line
    assert "the other document is translated" in line
    assert not (folder / "b" / "fr.json").exists()
    assert (folder / WRITTEN["json-files"]).is_file()


def test_a_language_in_another_spelling(tmp_path: Path) -> None:
    directions = (Direction(source_language="en", target_language="fr_CA"),)
    model = save_tiny_model(tmp_path / "model", directions=directions)
    folder = write_tree(tmp_path / "tree", layouts()["po-files"])
    outcome = call("translate", model, "--tree", folder, "--from", "eng", "--to", "fr-ca")
    assert outcome.code == 0, outcome.err
    assert (folder / "locale/fr_CA/LC_MESSAGES/app.po").is_file()


@pytest.mark.parametrize("form", ["po-files", "json-files"])
@pytest.mark.parametrize("existed", [True, False])
def test_what_is_written_meanwhile_stays(
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
    existed: bool,
) -> None:
    """A reviewer's editor saves the file while it is being translated."""
    reviewed = {
        "po-files": catalogue({"Open": "Ouvrir", "Close": ""}),
        "json-files": '{"key0": "Ouvrir"}',
    }[form]
    written = WRITTEN[form]
    known = {written: catalogue({"Open": "", "Close": ""}) if form == "po-files" else "{}"}
    folder = write_tree(tmp_path, layouts()[form] | (known if existed else {}))
    answer = ModelService.translate

    async def translate(
        service: ModelService, requests: Sequence[TextRequest], *, seconds: float | None = None
    ) -> list[TranslatedText]:
        write_tree(tmp_path, {written: reviewed})
        return await answer(service, requests, seconds=seconds)

    monkeypatch.setattr(ModelService, "translate", translate)
    line = one_error(call("translate", model, "--tree", folder), 3)
    assert f"{written}: changed while it was being translated" in line
    assert (folder / written).read_text(encoding="utf-8") == reviewed
    monkeypatch.setattr(ModelService, "translate", answer)
    assert call("translate", model, "--tree", folder).code == 0
    assert french(folder, form)["Open"] == "Ouvrir"
    assert french(folder, form)["Close"] == "CLOSEfr"


def test_what_makes_no_sense_is_refused(model: Path, tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "tree", {"po/de.po": catalogue(STRINGS)})
    for more in (["--output", "x/"], ["--force"], ["--format", "po"], [folder / "po/de.po"]):
        line = one_error(call("translate", model, *more, "--tree", folder), 2)
        assert "--tree translates the files of a project" in line
    (tmp_path / "empty").mkdir()
    line = one_error(call("translate", model, "--tree", tmp_path / "empty"), 3)
    assert "no files to translate from 'en' into 'fr'; languages there: none" in line
    assert "no such folder" in one_error(call("translate", model, "--tree", tmp_path / "no"), 3)
    (tmp_path / "other").mkdir()
    write_tree(tmp_path / "other", {"de.json": "{}", "it.json": "{}"})
    line = one_error(call("translate", model, "--tree", tmp_path / "other"), 3)
    assert "languages there: JSON or ARB files: de, it" in line
