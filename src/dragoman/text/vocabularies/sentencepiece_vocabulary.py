"""Vocabularies that are sentencepiece models (Kudo & Richardson 2018, arXiv:1808.06226)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain, takewhile
from pathlib import Path
from typing import ClassVar, TypeVar

import numpy as np
import sentencepiece
from typing_extensions import override

from dragoman.core.errors import SavedError
from dragoman.core.files import atomic_write
from dragoman.core.ranges import IntArray
from dragoman.text.tags import SPACE_SIGN, TAG
from dragoman.text.vocabularies.piece_messages import renamed
from dragoman.text.vocabularies.split_drawing import SplitDrawing
from dragoman.text.vocabularies.subword_sampling import BpeDropout, UnigramSampling
from dragoman.text.vocabularies.vocabulary import BOS, EOS, PAD, UNK, Vocabulary, prepare_line

# A saved model ends in one more protobuf field, which sentencepiece itself skips: number
# 200 (open to extensions), 32 bytes, the SHA-256 of all before.  Without it a file cut between
# two pieces would load as a smaller vocabulary.
_SEAL = b"\xc2\x0c\x20"
_DIGEST_BYTES = 32
# Protobuf: what comes after a model overrides it, here add_dummy_prefix and
# remove_extra_whitespaces of its normalizer.
AS_IT_STANDS = b"\x1a\x04\x18\x00\x20\x00"
TAGS_ALONE = b"\xc8\x0c\x01"
"""Field 201, 1, at the end of a model: no piece for a space stands before tags in front of a text.

