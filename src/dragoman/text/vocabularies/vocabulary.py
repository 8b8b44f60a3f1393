"""Vocabularies, which turn text into ids and ids into text, and the settings of their training.

Byte-pair encoding follows Sennrich et al. 2016 (arXiv:1508.07909), the unigram language model Kudo
2018 (arXiv:1804.10959). Each has subword sampling: BPE-dropout after Provilkov et al. 2020
(arXiv:1910.13267), or sampled segmentations.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from dragoman.core.config import Config
from dragoman.core.errors import ConfigError
from dragoman.core.ranges import IntArray
from dragoman.core.relocation import ModelPath
from dragoman.core.unseen import UNSEEN
from dragoman.text.examples import Tags
from dragoman.text.normalization import CONTROLS, normalize
from dragoman.text.tags import LANGUAGE_TAG, SPACE_SIGN

# Characters that are neither white space nor removed.
_KEPT = re.compile(f"[^\\s{SPACE_SIGN}{CONTROLS.pattern[1:-1]}{UNSEEN.pattern[1:]}")


PAD, UNK, BOS, EOS = 0, 1, 2, 3

UNKNOWN_SURFACE = "\u2047"  # "⁇": an unknown piece in decoded text


OF_THE_KIND = ("kind", "target_kind", "joint", "byte_fallback", "normalization")
"""Settings that are fixed by an existing vocabulary, even by one that is extended."""
DECIDED_ELSEWHERE = (
    *OF_THE_KIND,
    *("size", "character_coverage", "tags", "balance", "training_pairs"),
)
"""Settings that are fixed by the vocabulary of another run if it is taken unchanged."""


class VocabularyConfig(Config):
    """How text is split into pieces."""

    kind: Literal["bpe", "unigram"] = "bpe"
    """Byte-pair encoding, or a unigram language model over pieces."""
    target_kind: Literal["bpe", "unigram", "word"] | None = None
    """Kind of the target's own vocabulary (with `joint: false`), if it differs from `kind`. `word`
    makes every word one piece, whatever the `size`: for symbols, such as those of
    [trees](parsing.md)."""
    size: int = Field(default=32000, gt=4, le=10_000_000)
    """Number of pieces in a vocabulary, including the four special ones, tags and bytes."""
    joint: bool = True
    """One vocabulary for both sides; `false` trains one for each, of `size` pieces each."""
    byte_fallback: bool = False
    """Encode characters that the vocabulary lacks as bytes (256 of its pieces)."""
    character_coverage: float = Field(default=1.0, ge=0.98, le=1.0)
    """Share of the characters in the training text that get a piece; 0.9995 is usual for Chinese or
    Japanese."""
    normalization: Literal["identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"] = "identity"
    """Normalisation by sentencepiece, besides composing characters (NFC), which is always done:
    `nfkc` folds full-width and other compatibility forms, `_cf` also folds case."""
    tags: Tags = ()
    """Symbols such as `<2de>` that are never split; each gets an id after the special pieces, like
    the tags of parts of the corpus."""
    sampling: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Subword sampling in training: the BPE-dropout probability (0.1 is usual) or the unigram
    smoothing alpha; 0 always takes the best segmentation."""
    balance: float | None = Field(default=None, ge=1, le=1000)
    """Temperature that balances the languages of the training text: each counts in proportion to
    its lines to the power 1/balance (Arivazhagan et al. 2019, who use 5), so that small languages
    get their share of pieces. By default, lines count by the weights of their parts."""
    training_pairs: int = Field(default=2_000_000, gt=0)
    """Maximum pairs to train a vocabulary on, after cleaning; a larger corpus is sampled at
    random."""
    of: ModelPath | None = None
    """Run or model whose vocabulary is reused unchanged, without its weights; of this section, only
    `sampling` is then read. If it has two vocabularies, each language keeps its own: a language
    model takes that of the target, or of the source if that is its language; a model of the
    opposite direction swaps the two."""
    digest: str | None = Field(None, pattern="^[0-9a-f]{64}$")
    """Digest of the reused vocabulary, which the run records when training begins; any other
    vocabulary is then refused. No need to set it."""

    def conflicts(self) -> Iterator[str]:
        """Settings without effect in a vocabulary taken unchanged, or in a joint one."""
        if self.of is None:
            yield from self.unread("without of", "digest")
            if self.joint and self.target_kind is not None:
                yield "target_kind is of a vocabulary of the target alone; set joint: false"
        else:
            yield from self.unread("with vocabulary.of", *DECIDED_ELSEWHERE)


