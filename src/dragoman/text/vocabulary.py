"""Vocabularies: sentencepiece models that turn text into ids and ids into text.

Byte-pair encoding after Sennrich et al. 2016 (arXiv:1508.07909) or a unigram language model
after Kudo 2018 (arXiv:1804.10959), each with its subword sampling: BPE-dropout after Provilkov
et al. 2020 (arXiv:1910.13267) or sampled segmentations.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

import sentencepiece
from pydantic import Field, field_validator

from dragoman.core.config import Config
from dragoman.core.errors import ConfigError, SavedError
from dragoman.core.files import atomic_write, storage_errors
from dragoman.text.normalization import normalize
from dragoman.text.subword_sampling import Splitter, bpe_dropout, unigram_sampling
from dragoman.text.tags import LANGUAGE_TAG, SPACE_SIGN, TAG, check_tags

FILE_NAMES = ("vocabulary.model", "vocabulary.source.model", "vocabulary.target.model")
"""File names of a joint vocabulary, and of one for each side."""

PAD, UNK, BOS, EOS = 0, 1, 2, 3

UNKNOWN_SURFACE = "\u2047"  # "⁇": what an unknown piece looks like in decoded text

# A saved model ends in one more protobuf field, which sentencepiece itself passes over: number
# 200 (open to extensions), 32 bytes, the SHA-256 of all before.  Without it a file cut between
# two pieces would load as a smaller vocabulary.
_SEAL = b"\xc2\x0c\x20"
_DIGEST_BYTES = 32
# Protobuf: what comes after a model overrides it, here add_dummy_prefix and
# remove_extra_whitespaces of its normalizer.
_AS_IT_STANDS = b"\x1a\x04\x18\x00\x20\x00"


OF_THE_KIND = ("kind", "target_kind", "joint", "byte_fallback", "normalization")
"""Settings that an existing vocabulary decides, even one that is extended."""
DECIDED_ELSEWHERE = (
    *OF_THE_KIND,
    *("size", "character_coverage", "tags", "balance", "training_pairs"),
)
"""Settings that the vocabulary of another run decides if it is taken as it is."""


class VocabularyConfig(Config):
    """How text is split into pieces."""

    kind: Literal["bpe", "unigram"] = "bpe"
    """Byte-pair encoding, or a unigram language model over pieces."""
    target_kind: Literal["bpe", "unigram", "word"] | None = None
    """Kind of the target's own vocabulary (with `joint: false`), if it differs from `kind`. With
    `word` every word is one piece that is never split, and `size` does not limit them: for symbols,
    such as those of [trees](parsing.md)."""
    size: int = Field(default=32000, gt=4, le=10_000_000)
    """Pieces in a vocabulary, including the four special ones, tags and bytes."""
    joint: bool = True
    """One vocabulary for both sides; `false` trains one for each, of `size` pieces each."""
    byte_fallback: bool = False
    """Encode characters that the vocabulary lacks as bytes (256 of its pieces)."""
    character_coverage: float = Field(default=1.0, ge=0.98, le=1.0)
    """Share of the characters in the training text that get a piece; 0.9995 is usual for Chinese or
    Japanese."""
    normalization: Literal["identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"] = "identity"
    """What sentencepiece does to the text beyond composing it (NFC), which is always done;
    `nfkc` folds full-width and other compatibility forms, `_cf` also folds case."""
    tags: tuple[str, ...] = ()
    """Symbols such as `<2de>` that are never split; each gets an id after the special ones, as
    do those that parts of the corpus name."""
    sampling: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Subword sampling in training: the BPE-dropout probability (0.1 is usual) or the unigram
    smoothing alpha; 0 always takes the best segmentation."""
    balance: float | None = Field(default=None, ge=1, le=1000)
    """Temperature that balances the languages of the training text: each counts in proportion to
    its lines to the power 1/balance (Arivazhagan et al. 2019, who take 5), so that a small
    language gets its share of pieces. By default, lines count by the weights of their parts."""
    training_pairs: int = Field(default=2_000_000, gt=0)
    """Maximum pairs to train a vocabulary on, after cleaning; a larger corpus is sampled at
    random."""
    of: str | None = None
    """A run or model whose vocabulary is taken as it is, without its weights. Of the other settings
    here only `sampling` is then read. Where there are two vocabularies, each language keeps its
    own: a language model takes that of the target, or of its own language if that is the source,
    and a model of the opposite direction swaps them."""
    digest: str | None = Field(None, pattern="^[0-9a-f]{64}$")
    """Digest of the vocabulary that was taken, written to the run when training begins; another one
    is refused from then on. No need to set it."""

    def conflicts(self) -> Iterator[str]:
        """Settings that are not read: of a vocabulary taken as it is, or of a joint one."""
        if self.of is None:
            yield from self.unread("without of", "digest")
            if self.joint and self.target_kind is not None:
                yield "target_kind is of a vocabulary of the target alone; set joint: false"
        else:
            yield from self.unread("with vocabulary.of", *DECIDED_ELSEWHERE)

    @field_validator("tags")
    @classmethod
    def _check_tags(cls, tags: tuple[str, ...]) -> tuple[str, ...]:
        return check_tags(tags)


