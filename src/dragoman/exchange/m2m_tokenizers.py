"""Tokenizers of transformers for models of many languages, written for a vocabulary of ours.

All begin with fairseq's special pieces.  The pieces of text follow in our order, then codes of
languages.  They split text in three ways: NLLB's by byte-pair encoding, mBART-50's by a unigram
model, and M2M-100's by sentencepiece itself.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from dragoman.core.errors import ConfigError, MissingExtraError
from dragoman.exchange.huggingface_files import VOCABULARY_FILE
from dragoman.exchange.huggingface_m2m_importer import FAIRSEQ_FIRST, SPM_FILE
from dragoman.exchange.m2m_codes import M2M_LANGUAGES, MBART_CODES, NLLB_CODE
from dragoman.text.tags import LANGUAGE_TAG
from dragoman.text.vocabularies import BOS, EOS, PAD, UNK, Vocabulary
from dragoman.text.vocabularies.foreign_vocabulary import sentencepiece_proto
from dragoman.text.vocabularies.piece_merges import ranked_merges

try:
    from transformers.models.m2m_100.tokenization_m2m_100 import M2M100Tokenizer
    from transformers.models.mbart50.tokenization_mbart50 import MBart50Tokenizer
    from transformers.models.nllb.tokenization_nllb import NllbTokenizer
except ImportError as error:
    raise MissingExtraError.of(
        "Hugging Face transformers", "transformers>=5", "sacremoses"
    ) from error

_NORMAL, _UNKNOWN, _CONTROL = 1, 2, 3  # sentencepiece's types of pieces
_UNIGRAM = 1  # sentencepiece's type of a model
_SPM_SPECIAL = (("<unk>", _UNKNOWN), ("<s>", _CONTROL), ("</s>", _CONTROL))
_REMEDY = "export to onnx, or leave the model with Dragoman"


@dataclass(frozen=True)
class TextPieces:
    """The pieces of text of a vocabulary, without special ones and tags."""

    ids: tuple[int, ...]
    names: tuple[str, ...]
    languages: dict[str, int]
    """The id of the tag of each language."""
    proto: Any
    """The sentencepiece model with its three special pieces, these pieces, and further ones through
    which it splits text."""

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> TextPieces:
        """Of a vocabulary that splits text with sentencepiece.

        Raises:
            ConfigError: it does not, or has tags that name no language.
        """
        if (model := vocabulary.sentencepiece) is None:
            raise ConfigError(
                "tokenizers of transformers split text with sentencepiece, which this vocabulary, "
                f"of another toolkit, does not; {_REMEDY}"
            )
        tags = {i: LANGUAGE_TAG.fullmatch(vocabulary.pieces([i])[0]) for i in vocabulary.tags}
        if others := [i for i, match in tags.items() if match is None]:
            raise ConfigError(
                f"the vocabulary has the tag {vocabulary.pieces(others[:1])[0]}, which names no "
                f"language, and tokenizers of transformers have no other tags; {_REMEDY}"
            )
        ids = tuple(i for i in range(EOS + 1, len(vocabulary)) if i not in tags)
        names = tuple(vocabulary.pieces(ids))
        languages = {match[1]: i for i, match in tags.items() if match is not None}
        return cls(ids, names, languages, _with_pieces(model, names, vocabulary.pieces(tags)))

    @property
    def of_the_model(self) -> tuple[bool, bool]:
        """Whether all pieces are those of the sentencepiece model, and whether it has no others."""
        there = [one.piece for one in self.proto.pieces[len(_SPM_SPECIAL) :]]
        return there[: len(self.names)] == list(self.names), len(there) <= len(self.names)

    @property
    def own_spm(self) -> bytes:
        """The sentencepiece model without further pieces."""
        proto = type(self.proto)()
        proto.CopyFrom(self.proto)
        del proto.pieces[len(_SPM_SPECIAL) + len(self.names) :]
        return bytes(proto.SerializeToString())

    @property
    def is_unigram(self) -> bool:
        """Whether scores are log-probabilities."""
        return bool(self.proto.trainer_spec.model_type == _UNIGRAM)

    @property
    def scores(self) -> dict[str, float]:
        """Of the pieces that text is split into."""
        return {one.piece: one.score for one in self.proto.pieces if one.type == _NORMAL}


def _with_pieces(model: bytes, names: Sequence[str], tags: Sequence[str]) -> Any:
    """A sentencepiece model with its special pieces in fairseq's order, and without tags."""
    proto = sentencepiece_proto(model, "the vocabulary")
    there = {one.piece: one for one in proto.pieces if one.type not in {_UNKNOWN, _CONTROL}}
    new = type(proto)()
    new.CopyFrom(proto)
    new.DiscardUnknownFields()
    del new.pieces[:]
    for name, kind in _SPM_SPECIAL:
        new.pieces.add(piece=name, score=0.0, type=kind)
    new.pieces.extend(there[name] for name in names if name in there)
    named = {*names, *tags}
    new.pieces.extend(one for name, one in there.items() if name not in named)
    spec = new.trainer_spec
    spec.pad_id, spec.unk_id, spec.bos_id, spec.eos_id = -1, 0, 1, 2
    spec.unk_piece, spec.bos_piece, spec.eos_piece = (name for name, _ in _SPM_SPECIAL)
    spec.vocab_size = len(new.pieces)
    return new


