"""Vocabularies that grow keep what they have, and all that is added can be reached."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core.errors import ConfigError, DataError
from dragoman.text.vocabularies import UNK, Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.extension import _Merging, _runs, extend_vocabularies, lineage
from dragoman.text.vocabularies.sentencepiece_vocabulary import TAGS_ALONE, SentencePieceVocabulary
from dragoman.text.vocabularies.subword_sampling import merge_all
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

OLD = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog"]
NEW = ["quickly", "foxes", "jumped", "настройки", "свет", "светло", "настройка", "doghouse"]


def texts(words: list[str], count: int = 150) -> list[tuple[str, str]]:
    chance = Random(3)
    return [(" ".join(chance.choices(words, k=5)), "") for _ in range(count)]


def weighted(words: list[str]) -> list[tuple[tuple[str, str], float]]:
    return [(pair, 1.0) for pair in texts(words)]


PARENTS = {
    "bpe": train_vocabularies(texts(OLD), VocabularyConfig(size=60), seed=1),
    "unigram": train_vocabularies(texts(OLD), VocabularyConfig(size=39, kind="unigram"), seed=1),
    "bpe-bytes": train_vocabularies(
        texts(OLD), VocabularyConfig(size=310, byte_fallback=True), seed=1
    ),
}
every_kind = pytest.mark.parametrize("kind", PARENTS)
TAGS = ("<2ru>", "<2en>")


ROOM = {"bpe": 30, "bpe-bytes": 30, "unigram": 21}


@cache
def extended(kind: str) -> Vocabularies:
    config = VocabularyConfig(size=len(PARENTS[kind].source) + ROOM[kind], tags=TAGS)
    return extend_vocabularies(PARENTS[kind], weighted(NEW), config, seed=1)


@every_kind
def test_what_is_there_stays_and_the_new_text_is_covered(kind: str) -> None:
    parent, child = PARENTS[kind].source, extended(kind).source
    assert isinstance(parent, SentencePieceVocabulary)
    assert isinstance(child, SentencePieceVocabulary)
    assert extended(kind).joint
    assert len(child) == len(parent) + ROOM[kind]
    pieces = parent.pieces(range(len(parent)))
    assert child.pieces(range(len(parent))) == pieces
    assert {piece: child.scores[piece] for piece in parent.scores} == parent.scores
    assert child.pieces(child.tags) == list(TAGS)
    assert child.encode("<2ru> fox")[0] == child.tag("<2ru>")
    for word in [*OLD, *NEW]:
        ids = child.encode(word)
        assert UNK not in ids
        assert not any(piece.startswith("<0x") for piece in child.pieces(ids))
        assert child.decode(ids) == word
    assert len(child.encode("настройки свет")) < len("настройки")


def test_an_old_vocabulary_goes_on_reading_a_space_before_tags() -> None:
    trained = PARENTS["bpe"].source
    assert isinstance(trained, SentencePieceVocabulary)
    old = SentencePieceVocabulary(trained.serialized.removesuffix(TAGS_ALONE))
    config = VocabularyConfig(size=len(old) + ROOM["bpe"], tags=TAGS)
    child = extend_vocabularies(Vocabularies(old, old), weighted(NEW), config, seed=1).source
    new = extended("bpe").source
    assert child.encode("<2ru> fox") == [*new.ids(["▁"]), *new.encode("<2ru> fox")]


@pytest.mark.parametrize("kind", ["bpe", "bpe-bytes"])
def test_every_merge_can_be_reached_and_comes_after_the_old_ones(kind: str) -> None:
    parent, child = PARENTS[kind].source, extended(kind).source
    assert isinstance(parent, SentencePieceVocabulary)
    assert isinstance(child, SentencePieceVocabulary)
    new = [piece for piece in child.scores if piece not in parent.scores]
    assert len(new) == 28
    assert [merge_all(piece, child.scores) for piece in new] == [(piece,) for piece in new]
    assert max(child.scores[piece] for piece in new) < min(parent.scores.values())
    assert child.encode("the quick brown fox") == parent.encode("the quick brown fox")


words_ = st.lists(
    st.tuples(st.text("abc", min_size=1, max_size=7), st.integers(1, 4)), min_size=1, max_size=6
)


@settings(max_examples=30)
@given(words=words_, most=st.integers(1, 6))
def test_merges_are_those_of_counting_again_each_time(
    words: list[tuple[str, int]], most: int
) -> None:
    """Sennrich et al. 2016, algorithm 1, as it stands there."""
    symbols = [list(word) for word, _ in words]
    expected: list[str] = []
    while len(expected) < most:
        counts: Counter[tuple[str, str]] = Counter()
        for word, (_, count) in zip(symbols, words, strict=True):
            for pair in pairwise(word):
                counts[pair] += count
        best = min(counts, key=lambda pair: (-counts[pair], pair), default=None)
        if best is None:
            break
        merged = "".join(best)
        if merged not in expected:
            if counts[best] < 2:
                break
            expected.append(merged)
        for word in symbols:
            at = 0
            while at < len(word) - 1:
                if (word[at], word[at + 1]) == best:
                    word[at : at + 2] = [merged]
                at += 1
    found = _Merging([(list(word), count) for word, count in words], set("abc")).merges(most)
    assert found == expected


def test_a_word_is_cut_where_its_script_changes() -> None:
    assert list(_runs("свет2.5kW")) == ["свет", "2.5", "kW"]
    assert list(_runs("ファイルを開く안녕")) == ["ファイルを開く", "안녕"]
    assert list(_runs("naı\u0308ve")) == ["naı\u0308ve"]


def test_two_sides_are_extended_each_by_its_own_text() -> None:
    old = [(text, f"{text} lazy") for text, _ in texts(OLD)]
    parents = train_vocabularies(old, VocabularyConfig(size=60, joint=False), seed=1)
    english = texts(["foxes", "jumped", "quickly", "doghouse", "browned", "overlay"])
    new = [((left, right), 1.0) for (left, _), (right, _) in zip(texts(NEW), english, strict=True)]
    found = extend_vocabularies(parents, new, VocabularyConfig(size=75), seed=1)
    assert len(found.source) == len(found.target) == 75
    assert UNK not in found.source.encode("свет")
    assert UNK in found.target.encode("свет")


@pytest.mark.parametrize(
    ("kind", "size", "said"),
    [
        ("bpe", 61, r"61 is too small .* of 60 pieces by 1\d new characters and 2 tags; set it to"),
        ("bpe", 4000, r"4000 is larger than the text allows: .* set it to (\d+) or less"),
        ("unigram", 4000, r"4000 is larger than the text allows: .* set it to (\d+) or less"),
    ],
)
def test_a_size_that_does_not_fit_is_told_with_one_that_does(
    kind: str, size: int, said: str
) -> None:
    def extend(size: int) -> Vocabularies:
        config = VocabularyConfig(size=size, tags=TAGS)
        return extend_vocabularies(PARENTS[kind], weighted(NEW), config, seed=1)

    with pytest.raises(ConfigError, match=said) as caught:
        extend(size)
    fitting = int(str(caught.value).split("set it to ")[1].split(" ")[0])
    assert len(extend(fitting).source) == fitting


def test_no_text_extends_nothing() -> None:
    with pytest.raises(DataError, match="no text to extend"):
        extend_vocabularies(PARENTS["bpe"], [(("", " "), 1.0)], VocabularyConfig(size=70), seed=1)


def test_rare_characters_stay_out_as_coverage_allows() -> None:
    pairs = [*weighted(OLD), (("ß", ""), 1.0)]
    for coverage, unknown in ((1.0, False), (0.98, True)):
        config = VocabularyConfig(size=61, character_coverage=coverage)
        words = [*pairs, *weighted(["browns", "browns"])]
        child = extend_vocabularies(PARENTS["bpe"], words, config, seed=1).source
        assert (UNK in child.encode("ß")) == unknown


@every_kind
def test_lineage(kind: str) -> None:
    parent, child = PARENTS[kind].source, extended(kind).source
    assert isinstance(parent, SentencePieceVocabulary)
    assert isinstance(child, SentencePieceVocabulary)
    found = lineage(child, parent)
    assert found[: len(parent)] == [[i] for i in range(len(parent))]
    assert [found[tag] for tag in child.tags] == [[], []]
    for i in range(len(parent), len(child)):
        (piece,) = child.pieces([i])
        known = not any("а" <= letter <= "я" for letter in piece) and i not in child.tags
        assert bool(found[i]) == known
        if known:
            assert "".join(parent.pieces(found[i])) == piece
    assert any(len(parts) > 1 for parts in found)


def test_a_tag_is_never_the_mean_of_its_characters() -> None:
    parent = train_vocabularies(texts(["<2e", "n>", "<2n>"]), VocabularyConfig(size=13), seed=1)
    config = VocabularyConfig(size=14, tags=("<2en>",))
    child = extend_vocabularies(parent, weighted(["<2e", "n>"]), config, seed=1).source
    assert UNK not in parent.source.split("<2en>")
    assert lineage(child, parent.source)[child.tag("<2en>")] == []


@every_kind
def test_tags_within_the_text_change_nothing(kind: str) -> None:
    """Such as those of context and markup: they are split into no pieces."""
    config = VocabularyConfig(size=len(PARENTS[kind].source) + ROOM[kind], tags=TAGS)
    marked = [((f"{line}<2en> <2ru> {line}", ""), weight) for (line, _), weight in weighted(NEW)]
    plain = [((f"{line} {line}", ""), weight) for (line, _), weight in weighted(NEW)]
    one, other = (
        extend_vocabularies(PARENTS[kind], text, config, seed=1).source for text in (marked, plain)
    )
    assert one.fingerprint == other.fingerprint


def test_a_piece_that_is_there_is_merged_and_not_added_again() -> None:
    """The vocabulary may have split a word so that two pairs make the same piece."""
    words = [(["ab", "c", "d"], 5), (["a", "bc"], 3)]
    merging = _Merging(words, {"a", "b", "c", "d", "ab", "bc"})
    assert merging.merges(5) == ["abc", "abcd"]


def test_a_piece_that_looks_like_a_tag_is_not_added_a_second_time() -> None:
    lines = [("<?> <?> fox", "")] * 9
    parent = train_vocabularies(lines, VocabularyConfig(size=14), seed=1)
    assert "▁<?>" in parent.source.pieces(range(14)) or "<?>" in parent.source.pieces(range(14))
    pairs = [((f"{line[0]} настройки", ""), 1.0) for line in lines]
    child = extend_vocabularies(parent, pairs, VocabularyConfig(size=30), seed=1).source
    pieces = child.pieces(range(len(child)))
    assert len(set(pieces)) == len(pieces)
