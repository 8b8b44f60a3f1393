"""Pairs from folders of projects, in each of their layouts."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from project_trees import STRINGS, catalogue, keyed, layouts, write_tree

from dragoman.core.errors import DataError
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import FORMATS, project_formats

FORMS = [form.name for form in project_formats()]


def part(
    folder: Path, form: str, source: str = "en", target: str = "de", **more: object
) -> CorpusPart:
    return CorpusPart(path=str(folder), format=form, source=source, target=target, **more)


def pairs(
    folder: Path, form: str, source: str = "en", target: str = "de", **more: object
) -> list[tuple[str, str]]:
    return [pair[:2] for pair in read_pairs(part(folder, form, source, target, **more))]


def test_each_layout_is_shown() -> None:
    assert list(layouts()) == FORMS


@pytest.mark.parametrize("form", FORMS)
def test_each_layout(tmp_path: Path, form: str) -> None:
    folder = write_tree(tmp_path, layouts()[form])
    assert pairs(folder, form) == list(STRINGS.items())
    offered = FORMATS[form].offered_sides(folder)
    assert "de" in offered
    found = part(folder, form).files()
    assert all(path.is_file() for path in found)
    assert {path.name for path in found} <= {Path(name).name for name in layouts()[form]}


@pytest.mark.parametrize("form", FORMS)
def test_a_language_that_is_missing(tmp_path: Path, form: str) -> None:
    folder = write_tree(tmp_path, layouts()[form])
    with pytest.raises(DataError, match=r"'fr'.*languages there: .*de"):
        pairs(folder, form, "en", "fr")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DataError, match="languages there: none"):
        pairs(empty, form)
    assert part(empty, form).files() == []


@pytest.mark.parametrize("form", FORMS)
def test_a_damaged_file_does_not_stop_the_others(
    tmp_path: Path, form: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = write_tree(tmp_path, layouts()[form])
    name = next(reversed([one for one in layouts()[form] if "night" not in one]))
    damaged = tmp_path / "z" / name
    for one, content in layouts()[form].items():
        write_tree(tmp_path / "z", {one: content})
    damaged.write_bytes(b"<TS>\xff{{{\\ud")
    with caplog.at_level(logging.WARNING):
        assert pairs(folder, form) == list(STRINGS.items())
    assert str(damaged) in caplog.text
    assert "de" in FORMATS[form].offered_sides(folder)
    assert part(folder, form).files()


def test_what_was_read_before_the_damage_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.jsonl").write_text('{"en": "One", "de": "Eins"}\nnot JSON\n')
    with caplog.at_level(logging.WARNING):
        assert pairs(tmp_path, "jsonl-files") == [("One", "Eins")]
    assert "a.jsonl:2" in caplog.text


def test_resources_in_no_folder_of_a_language(tmp_path: Path) -> None:
    folder = write_tree(tmp_path, {"xml/a.xml": "<resources/>", "values-de/a.xml": "<resources/>"})
    assert FORMATS["android-files"].offered_sides(folder) == ["de"]


def test_messages_of_catalogues(tmp_path: Path) -> None:
    plurals = """msgctxt "menu"
msgid "Open"
msgstr "Auf"

msgid "Open"
msgstr "Öffnen"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d Datei"
msgstr[1] "%d Dateien"

