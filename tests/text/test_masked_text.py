"""Masked spans (BART) and fragments (MASS) against the definitions of their papers."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.text.corpora.corpus import evaluation_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Example, Origin
from dragoman.text.formats import Pair
from dragoman.text.normalization import normalize
from dragoman.text.transforms.masking import MaskFragmentConfig, MaskSpansConfig

Unit = Literal["words", "characters"]

seeds = st.integers(0, 2**32)
units = st.sampled_from(("words", "characters"))
shares = st.floats(0.01, 1)
# Without the form of a mask, which could not be told from ours.
text = st.text(st.characters(exclude_characters="<>"), max_size=40).map(normalize)


def example(sentence: str) -> Example:
    return Example(sentence, sentence, "de", "de", (), Origin("part", 1))


def numbered(words: int) -> str:
    return " ".join(map(str, range(words)))


@settings(max_examples=50, deadline=None)
@given(sentence=text, seed=seeds, unit=units, masked=shares, mean=st.floats(0.5, 6))
def test_spans_hide_parts_of_the_source_alone(
    sentence: str, seed: int, unit: Unit, masked: float, mean: float
) -> None:
    hide = MaskSpansConfig(masked=masked, mean_length=mean, unit=unit)
    made = hide(example(sentence), Random(seed))
    assert made[1:] == example(sentence)[1:]
    assert made == hide(example(sentence), Random(seed))
    assert normalize(made.source) == made.source
    assert bool(made.source) == bool(sentence)
    rest = made.source
    for piece in made.source.split("<mask>"):  # what is left is in its old order
        assert piece.strip() in sentence
    kept = "".join(rest.replace("<mask>", "").split())
    whole = "".join(sentence.split())
    count = len(sentence.split()) if unit == "words" else len(whole)
    if unit == "words":
        left = sum(word != "<mask>" for word in made.source.split())
        assert left in {count - math.floor(masked * count), count - math.floor(masked * count) - 1}
    found = iter(whole)
    assert all(letter in found for letter in kept)


@settings(max_examples=50, deadline=None)
@given(sentence=text, seed=seeds, unit=units, masked=shares)
def test_a_fragment_and_its_place_make_the_sentence(
    sentence: str, seed: int, unit: Unit, masked: float
) -> None:
    """The target is exactly what the masks stand for (Song et al. 2019, equation 1)."""
    hide = MaskFragmentConfig(masked=masked, unit=unit)
    made = hide(example(sentence), Random(seed))
    assert made == hide(example(sentence), Random(seed))
    assert normalize(made.source) == made.source
    assert normalize(made.target) == made.target
    if not sentence:
        assert made == example(sentence)
        return
    before, _, rest = made.source.partition("<mask>")
    after = rest.rpartition("<mask>")[2]
    masks = made.source.count("<mask>")
    assert "".join((before + made.target + after).split()) == "".join(sentence.split())
    if unit == "words":
        words = sentence.split()
        exact = masked * len(words)
        assert masks == len(made.target.split())
        assert masks in {max(1, math.floor(exact)), max(1, math.ceil(exact))}
        assert [*before.split(), *made.target.split(), *after.split()] == words


def test_the_share_is_the_papers() -> None:
    """30 % of the words, by spans of which some are inserted masks."""
    hide, rng = MaskSpansConfig(), Random(1)
    for _ in range(50):
        masked = hide(example(numbered(40)), rng).source.split()
        assert sum(word != "<mask>" for word in masked) == 40 - 12


@pytest.mark.parametrize(("words", "masked"), [(3, 0.5), (5, 0.5), (7, 0.3)])
def test_a_share_that_is_no_whole_number_is_rounded_at_random(words: int, masked: float) -> None:
    hide, rng = MaskFragmentConfig(masked=masked), Random(2)
    found = [len(hide(example(numbered(words)), rng).target.split()) for _ in range(2000)]
    assert sum(found) / 2000 == pytest.approx(masked * words, abs=0.05)


def test_a_mask_of_length_0_hides_nothing() -> None:
    """Between two words that were neighbours."""
    hide, rng, inserted = MaskSpansConfig(), Random(1), 0
    for _ in range(300):
        masked = hide(example(numbered(40)), rng).source
        inserted += any(f"{word} <mask> {word + 1}" in masked for word in range(39))
    # P(0) = 0.05, and about four spans a sentence.
    assert 0.1 < inserted / 300 < 0.4


def test_lengths_follow_poissons_law() -> None:
    """Those of one long sentence, of which only one is cut."""
    hide = MaskSpansConfig(masked=1.0)
    lengths = Counter(hide._lengths(40_000, Random(2)))
    spans = sum(lengths.values())
    assert sum(length * times for length, times in lengths.items()) == 40_000
    for length in range(8):
        expected = math.exp(-3) * 3**length / math.factorial(length)
        assert lengths[length] / spans == pytest.approx(expected, abs=0.01)


def test_the_span_that_is_cut_may_be_any() -> None:
    """Otherwise the end of a sentence would have shorter ones."""
    hide, rng = MaskSpansConfig(masked=1.0), Random(3)
    drawn = [hide._lengths(5, rng) for _ in range(3000)]
    first, last = (sum(lengths[end] for lengths in drawn) / 3000 for end in (0, -1))
    assert first == pytest.approx(last, abs=0.15)


def test_short_sentences_are_masked_as_often_on_average() -> None:
    hide, rng = MaskSpansConfig(masked=0.3), Random(3)
    hidden = sum(hide(example("word"), rng).source.count("word") == 0 for _ in range(4000))
    assert hidden / 4000 == pytest.approx(0.3, abs=0.025)


def test_places_favour_neither_end() -> None:
    """As spans do not wrap round, both ends are hidden less often than what is between them."""
    rng, places, starts = Random(4), Counter[str](), Counter[str]()
    for _ in range(3000):
        hidden = MaskSpansConfig()(example(numbered(10)), rng).source.split()
        places.update(set(numbered(10).split()) - set(hidden))
        starts[MaskFragmentConfig()(example(numbered(10)), rng).target.split()[0]] += 1
    for word in range(5):
        assert places[str(word)] / 3000 == pytest.approx(places[str(9 - word)] / 3000, abs=0.04)
    assert sum(places.values()) == 3000 * 3
    for word in range(6):  # a fragment of 5
        assert starts[str(word)] / 3000 == pytest.approx(1 / 6, abs=0.03)


def test_characters_of_text_without_spaces() -> None:
    rng = Random(5)
    sentence = "日本語の文 です"
    made = MaskFragmentConfig(unit="characters", masked=4 / 7)(example(sentence), rng)
    assert made.source.count("<mask>") == 4
    assert len(made.target.replace(" ", "")) == 4
    sources = {
        MaskFragmentConfig(unit="characters", masked=0.1)(example(sentence), rng).source
        for _ in range(100)
    }
    assert "日本語の文 <mask>す" in sources  # the space of a hidden character stays
    joined = "e\u0331"  # no composed form
    assert normalize(joined) == joined
    hide = MaskFragmentConfig(unit="characters", masked=0.1)
    targets = {hide(example(f"a{joined}"), rng).target for _ in range(40)}
    assert targets == {"a", joined}


def test_a_symbol_is_one_character() -> None:
    """Noise may have written it; a part of it would be learned as text."""
    hide, rng = MaskSpansConfig(unit="characters", masked=0.5), Random(7)
    for _ in range(50):
        made = hide(example("日<mask>本 <t1>語"), rng).source
        assert set(made.replace("<mask>", "").replace("<t1>", "")) <= set("日本語 "), made


def test_a_share_of_sentences_stays_whole() -> None:
    hide, rng = MaskSpansConfig(share=0.25, masked=1.0), Random(6)
    changed = sum(hide(example("a b c"), rng).source != "a b c" for _ in range(4000))
    assert changed / 4000 == pytest.approx(0.25, abs=0.03)


COPIED: list[dict[str, Any]] = [{"kind": "copy"}]


def mono(*transforms: dict[str, Any], file: str = "a.de") -> CorpusPart:
    return parse(CorpusPart, {"target": file, "transforms": list(transforms)}, "f")


@pytest.mark.parametrize(
    ("transforms", "problem"),
    [
        ([{"kind": "mask_spans"}], "mask_spans changes a source, and there is none yet"),
        ([{"kind": "mask_fragment"}], "mask_fragment masks text that is its own source; put copy"),
        (
            [*COPIED, {"kind": "noise"}, {"kind": "mask_fragment"}],
            "what noise did to it is lost; put noise after it",
        ),
        (
            [{"kind": "dummy_source"}, {"kind": "mask_spans"}],
            "mask_spans comes after dummy_source, which has no words",
        ),
        ([*COPIED, {"kind": "mask_spans", "masked": 0}], "masked: .*greater than 0"),
        ([*COPIED, {"kind": "mask_spans", "mask_symbol": "mask"}], "a tag looks like"),
        ([*COPIED, {"kind": "mask_fragment", "mean_length": 2}], "mean_length"),
        ([*COPIED, {"kind": "mask_spans", "unit": "pieces"}], "unit"),
    ],
)
def test_wrong_uses_are_refused(transforms: list[dict[str, Any]], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        mono(*transforms)


def test_a_fragment_of_a_translation_is_refused() -> None:
    values = {"path": "a.tsv", "source": "en", "target": "de"}
    with pytest.raises(ConfigError, match="mask_fragment masks text that is its own source"):
        parse(CorpusPart, {**values, "transforms": [{"kind": "mask_fragment"}]}, "f")


def test_the_vocabulary_needs_the_mask_and_text_remains_in_its_language() -> None:
    one = mono({"kind": "copy"}, {"kind": "mask_spans", "mask_symbol": "<gap>"})
    assert list(one.symbols()) == ["<gap>"]
    resolved = one.resolved("en", "de")
    assert resolved.direction.source_language == "de"
    assert [transform.kind for transform in resolved.epoch_transforms] == ["mask_spans"]


def test_a_dev_set_has_the_same_masks_each_time(tmp_path: Path) -> None:
    (tmp_path / "a.de").write_text("".join(f"{numbered(9)}\n" for _ in range(20)), "utf-8")
    one = mono({"kind": "copy"}, {"kind": "mask_spans"}, file=str(tmp_path / "a.de"))
    first = list(evaluation_pairs(one))
    assert list(evaluation_pairs(one)) == first
    assert len({pair.source for pair in first}) > 10
    assert first[0] == Pair(first[0].source, numbered(9), 1)