class Vocabulary:
    """A trained sentencepiece model: text to ids and back.

    Args:
        model: a serialised sentencepiece model whose ids 0 to 3 are pad, unknown, begin and end.

    Raises:
        SavedError: ``model`` is not such a model.
    """

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
        self._splitters: dict[float, Splitter] = {}

    @cached_property
    def atoms(self) -> list[bool]:
        """Which pieces are never split: special ones, bytes and tags."""
        processor = self._processor
        return [
            i in {PAD, UNK, BOS, EOS}
            or processor.is_byte(i)
            or TAG.fullmatch(processor.id_to_piece(i)) is not None
            for i in range(len(self))
        ]

    @cached_property
    def is_unigram(self) -> bool:
        """Whether scores are log-probabilities; those of byte-pair encoding count 0, -1, -2 ..."""
        scores = [self._processor.get_score(i) for i in range(len(self)) if not self.atoms[i]]
        return any(score != round(score) for score in scores)

    @property
    def fingerprint(self) -> str:
        """64 hexadecimal digits that identify this vocabulary (SHA-256)."""
        return hashlib.sha256(self._model).hexdigest()

    @property
    def serialized(self) -> bytes:
        """The sentencepiece model that this is made of."""
        return self._model

    def __len__(self) -> int:
        return int(self._processor.get_piece_size())

    def __reduce__(self) -> tuple[type[Vocabulary], tuple[bytes]]:
        return Vocabulary, (self._model,)

    def encode(self, text: str) -> list[int]:
        """Ids of the best segmentation of ``text``, normalised first, without begin and end."""
        ids: list[int] = self._processor.encode(prepare_line(text))
        return ids

    def encode_batch(
        self,
        texts: Sequence[str],
        *,
        threads: int = 1,
        sampling: float = 0.0,
        seed: int = 0,
        normalized: bool = False,
    ) -> list[list[int]]:
        """Encode many texts.

        Args:
            texts: the texts.
            threads: how many threads share the work; sampling uses one.
            sampling: BPE-dropout probability or unigram alpha; 0 is the best segmentation.
            seed: seed of the sampling; the same texts and seed give the same ids.
            normalized: whether ``texts`` came from :func:`~dragoman.text.cleaning.normalize`,
                which is then skipped.
        """
        prepared = [
            text if normalized and SPACE_SIGN not in text else prepare_line(text) for text in texts
        ]
        ids: list[list[int]]
        if not prepared:
            return []
        ids = self._processor.encode(prepared, num_threads=threads)
        if sampling == 0.0:
            return ids
        split, rng = self._splitter(sampling), random.Random(seed)
        return [self._split_anew(sentence, split, rng) for sentence in ids]

    def _splitter(self, sampling: float) -> Splitter:
        """The function that draws splits of words into pieces of this vocabulary."""
        if sampling not in self._splitters:
            kind = unigram_sampling if self.is_unigram else bpe_dropout
            self._splitters[sampling] = kind(self.scores, sampling)
        return self._splitters[sampling]

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
        """The same model, which neither adds a space before a text nor removes spaces."""
        processor = sentencepiece.SentencePieceProcessor()
        processor.LoadFromSerializedProto(self._model + _AS_IT_STANDS)
        return processor

    def normalized(self, text: str) -> str:
        """``text`` before it is split: "▁" for spaces and at the front, none at the end."""
        return str(self._processor.normalize(prepare_line(text)))

    def _split_anew(self, ids: list[int], split: Splitter, rng: random.Random) -> list[int]:
        """Other pieces for the same sentence; tags, bytes and unknown pieces stay."""
        found: list[int] = []
        word = ""
        for i in [*ids, EOS]:  # the end closes the last word
            piece = self._processor.id_to_piece(i)
            if word and (self.atoms[i] or piece.startswith(SPACE_SIGN)):
                found += map(self._processor.piece_to_id, split(word, rng))
                word = ""
            if self.atoms[i]:
                found.append(i)
            else:
                word += piece
        return found[:-1]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ``ids``; pad, begin and end are dropped, an unknown piece becomes "⁇"."""
        said = [int(i) for i in ids if i not in (PAD, BOS, EOS)]
        return str(self._processor.decode(said)) if said else ""

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The pieces that ``ids`` stand for; "▁" is a space before."""
        return [str(self._processor.id_to_piece(int(i))) for i in ids]

    def surfaces(self, text: str) -> list[str]:
        """The pieces of ``text``, those that are unknown as they are spelt in it."""
        pieces: list[str] = self._processor.encode(prepare_line(text), out_type=str)
        return pieces

    def ids(self, pieces: Iterable[str]) -> list[int]:
        """The ids of pieces; what is no piece is unknown."""
        return [int(self._processor.piece_to_id(piece)) for piece in pieces]

    @property
    def has_bytes(self) -> bool:
        """Whether unknown characters are split into bytes, so that nothing is unknown."""
        return any(self._processor.is_byte(i) for i in range(EOS + 1, len(self)))

    def tag(self, tag: str) -> int:
        """The id of a tag from ``vocabulary.tags``.

        Raises:
            ConfigError: the vocabulary has no such piece.
        """
        found = int(self._processor.piece_to_id(tag))
        if found == UNK:
            raise ConfigError(
                f"the vocabulary has no tag {tag!r}; name it in vocabulary.tags and train again"
            )
        return found

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
    def language_tags(self) -> list[int]:
        """Ids of those :attr:`tags` that name a target language, such as ``<2de>``."""
        return [i for i in self.tags if LANGUAGE_TAG.fullmatch(self._processor.id_to_piece(i))]

    def save(self, path: Path | str) -> None:
        """Write the model to ``path``, a file that any sentencepiece program can read.

        Raises:
            StorageError: the disk refuses.
        """
        with atomic_write(path, "wb") as stream:
            stream.write(self._model + _SEAL + hashlib.sha256(self._model).digest())

    @classmethod
    def load(cls, path: Path | str) -> Vocabulary:
        """Read what :meth:`save` wrote.

        Raises:
            SavedError: the file is missing, truncated, altered or not Dragoman's.
        """
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise SavedError(f"{path}: no readable vocabulary here: {error.strerror}") from error
        body = len(content) - len(_SEAL) - _DIGEST_BYTES
        model = content[: max(body, 0)]
        if content[len(model) :] != _SEAL + hashlib.sha256(model).digest():
            raise SavedError(
                f"{path}: the vocabulary is truncated, altered or not Dragoman's; "
                "copy it again or train it again"
            )
        try:
            return cls(model)
        except SavedError as error:
            raise SavedError(f"{path}: {error}") from error


