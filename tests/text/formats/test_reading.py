"""The formats with both sides in one file: what was written is what is read."""

from __future__ import annotations

import gzip
import json
import lzma
import tracemalloc
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import polib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import DataError
from dragoman.core.zstandard import zstd
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Pair

COMPRESS = {
    "": lambda content: content,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstd.compress,
}
suffixes = pytest.mark.parametrize("suffix", COMPRESS)

characters = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\ufffe\uffff")
cells = st.text(characters)
pairs_of_cells = st.lists(st.tuples(cells, cells), min_size=1, max_size=5)
# XML leaves out most controls, and JSON and PO escape theirs
anything = st.text(st.characters(exclude_categories=["Cs"]))


def write(folder: Path, name: str, content: str | bytes) -> str:
    raw = content.encode() if isinstance(content, str) else content
    suffix = Path(name).suffix
    path = folder / name
    path.write_bytes(COMPRESS[suffix if suffix in COMPRESS else ""](raw))
    return str(path)


def read(path: str, source: str | None = "en", target: str | None = "de") -> list[Pair]:
    return list(read_pairs(CorpusPart(path=path, source=source, target=target)))


def fails(path: str, source: str | None = "en", target: str | None = "de") -> str:
    with pytest.raises(DataError) as caught:
        read(path, source, target)
    text = str(caught.value)
    assert text.startswith(path)
    assert "\n" not in text
    return text.removeprefix(path)


def numbered(pairs: list[tuple[str, str]], first: int) -> list[Pair]:
    return [Pair(source, target, number) for number, (source, target) in enumerate(pairs, first)]


