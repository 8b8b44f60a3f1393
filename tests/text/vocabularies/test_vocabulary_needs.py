"""A vocabulary is extended where the text needs it, and by pieces that can be learned."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from dragoman.core.errors import DataError
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_needs import (
    LEAST_OCCURRENCES,
    VocabularyNeeds,
    vocabulary_needs,
)
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

ENGLISH = ["the", "light", "is", "on", "room", "door", "opens", "kitchen", "lights", "opened"]
GERMAN = ["das", "licht", "ist", "an", "raum", "tür", "öffnet", "küche", "lichter", "offen"]
RUSSIAN = ["свет", "включён", "комната", "дверь", "открыта", "кухня", "лампа", "сада", "дом", "на"]


def pairs(sources: list[str], targets: list[str], count: int) -> list[tuple[str, str]]:
    rng = Random(1)
    return [
        (" ".join(rng.choices(sources, k=6)), " ".join(rng.choices(targets, k=6)))
        for _ in range(count)
    ]


GENERAL = pairs(ENGLISH, GERMAN, 200)
PARENTS = {
    "bpe": train_vocabularies(GENERAL, VocabularyConfig(size=90), seed=1),
    "bytes": train_vocabularies(GENERAL, VocabularyConfig(size=350, byte_fallback=True), seed=1),
    "unigram": train_vocabularies(GENERAL, VocabularyConfig(size=45, kind="unigram"), seed=1),
    "two": train_vocabularies(GENERAL, VocabularyConfig(size=50, joint=False), seed=1),
}
every_kind = pytest.mark.parametrize("kind", PARENTS)


def needs_of(kind: str, text: list[tuple[str, str]], tags: tuple[str, ...] = ()) -> VocabularyNeeds:
    weighted = [(pair, 1.0) for pair in text]
    config = VocabularyConfig(tags=tags)
    general = [(pair, 1.0) for pair in GENERAL]
    return vocabulary_needs(PARENTS[kind], weighted, config, seed=1, general=general)


@every_kind
def test_more_of_the_same_language_needs_no_extension(kind: str) -> None:
    found = needs_of(kind, pairs(ENGLISH[::-1], GERMAN, 100))
    assert not found.pays
    for side in found.sides:
        assert side.lacking == side.lacking_lines == 0 and side.characters == ()
        assert side.general_fertility == pytest.approx(side.fertility, rel=0.1)


@every_kind
def test_another_script_needs_one_on_its_side(kind: str) -> None:
    found = needs_of(kind, pairs(ENGLISH, RUSSIAN, 100))
    source, target = found.sides
    assert found.pays and target.pays and not source.pays
    assert target.lacking == 1 and target.lacking_lines == 1
    assert set(target.characters) == set("".join(RUSSIAN))
    assert target.saved > 0.25 > source.saved
    assert target.are_bytes is (kind == "bytes")


@every_kind
def test_the_extension_spells_the_text_in_pieces_that_occur_often(kind: str) -> None:
    text = pairs(ENGLISH, RUSSIAN, 100)
    found = needs_of(kind, text)
    parent, child = found.parent.target, found.extended.target
    assert child.pieces(range(len(parent))) == parent.pieces(range(len(parent)))
    assert found.size == len(child)
    assert found.pieces == sum(len(one) for one in found.extended[: 1 if kind != "two" else 2]) - (
        sum(len(one) for one in found.parent[: 1 if kind != "two" else 2])
    )
    lines = [target for _, target in text] + ([] if kind == "two" else [one for one, _ in text])
    encoded = child.encode_batch(lines)
    occurrences = Counter(i for ids in encoded for i in ids)
    longer = [i for i in range(len(parent), len(child)) if len(child.pieces([i])[0]) > 1]
    often = [i for i in longer if occurrences[i] >= LEAST_OCCURRENCES]
    assert longer and len(often) >= 0.95 * len(longer)
    target = found.sides[1]
    of_target = child.encode_batch([target for _, target in text])
    assert sum(map(len, of_target)) / 600 == pytest.approx(target.extended_fertility)


def test_few_lines_get_their_characters_and_nothing_that_cannot_be_learned() -> None:
    found = needs_of("bytes", [("the light is on", "свет включён")])
    assert found.pays
    assert found.pieces == len(set("светвключён"))


def test_one_new_character_matters_only_where_it_is_unknown() -> None:
    text = [*pairs(ENGLISH, GERMAN, 20), ("light on", "licht an ő")]
    unknown, spelt = needs_of("bpe", text), needs_of("bytes", text)
    assert unknown.sides[1].characters == spelt.sides[1].characters == ("ő",)
    assert unknown.pays and not spelt.pays
    assert any("unknown: ő" in line for line in unknown.described())
    assert any("spelt as bytes: ő" in line for line in spelt.described())


@every_kind
def test_a_tag_that_is_lacking_is_reason_enough(kind: str) -> None:
    found = needs_of(kind, pairs(ENGLISH, GERMAN, 20), tags=("<2de>",))
    assert found.tags == ("<2de>",) and found.pays
    assert found.extended.source.tags and "<2de>" in " ".join(found.described())


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_tags_within_the_text_are_spelt_in_no_characters(kind: str) -> None:
    """Those of markup and context are in the vocabulary, or will be, as they are."""
    tags = ("<t1>", "</t1>", "<x1>", "<sep>")
    marked = [(f"{source}<t1> <sep> {source}</t1>", f"{target}<x1>") for source, target in GENERAL]
    plain = [(f"{source} {source}", target) for source, target in GENERAL]
    config = VocabularyConfig.model_validate({"kind": kind, "size": 44, "tags": tags})
    knowing = train_vocabularies(marked, config, seed=1)
    assert not set("<>/1") & set(knowing.source.pieces(range(len(knowing.source))))
    for parent, lacking in ((knowing, ()), (PARENTS[kind], tags)):
        found, same = (
            vocabulary_needs(parent, weighted, config, seed=1, general=weighted)
            for weighted in ([(pair, 1.0) for pair in text] for text in (marked, plain))
        )
        assert found.tags == lacking
        assert (found.sides, found.pieces) == (same.sides, same.pieces)
        assert not any(side.lacking or side.characters for side in found.sides)


def test_text_without_sources_has_needs_of_its_targets_alone() -> None:
    found = needs_of("bytes", [("", target) for _, target in pairs(ENGLISH, RUSSIAN, 50)])
    assert found.sides[0].fertility == found.sides[0].saved == 0
    assert not any(line.startswith("source") for line in found.described())


def test_without_text_there_is_nothing_to_say() -> None:
    with pytest.raises(DataError, match="is the corpus empty"):
        needs_of("bpe", [])


def test_joint_vocabularies_stay_joint() -> None:
    extended: Vocabularies = needs_of("bpe", pairs(ENGLISH, RUSSIAN, 30)).extended
    assert extended.joint
    assert not needs_of("two", pairs(ENGLISH, RUSSIAN, 30)).extended.joint
