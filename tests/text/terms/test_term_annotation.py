"""Sources with annotated terms, in training and in use."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.config import parse
from dragoman.core.errors import DataError
from dragoman.text.corpora.corpus import evaluation_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Direction, Example, Origin
from dragoman.text.normalization import normalize
from dragoman.text.public_corpora import from_folder
from dragoman.text.tags import TAG
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.term_annotation import TermAnnotator, annotated, annotation_tags
from dragoman.text.transforms import TransformConfig
from dragoman.text.transforms.term_annotating import (
    AnnotateTermsConfig,
    WithTermsConfig,
    term_annotation,
)

GLOSSARY = Glossary.of(
    {"device": ("Gerät", "Geräts"), "access point": "Zugangspunkt", "網": "Netz"}
)


@pytest.fixture
def glossary(tmp_path: Path) -> str:
    path = tmp_path / "terms.tsv"
    path.write_text("device\tGerät|Geräts\naccess point\tZugangspunkt\n", encoding="utf-8")
    return str(path)


def example(source: str, target: str) -> Example:
    return Example(source, target, "en", "de", ("<ui>",), Origin("part", 3))


def test_translations_are_written_next_to_terms_or_in_their_place() -> None:
    line = "Remove the Device, not the access point."
    matches = GLOSSARY.matches(line)
    assert annotated(line, matches, "append") == (
        "Remove the <term> Device <as> Gerät </term> , not the "
        "<term> access point <as> Zugangspunkt </term> ."
    )
    assert annotated(line, matches, "replace") == (
        "Remove the <term> Gerät </term> , not the <term> Zugangspunkt </term> ."
    )
    assert annotated("nothing", [], "append") == "nothing"


@given(
    st.lists(st.sampled_from(["device", "access", "point", "網", "x", ",", "{a}"])).map(" ".join)
)
def test_without_its_annotations_a_source_is_what_it_was(line: str) -> None:
    found = annotated(line, GLOSSARY.matches(line), "append").split()
    words, inside = [], False
    for word in found:
        inside = word == "<as>" or (inside and word != "</term>")
        if not inside and word not in {"<term>", "</term>"}:
            words.append(word)
    assert words == line.split()
    tags = [word for word in found if TAG.fullmatch(word) and word != "{a}"]
    assert set(tags) <= set(annotation_tags("append"))


def test_only_terms_whose_translation_the_target_has_are_annotated(glossary: str) -> None:
    transform = AnnotateTermsConfig(glossary=glossary, share=1.0)
    both = transform(example("the device of the device", "des Geräts"), Random(0))
    assert both.source.count("<term>") == 1, "one word counts for one term"
    assert "<as> Gerät </term>" in both.source, "the first form, so that a model learns to inflect"
    assert both.target == "des Geräts" and both.tags == ("<ui>",)
    unused = example("the access point", "der Hotspot")
    assert transform(unused, Random(0)) == unused
    assert not transform.is_random
    assert list(transform.symbols(Direction(source_language="en", target_language="de"))) == [
        "<term>",
        "<as>",
        "</term>",
    ]


def test_lines_of_a_test_set_are_annotated_where_their_terms_are(
    glossary: str, tmp_path: Path
) -> None:
    (tmp_path / "a.tsv").write_text("en\tde\n Open  the device\tdas Gera\u0308t\n", "utf-8")
    values: dict[str, Any] = {"path": "a.tsv", "source": "en", "target": "de"}
    values["transforms"] = [{"kind": "terms", "glossary": "terms.tsv", "share": 1}]
    part = parse(CorpusPart, from_folder(tmp_path).of(CorpusPart, values), "f")
    (pair,) = evaluation_pairs(part)
    assert pair.source == "Open the <term> device <as> Gerät </term>"


def test_a_share_of_the_examples_is_annotated(glossary: str) -> None:
    transform = AnnotateTermsConfig(glossary=glossary, share=0.3)
    assert transform.is_random
    line, rng = example("a device", "ein Gerät"), Random(1)
    share = sum("<term>" in transform(line, rng).source for _ in range(2000)) / 2000
    assert 0.25 < share < 0.35


def test_a_share_of_the_terms_is_annotated(glossary: str) -> None:
    transform = AnnotateTermsConfig(glossary=glossary, share=1.0, term_share=0.3)
    assert transform.is_random, "other terms in each epoch"
    line, rng = example("a device, an access point", "ein Gerät, ein Zugangspunkt"), Random(1)
    sources = [transform(line, rng).source for _ in range(2000)]
    for term in ("device", "access point"):
        share = sum(f"<term> {term} <as>" in source for source in sources) / 2000
        assert 0.25 < share < 0.35
    both = sum(source.count("<term>") == 2 for source in sources) / 2000
    assert 0.06 < both < 0.12, "each is drawn by itself"


def test_pairs_that_disagree_with_a_glossary_are_left_out(glossary: str, tmp_path: Path) -> None:
    keep = WithTermsConfig(glossary=glossary)
    agrees = example("a device", "ein Gerät")
    assert keep(agrees, Random(0)) is agrees
    assert keep(example("a device", "ein Apparat"), Random(0)) is None
    assert keep(example("device and access point", "Gerät und Hotspot"), Random(0)) is None
    assert keep(example("a door", "eine Tür"), Random(0)) is None
    (tmp_path / "a.tsv").write_text("en\tde\na device\tein Gerät\na door\teine Tür\n", "utf-8")
    values: dict[str, Any] = {"path": "a.tsv", "source": "en", "target": "de"}
    values["transforms"] = [{"kind": "with_terms", "glossary": "terms.tsv"}]
    part = parse(CorpusPart, from_folder(tmp_path).of(CorpusPart, values), "f")
    assert [pair.source for pair in evaluation_pairs(part)] == ["a device"]
    assert part.inputs() == [tmp_path / "a.tsv", tmp_path / "terms.tsv"]


def test_a_glossary_is_read_again_when_it_changes(glossary: str) -> None:
    transform = AnnotateTermsConfig(glossary=glossary, share=1.0)
    line = example("a device", "ein Apparat")
    assert transform(line, Random(0)) == line
    Path(glossary).write_text("device\tApparat, elektrisch|Apparat\n", encoding="utf-8")
    assert "<term>" in transform(line, Random(0)).source
    Path(glossary).unlink()
    with pytest.raises(DataError, match=r"terms\.tsv"):
        transform(line, Random(0))


def test_what_is_stored_depends_on_the_content_of_a_glossary_and_not_its_place() -> None:
    one, other = AnnotateTermsConfig(glossary="a.tsv"), AnnotateTermsConfig(glossary="b.tsv")
    assert one.text_settings() == other.text_settings()
    assert (
        one.text_settings()
        != AnnotateTermsConfig(glossary="a.tsv", method="replace").text_settings()
    )
    direction = Direction(source_language="en", target_language="de")
    kept = WithTermsConfig(glossary="a.tsv")
    both: list[TransformConfig] = [one, kept]
    assert [transform.reversed(direction) for transform in both] == [None, None]
    assert kept.can_drop
    assert kept.text_settings() == {"kind": "with_terms"}


def test_what_annotates_terms_says_how() -> None:
    assert term_annotation([WithTermsConfig(glossary="a")]) is None
    assert (
        term_annotation([WithTermsConfig(glossary="a"), AnnotateTermsConfig(glossary="a")])
        == "append"
    )
    assert term_annotation([AnnotateTermsConfig(glossary="a", method="replace")]) == "replace"


def test_lines_to_translate_are_annotated_wherever_a_term_is() -> None:
    annotate = TermAnnotator(GLOSSARY, "append")
    assert annotate("the  device") == "the <term> device <as> Gerät </term>"
    assert annotate("網と網") == normalize(
        "<term> 網 <as> Netz </term> と <term> 網 <as> Netz </term>"
    )
    assert annotate("") == ""
    assert annotate("<device> a <device-x> device") == (
        "<device> a <device-x> <term> device <as> Gerät </term>"
    ), "tags in front of a line are for the model"
    counts = [annotate.counted(line)[1] for line in ("the  device", "網と網", "")]
    assert counts == [1, 2, 0]
