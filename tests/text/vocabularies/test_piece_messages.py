"""Pieces of serialised models, beside sentencepiece's own reading of them."""

from __future__ import annotations

import sentencepiece
from hypothesis import assume, given
from hypothesis import strategies as st

from dragoman.text.vocabularies import VocabularyConfig
from dragoman.text.vocabularies.piece_messages import USER_DEFINED, piece_message, renamed
from dragoman.text.vocabularies.sentencepiece_vocabulary import TAGS_ALONE, SentencePieceVocabulary
from dragoman.text.vocabularies.vocabulary_training import train_vocabulary

LINES = [("the old fox sees a dog", 1), ("a dog and the fox", 1)] * 5
VOCABULARY = train_vocabulary(LINES, VocabularyConfig(size=40, tags=("<2de>", "<t1>")), "")
MODEL = VOCABULARY.serialized


def read(model: bytes) -> sentencepiece.SentencePieceProcessor:
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(model)
    return processor


def pieces(model: bytes) -> list[tuple[str, float, bool]]:
    found = read(model)
    return [
        (found.id_to_piece(i), found.get_score(i), found.is_unused(i)) for i in range(len(found))
    ]


@given(
    name=st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=200)
)
def test_a_piece_has_another_name_and_the_rest_is_as_it_was(name: str) -> None:
    assume(name not in {piece for piece, *_ in pieces(MODEL)})
    (tag,) = VOCABULARY.ids(["<2de>"])
    expected = pieces(MODEL)
    expected[tag] = (name, *expected[tag][1:])
    changed = renamed(MODEL, {"<2de>": name, "no piece": "x"})
    assert pieces(changed) == expected
    assert read(changed).encode("the fox") == VOCABULARY.encode("the fox")
    assert renamed(changed, {name: "<2de>"}) == MODEL


def test_fields_of_all_kinds_stay() -> None:
    """Numbers of 4 and 8 bytes, and of any length, in fields that sentencepiece passes over."""
    others = b"\xcd\x0c1234" + b"\xd1\x0c12345678" + b"\xd8\x0c\x80\x80\x01" + TAGS_ALONE
    assert renamed(MODEL + others, {}) == MODEL + others
    again = renamed(renamed(MODEL + others, {"<2de>": "<long name>"}), {"<long name>": "<2de>"})
    assert again == MODEL + others


def test_a_piece_that_is_appended_is_the_last_one() -> None:
    found = read(MODEL + piece_message("<a>", 0.0, USER_DEFINED) + piece_message("▁foxes", -99.5))
    assert found.id_to_piece(40) == "<a>"
    assert (found.id_to_piece(41), found.get_score(41)) == ("▁foxes", -99.5)
    assert found.encode("<a> fox")[1] == 40


def test_text_with_tags_is_split_by_the_model_alone() -> None:
    theirs = read(VOCABULARY.with_tags_in_text(["<2de>"]))
    for text in ("<2de> the fox", "the fox", "the<t1> fox"):
        assert theirs.encode(text) == VOCABULARY.encode(text)
    old = SentencePieceVocabulary(MODEL.removesuffix(TAGS_ALONE))
    assert old.with_tags_in_text(["<2de>"]) == old.serialized