#~ msgid "gone"
#~ msgstr "weg"
"""
    folder = write_tree(
        tmp_path, {"po/de.po": catalogue({"Old": "Alt"}, fuzzy=("Old",)) + "\n" + plurals}
    )
    expected = [
        ("Open", "Auf"),
        ("Open", "Öffnen"),
        ("%d file", "%d Datei"),
        ("%d files", "%d Dateien"),
    ]
    assert pairs(folder, "po-files") == expected
    assert pairs(folder, "po-files", unreviewed=True) == [("Old", "Alt"), *expected]
    single = CorpusPart(path=str(folder / "po/de.po"))
    assert [pair[:2] for pair in read_pairs(single)] == expected


def test_another_language_as_the_source(tmp_path: Path) -> None:
    """Messages are matched by context and message, and plural forms by their number."""
    polish = (
        'msgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] "a"\nmsgstr[1] "b"\nmsgstr[2] "c"\n'
    )
    czech = polish.replace('"a"', '"x"').replace('"b"', '"y"').replace('"c"', '"z"')
    korean = 'msgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] "k"\n'
    folder = write_tree(
        tmp_path,
        {
            "pl.po": catalogue({"Open": "Otwórz", "Close": ""}) + "\n" + polish,
            "cs.po": catalogue({"Open": "Otevřít", "Close": "Zavřít"}) + "\n" + czech,
            "ko.po": catalogue({"Open": "열기"}) + "\n" + korean,
        },
    )
    assert pairs(folder, "po-files", "pl", "cs") == [
        ("Otwórz", "Otevřít"),
        ("a", "x"),
        ("b", "y"),
        ("c", "z"),
    ]
    assert pairs(folder, "po-files", "ko", "pl") == [("열기", "Otwórz"), ("k", "c")]
    assert pairs(folder, "po-files", "en", "pl") == [
        ("Open", "Otwórz"),
        ("%d file", "a"),
        ("%d files", "c"),
    ]


def test_keys_as_messages(tmp_path: Path) -> None:
    """Where messages are keys, the English catalogue has the text."""
    files = {
        "en.po": catalogue({"menu.open": "Open", "menu.close": ""}),
        "de.po": catalogue({"menu.open": "Öffnen", "menu.close": "Schließen"}),
        "en_GB.po": catalogue({"menu.close": "Shut"}),
    }
    folder = write_tree(tmp_path, files)
    assert pairs(folder, "po-files") == [("Open", "Öffnen"), ("menu.close", "Schließen")]


def test_messages_in_another_language(tmp_path: Path) -> None:
    header = (
        'msgid ""\nmsgstr "X-Source-Language: de\\nContent-Type: text/plain; charset=UTF-8\\n"\n'
    )
    folder = write_tree(tmp_path, {"fr.po": header + '\nmsgid "Ja"\nmsgstr "Oui"\n'})
    assert pairs(folder, "po-files", "de", "fr") == [("Ja", "Oui")]
    with pytest.raises(DataError, match="'en'"):
        pairs(folder, "po-files", "en", "fr")


def test_a_language_by_its_region_in_some_files(tmp_path: Path) -> None:
    folder = write_tree(
        tmp_path,
        {
            "a/locale/hr/LC_MESSAGES/a.po": catalogue({"Open": "Otvori"}),
            "b/locale/hr_HR/LC_MESSAGES/b.po": catalogue({"Close": "Zatvori"}),
            "b/locale/en_GB/LC_MESSAGES/b.po": catalogue({"Close": "Shut"}),
        },
    )
    assert pairs(folder, "po-files", "en", "hr") == [("Open", "Otvori"), ("Close", "Zatvori")]


def test_strings_that_only_one_side_has_are_left_out(tmp_path: Path) -> None:
    folder = write_tree(
        tmp_path,
        {
            "en.json": '{"a": "One", "b": {"c": "Two"}, "d": " ", "n_one": "x", "n_other": "y"}',
            "de.json": '{"b": {"c": "Zwei"}, "d": "Drei", "e": "Vier", "n_other": "z"}',
        },
    )
    assert pairs(folder, "json-files") == [("Two", "Zwei"), ("y", "z")]


def test_resources_without_a_language_are_the_source_or_english(tmp_path: Path) -> None:
    folder = write_tree(tmp_path, layouts()["android-files"])
    reversed_pairs = [(target, source) for source, target in STRINGS.items()]
    assert pairs(folder, "android-files", "de", "en") == reversed_pairs
    with pytest.raises(DataError, match="'fr'"):
        pairs(folder, "android-files", "de", "fr")


def test_parts_of_xliff_in_several_languages(tmp_path: Path) -> None:
    def file(language: str, text: str, state: str = "translated") -> str:
        return (
            f"<file original='a' source-language='en' target-language='{language}'><body>"
            f"<trans-unit id='1'><source>Open</source><target state='{state}'>{text}</target>"
            "</trans-unit></body></file>"
        )

    parts = [
        file("de", "Öffnen"),
        file("fr", "Ouvrir"),
        file("de", "Auf", "needs-review-translation"),
    ]
    path = tmp_path / "all.xlf"
    path.write_text(f"<xliff version='1.2'>{''.join(parts)}</xliff>", encoding="utf-8")
    assert pairs(tmp_path, "xliff-files") == [("Open", "Öffnen")]
    assert pairs(path, "xliff-files", "en", "fr") == [("Open", "Ouvrir")]
    assert pairs(path, "xliff-files", unreviewed=True) == [("Open", "Öffnen"), ("Open", "Auf")]
    assert FORMATS["xliff-files"].offered_sides(path) == ["de", "en", "fr"]
    with pytest.raises(DataError, match="split it"):
        list(read_pairs(CorpusPart(path=str(path))))


def test_unreviewed_needs_states(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="json-files does not say which translations are reviewed"):
        part(tmp_path, "json-files", unreviewed=True)
    assert part(tmp_path, "po-files", unreviewed=True).file_format.reads_unreviewed


def test_new_files_belong_to_the_part(tmp_path: Path) -> None:
    """So that a run notices them like a change of a file."""
    folder = write_tree(tmp_path, {"en.json": keyed({"a": "One"}), "de.json": keyed({"a": "Eins"})})
    before = part(folder, "json-files").inputs()
    write_tree(tmp_path, {"b/en.json": keyed({"a": "Two"}), "b/de.json": keyed({"a": "Zwei"})})
    assert set(before) < set(part(folder, "json-files").inputs())


@pytest.mark.parametrize(
    ("form", "files", "language", "output"),
    [
        ("android-files", ["res/values/strings.xml"], "pt_BR", "res/values-pt-rBR/strings.xml"),
        (
            "android-files",
            ["res/values/strings.xml"],
            "sr-Latn",
            "res/values-b+sr+Latn/strings.xml",
        ),
        ("json-files", ["l/en.json", "l/zh_CN.json"], "pt-BR", "l/pt_BR.json"),
        ("json-files", ["l/en.json", "l/zh-CN.json"], "pt_BR", "l/pt-BR.json"),
        ("json-files", ["l/en.json", "l/pt_BR.json"], "pt", "l/pt_BR.json"),
        ("apple-files", ["Base.lproj/a.strings"], "fr", "fr.lproj/a.strings"),
        ("po-files", ["po/de.po"], "fr", "po/fr.po"),
        ("properties-files", ["a/messages.properties"], "pt-BR", "a/messages_pt_BR.properties"),
        ("resx-files", ["R.resx", "R.de.resx"], "pt_BR", "R.pt-BR.resx"),
    ],
)
def test_a_new_language_is_spelt_like_the_others(
    tmp_path: Path, form: str, files: list[str], language: str, output: str
) -> None:
    folder = write_tree(tmp_path, dict.fromkeys(files, ""))
    (found,) = FORMATS[form].files_to_translate(folder, ("en", language))  # type: ignore[attr-defined]
    assert found.output == folder / output
    assert found.source == folder / files[0]


def _xliff(source: str, target: str | None = None) -> str:
    stated = "" if target is None else f" target-language='{target}'"
    unit = "<trans-unit id='1'><source>One</source></trans-unit>"
    return (
        f"<xliff version='1.2'><file source-language='{source}'{stated}><body>{unit}</body></file>"
        "</xliff>"
    )


def test_where_bilingual_files_have_their_translations(tmp_path: Path) -> None:
    files = {
        "both.xlf": _xliff("en", "fr"),
        "other.xlf": _xliff("en", "ko"),
        "app.xlf": _xliff("en"),
        "web.en.xlf": _xliff("en"),
        "news.ko.xlf": _xliff("en"),
        "made.xlf": _xliff("en"),
        "made.fr.xlf": _xliff("en", "fr"),
        "de.xlf": _xliff("de"),
    }
    folder = write_tree(tmp_path, files)
    found = FORMATS["xliff-files"].files_to_translate(folder, ("en", "fr"))  # type: ignore[attr-defined]
    assert {one.source.name: one.output.name for one in found} == {
        "both.xlf": "both.xlf",
        "app.xlf": "app.fr.xlf",
        "web.en.xlf": "web.fr.xlf",
        "made.fr.xlf": "made.fr.xlf",
    }


def test_tables_and_memories_are_filled_where_they_are(tmp_path: Path) -> None:
    for form in ("csv-files", "tmx-files"):
        folder = write_tree(tmp_path / form, layouts()[form])
        found = FORMATS[form].files_to_translate(folder, ("en", "de"))  # type: ignore[attr-defined]
        assert [one.source for one in found] == [one.output for one in found] != []


def test_messages_of_another_language_are_not_translated(tmp_path: Path) -> None:
    header = 'msgid ""\nmsgstr "X-Source-Language: de\\n"\n'
    folder = write_tree(tmp_path, {"it.po": header, "b/it.po": "msgid"})
    form = FORMATS["po-files"]
    assert form.files_to_translate(folder, ("en", "fr")) == []  # type: ignore[attr-defined]
    (found,) = form.files_to_translate(folder, ("de", "fr"))  # type: ignore[attr-defined]
    assert found.output == folder / "fr.po"
    assert FORMATS["tmx-files"].files_to_translate(folder, ("de", "fr")) == []  # type: ignore[attr-defined]
