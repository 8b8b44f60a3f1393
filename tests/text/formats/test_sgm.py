"""Test sets of WMT: SGM with a file for each side, and XML with all sides in one."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from command_line import CommandLine
from corpora_web import segments
from registered_sets import REFERENCES, SOURCES, wmt_xml

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError, DataError
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import FORMATS, Pair, format_of_two

TEXTS, TARGETS = (
    [line.replace("&amp;", "&") for line in side] for side in (SOURCES, REFERENCES[0])
)
EXPECTED = [Pair(*pair, number) for number, pair in enumerate(zip(TEXTS, TARGETS, strict=True), 1)]


@pytest.fixture
def sgm(tmp_path: Path) -> CorpusPart:
    source, target = tmp_path / "set-src.en.sgm", tmp_path / "set-ref.de.sgm.gz"
    source.write_bytes(b'<srcset setid="set" srclang="any">\n' + segments(*SOURCES))
    head = b'<refset setid="set" srclang="any" trglang="de">\n'
    target.write_bytes(gzip.compress(head + segments(*REFERENCES[0])))
    return CorpusPart(source=str(source), target=str(target))


def xml(folder: Path, content: str) -> CorpusPart:
    path = folder / "set.xml"
    path.write_text(content, encoding="utf-8")
    return CorpusPart(path=str(path), format="wmt-xml")


def test_two_files_of_segments(sgm: CorpusPart) -> None:
    assert sgm.has_source
    assert list(read_pairs(sgm)) == EXPECTED
    alone = CorpusPart(target=sgm.target)
    assert [pair[:2] for pair in read_pairs(alone)] == [("", target) for target in TARGETS]
    assert format_of_two(Path("train.de.gz")).name == "plain"


def test_a_segment_may_be_invalid_sgml_and_of_several_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.sgm"
    path.write_text('<DOC>\n<seg id=1>R&D is\n 3 < 4 </seg><SEG ID="2"></SEG></DOC>\n')
    found = read_pairs(CorpusPart(source=str(path), target=str(path)))
    assert list(found) == [Pair("R&D is 3 < 4", "R&D is 3 < 4", 1), Pair("", "", 2)]


def test_files_that_are_no_sets_or_of_other_sets(sgm: CorpusPart, tmp_path: Path) -> None:
    other = tmp_path / "other.sgm"
    other.write_bytes(segments("one"))
    with pytest.raises(DataError, match=r"set-src\.en\.sgm has 4 segments and .*other\.sgm has 1"):
        list(read_pairs(CorpusPart(source=sgm.source, target=str(other))))
    other.write_text("one\n")
    with pytest.raises(DataError, match=r"other\.sgm: no segments"):
        list(read_pairs(CorpusPart(source=sgm.source, target=str(other))))
    with pytest.raises(ConfigError, match="two plain or SGM files are given as source and target"):
        parse(CorpusPart, {"path": str(other)}, "run.yaml")


def test_a_file_with_source_and_references(tmp_path: Path) -> None:
    part = xml(tmp_path, wmt_xml("AB"))
    assert list(read_pairs(part)) == EXPECTED
    assert FORMATS["wmt-xml"].languages(Path(str(part.path))) == ("en", "de")


def test_segments_without_the_first_reference_have_the_next_and_without_any_none(
    tmp_path: Path,
) -> None:
    *same, last = EXPECTED
    part = xml(tmp_path, wmt_xml("AB", skip="A"))
    assert list(read_pairs(part)) == [*same, last._replace(target=REFERENCES[1][-1])]
    assert list(read_pairs(xml(tmp_path, wmt_xml("A", skip="A")))) == same


def test_documents_of_test_suites_are_left_out(tmp_path: Path) -> None:
    suite = xml(tmp_path, wmt_xml().replace("<doc ", '<doc testsuite="x" '))
    with pytest.raises(DataError, match=r"set\.xml: no segment of a source has a reference"):
        list(read_pairs(suite))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("<dataset><doc>", "not XML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><dataset><doc/></dataset>', "declares XML entities"),
    ],
)
def test_damaged_xml(tmp_path: Path, content: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        list(read_pairs(xml(tmp_path, content)))


def test_both_are_converted_with_the_languages_that_they_state(
    sgm: CorpusPart, tmp_path: Path, dragoman: CommandLine
) -> None:
    output = tmp_path / "out.tsv"
    assert dragoman("convert", str(sgm.source), str(sgm.target), output).code == 0
    lines = output.read_text(encoding="utf-8").splitlines()
    assert lines == ["en\tde", *("\t".join(pair[:2]) for pair in EXPECTED)]
    path, again = str(xml(tmp_path, wmt_xml()).path), tmp_path / "again.tsv"
    assert dragoman("convert", path, again, "--format", "wmt-xml").code == 0
    assert again.read_text(encoding="utf-8").splitlines() == lines