class Vocabulary(ABC):
    """Text to ids and back; the ids 0 to 3 are pad, unknown, begin and end.

    Training makes a
    :class:`~dragoman.text.vocabularies.sentencepiece_vocabulary.SentencePieceVocabulary`. A list of
    pieces from another toolkit is a
    :class:`~dragoman.text.vocabularies.listed_vocabulary.ListedVocabulary`.
    """

    suffix: ClassVar[str]
    """Suffix of its files."""

    @property
    @abstractmethod
    def atoms(self) -> Sequence[bool]:
        """Whether each piece is never split: special ones, bytes and tags."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """64 hexadecimal digits that identify this vocabulary (SHA-256)."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of pieces."""

    def encode(self, text: str) -> list[int]:
        """Ids of the best segmentation of ``text``, normalised first, without begin and end."""
        return self.encode_batch([text])[0]

    @abstractmethod
    def encode_batch(
        self,
        texts: Sequence[str],
        *,
        threads: int = 1,
        normalized: bool = False,
    ) -> list[list[int]]:
        """Ids of the best segmentation of many texts.

        Args:
            normalized: whether ``texts`` came from
                :func:`~dragoman.text.corpora.cleaning.normalize`, which is then skipped.
        """

    @abstractmethod
    def split_anew(
        self, ids: IntArray, lengths: IntArray, *, sampling: float, seed: int
    ) -> tuple[IntArray, IntArray]:
        """Other pieces for the same sentences, drawn at random.

        Args:
            ids: the sentences one after another.
            lengths: of each, ``(sentences,)``.
            sampling: BPE-dropout probability or unigram alpha.

        Returns:
            New ids one after another, and the new length of each sentence.

        Raises:
            ConfigError: the pieces are a fixed list.
        """

    @abstractmethod
    def split(self, piece: str) -> list[int]:
        """Ids of a piece of another vocabulary, taken literally: "▁" only where it has one."""

    @abstractmethod
    def normalized(self, text: str) -> str:
        """``text`` before it is split: "▁" for spaces and at the front, no space at the end."""

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """The text of ``ids``. Pad, begin and end are dropped, and an unknown piece becomes "⁇"."""

    @abstractmethod
    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The pieces with these ``ids``; "▁" is a space before."""

    @abstractmethod
    def surfaces(self, text: str) -> list[str]:
        """The pieces of ``text``, with unknown pieces as they are spelt in it.

        Together they spell the tags in front, and then :meth:`normalized` of the rest.
        """

    @abstractmethod
    def ids(self, pieces: Iterable[str]) -> list[int]:
        """The ids of pieces; a string that is not a piece gets the unknown id."""

    @property
    @abstractmethod
    def has_bytes(self) -> bool:
        """Whether unknown characters are split into bytes, so that nothing is unknown."""

    @property
    @abstractmethod
    def tags(self) -> list[int]:
        """Ids of all tags."""

    @property
    @abstractmethod
    def tags_alone(self) -> bool:
        """Whether no piece for a space stands before tags in front of a text.

        :attr:`sentencepiece` by itself then gives a text with tags other pieces.
        """

    @property
    @abstractmethod
    def sentencepiece(self) -> bytes | None:
        """A serialised sentencepiece model that splits text into these pieces; None if impossible.

        Its ids are those of the pieces only in a
        :class:`~dragoman.text.vocabularies.sentencepiece_vocabulary.SentencePieceVocabulary`.
        """

    @abstractmethod
    def save(self, path: Path | str) -> None:
        """Writes it to a file, which ``load_vocabulary`` reads.

        Raises:
            StorageError: the file cannot be written to the disk.
        """

    @abstractmethod
    def require_space_signs(self, purpose: str) -> None:
        """Checks that pieces mark spaces, so that each piece shows whether it begins a word.

        Raises:
            ConfigError: they do not.
        """

    def tag(self, tag: str) -> int:
        """The id of a tag from ``vocabulary.tags``.

        Raises:
            ConfigError: the vocabulary has no such piece.
        """
        (found,) = self.ids([tag])
        if found == UNK:
            raise ConfigError(
                f"the vocabulary has no tag {tag!r}; name it in vocabulary.tags and train again"
            )
        return found

    @property
    def language_tags(self) -> list[int]:
        """Ids of those :attr:`tags` that name a target language, such as ``<2de>``."""
        named = zip(self.tags, self.pieces(self.tags), strict=True)
        return [i for i, tag in named if LANGUAGE_TAG.fullmatch(tag)]


def prepare_line(text: str) -> str:
    """A text normalised as for training and splitting."""
    return normalize(text.replace(SPACE_SIGN, " ") if SPACE_SIGN in text else text)


def is_empty(text: str) -> bool:
    """Whether :func:`prepare_line` leaves nothing of a text, such as a lone byte order mark."""
    if _KEPT.search(text):  # nearly always ends at the first character
        return False
    return not prepare_line(text)
