"""The table of formats: names, suffixes, sides; and formats of other packages."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from installed_package import installed_package

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError, DataError
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import (
    FORMATS,
    GROUP,
    FormatError,
    Pair,
    file_formats,
    format_named,
    format_names,
    format_of,
)

TMX = """<tmx version="1.4"><body>
<tu><tuv xml:lang="en-US"><seg>a</seg></tuv><tuv xml:lang="de"><seg>b</seg></tuv></tu>
<tu><tuv xml:lang="fr"><seg>c</seg></tuv></tu></body></tmx>"""
JSONL = """{"id": 3, "translation": {"en": "a", "de": "b"}, "note": null}
not JSON
{"translation": {"en": "a", "ko": "c"}}
"""
PO = 'msgid ""\nmsgstr "Language: ko\\n"\n\nmsgid "Save"\nmsgstr "저장"\n'


def test_names_and_suffixes_are_of_one_format_each() -> None:
    assert all(name == form.name for name, form in FORMATS.items())
    suffixes = [suffix for form in FORMATS.values() for suffix in form.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert [format_of(Path(f"a{suffix}.gz")).suffixes for suffix in suffixes] == [
        form.suffixes for form in FORMATS.values() for _ in form.suffixes
    ]
    assert file_formats() == [
        *("tsv", "jsonl", "tmx", "po", "xliff", "xcstrings", "qt", "csv", "trees", "wmt-xml")
    ]


def test_each_format_tells_its_sides(tmp_path: Path) -> None:
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(b"id\ten\tzh-Hans\n1\ta\tb\n"))
    (tmp_path / "a.tmx").write_text(TMX)
    (tmp_path / "a.jsonl").write_text(JSONL)
    (tmp_path / "a.po").write_text(PO, encoding="utf-8")

    def offered(name: str) -> list[str]:
        return format_of(tmp_path / name).offered_sides(tmp_path / name)

    assert offered("a.tsv.gz") == ["id", "en", "zh-Hans"]
    assert offered("a.tmx") == ["en-US", "de", "fr"]
    assert offered("a.jsonl") == ["translation.en", "translation.de", "translation.ko"]
    assert offered("a.po") == []
    assert FORMATS["po"].languages(tmp_path / "a.po") == ("en", "ko")
    with pytest.raises(DataError, match=r"b\.tsv"):
        offered("b.tsv")


def test_a_table_whose_lines_end_with_cr_alone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"en\tde\rhouse\tHaus\rroom\tZimmer\r")
    message = r"a\.tsv:1: a carriage return within the header; .* tr '\\r' '\\n'"
    with pytest.raises(DataError, match=message):
        format_of(path).offered_sides(path)
    with pytest.raises(DataError, match=message):
        list(read_pairs(CorpusPart(path=str(path), source="en", target="de")))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tvs", "no format 'tvs'; did you mean 'tsv'\\? formats there: plain, tsv, jsonl, tmx, po"),
        ("x" * 10_000, "no format 'x{79}; formats there"),
    ],
)
def test_an_unknown_name(name: str, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        format_named(name)


OUTSIDERS = '''
from dragoman.text.formats import Format, Pair
from dragoman.text.lines import read_lines

class Semicolons(Format):
    """Source and target with a semicolon between them."""

    name = "semicolons"
    suffixes = (".semi",)

    def read(self, files, sides):
        for number, line in enumerate(read_lines(files[0]), 1):
            yield Pair(*line.split(";", maxsplit=1), number)

class Namesake(Semicolons):
    name = "namesake"

class Tsv(Semicolons):
    name = "tsv"
    suffixes = (".tsv", ".table")

class Careless(Semicolons):
    name = "careless"
    suffixes = ".semi"

class Nameless(Format):
    def read(self, files, sides):
        return iter(())

class Empty(Format):
    name = "empty"
'''


def test_a_format_of_another_package_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.semi").write_text("eins;zwei;drei\n")
    entries = {"semicolons": "formats_outside:Semicolons"}
    with installed_package(tmp_path / "site", "formats_outside", OUTSIDERS, GROUP, entries):
        assert format_names() == [*FORMATS, "semicolons"]
        for part in (
            CorpusPart(path=str(tmp_path / "a.semi")),
            CorpusPart(path=str(tmp_path / "a.semi"), format="semicolons"),
        ):
            assert part.file_format.name == "semicolons"
            assert list(read_pairs(part)) == [Pair("eins", "zwei;drei", 1)]
        with pytest.raises(ConfigError, match=r"formats there: plain, tsv, .* and \d+ more"):
            parse(CorpusPart, {"path": "a", "format": "xls"}, "run.yaml")
        with pytest.raises(ConfigError, match="semicolons are read and not written"):
            format_named("semicolons").write([tmp_path / "b.semi"], ("en", "de"))
    with pytest.raises(FormatError):
        format_of(tmp_path / "a.semi")


def test_broken_formats_of_other_packages_are_told_and_harm_no_others(tmp_path: Path) -> None:
    names = ("Semicolons", "Careless", "Nameless", "Empty", "Missing")
    entries = {name.lower(): f"formats_half_broken:{name}" for name in names}
    with installed_package(tmp_path, "formats_half_broken", OUTSIDERS, GROUP, entries):
        assert format_of(Path("a.semi")).name == "semicolons"
        for name, said in {
            "careless": r"suffixes such as \('.careless',\)",
            "nameless": "must have the name 'nameless'",
            "empty": "abstract .*read",
            "missing": "cannot be loaded: AttributeError",
        }.items():
            with pytest.raises(FormatError, match=said):
                format_named(name)
            with pytest.raises(FormatError, match=f"dragoman.formats: {name}\\b"):
                format_of(Path("a.txt"))
            with pytest.raises(ConfigError, match=f"format: .*{name}"):
                parse(CorpusPart, {"path": "a", "format": name}, "run.yaml")


def test_ours_come_first_and_a_suffix_of_two_others_is_told(tmp_path: Path) -> None:
    entries = {name.lower(): f"formats_alike:{name}" for name in ("Semicolons", "Namesake", "Tsv")}
    with installed_package(tmp_path, "formats_alike", OUTSIDERS, GROUP, entries):
        assert format_named("tsv") is FORMATS["tsv"]
        assert format_of(Path("a.tsv")) is FORMATS["tsv"]
        with pytest.raises(FormatError, match=r"a\.table does not tell"):
            format_of(Path("a.table"))
        with pytest.raises(FormatError, match="is of the formats namesake and semicolons; set fo"):
            format_of(Path("a.semi"))
