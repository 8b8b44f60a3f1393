"""Splitting of text into the pieces of another toolkit's list, and joining them again.

Texts are normalised (NFC, single spaces) and have no tags.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Literal

import sentencepiece
from pydantic import field_validator, model_validator

from dragoman.core.config import Config
from dragoman.core.errors import MissingExtraError
from dragoman.text.tags import SPACE_SIGN
from dragoman.text.vocabularies.sentencepiece_vocabulary import AS_IT_STANDS

EXTRA = ("sacremoses", "subword-nmt")
"""The packages for Moses tokenisation and subword-nmt."""


class SentencePieces(Config):
    """Pieces of a sentencepiece model, whose own ids are not read."""

    marks_spaces: ClassVar[bool] = True  # "▁" in a piece is a space
    by: Literal["sentencepiece"] = "sentencepiece"
    model: str
    """The serialised model in Base64."""
    lowercase: bool = False
    """Whether text is put in lower case first."""

    @classmethod
    def of(cls, model: bytes, *, lowercase: bool = False) -> SentencePieces:
        """Makes it from a serialised model."""
        return cls(model=base64.b64encode(model).decode(), lowercase=lowercase)

    @field_validator("model")
    @classmethod
    def _check_model(cls, model: str) -> str:
        try:
            _processor(base64.b64decode(model, validate=True))
        except RuntimeError as error:
            raise ValueError("not a sentencepiece model") from error
        return model

    @property
    def serialized(self) -> bytes:
        """The sentencepiece model."""
        return base64.b64decode(self.model)

    @cached_property
    def _whole(self) -> sentencepiece.SentencePieceProcessor:
        return _processor(self.serialized)

    @cached_property
    def _bare(self) -> sentencepiece.SentencePieceProcessor:
        """The same model, without adding a space before a text or removing spaces."""
        return _processor(self.serialized + AS_IT_STANDS)

    def split(self, text: str) -> list[str]:
        """The pieces of a text, with unknown characters as it has them, for the look-up."""
        return list(self._whole.encode(self._cased(text), out_type=str))

    def _cased(self, text: str) -> str:
        return text.lower() if self.lowercase else text

    def spelt(self, text: str) -> list[str]:
        """The pieces as they are spelt in ``text``; together they are :meth:`normalized`."""
        return self.split(text)

    def literal(self, piece: str) -> list[str]:
        """The pieces of a string whose spaces are exactly its "▁"."""
        return list(self._bare.encode(self._cased(piece), out_type=str))

    def normalized(self, text: str) -> str:
        """The text before splitting, with "▁" for spaces and at the front."""
        return str(self._whole.normalize(self._cased(text)))

    def join(self, pieces: Sequence[str]) -> str:
        """The text of pieces, including those of another language, which the model lacks."""
        return str(self._whole.decode(list(pieces))).replace(SPACE_SIGN, " ").strip()


class SubwordNmt(Config):
    """Words of the Moses tokeniser or between spaces, split by the merges of subword-nmt.

    Sennrich et al. 2016 (arXiv:1508.07909); a piece that does not end its word ends in ``@@``.
    """

    marks_spaces: ClassVar[bool] = False
    by: Literal["subword-nmt"] = "subword-nmt"
    codes: tuple[str, ...] | None = None
    """The lines of the file of merges, with its first line of the version; words stay whole
    without."""
    merges: int = -1
    """How many of the merges are used; all of them with -1."""
    separator: str = "@@"
    """What a piece ends in that does not end its word."""
    glossaries: tuple[str, ...] = ()
    """Words that are never split."""
    vocabulary: tuple[str, ...] | None = None
    """Pieces that may come out of splitting; others are split further."""
    tokenizer: Literal["moses", "none"] = "none"
    """Whether words are those of the Moses tokeniser, or what is between spaces."""
    language: str = "en"
    """Of the Moses tokeniser."""
    aggressive: bool = False
    """Whether the Moses tokeniser splits words at hyphens, which become ``@-@``."""
    escape: bool = True
    """Whether the Moses tokeniser writes some characters as ``&apos;`` and the like."""
    lowercase: bool = False
    """Whether words are put in lower case."""

    @model_validator(mode="after")
    def _check_codes(self) -> SubwordNmt:
        if not self.separator or SPACE_SIGN in self.separator or " " in self.separator:
            raise ValueError("separator: expected some characters without a space")
        for number, line in enumerate(self.codes or (), start=1):
            if number == 1 and line.startswith("#version:"):
                parts = line.split()[-1].removeprefix("#version:").split(".")
                if not all(part.isdecimal() for part in parts):
                    raise ValueError(f"codes: line 1: {line[:40]!r} is no version")
            elif len(line.split(" ")) != 2:
                raise ValueError(f"codes: line {number}: {line[:40]!r} is no pair of pieces")
        return self

    @cached_property
    def _bpe(self) -> Any:
        try:
            from subword_nmt.apply_bpe import BPE
        except ImportError as error:
            raise MissingExtraError.of("subword-nmt", *EXTRA) from error
        return BPE(
            io.StringIO("\n".join(self.codes or ())),
            self.merges,
            self.separator,
            None if self.vocabulary is None else set(self.vocabulary),
            list(self.glossaries) or None,
        )

    @cached_property
    def _moses(self) -> tuple[Any, Any]:
        try:
            from sacremoses import MosesDetokenizer, MosesTokenizer
        except ImportError as error:
            raise MissingExtraError.of("sacremoses", *EXTRA) from error
        return MosesTokenizer(lang=self.language), MosesDetokenizer(lang=self.language)

    def split(self, text: str) -> list[str]:
        """The pieces of a text."""
        return [piece for token in self._tokens(text) for piece in self._word(token)]

    def _tokens(self, text: str) -> list[str]:
        if self.tokenizer == "none":
            found = text.split()
        else:
            found = self._moses[0].tokenize(
                text, aggressive_dash_splits=self.aggressive, escape=self.escape
            )
        return [token.lower() if self.lowercase else str(token) for token in found]

    def _word(self, token: str) -> list[str]:
        if self.codes is None:
            return [token]
        return [str(piece) for piece in self._bpe.segment_tokens([token])]

    def literal(self, piece: str) -> list[str]:
        """The pieces of a string; one without "▁" is also read as a separate word."""
        return self.split(piece.replace(SPACE_SIGN, " ").strip())

    def normalized(self, text: str) -> str:
        """The text before splitting, with "▁" for spaces and at the front."""
        text = text.lower() if self.lowercase else text
        return SPACE_SIGN + text.replace(" ", SPACE_SIGN) if text else ""

    def spelt(self, text: str) -> list[str]:
        """The pieces as they are spelt in ``text``; together they are :meth:`normalized`.

        A changed piece (with normalised quotes, for instance) counts as its own number of
        characters.
        """
        pieces = self.split(text)
        whole, place = self.normalized(text), 0
        ends = []
        for piece in pieces:
            start = place + (whole[place : place + 1] == SPACE_SIGN)
            place = min(start + self._length(piece, whole, start), len(whole))
            ends.append(place)
        if ends:
            ends[-1] = len(whole)
        return [whole[start:end] for start, end in pairwise([0, *ends])]

    def _length(self, piece: str, whole: str, start: int) -> int:
        """The number of characters of a text, from ``start``, that a piece stands for."""
        plain = self._plain(piece)
        hyphen = plain.removeprefix("@").removesuffix("@") if plain[:1] == "@" else plain
        for one in (plain, hyphen):
            if one and whole.startswith(one, start):
                return len(one)
        return len(plain)

    def _plain(self, piece: str) -> str:
        if self.codes is not None:
            piece = piece.removesuffix(self.separator)
        if self.tokenizer == "moses" and self.escape:
            piece = str(self._moses[1].unescape_xml(piece))
        return piece

    def join(self, pieces: Sequence[str]) -> str:
        """The text of pieces."""
        words = list(pieces) if self.codes is None else list(self._words(pieces))
        if self.tokenizer == "moses":
            return str(self._moses[1].detokenize(words, unescape=self.escape)).strip()
        return " ".join(words)

    def _words(self, pieces: Sequence[str]) -> Iterator[str]:
        word = ""
        for piece in pieces:
            word += piece.removesuffix(self.separator)
            if not piece.endswith(self.separator):
                yield word
                word = ""
        if word:
            yield word


def _processor(model: bytes) -> sentencepiece.SentencePieceProcessor:
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(model)
    return processor
