"""Tags in a vocabulary: never split, never mistaken, and alone in front of a text."""

from __future__ import annotations

import pytest
import sentencepiece
from drawn_pieces import drawn
from hypothesis import given
from hypothesis import strategies as st
from trained_vocabularies import KINDS, NAMES, TRAINED, byte_vocabularies, corpus, vocabularies

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.text.corpora.cleaning import normalize
from dragoman.text.formats import Pair
from dragoman.text.vocabularies import Vocabulary, VocabularyConfig
from dragoman.text.vocabularies.sentencepiece_vocabulary import TAGS_ALONE, SentencePieceVocabulary
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies


@vocabularies
def test_each_has_an_id_right_after_the_special_ones(vocabulary: Vocabulary) -> None:
    assert [vocabulary.tag("<2de>"), vocabulary.tag("<2en>")] == [4, 5]


@vocabularies
def test_all_are_known_and_nothing_else_is_one(vocabulary: Vocabulary) -> None:
    assert vocabulary.tags == [4, 5]


@pytest.mark.parametrize("config", KINDS, ids=NAMES)
def test_without_any_there_are_none(config: VocabularyConfig) -> None:
    """Not even where pieces that look like one are learned from the text."""
    plain = config.model_copy(update={"tags": ()})
    lines = [Pair(f"{p.source} a<+>", f"b<+> {p.target}", p.line) for p in corpus()]
    vocabulary = train_vocabularies(lines, plain, seed=1).source
    assert "<+>" in vocabulary.pieces(range(len(vocabulary)))
    assert vocabulary.tags == []


@vocabularies
def test_a_tag_is_never_split_and_stays_itself(vocabulary: Vocabulary) -> None:
    ids = vocabulary.encode("<2de> the fox")
    assert ids.count(vocabulary.tag("<2de>")) == 1
    assert vocabulary.decode(ids) == "<2de> the fox"


@vocabularies
@pytest.mark.parametrize("tags", ["<2de>", "<2en> <2de>", "<2de><2en>"])
def test_none_in_front_has_a_piece_for_a_space(vocabulary: Vocabulary, tags: str) -> None:
    expected = vocabulary.ids(tags.replace("><", "> <").split())
    for text in ("the fox", ""):
        read = f"{tags} {text}"
        assert vocabulary.encode(read) == [*expected, *vocabulary.encode(text)]
        assert vocabulary.surfaces(read) == vocabulary.pieces(vocabulary.encode(read))
        assert vocabulary.decode(vocabulary.encode(read)) == normalize(read.replace("><", "> <"))
        assert vocabulary.encode_batch([read, text]) == [
            vocabulary.encode(read),
            vocabulary.encode(text),
        ]
        assert drawn(vocabulary, [read], 0.5, seed=3)[0][: len(expected)] == expected


@vocabularies
def test_one_behind_a_word_keeps_its_space(vocabulary: Vocabulary) -> None:
    (space,) = vocabulary.ids(["▁"])
    tag, word = vocabulary.tag("<2de>"), vocabulary.encode("fox")
    assert vocabulary.encode("fox <2de> fox") == [*word, space, tag, *word]
    assert vocabulary.encode("fox<2de> fox") == [*word, tag, *word]
    assert vocabulary.encode("<2de> fox <2de>") == [tag, *word, space, tag]


@vocabularies
def test_older_models_read_a_space_before_each(vocabulary: Vocabulary) -> None:
    assert isinstance(vocabulary, SentencePieceVocabulary)
    old = SentencePieceVocabulary(vocabulary.serialized.removesuffix(TAGS_ALONE))
    assert old.fingerprint != vocabulary.fingerprint
    assert old.encode("the fox") == vocabulary.encode("the fox")
    theirs = sentencepiece.SentencePieceProcessor(model_proto=vocabulary.serialized)
    for text in ("<2de> the fox", "<2en> <2de> fox", "<2de>"):
        assert old.encode(text) == theirs.encode(text)
        assert old.surfaces(text) == theirs.encode(text, out_type=str)
        assert old.decode(old.encode(text)) == text


@byte_vocabularies
@given(text=st.text("<2den> ", max_size=12))
def test_nothing_but_the_tag_itself_gives_its_id(vocabulary: Vocabulary, text: str) -> None:
    ids = vocabulary.encode(text)
    for tag in ("<2de>", "<2en>"):
        assert ids.count(vocabulary.tag(tag)) == normalize(text).count(tag)


def test_an_unknown_tag_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match=r"no tag '<2fr>'; name it in vocabulary\.tags"):
        TRAINED[0].tag("<2fr>")


@pytest.mark.parametrize(
    "tags",
    [
        ["de"],
        ["<s>"],
        ["<unk>"],
        ["<0x0A>"],
        ["<a b>"],
        ["<>"],
        ["<a>", "<a>"],
        ["<▁>"],
        ["<e\u0301>"],
    ],
)
def test_tags_that_cannot_be(tags: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"run\.yaml: tags: a tag "):
        parse(VocabularyConfig, {"tags": tags}, "run.yaml")
