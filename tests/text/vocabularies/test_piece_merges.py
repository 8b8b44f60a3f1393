"""Merges of byte-pair encoding are those of sentencepiece and of tokenizers."""

from __future__ import annotations

import io
from functools import cache
from importlib import import_module

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.text.vocabularies.piece_merges import merged_through, ranked_merges

TEXT = ["the old fox", "the older foxes", "then other folds", "a hot theft", "he told the rest"]
words = st.text("thefoldxrsa ", min_size=1, max_size=12).map(lambda text: " ".join(text.split()))


@cache
def spm() -> sentencepiece.SentencePieceProcessor:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT * 3), model_writer=model, vocab_size=45, model_type="bpe",
        hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


@cache
def scores() -> dict[str, float]:
    return {spm().id_to_piece(i): spm().get_score(i) for i in range(3, len(spm()))}


@settings(max_examples=100)
@given(words)
def test_ranked_merges_split_as_the_scores_do(text: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    ids = {piece: i for i, piece in enumerate(scores())}
    bpe = tokenizers.models.BPE(ids, ranked_merges(scores()))
    tokenizer = tokenizers.Tokenizer(bpe)
    metaspace = tokenizers.pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    tokenizer.pre_tokenizer = metaspace
    assert tokenizer.encode(text).tokens == spm().encode(text, out_type=str)


@settings(max_examples=100)
@given(st.lists(words, min_size=1, max_size=3))
def test_a_model_of_these_pieces_alone_splits_as_before(texts: list[str]) -> None:
    pieces = {piece for text in texts for piece in spm().encode(text, out_type=str)}
    through = merged_through(pieces, scores())
    assert pieces <= through <= scores().keys()
    pb2 = import_module("sentencepiece.sentencepiece_model_pb2")
    proto = pb2.ModelProto.FromString(spm().serialized_model_proto())
    left = [one for one in proto.pieces if one.type != 1 or one.piece in through]
    del proto.pieces[:]
    proto.pieces.extend(left)
    small = sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())
    for text in texts:
        assert small.encode(text, out_type=str) == spm().encode(text, out_type=str)


def test_pieces_that_others_are_merged_from() -> None:
    made = {"a": -9.0, "b": -9.0, "c": -9.0, "ab": -1.0, "bc": 0.0, "abc": -2.0}
    assert merged_through(["abc"], made) == {"a", "b", "c", "bc", "abc"}
    assert merged_through(["abd"], made) == {"a", "b", "ab"}  # of no piece, as text may have it
    assert ranked_merges(made) == [("b", "c"), ("a", "b"), ("a", "bc"), ("ab", "c")]
