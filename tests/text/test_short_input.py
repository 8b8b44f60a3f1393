"""Transforms that make short examples of whole sentences."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError, DataError
from dragoman.text.corpora.corpus import evaluation_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Example, Origin
from dragoman.text.normalization import normalize
from dragoman.text.public_corpora import from_folder
from dragoman.text.transforms.short_input import PassThroughConfig, SegmentConfig

SOURCE, TARGET = "A red house", "Ein rotes Haus"


def example(source: str = SOURCE, target: str = TARGET) -> Example:
    return Example(source, target, "en", "de", ("<ui>",), Origin("part", 1))


@pytest.fixture
def segments(tmp_path: Path) -> Path:
    path = tmp_path / "segments.tsv"
    path.write_text("source\ttarget\nred\trotes\nhouse\tHaus\nhouse\tGebäude\n", encoding="utf-8")
    return path


def test_a_share_of_pairs_becomes_one_of_their_segments(segments: Path) -> None:
    transform = SegmentConfig(segments=str(segments), share=0.5)
    made = Counter(transform(example(), Random(seed))[:2] for seed in range(400))
    assert made.keys() == {(SOURCE, TARGET), ("red", "rotes"), ("house", "Haus")}
    assert 150 < made[SOURCE, TARGET] < 250
    assert 60 < made["red", "rotes"] < 140
    assert transform(example(), Random(3)) == transform(example(), Random(3))
    always = SegmentConfig(segments=str(segments), share=1)
    assert always(example(), Random(1)).tags == ("<ui>",)
    assert always(example("A cat", "Eine Katze"), Random(1))[:2] == ("A cat", "Eine Katze")
    assert transform.is_random and always.is_random and always.uses_target


def test_the_file_is_read_anew_when_it_changes(segments: Path) -> None:
    transform = SegmentConfig(segments=str(segments), share=1)
    assert transform(example(), Random(1)).source in {"red", "house"}
    segments.write_text("source\ttarget\nA red\tEin rotes\n", encoding="utf-8")
    assert transform(example(), Random(1)).source == "A red"
    segments.unlink()
    with pytest.raises(DataError, match=r"segments\.tsv"):
        transform(example(), Random(1))


def test_its_content_counts_and_not_its_place(segments: Path) -> None:
    transform = SegmentConfig(segments=str(segments))
    assert transform.files() == [segments]
    assert "segments" not in transform.text_settings()
    values = {"path": "train.tsv", "transforms": [{"kind": "segment", "segments": "s.tsv"}, 7]}
    moved = from_folder(Path("/somewhere")).of(CorpusPart, values)
    assert moved["transforms"] == [{"kind": "segment", "segments": "/somewhere/s.tsv"}, 7]


@given(st.integers(0, 2**32))
def test_what_is_copied_is_one_short_word_without_small_letters(seed: int) -> None:
    transform = PassThroughConfig(share=1)
    made = transform(example(), Random(seed))
    assert made.source == made.target == normalize(made.source)
    assert len(made.source.split()) == 1 and len(made.source) <= 11
    assert any(sign.isdigit() for sign in made.source) and made.source == made.source.upper()
    assert made.tags == ("<ui>",)
    assert made == transform(example(), Random(seed))


def test_all_kinds_are_made_and_the_share_is_kept() -> None:
    made = {PassThroughConfig(share=1)(example(), Random(seed)).source for seed in range(300)}
    assert len(made) > 200
    for sign in ":.-A":
        assert any(sign in one for one in made), sign
    few = PassThroughConfig(share=0.25)
    changed = sum(few(example(), Random(seed)).source != SOURCE for seed in range(400))
    assert 60 < changed < 140


def test_a_test_set_of_numbers_is_always_the_same(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("en\tde\n" + "one\teins\n" * 9, encoding="utf-8")
    values: dict[str, Any] = {"path": str(tmp_path / "t.tsv"), "source": "en", "target": "de"}
    values["transforms"] = [{"kind": "pass_through", "share": 1}]
    part = parse(CorpusPart, values, "f")
    assert list(evaluation_pairs(part)) == list(evaluation_pairs(part))
    assert len({pair.source for pair in evaluation_pairs(part)}) > 5


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "segment"},
        {"kind": "segment", "segments": "s.tsv", "share": 0},
        {"kind": "pass_through", "share": 1.5},
        {"kind": "pass_through", "patterns": []},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"transforms\.0"):
        parse(
            CorpusPart,
            {"path": "a.tsv", "source": "en", "target": "de", "transforms": [wrong]},
            "f",
        )
