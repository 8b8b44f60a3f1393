from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dragoman.core.errors import ConfigError, DataError
from dragoman.text.corpora.corpus import read_pairs
from dragoman.workflows.material import Material, find_material

PO = 'msgid ""\nmsgstr "Language: ko\\n"\n\nmsgid "Save"\nmsgstr "저장"\n'

XLIFF = (
    '<xliff version="2.0" srcLang="en" trgLang="de"><file id="f"><unit id="1"><segment>'
    "<source>Save</source><target>Speichern</target></segment></unit></file></xliff>"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in {
        "many.tsv": "id\ten\tde\tko\n1\ta\tb\tc\n",
        "three.tsv": "id\tko\ten\n1\tc\ta\n",
        "codes.tsv": "key\tdoc\teng\tilo\n1\t2\ta\tc\n",
        "two.tsv": "english\tgerman\na\tb\n",
        "noise.tsv": "number\ten\torigin\tko\n1\ta\tx\tc\n",
        "a.jsonl": '{"translation": {"en": "a", "de": "b"}}\n',
        "a.po": PO,
        "a.trees": "(S (NN a))\n",
        "named.tsv": "of people\tof_models\tof_both\na\tb\tc\n",
        "a.xlf": XLIFF,
        "train.en": "a\n",
        "train.de": "b\n",
        "val.en": "v\n",
        "val.de": "w\n",
        "text.txt": "a\tb\n",
        "other": "a\n",
        "terms.CSV": "en,de\na,b\n",
    }.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path


def find(folder: Path, *names: str, **choices: Any) -> Material:
    for held in ("dev", "test"):
        choices[held] = [folder / name for name in choices.get(held, ())]
    return find_material([folder / name for name in names], **choices)


def texts(material: Material) -> tuple[str, str, str, str]:
    """Languages, and what the first pair says."""
    pair = next(read_pairs(material.train[0]))
    return (material.source_language, material.target_language, pair.source, pair.target)


@pytest.mark.parametrize(
    ("names", "choices", "found"),
    [
        (["two.tsv"], {}, ("english", "german", "a", "b")),
        (["two.tsv"], {"source": "german"}, ("german", "english", "b", "a")),
        (["three.tsv"], {}, ("ko", "en", "c", "a")),
        (["three.tsv"], {"source": "en"}, ("en", "ko", "a", "c")),
        (["noise.tsv"], {}, ("en", "ko", "a", "c")),
        (["many.tsv"], {"source": "en", "target": "ko"}, ("en", "ko", "a", "c")),
        (["codes.tsv"], {}, ("eng", "ilo", "a", "c")),
        (["codes.tsv"], {"source": "en"}, ("eng", "ilo", "a", "c")),
        (["codes.tsv"], {"source": "ilo", "target": "EN"}, ("ilo", "eng", "c", "a")),
        (["a.jsonl"], {}, ("en", "de", "a", "b")),
        (["a.po"], {}, ("en", "ko", "Save", "저장")),
        (["a.xlf"], {}, ("en", "de", "Save", "Speichern")),
        (["a.po"], {"target": "kor"}, ("en", "kor", "Save", "저장")),
        (["train.en", "train.de"], {}, ("en", "de", "a", "b")),
        (["train.de", "train.en"], {}, ("de", "en", "b", "a")),
        (["train.de", "train.en"], {"source": "en"}, ("en", "de", "a", "b")),
        (["train.de", "train.en"], {"target": "de"}, ("en", "de", "a", "b")),
        (["train.en", "train.de"], {"source": "de", "target": "en"}, ("de", "en", "b", "a")),
        (["other", "train.de"], {"source": "fr"}, ("fr", "de", "a", "b")),
    ],
)
def test_languages_and_sides(
    names: list[str], choices: dict[str, str], found: tuple[str, ...], folder: Path
) -> None:
    assert texts(find(folder, *names, **choices)) == found


def test_sets_that_are_given(folder: Path) -> None:
    material = find(folder, "train.en", "train.de", dev=["val.en", "val.de"])
    assert material.test is None
    assert material.dev is not None
    assert next(read_pairs(material.dev))[:2] == ("v", "w")
    turned = find(folder, "train.de", "train.en", dev=["val.en", "val.de"])
    assert turned.dev is not None
    assert next(read_pairs(turned.dev))[:2] == ("w", "v")
    columns = find(folder, "three.tsv", source="en", test=["many.tsv"])
    assert columns.test is not None
    assert next(read_pairs(columns.test))[:2] == ("a", "c")


def test_a_set_in_the_same_format_has_the_same_keys(folder: Path) -> None:
    (folder / "dev.jsonl").write_text(
        '{"translation": {"en": "a", "de": "b"}, "draft": {"en": "c", "de": "d"}}\n'
    )
    material = find(folder, "a.jsonl", dev=["dev.jsonl"])
    assert material.dev is not None
    assert next(read_pairs(material.dev))[:2] == ("a", "b")


@pytest.mark.parametrize(
    ("names", "choices", "said"),
    [
        (["many.tsv"], {}, "it has id, en, de, ko; .* --source en --target de"),
        (["many.tsv"], {"source": "ko"}, "--source ko --target en"),
        (["a.trees"], {}, "it has words, .* such as --source words --target brackets"),
        (["named.tsv"], {}, "--source 'of people' --target of_models"),
        (["two.tsv"], {"source": "german", "target": "german"}, "both 'german'"),
        (["text.txt"], {}, "--format"),
        (["terms.CSV"], {}, r"terms\.CSV: spreadsheets are not read; .* \(\.csv\)"),
        (["train.en"], {}, "--format"),
        (["other", "text.txt"], {}, "--source en --target de"),
        (["train.en", "val.en"], {}, "--source"),
        (["train.en", "train.de", "val.en"], {}, "3 files: .*two plain files"),
    ],
)
def test_what_is_not_clear(
    names: list[str], choices: dict[str, str], said: str, folder: Path
) -> None:
    with pytest.raises(ConfigError, match=said):
        find(folder, *names, **choices)


@pytest.mark.parametrize(
    ("names", "choices"),
    [
        (["two.tsv", "three.tsv"], {}),
        (["a.jsonl", "train.de"], {}),
        (["train.en", "a.po"], {"source": "en", "target": "ko"}),
        (["text.txt", "other"], {"source": "en", "target": "de", "file_format": "tsv"}),
        (["train.en", "train.de"], {"dev": ["two.tsv", "three.tsv"]}),
        (["two.tsv"], {"test": ["two.tsv", "three.tsv"]}),
    ],
)
def test_two_files_that_each_have_both_sides_are_refused(
    names: list[str], choices: dict[str, Any], folder: Path
) -> None:
    with pytest.raises(ConfigError, match=r"file has both sides; .* say --format plain"):
        find(folder, *names, **choices)


@pytest.mark.parametrize(
    "suffix",
    ["json", "JSON", "json.gz", "strings", "xml", "yaml", "md", "html", "srt", "docx", "pptx"],
)
def test_two_documents_are_not_taken_for_lines(suffix: str, tmp_path: Path) -> None:
    for language in ("en", "de"):
        (tmp_path / f"{language}.{suffix}").write_text("{\n")
    names = [f"en.{suffix}", f"de.{suffix}"]
    sides = {"source": "en", "target": "de"}
    with pytest.raises(ConfigError, match=r"en\.\S+: .* is a document, .*XLIFF, PO, TMX, TSV"):
        find(tmp_path, *names, **sides)
    with pytest.raises(ConfigError, match="is a document"):
        find(tmp_path, *names)
    assert find(tmp_path, *names, **sides, file_format="plain").source_language == "en"


def test_two_spreadsheets_are_not_taken_for_lines(folder: Path) -> None:
    for name, problem in (
        ("en.xlsx", "spreadsheets .*; or say --format plain"),
        ("en.csv", "both"),
    ):
        (folder / name).write_text("a\n")
        with pytest.raises(ConfigError, match=rf"{re.escape(name)}: .*{problem}"):
            find(folder, name, "train.de", source="en", target="de")


def test_a_document_in_a_held_out_set_is_not_taken_for_lines(folder: Path) -> None:
    (folder / "en.html").write_text("a\n")
    with pytest.raises(ConfigError, match=r"en\.html: .* is a document"):
        find(folder, "train.en", "train.de", dev=["en.html", "val.de"])


def test_lines_of_text_files_and_of_arabic_are_plain(folder: Path) -> None:
    (folder / "train.arb").write_text("c\n")
    assert texts(find(folder, "train.en", "train.arb")) == ("en", "arb", "a", "c")
    (folder / "de.txt").write_text("b\n")
    found = find(folder, "train.en", "de.txt", source="en", target="de")
    assert texts(found) == ("en", "de", "a", "b")
    (folder / "en.arb").write_text("{\n")
    with pytest.raises(ConfigError, match="is a document"):
        find(folder, "en.arb", "train.arb", source="en", target="de")


def test_plain_files_may_have_the_suffix_of_another_format(folder: Path) -> None:
    sides = {"source": "en", "target": "de", "file_format": "plain"}
    found = find(folder, "two.tsv", "three.tsv", **sides)
    assert texts(found) == ("en", "de", "english\tgerman", "id\tko\ten")


def test_a_format_named_for_one_file_leaves_two_plain_ones_plain(folder: Path) -> None:
    (folder / "text.txt").write_text("en\tde\na\tb\n")
    material = find(folder, "text.txt", file_format="tsv", dev=["val.en", "val.de"])
    assert material.dev is not None
    assert next(read_pairs(material.dev))[:2] == ("v", "w")


def test_files_that_are_none(folder: Path) -> None:
    with pytest.raises(DataError, match=r"train\.fr: no such file"):
        find(folder, "train.en", "train.fr")
    with pytest.raises(DataError, match="not a file"):
        find_material([folder, folder])


def test_a_format_that_is_named(folder: Path) -> None:
    (folder / "text.txt").write_text("en\tde\na\tb\n")
    assert texts(find(folder, "text.txt", file_format="tsv")) == ("en", "de", "a", "b")


def test_a_table_whose_header_is_like_a_pair_is_warned_about(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "pairs.tsv").write_text("Save\tSpeichern\nOpen\tÖffnen\n", encoding="utf-8")
    find(folder, "pairs.tsv", test=["pairs.tsv"])
    (message,) = caplog.messages
    assert "pairs.tsv: the first line is read as the header" in message
    assert "'Save' and 'Speichern'" in message
    caplog.clear()
    (folder / "sides.tsv").write_text("Source\tTarget\na\tb\n")
    for names in (["sides.tsv"], ["three.tsv"], ["a.jsonl"]):
        find(folder, *names)
    find(folder, "pairs.tsv", source="Save", target="Speichern")
    assert not caplog.messages


def test_the_columns_that_there_are_are_told_in_bounded_length(folder: Path) -> None:
    (folder / "wide.tsv").write_text("\t".join(f"column {n}" for n in range(999)) + "\nrow\n")
    with pytest.raises(ConfigError, match="column 19 and 979 more; say which") as caught:
        find(folder, "wide.tsv")
    assert len(str(caught.value)) < 600