sentencepiece reads a tag as a word, "▁" and the tag.  Models from before this field read both."""

_Piece = TypeVar("_Piece", int, str)


class SentencePieceVocabulary(Vocabulary):
    """A sentencepiece model, trained here or imported with its ids in our order.

    Args:
        model: a serialised sentencepiece model whose ids 0 to 3 are pad, unknown, begin and end,
            optionally with :data:`TAGS_ALONE`.

    Raises:
        SavedError: ``model`` is not such a model.
    """

    suffix: ClassVar[str] = ".model"

    def __init__(self, model: bytes) -> None:
        self._model = model
        self._processor = sentencepiece.SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(model)
        except RuntimeError as error:
            raise SavedError("not a sentencepiece model") from error
        processor = self._processor
        special = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
        if special != (PAD, UNK, BOS, EOS):
            raise SavedError(
                f"a sentencepiece model of another kind: pad, unknown, begin and end have the "
                f"ids {special}, expected {(PAD, UNK, BOS, EOS)}"
            )
        self._drawings: dict[float, SplitDrawing] = {}

    @cached_property
    @override
    def atoms(self) -> list[bool]:
        processor = self._processor
        return [
            i in {PAD, UNK, BOS, EOS}
            or processor.is_byte(i)
            or TAG.fullmatch(processor.id_to_piece(i)) is not None
            for i in range(len(self))
        ]

    @cached_property
    def is_unigram(self) -> bool:
        """Whether scores are log-probabilities. Those of byte-pair encoding count 0, -1, -2 ..."""
        scores = [self._processor.get_score(i) for i in range(len(self)) if not self.atoms[i]]
        return any(score != round(score) for score in scores)

    @property
    @override
    def fingerprint(self) -> str:
        return hashlib.sha256(self._model).hexdigest()

    @property
    def serialized(self) -> bytes:
        """The sentencepiece model of this vocabulary."""
        return self._model

    def extended(self, pieces: bytes) -> SentencePieceVocabulary:
        """This vocabulary with further pieces, given in serialised form, behind its own."""
        model = self._model.removesuffix(TAGS_ALONE)
        return SentencePieceVocabulary(model + pieces + self._model[len(model) :])

    def __len__(self) -> int:
        return int(self._processor.get_piece_size())

    def __reduce__(self) -> tuple[type[SentencePieceVocabulary], tuple[bytes]]:
        return SentencePieceVocabulary, (self._model,)

    @override
    def encode_batch(
        self,
        texts: Sequence[str],
        *,
        threads: int = 1,
        normalized: bool = False,
    ) -> list[list[int]]:
        prepared = [
            text if normalized and SPACE_SIGN not in text else prepare_line(text) for text in texts
        ]
        ids: list[list[int]]
        if not prepared:
            return []
        ids = self._processor.encode(prepared, num_threads=threads)
        if self._alone:
            ids = [self._with_tags_alone(sentence, sentence) for sentence in ids]
        return ids

    @override
    def split_anew(
        self, ids: IntArray, lengths: IntArray, *, sampling: float, seed: int
    ) -> tuple[IntArray, IntArray]:
        # Tags, bytes and unknown pieces stay unchanged.
        return self._drawing(sampling).draw(ids, lengths, np.random.default_rng(seed))

    def _with_tags_alone(self, ids: Sequence[int], pieces: list[_Piece]) -> list[_Piece]:
        """``pieces``, whose ids are ``ids``, without spaces before tags in front of the text."""
        end = 0
        while end + 1 < len(ids) and ids[end] == self._space and ids[end + 1] in self._alone:
            end += 2
        return pieces[1:end:2] + pieces[end:]

    @property
    @override
    def tags_alone(self) -> bool:
        return self._model.endswith(TAGS_ALONE)

    @cached_property
    def _alone(self) -> frozenset[int]:
        """The tags without a space before them."""
        return frozenset(self.tags if self.tags_alone else ())

    @cached_property
    def _space(self) -> int:
        return int(self._processor.piece_to_id(SPACE_SIGN))

    def _drawing(self, sampling: float) -> SplitDrawing:
        if sampling not in self._drawings:
            kind = UnigramSampling if self.is_unigram else BpeDropout
            process = kind(self.scores, sampling)
            pieces = self.pieces(range(len(self)))
            self._drawings[sampling] = SplitDrawing(process, pieces, self._unsplit(pieces))
        return self._drawings[sampling]

    def _unsplit(self, pieces: Sequence[str]) -> list[bool]:
        """Whether sampling leaves each piece unchanged: atoms, and pieces that merges cannot spell.

        The latter are symbols declared by another toolkit whose characters are not pieces.
        """
        if self.is_unigram:
            return self.atoms
        return [
            atom or not self.scores.keys() >= set(piece)
            for atom, piece in zip(self.atoms, pieces, strict=True)
        ]

    @cached_property
    def scores(self) -> dict[str, float]:
        """Score of every piece that text is split into: not special ones, bytes or tags."""
        return {
            piece: float(self._processor.get_score(i))
            for i, piece in enumerate(self.pieces(range(len(self))))
            if not self.atoms[i]
        }

    def split(self, piece: str) -> list[int]:
        """Ids of a piece of another vocabulary, taken literally: "▁" only where it has one."""
        ids: list[int] = self._bare.encode(piece)
        return ids

    @cached_property
    def _bare(self) -> sentencepiece.SentencePieceProcessor:
        """The same model, without adding a space before a text or removing spaces."""
        processor = sentencepiece.SentencePieceProcessor()
        processor.LoadFromSerializedProto(self._model + AS_IT_STANDS)
        return processor

    def normalized(self, text: str) -> str:
        """``text`` before it is split: "▁" for spaces and at the front, no space at the end."""
        return str(self._processor.normalize(prepare_line(text)))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ``ids``. Pad, begin and end are dropped, and an unknown piece becomes "⁇"."""
        said = [int(i) for i in ids if i not in (PAD, BOS, EOS)]
        if len(said) > 1 and said[0] in self._alone:
            tags = list(takewhile(self._alone.__contains__, said))
            said = [*chain.from_iterable((self._space, tag) for tag in tags), *said[len(tags) :]]
        return str(self._processor.decode(said)) if said else ""

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The pieces with these ``ids``; "▁" is a space before."""
        return [str(self._processor.id_to_piece(int(i))) for i in ids]

    def surfaces(self, text: str) -> list[str]:
        """The pieces of ``text``, with unknown pieces as they are spelt in it."""
        line = prepare_line(text)
        pieces: list[str] = self._processor.encode(line, out_type=str)
        if not self._alone:
            return pieces
        return self._with_tags_alone(self._processor.encode(line), pieces)

    @override
    def ids(self, pieces: Iterable[str]) -> list[int]:
        return [int(self._processor.piece_to_id(piece)) for piece in pieces]

    @property
    @override
    def has_bytes(self) -> bool:
        return any(self._processor.is_byte(i) for i in range(EOS + 1, len(self)))

    @cached_property
    def tags(self) -> list[int]:
        """Ids of all tags from ``vocabulary.tags``.

        They have a score of 0, which no other piece of that form can have: bytes are recognised by
        name, the first merge of byte-pair encoding has two characters, and the logarithm of a
        probability is below 0.
        """
        processor = self._processor

        def is_tag(i: int) -> bool:
            tag = TAG.fullmatch(processor.id_to_piece(i)) and not processor.is_byte(i)
            return bool(tag) and processor.get_score(i) == 0

        return list(filter(is_tag, range(EOS + 1, len(self))))

    @property
    @override
    def sentencepiece(self) -> bytes:
        return self._model

    def with_tags_in_text(self, tags: Iterable[str]) -> bytes:
        """A model that alone splits a text with tags in front as :meth:`encode` does.

        It has the same ids. Such tags have "▁" in their names there, and are not read within words.
        """
        if not self.tags_alone:
            return self._model
        return renamed(self._model, {tag: SPACE_SIGN + tag for tag in tags})

    def require_space_signs(self, purpose: str) -> None:
        """Always satisfied."""

    def save(self, path: Path | str) -> None:
        """Writes the model to ``path``, a file that any sentencepiece program can read."""
        with atomic_write(path, "wb") as stream:
            stream.write(self._model + _SEAL + hashlib.sha256(self._model).digest())

    @classmethod
    def opened(cls, content: bytes) -> SentencePieceVocabulary:
        """The content of a file that :meth:`save` wrote.

        Raises:
            SavedError: it is truncated, altered or not Dragoman's.
        """
        body = len(content) - len(_SEAL) - _DIGEST_BYTES
        model = content[: max(body, 0)]
        if content[len(model) :] != _SEAL + hashlib.sha256(model).digest():
            raise SavedError(
                "the vocabulary is truncated, altered or not Dragoman's; "
                "copy it again or train it again"
            )
        return cls(model)