class Vocabularies(NamedTuple):
    """The vocabularies of the two sides; the same one twice where they share it."""

    source: Vocabulary
    target: Vocabulary

    @property
    def joint(self) -> bool:
        """Whether both sides share one vocabulary."""
        return self.source.fingerprint == self.target.fingerprint

    @property
    def aligned(self) -> bool:
        """Whether both sides have the same pieces in the same order, so that they share a matrix.

        Two vocabularies may have that and still split text differently, as those of OPUS-MT do.
        """
        if self.joint:
            return True
        ours, theirs = (side.pieces(range(len(side))) for side in self)
        return ours == theirs

    @property
    def fingerprints(self) -> tuple[str, str]:
        """Fingerprints of the source and the target side, which identify the vocabularies."""
        return self.source.fingerprint, self.target.fingerprint

    @property
    def digest(self) -> str:
        """64 hexadecimal digits that identify the two together (SHA-256)."""
        return hashlib.sha256(" ".join(self.fingerprints).encode()).hexdigest()

    def save(self, directory: Path | str) -> None:
        """Write ``vocabulary.model``, or ``vocabulary.source.model`` and ``.target.model``.

        Raises:
            StorageError: the disk refuses.
        """
        joint, *separate = _paths(directory)
        if self.joint:
            self.source.save(joint)
            superseded = separate
        else:
            for vocabulary, path in zip(self, separate, strict=True):
                vocabulary.save(path)
            superseded = [joint]
        for path in superseded:
            with storage_errors(path):
                path.unlink(missing_ok=True)

    @classmethod
    def load(cls, directory: Path | str) -> Vocabularies:
        """Read what :meth:`save` wrote.

        Raises:
            SavedError: a file is missing, truncated, altered or of another kind.
        """
        joint, source, target = _paths(directory)
        if joint.exists():
            vocabulary = Vocabulary.load(joint)
            return cls(vocabulary, vocabulary)
        if source.exists() or target.exists():
            return cls(Vocabulary.load(source), Vocabulary.load(target))
        raise SavedError(f"{directory}: no {joint.name} here; is this a run or a model?")


def prepare_line(text: str) -> str:
    """A text as the vocabulary is trained on it and splits it."""
    return normalize(text.replace(SPACE_SIGN, " ") if SPACE_SIGN in text else text)


def _paths(directory: Path | str) -> list[Path]:
    return [Path(directory) / name for name in FILE_NAMES]