class TokenizerLayout(ABC):
    """The numbers of pieces, and the files, of a tokenizer of transformers."""

    tokenizer: ClassVar[Any]
    """Its class."""
    unigram: ClassVar[bool | None] = None
    """Whether it splits text by a unigram model, or else by byte-pair encoding; None: by whichever
    sentencepiece model it is given."""
    behind: ClassVar[int] = 0
    """Rows behind the codes."""

    def __init__(self, text: TextPieces) -> None:
        self.text = text
        self.codes = {language: self.code(language) for language in text.languages}
        """Codes of the model's languages."""

    @classmethod
    @abstractmethod
    def knows(cls, language: str) -> bool:
        """Whether it has a code for a language of this name."""

    @abstractmethod
    def code(self, language: str) -> str:
        """The code of a language that it knows."""

    @property
    def all_codes(self) -> Sequence[str]:
        """In the order of their rows, with those of languages that the model lacks."""
        return list(self.codes.values())

    def check(self) -> None:
        """Refuse a vocabulary that it would split otherwise."""
        name = self.tokenizer.__name__
        if self.unigram is None:
            return
        if self.text.is_unigram is not self.unigram:
            kind = "unigram" if self.unigram else "bpe"
            raise ConfigError(
                f"{name} splits text by a vocabulary of the kind {kind}, which this one is not; "
                f"train with vocabulary.kind: {kind}, or {_REMEDY}"
            )
        known, alone = self.text.of_the_model
        if not known or not (alone or self.unigram):
            raise ConfigError(
                f"{name} has exactly the pieces of its sentencepiece model, and this vocabulary "
                f"others; import the model again, or {_REMEDY}"
            )

    @abstractmethod
    def write(self, directory: Path, **options: Any) -> None:
        """Write its files, with options such as ``src_lang``."""

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(FAIRSEQ_FIRST) + len(self.text.ids) + len(self.all_codes) + self.behind

    @property
    def code_rows(self) -> dict[str, int]:
        """The row of each code, with those of languages that the model lacks."""
        first = len(FAIRSEQ_FIRST) + len(self.text.ids)
        return {code: row for row, code in enumerate(self.all_codes, first)}

    @property
    def rows(self) -> list[int]:
        """The row there of each of our pieces."""
        ours = {
            BOS: FAIRSEQ_FIRST.index("<s>"),
            PAD: FAIRSEQ_FIRST.index("<pad>"),
            EOS: FAIRSEQ_FIRST.index("</s>"),
            UNK: FAIRSEQ_FIRST.index("<unk>"),
        }
        ours |= {i: row for row, i in enumerate(self.text.ids, len(FAIRSEQ_FIRST))}
        codes = self.code_rows
        ours |= {i: codes[self.codes[language]] for language, i in self.text.languages.items()}
        return [ours[i] for i in range(len(ours))]

    @property
    def _characters(self) -> dict[str, Any]:
        """The characters that sentencepiece normalises, if any."""
        table = self.text.proto.normalizer_spec.precompiled_charsmap
        return {"_spm_precompiled_charsmap": table or None}

    def _write_spm(self, directory: Path) -> None:
        (directory / SPM_FILE).write_bytes(self.text.proto.SerializeToString())


class NllbLayout(TokenizerLayout):
    """NLLB's: codes such as ``kor_Hang``."""

    tokenizer = NllbTokenizer
    unigram = False

    @classmethod
    @override
    def knows(cls, language: str) -> bool:
        return NLLB_CODE.fullmatch(language) is not None

    @override
    def code(self, language: str) -> str:
        return language

    @override
    def write(self, directory: Path, **options: Any) -> None:
        self._write_spm(directory)
        pieces = (*FAIRSEQ_FIRST, *self.text.names)
        tokenizer = NllbTokenizer(
            vocab={piece: row for row, piece in enumerate(pieces)},
            merges=ranked_merges(self.text.scores),
            mask_token=None,
            extra_special_tokens=list(self.all_codes),
            **self._characters,
            **options,
        )
        tokenizer.save_pretrained(directory)


class M2M100Layout(TokenizerLayout):
    """M2M-100's: codes such as ``__ko__``."""

    tokenizer = M2M100Tokenizer
    _languages = M2M_LANGUAGES["m2m100"].split()

    @classmethod
    @override
    def knows(cls, language: str) -> bool:
        return language in cls._languages

    @override
    def code(self, language: str) -> str:
        return f"__{language}__"

    @property
    @override
    def all_codes(self) -> Sequence[str]:
        return list(map(self.code, self._languages))

    @override
    def write(self, directory: Path, **options: Any) -> None:
        self._write_spm(directory)
        pieces = (*FAIRSEQ_FIRST, *self.text.names)
        ids = {piece: row for row, piece in enumerate(pieces)}
        vocabulary = directory / VOCABULARY_FILE
        vocabulary.write_text(json.dumps(ids, ensure_ascii=False, indent=0) + "\n", "utf-8")
        files = str(vocabulary), str(directory / SPM_FILE)
        codes = list(self.all_codes)  # not special unless named
        tokenizer = M2M100Tokenizer(
            *files, additional_special_tokens=codes, num_madeup_words=0, **options
        )
        tokenizer.save_pretrained(directory)


class MbartLayout(TokenizerLayout):
    """mBART-50's: codes such as ``ko_KR``, and a piece that hides others behind them."""

    tokenizer = MBart50Tokenizer
    unigram = True
    behind = 1
    _codes = MBART_CODES.split()

    @classmethod
    @override
    def knows(cls, language: str) -> bool:
        return language in cls._codes

    @override
    def code(self, language: str) -> str:
        return language

    @property
    @override
    def all_codes(self) -> Sequence[str]:
        return self._codes

    @override
    def write(self, directory: Path, **options: Any) -> None:
        # Those that are never put out are no part of what is.
        (directory / SPM_FILE).write_bytes(self.text.own_spm)
        used = self.text.proto.pieces[: len(_SPM_SPECIAL) + len(self.text.names)]
        pieces = [(one.piece, one.score) for one in used]
        tokenizer = MBart50Tokenizer(vocab=pieces, **self._characters, **options)
        tokenizer.save_pretrained(directory)