class TestTsv:
    @suffixes
    @given(pairs=pairs_of_cells)
    def test_round_trip(
        self, pairs: list[tuple[str, str]], suffix: str, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        text = "de\tnote\ten\n" + "".join(f"{de}\t-\t{en}\n" for en, de in pairs)
        path = write(tmp_path_factory.getbasetemp(), f"a.tsv{suffix}", text)
        assert read(path) == numbered(pairs, first=2)

    def test_quotation_marks_are_characters(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a.tsv", 'en\tde\n"a\tb"\n""\t\'\n')
        assert read(path) == [Pair('"a', 'b"', 2), Pair('""', "'", 3)]

    def test_windows_line_ends_and_a_byte_order_mark(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a.tsv", "\ufeffen\tde\r\na\tb\r\n")
        assert read(path) == [Pair("a", "b", 2)]

    def test_empty_cells_and_blank_lines_are_pairs_for_cleaning_to_count(
        self, tmp_path: Path
    ) -> None:
        path = write(tmp_path, "a.tsv", "en\tde\n\tb\na\t\n\n")
        assert read(path) == [Pair("", "b", 2), Pair("a", "", 3), Pair("", "", 4)]

    def test_a_missing_column_lists_those_there_are(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a.tsv", "english\tgerman\na\tb\n")
        assert fails(path, "english", "germn") == (
            ":1: no column 'germn'; did you mean 'german'? columns there: english, german"
        )

    def test_a_column_that_stands_twice_is_ambiguous(self, tmp_path: Path) -> None:
        assert "'en' twice" in fails(write(tmp_path, "a.tsv", "en\tde\ten\na\tb\tc\n"))

    @pytest.mark.parametrize("row", ["a", "a\tb\tc", "a\tb\t"])
    def test_a_row_with_other_cells_than_the_header(self, tmp_path: Path, row: str) -> None:
        text = fails(write(tmp_path, "a.tsv", f"en\tde\nx\ty\n{row}\n"))
        assert text.startswith(f":3: {row.count(chr(9)) + 1} cells, but the header has 2")

    def test_a_header_alone(self, tmp_path: Path) -> None:
        assert "only a header" in fails(write(tmp_path, "a.tsv", "en\tde\n"))


class TestJsonl:
    @suffixes
    @given(pairs=st.lists(st.tuples(anything, anything), min_size=1, max_size=5))
    @pytest.mark.parametrize("ascii_only", [True, False])
    def test_round_trip(
        self,
        pairs: list[tuple[str, str]],
        suffix: str,
        ascii_only: bool,
        tmp_path_factory: pytest.TempPathFactory,
    ) -> None:
        text = "".join(
            json.dumps({"en": en, "de": de, "id": 1}, ensure_ascii=ascii_only) + "\n"
            for en, de in pairs
        )
        path = write(tmp_path_factory.getbasetemp(), f"a.jsonl{suffix}", text)
        assert read(path) == numbered(pairs, first=1)

    def test_keys_of_objects_inside(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a.jsonl", '{"t": {"en": "a", "de": "b"}, "t.de": "c"}\n')
        assert read(path, "t.en", "t.de") == [Pair("a", "c", 1)]

    def test_null_and_blank_lines_are_empty(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a.jsonl", '{"en": "a", "de": null}\n\n')
        assert read(path) == [Pair("a", "", 1), Pair("", "", 2)]

    @pytest.mark.parametrize(
        ("line", "problem"),
        [
            ('{"en": "a"', "not valid JSON"),
            ("en\tde", "not valid JSON"),
            ("[" * 100_000, "not valid JSON"),
            ("9" * 10_000, "JSON"),
            ('["a", "b"]', "expected a JSON object"),
            ('{"en": "a", "dee": "b"}', "no key 'de'; did you mean 'dee'? keys there: en, dee"),
            ('{"en": "a", "de": 3}', "'de' is 3, expected a string"),
            ('{"en": "a", "de": "\\ud800"}', "'de' has half of a surrogate pair"),
        ],
    )
    def test_bad_lines_are_placed(self, tmp_path: Path, line: str, problem: str) -> None:
        path = write(tmp_path, "a.jsonl", '{"en": "x", "de": "y"}\n' + line + "\n")
        text = fails(path)
        assert text.startswith(":2: ")
        assert problem in text


def tmx(pairs: list[tuple[str, str]], source: str = "en", target: str = "de") -> str:
    units = "".join(
        f"<tu><tuv xml:lang={quoteattr(source)}><seg>{escape(en)}</seg></tuv>"
        f"<tuv xml:lang={quoteattr(target)}><seg>{escape(de)}</seg></tuv></tu>\n"
        for en, de in pairs
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'
        f'<tmx version="1.4"><header srclang="en"/><body>\n{units}</body></tmx>\n'
    )


class TestTmx:
    @suffixes
    @given(pairs=pairs_of_cells)
    def test_round_trip(
        self, pairs: list[tuple[str, str]], suffix: str, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        path = write(tmp_path_factory.getbasetemp(), f"a.tmx{suffix}", tmx(pairs))
        assert read(path) == numbered(pairs, first=1)

    def test_the_encoding_is_the_one_declared(self, tmp_path: Path) -> None:
        text = tmx([("é", "ß")]).replace("UTF-8", "UTF-16").encode("utf-16")
        assert read(write(tmp_path, "a.tmx", text)) == [Pair("é", "ß", 1)]

    @pytest.mark.parametrize("language", ["en", "EN", "en-US", "en_GB", "En-us"])
    def test_a_language_is_found_with_its_region(self, tmp_path: Path, language: str) -> None:
        assert read(write(tmp_path, "a.tmx", tmx([("a", "b")], source=language)))[0].source == "a"

    def test_a_region_asked_for_is_the_region_got(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a.tmx", tmx([("a", "b")], source="en-US", target="en-GB"))
        assert read(path, "en-GB", "en-US") == [Pair("b", "a", 1)]
        assert "no unit" in fails(path, "en-GB", "e")

    def test_the_language_may_be_an_attribute_without_namespace(self, tmp_path: Path) -> None:
        text = tmx([("a", "b")]).replace("xml:lang", "lang")
        assert read(write(tmp_path, "a.tmx", text)) == [Pair("a", "b", 1)]

    def test_codes_inside_a_segment_are_no_text(self, tmp_path: Path) -> None:
        text = tmx([("X", "b")]).replace(
            "X", 'Click <bpt i="1">&lt;b&gt;</bpt><hi>the</hi> button<ept i="1">&lt;/b&gt;</ept>!'
        )
        assert read(write(tmp_path, "a.tmx", text))[0].source == "Click the button!"

    @pytest.mark.parametrize(
        "code",
        [
            '<ph type="lb"/>',
            '<ph x="1">&lt;br/&gt;</ph>',
            '<it pos="begin">&lt;p&gt;</it>',
            "<ph/>",
        ],
    )
    def test_codes_glue_no_words(self, tmp_path: Path, code: str) -> None:
        text = tmx([("oneXtwo.XThree", "b")]).replace("X", code)
        read_pair = read(write(tmp_path, "a.tmx", text))[0]
        assert read_pair.source.split() == ["one", "two.", "Three"]

    def test_text_that_is_highlighted_without_end_is_text(self, tmp_path: Path) -> None:
        deep = "<hi>x" * 20_000 + "</hi>y" * 20_000
        path = write(tmp_path, "a.tmx", tmx([("X", "b")]).replace("X", deep))
        assert read(path)[0].source == "x" * 20_000 + "y" * 20_000

    def test_units_without_one_of_the_languages_are_passed_over(self, tmp_path: Path) -> None:
        text = tmx([("a", "b"), ("c", "d")]).replace('lang="de"', 'lang="fr"', 1)
        assert read(write(tmp_path, "a.tmx", text)) == [Pair("c", "d", 2)]

    def test_no_unit_with_both_languages_lists_those_there_are(self, tmp_path: Path) -> None:
        text = fails(write(tmp_path, "a.tmx", tmx([("a", "b")])), "en", "ko")
        assert text == ": no unit has both 'en' and 'ko'; languages there: de, en"

    def test_one_cut_short_is_an_error_with_its_line(self, tmp_path: Path) -> None:
        text = tmx([("a", "b"), ("c", "d")])
        assert "the file is empty or ends too early" in fails(write(tmp_path, "a.tmx", text[:-20]))
        assert "the file is empty or ends too early" in fails(write(tmp_path, "b.tmx", ""))
        assert fails(write(tmp_path, "c.tmx", text.replace("</seg>", "", 1))).startswith(":4: ")

    def test_entities_are_refused(self, tmp_path: Path) -> None:
        bomb = '"tmx14.dtd" [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]'
        text = tmx([("a", "b")]).replace('"tmx14.dtd"', bomb)
        assert "declares XML entities" in fails(write(tmp_path, "a.tmx", text))

    def test_an_unknown_encoding(self, tmp_path: Path) -> None:
        text = tmx([("a", "b")]).replace("UTF-8", "klingon")
        assert "declares an encoding that is not read" in fails(write(tmp_path, "a.tmx", text))
        endless = text.replace("klingon", "k" * 100_000)
        assert len(fails(write(tmp_path, "b.tmx", endless))) < 200

    def test_a_unit_without_end_is_refused_before_memory_is(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A file of one text, compressed a thousandfold, would fill any memory."""
        monkeypatch.setattr("dragoman.text.xml_parts._LONGEST_PART", 2**17)
        many = tmx([("a" * 1000, "b" * 1000)] * 200)
        assert len(read(write(tmp_path, "a.tmx.gz", many))) == 200
        text = fails(write(tmp_path, "b.tmx.gz", tmx([("a" * 200_000, "b")])))
        assert "over 131,072 bytes without the end of an entry" in text

    def test_memory_does_not_grow_with_the_file(self, tmp_path: Path) -> None:
        def peak(units: int) -> int:
            part = CorpusPart(
                path=write(tmp_path, "a.tmx", tmx([("a" * 100, "b" * 100)] * units)),
                source="en",
                target="de",
            )
            tracemalloc.start()
            assert sum(1 for _ in read_pairs(part)) == units
            highest = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            return highest

        assert peak(5000) < peak(1000) + 200_000  # of a megabyte more


HEADER = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'


def po(tmp_path: Path, text: str, name: str = "a.po") -> str:
    return write(tmp_path, name, HEADER + text)


class TestPo:
    def test_it_is_read_in_the_encoding_that_it_says(self, tmp_path: Path) -> None:
        text = HEADER.replace("UTF-8", "ISO-8859-1") + 'msgid\n"a" "b"\nmsgstr "Öl"\n'
        path = tmp_path / "a.po"
        path.write_bytes(text.encode("latin-1"))
        assert read(str(path), None, None) == [Pair("ab", "Öl", 4)]
        path.write_bytes(text.replace("ISO-8859-1", "none").encode("latin-1"))
        assert fails(str(path), None, None).startswith(":2: the header says that the encoding is")

    @suffixes
    @given(
        pairs=st.dictionaries(
            st.text(characters, min_size=1), st.text(characters, min_size=1), min_size=1
        )
    )
    def test_round_trip(
        self, pairs: dict[str, str], suffix: str, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        catalogue = polib.POFile(wrapwidth=40)
        catalogue.metadata = {"Content-Type": "text/plain; charset=UTF-8"}
        for source, target in pairs.items():
            catalogue.append(polib.POEntry(msgid=source, msgstr=target))
        path = write(tmp_path_factory.getbasetemp(), f"a.po{suffix}", str(catalogue))
        found = [(pair.source, pair.target) for pair in read(path, None, None)]
        assert found == list(pairs.items())

    def test_the_line_is_the_entry_s(self, tmp_path: Path) -> None:
        path = po(tmp_path, 'msgid "a"\nmsgstr "b"\n\n#: x.c\nmsgid ""\n"c "\n"d"\nmsgstr "e"\n')
        assert read(path, None, None)[0].line == 4
        assert read(path, None, None)[1][:2] == ("c d", "e")

    def test_lines_count_from_one_without_a_header(self, tmp_path: Path) -> None:
        """A filter would drop the first entry if that had a line 0."""
        path = write(tmp_path, "a.po", 'msgid "a"\nmsgstr "b"\n\nmsgid "c"\nmsgstr "d"\n')
        assert [pair.line for pair in read(path, None, None)] == [1, 4]

    def test_fuzzy_obsolete_and_untranslated_entries_are_passed_over(self, tmp_path: Path) -> None:
        text = (
            '#, fuzzy\nmsgid "a"\nmsgstr "A"\n\nmsgid "b"\nmsgstr ""\n\n'
            'msgid "c"\nmsgstr "C"\n\n#~ msgid "d"\n#~ msgstr "D"\n'
        )
        assert [pair[:2] for pair in read(po(tmp_path, text), None, None)] == [("c", "C")]

    def test_plural_forms(self, tmp_path: Path) -> None:
        entry = 'msgid "%d file"\nmsgid_plural "%d files"\n'
        two = po(tmp_path, entry + 'msgstr[0] "%d Datei"\nmsgstr[1] "%d Dateien"\n')
        assert [pair[:2] for pair in read(two, None, None)] == [
            ("%d file", "%d Datei"),
            ("%d files", "%d Dateien"),
        ]
        one = po(tmp_path, entry + 'msgstr[0] "파일 %d개"\n')
        assert [pair[:2] for pair in read(one, None, None)] == [("%d files", "파일 %d개")]
        half = po(tmp_path, entry + 'msgstr[0] "%d Datei"\nmsgstr[1] ""\n')
        assert "no translated entries" in fails(half, None, None)

    def test_u2028_inside_a_message_ends_nothing(self, tmp_path: Path) -> None:
        path = po(tmp_path, 'msgid "a\u2028b"\nmsgstr "c\x85d"\n')
        assert read(path, None, None)[0][:2] == ("a\u2028b", "c\x85d")

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ('msgid "a"\nmsgstr "b"\nnonsense\n', ":6: not the syntax of a gettext catalogue"),
            ('msgid "a"\nmsgstr "b\n', ":5: a string has no end"),
            ('  msgid "a"\n  msgstr "b\n', ":5: a string has no end"),
            ('msgid "a"\nmsgstr ""\n', ": no translated entries; give a catalogue"),
            (
                '#, fuzzy\nmsgid "a"\nmsgstr "b"\n',
                ": no translated entries that are reviewed; those marked fuzzy (1) are",
            ),
            ('msgid "a"\nmsgid_plural "b"\n', ":4: the entry is not one msgid with its msgstr"),
        ],
    )
    def test_bad_catalogues(self, tmp_path: Path, text: str, problem: str) -> None:
        assert fails(po(tmp_path, text), None, None).startswith(problem)


def test_a_message_names_the_first_of_many_columns_keys_and_languages(tmp_path: Path) -> None:
    names = [f"x{number}" for number in range(5000)]
    tsv = write(tmp_path, "a.tsv", "\t".join([*names, "y" * 100_000]) + "\n")
    jsonl = write(tmp_path, "a.jsonl", json.dumps(dict.fromkeys(names, "")) + "\n")
    unit = "".join(f'<tuv xml:lang="{name}"><seg/></tuv>' for name in names)
    memory = write(tmp_path, "a.tmx", f"<tmx><body><tu>{unit}</tu></body></tmx>")
    for path in (tsv, jsonl, memory):
        message = fails(path)
        assert "and 4,98" in message
        assert len(message) < 4000
