"""Transforms: what each does to an example, and which go together."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.text.corpora.cleaning import (
    CleaningConfig,
    CleaningReport,
    clean_part,
    held_out_keys,
    normalize,
)
from dragoman.text.corpora.corpus import evaluation_pairs, kept_pairs, part_labels
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Direction, Example, Origin
from dragoman.text.formats import Pair
from dragoman.text.transforms.casing import CaseConfig
from dragoman.text.transforms.filtering import FilterConfig
from dragoman.text.transforms.masking import NoiseConfig
from dragoman.text.transforms.sources import CopyConfig, DummySourceConfig
from dragoman.text.transforms.tagging import TagConfig

text = st.text(max_size=60).map(normalize)
seeds = st.integers(0, 2**32)


def example(source: str = "a b c", target: str = "x y", line: int = 1) -> Example:
    return Example(source, target, "en", "de", (), Origin("part", line))


def part(**values: Any) -> CorpusPart:
    return parse(CorpusPart, {"path": "train.tsv", "source": "en", "target": "de", **values}, "f")


@given(
    source=text,
    seed=seeds,
    drop=st.floats(0, 0.9),
    mask=st.floats(0, 1),
    window=st.integers(0, 4),
)
def test_noise_keeps_words_near_their_places(
    source: str, seed: int, drop: float, mask: float, window: int
) -> None:
    numbered = " ".join(f"{number}:{word}" for number, word in enumerate(source.split()))
    noise = NoiseConfig(drop=drop, mask=mask, window=window or 1)
    (shuffled, *others) = noise(example(numbered), Random(seed))
    assert others == list(example(numbered)[1:])
    words = shuffled.split()
    masked = words.count("<mask>")
    assert not Counter(word for word in words if word != "<mask>") - Counter(numbered.split())
    assert bool(words) == bool(source)
    assert noise(example(numbered), Random(seed)).source == shuffled
    assert normalize(shuffled) == shuffled
    if mask == 0:
        assert masked == 0
    if drop == 0:
        assert len(words) == len(numbered.split())
        for place, word in enumerate(words):
            if word != "<mask>":
                assert abs(int(word.partition(":")[0]) - place) <= (window or 1)


def test_noise_does_what_its_rates_say() -> None:
    long = " ".join(map(str, range(10_000)))
    dropped = NoiseConfig(drop=0.3, window=0)(example(long), Random(1)).source.split()
    assert len(dropped) == pytest.approx(7000, rel=0.03)
    assert dropped == sorted(dropped, key=int)
    masked = NoiseConfig(drop=0, mask=0.2, window=0)(example(long), Random(1)).source.split()
    assert masked.count("<mask>") == pytest.approx(2000, rel=0.06)
    moved = NoiseConfig(drop=0, window=3)(example(long), Random(1)).source.split()
    distances = Counter(abs(int(word) - place) for place, word in enumerate(moved))
    assert set(distances) == {0, 1, 2, 3}


def test_a_share_is_drawn() -> None:
    rng = Random(1)
    ui = TagConfig(tags=("<ui>",), share=0.25)
    tagged = [ui(example(), rng).tags for _ in range(4000)]
    assert tagged.count(("<ui>",)) == pytest.approx(1000, rel=0.1)
    assert ui.is_random
    assert not TagConfig(tags=("<ui>",)).is_random


def test_tags_stand_in_the_order_of_the_transforms() -> None:
    tagged = TagConfig()(example()._replace(tags=("<ui>",)), Random(1))
    assert tagged.tagged_source == "<ui> <2de> a b c"


def test_text_without_source_gets_one() -> None:
    alone = example("")
    copied = CopyConfig()(alone, Random(1))
    assert (copied.source, copied.source_language) == ("x y", "de")
    assert DummySourceConfig()(alone, Random(1)).tagged_source == "<null>"


@given(text, text, st.sampled_from(["lower", "upper", "title"]))
def test_case_changes_letters_alone_and_leaves_text_normalized(
    source: str, target: str, to: Any
) -> None:
    for sides in ("source", "target", "both"):
        made = CaseConfig(to=to, sides=sides)(example(source, target), Random(1))
        for side, before, after in zip(
            ("source", "target"), (source, target), made[:2], strict=True
        ):
            assert normalize(after) == after
            if sides in {side, "both"}:
                assert after.casefold() == normalize(before).casefold() or not before.isascii()
            else:
                assert after == before


def test_case_in_words() -> None:
    cased = [CaseConfig(to=to)(example("don't PANIC"), Random(1)).source for to in _CASES]
    assert cased == ["don't panic", "DON'T PANIC", "Don't PANIC"]


def test_tags_within_a_text_keep_their_case() -> None:
    """The vocabulary knows them as they are."""
    line = "press<t1> ok</t1> or <MASK> x<x1> now"
    upper, lower, title = (
        CaseConfig(to=to, sides="both")(example(line, line), Random(1))
        for to in ("upper", "lower", "title")
    )
    assert upper.source == upper.target == "PRESS<t1> OK</t1> OR <MASK> X<x1> NOW"
    assert lower.source == line
    assert title.target == "Press<t1> Ok</t1> Or <MASK> X<x1> Now"


def test_letters_that_come_apart_are_composed_again() -> None:
    apart = "\u0390".upper()
    assert len(apart) == 3
    assert CaseConfig(to="upper")(example("\u0390"), Random(1)).source == normalize(apart) != apart


_CASES: tuple[Any, ...] = ("lower", "upper", "title")


@pytest.mark.parametrize(
    ("bounds", "kept"),
    [
        ({"first_line": 3}, [3, 4]),
        ({"last_line": 2}, [1, 2]),
        ({"min_words": 2}, [2, 3, 4]),
        ({"max_words": 2}, [1, 2]),
        ({"every": 3}, [1, 4]),
        ({"every": 2, "first_line": 2}, [2, 4]),
        ({"every": 2, "last_line": 2}, [1]),
    ],
)
def test_filters(bounds: dict[str, int], kept: list[int]) -> None:
    rows = [example("a " * line, "b " * line, line) for line in range(1, 5)]
    keep = FilterConfig(**bounds)
    assert [row.line for row in rows if keep(row, Random(1)) is not None] == kept


def test_a_filter_without_every_prepares_the_text_of_earlier_releases() -> None:
    known = {"kind", "first_line", "last_line", "min_words", "max_words"}
    assert FilterConfig(last_line=2).text_settings().keys() == known
    assert FilterConfig(every=2).text_settings().keys() == known | {"every"}


def test_a_transform_of_all_epochs_prepares_the_text_of_earlier_releases() -> None:
    assert CaseConfig(to="lower").text_settings().keys() == {"kind", "to", "sides", "share"}
    assert not CaseConfig(to="lower").is_random
    assert CaseConfig(to="lower", from_epoch=1).is_random


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"transforms": [{"kind": "noize"}]}, r"transforms\.0\.kind.*did you mean 'noise'"),
        ({"transforms": [{"kind": "tag", "tag": "<x>"}]}, r"did you mean 'tags'"),
        ({"transforms": [{"kind": "tag", "tags": ["x"]}]}, r"a tag looks like <2de>"),
        ({"tags": ["<s>"]}, r"not one of sentencepiece's: '<s>'"),
        ({"transforms": [{"kind": "copy"}]}, r"copy makes a source, and there is one"),
        ({"source": None, "transforms": [{"kind": "noise"}]}, r"noise changes a source"),
        ({"source": None, "tags": ["<ui>"]}, r"tags go in front of a source"),
        (
            {"transforms": [{"kind": "noise"}, {"kind": "filter", "max_words": 9}]},
            r"filter comes after one that draws",
        ),
        (
            {"alignments": "links.txt", "transforms": [{"kind": "tag"}]},
            r"alignments count the words of the original text",
        ),
        ({"transforms": [{"kind": "filter"}]}, r"without bounds keeps everything"),
        (
            {"transforms": [{"kind": "filter", "first_line": 3, "last_line": 2}]},
            r"last_line 2 is before first_line 3",
        ),
        (
            {"transforms": [{"kind": "noise", "drop": 0, "window": 0}]},
            r"changes nothing",
        ),
        (
            {"transforms": [{"kind": "noise", "mask_symbol": "<m>"}]},
            r"mask_symbol: <m> is not read with mask: 0",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(values: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        part(**values)


class TestAPart:
    def test_runs_once_what_comes_before_the_first_that_draws(self) -> None:
        kinds = ["case", "tag", "noise", "case"]
        values = [{"kind": kind} | ({"to": "lower"} if kind == "case" else {}) for kind in kinds]
        one = part(transforms=values)
        assert [t.kind for t in one.prepared_transforms] == ["case", "tag"]
        assert [t.kind for t in one.epoch_transforms] == ["noise", "case"]

    def test_says_what_its_examples_are(self) -> None:
        noise = {"kind": "noise", "mask": 0.1}
        one = part(tags=["<ui>"], transforms=[{"kind": "tag"}, noise]).resolved("en", "de")
        assert one.direction == Direction(
            source_language="en", target_language="de", tags=("<ui>", "<2de>")
        )
        assert list(one.symbols()) == ["<ui>", "<2de>", "<mask>"]
        late = part(transforms=[noise, {"kind": "tag"}]).resolved("en", "de")
        assert late.prepared_direction.tags == ()
        assert late.direction.tags == ("<2de>",)

    def test_as_a_dev_set_draws_nothing_that_scores_would_depend_on(self) -> None:
        """A tag of a share is in front of all, and what may be drawn once for each line is."""
        values = [
            {"kind": "case", "to": "lower"},
            {"kind": "pass_through"},
            {"kind": "noise"},
            {"kind": "case", "to": "upper", "share": 0.5},
            {"kind": "tag", "tags": ["<ui>"], "share": 0.5},
        ]
        found = part(transforms=values).for_sets()
        assert [one.kind for one in found.transforms] == ["case", "pass_through", "tag"]
        assert all(one.is_for_sets for one in found.transforms)
        assert found.resolved("en", "de").direction.tags == ("<ui>",)
        assert found.for_sets() == found

    def test_its_own_languages_come_first(self) -> None:
        one = part(target_language="fr").resolved("en", "de")
        assert (one.source_language, one.target_language) == ("en", "fr")

    def test_examples_are_what_cleaning_and_transforms_leave(self, tmp_path: Path) -> None:
        (tmp_path / "a.tsv").write_text("en\tde\nA b\tX\n\tX\nC\tY Z\n", encoding="utf-8")
        one = part(
            path=str(tmp_path / "a.tsv"),
            transforms=[
                {"kind": "filter", "max_words": 1},
                {"kind": "case", "to": "lower"},
                {"kind": "tag"},
            ],
            target_language="fr",
        )
        (tmp_path / "a.tsv").write_text("en\tde\nA b\tX\n\tX\nC\tY\n", encoding="utf-8")
        report = CleaningReport()
        (found,) = clean_part(one, CleaningConfig(), report)
        assert found.tagged_source == "<2fr> c"
        assert (found.target, found.source_language, found.target_language) == ("Y", "source", "fr")
        assert found.origin == Origin(one.name, 4)
        of_part = report.parts[one.name]
        assert (of_part.read, of_part.kept) == (3, 1)
        assert of_part.dropped["filtered"].lines == [2]
        assert list(evaluation_pairs(one)) == [Pair("<2fr> c", "Y", 4)]

    def test_lines_outside_a_filter_are_neither_duplicates_nor_held_out(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "a.tsv").write_text("en\tde\nA\tX\nB\tY\nA\tX\nB\tZ\n", encoding="utf-8")
        path, report = str(tmp_path / "a.tsv"), CleaningReport()
        late = part(path=path, transforms=[{"kind": "filter", "first_line": 4}])
        found = clean_part(
            late, CleaningConfig(), report, held_out=held_out_keys([Pair("B", "Y", 1)])
        )
        assert [one.line for one in found] == [4]
        assert {why: found.lines for why, found in report.parts[late.name].dropped.items()} == {
            "filtered": [2, 3],
            "held out": [5],
        }
        assert (report.read, report.kept) == (4, 1)

    def test_kept_pairs_are_unchanged_and_within_its_filters(self, tmp_path: Path) -> None:
        (tmp_path / "a.tsv").write_text("en\tde\nA  b\tX\n\tX\nC\tY\nD\tZ\n", encoding="utf-8")
        one = part(
            path=str(tmp_path / "a.tsv"),
            transforms=[{"kind": "case", "to": "lower"}, {"kind": "filter", "last_line": 4}],
        )
        assert list(kept_pairs(one)) == [Pair("A  b", "X", 2), Pair("", "X", 3), Pair("C", "Y", 4)]

    def test_has_a_label_of_its_own(self) -> None:
        both = [part().resolved("en", to) for to in ("de", "fr")]
        assert part_labels([*both, part(path="b.tsv")]) == [
            "train.tsv en-de",
            "train.tsv en-fr",
            "b.tsv",
        ]
        assert part_labels([both[0], both[0]]) == ["train.tsv en-de (1)", "train.tsv en-de (2)"]


def test_cutting_off_a_source_changes_no_text() -> None:
    """So a corpus that is prepared with one setting serves the other, as in older releases."""
    plain, cut_off = DummySourceConfig(), DummySourceConfig(cut_off=True)
    assert plain.text_settings() == cut_off.text_settings()
    assert plain.text_settings() == {"kind": "dummy_source", "symbol": "<null>"}
    assert not plain.cuts_off_source
    assert cut_off.cuts_off_source
    assert not cut_off.zeroes_source
    zero = DummySourceConfig(cut_off="zero")
    assert zero.text_settings() == plain.text_settings()
    assert zero.cuts_off_source and zero.zeroes_source
    assert cut_off(example(), Random(0)) == plain(example(), Random(0))
    mono = {"path": None, "source": None, "target": "a.de"}
    assert part(**mono, transforms=[{"kind": "dummy_source", "cut_off": True}]).cuts_off_source
    assert not part(**mono, transforms=[{"kind": "copy"}]).cuts_off_source


def test_a_part_whose_sides_are_exchanged_keeps_its_transforms() -> None:
    """What changed the source changes the target then, and a language's tag names the other."""
    direction = Direction(source_language="en", target_language="de")
    tag = TagConfig(tags=("<ui>", "<2de>")).reversed(direction)
    assert tag.tags == ("<ui>", "<2en>")
    assert CaseConfig(to="lower", sides="source").reversed(direction).sides == "target"
    drawn = CaseConfig(to="lower", sides="source", share=0.5)  # noise of what the model reads
    assert drawn.reversed(direction) == drawn
    noise = NoiseConfig(drop=0.1)
    assert noise.reversed(direction) == noise
