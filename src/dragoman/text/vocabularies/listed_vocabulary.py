"""Vocabularies that are a fixed list of pieces, with the numbers of another toolkit."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationError, model_validator
from typing_extensions import override

from dragoman.core.config import Config
from dragoman.core.errors import ConfigError, SavedError
from dragoman.core.files import atomic_write
from dragoman.core.ranges import IntArray
from dragoman.text.tags import SPACE_SIGN, is_tag
from dragoman.text.vocabularies.splitting import SentencePieces, SubwordNmt
from dragoman.text.vocabularies.vocabulary import (
    BOS,
    EOS,
    PAD,
    UNK,
    UNKNOWN_SURFACE,
    Vocabulary,
    prepare_line,
)

SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")
"""The names of the first four pieces."""


class PieceList(Config):
    """What a file of such a vocabulary holds, beside its digest."""

    format: Literal[1] = 1
    """Of the file."""
    pieces: tuple[str, ...]
    """By id; the first four are pad, unknown, begin and end."""
    tags: tuple[str, ...] = ()
    """Those of the pieces that are tags."""
    splitting: Annotated[SentencePieces | SubwordNmt, Field(discriminator="by")]
    """How text becomes pieces."""

    @model_validator(mode="after")
    def _check(self) -> PieceList:
        if self.pieces[: len(SPECIAL)] != SPECIAL:
            raise ValueError(f"pieces: expected {', '.join(SPECIAL)} at first")
        if len(set(self.pieces)) < len(self.pieces):
            raise ValueError("pieces: one is there twice")
        for tag in self.tags:
            if not is_tag(tag) or tag not in self.pieces:
                raise ValueError(f"tags: {tag[:40]!r} is no tag or no piece")
        return self


class ListedVocabulary(Vocabulary):
    """A list of pieces, and how text is split into them.

    Unlike a vocabulary made by training, it can be neither extended nor sampled from.
    """

    suffix: ClassVar[str] = ".pieces"

    def __init__(self, content: PieceList) -> None:
        self.content = content
        self._splitting = content.splitting
        self._ids = {piece: i for i, piece in enumerate(content.pieces)}
        tags = "|".join(map(re.escape, sorted(content.tags, key=len, reverse=True)))
        self._tag = re.compile(f"({tags})") if tags else None

    def __reduce__(self) -> tuple[type[ListedVocabulary], tuple[PieceList]]:
        return ListedVocabulary, (self.content,)

    @cached_property
    def atoms(self) -> list[bool]:
        """Special pieces and tags."""
        never = {*SPECIAL, *self.content.tags}
        return [piece in never for piece in self.content.pieces]

    @cached_property
    @override
    def fingerprint(self) -> str:
        return _digest(self.content)

    def __len__(self) -> int:
        return len(self.content.pieces)

    def encode_batch(
        self,
        texts: Sequence[str],
        *,
        threads: int = 1,
        normalized: bool = False,
    ) -> list[list[int]]:
        """Encodes many texts in a single thread."""
        return [[self._id(piece) for piece in self.strings(prepare_line(text))] for text in texts]

    def split_anew(
        self, ids: IntArray, lengths: IntArray, *, sampling: float, seed: int
    ) -> tuple[IntArray, IntArray]:
        """Never possible, since a list splits in one way."""
        raise ConfigError(
            "vocabulary.sampling: the vocabulary is a fixed list of pieces from another toolkit, "
            "which has no subword sampling; set it to 0"
        )

    def _id(self, piece: str) -> int:
        """The id of a piece that came out of text, where names of special pieces are text."""
        found = self._ids.get(piece, UNK)
        return found if found > EOS else UNK

    def strings(self, line: str) -> Iterator[str]:
        """The strings that a prepared line is split into, whether or not they are pieces."""
        for part, is_a_tag in self._parts(line):
            yield from [part] if is_a_tag else self._splitting.split(part)

    def _parts(self, line: str) -> Iterator[tuple[str, bool]]:
        parts = [line] if self._tag is None else self._tag.split(line)
        for number, part in enumerate(parts):
            is_a_tag = number % 2 == 1
            if part := part if is_a_tag else part.strip():
                yield part, is_a_tag

    @override
    def split(self, piece: str) -> list[int]:
        return list(map(self._id, self._splitting.literal(piece)))

    @override
    def normalized(self, text: str) -> str:  # tags stay, without "▁"
        return "".join(
            part if is_a_tag else self._splitting.normalized(part)
            for part, is_a_tag in self._parts(prepare_line(text))
        )

    @override
    def decode(self, ids: Iterable[int]) -> str:
        said = [int(i) for i in ids if i not in (PAD, BOS, EOS)]
        texts: list[str] = []
        waiting: list[str] = []
        tags = frozenset(self.tags)
        for i in said:
            piece = UNKNOWN_SURFACE if i == UNK else self.content.pieces[i]
            if i in tags:
                texts += [self._splitting.join(waiting), piece]
                waiting = []
            else:
                waiting.append(piece)
        texts.append(self._splitting.join(waiting) if waiting else "")
        return " ".join(filter(None, texts))

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The pieces as the toolkit spells them."""
        return [self.content.pieces[int(i)] for i in ids]

    @override
    def surfaces(self, text: str) -> list[str]:
        found: list[str] = []
        for part, is_a_tag in self._parts(prepare_line(text)):
            found += [part] if is_a_tag else self._splitting.spelt(part)
        return found

    @override
    def ids(self, pieces: Iterable[str]) -> list[int]:
        return [self._ids.get(piece, UNK) for piece in pieces]

    @property
    def has_bytes(self) -> bool:
        """Never: a byte of sentencepiece may be missing in the list."""
        return False

    @cached_property
    @override
    def tags(self) -> list[int]:
        return sorted(self._ids[tag] for tag in self.content.tags)

    @property
    def tags_alone(self) -> bool:
        """Always, since the splitting has no tags."""
        return True

    @property
    @override
    def sentencepiece(self) -> bytes | None:
        splitting = self._splitting
        return splitting.serialized if isinstance(splitting, SentencePieces) else None

    @override
    def require_space_signs(self, purpose: str) -> None:
        if not self._splitting.marks_spaces:
            raise ConfigError(
                f"{purpose} needs pieces that mark spaces, such as {SPACE_SIGN}word; those of this "
                "vocabulary mark where words go on, by subword-nmt or not at all"
            )

    def save(self, path: Path | str) -> None:
        """Writes JSON, with a digest of its content."""
        value = {**self.content.model_dump(mode="json"), "digest": self.fingerprint}
        with atomic_write(path) as stream:
            json.dump(value, stream, ensure_ascii=False, indent=0)
            stream.write("\n")

    @classmethod
    def opened(cls, content: bytes) -> ListedVocabulary:
        """The content of a file that :meth:`save` wrote.

        Raises:
            SavedError: it is truncated, altered or not Dragoman's.
        """
        try:
            value = json.loads(content)
            digest = value.pop("digest")
            found = PieceList.model_validate(value)
        except ValidationError as error:
            raise SavedError(f"damaged vocabulary: {error.errors()[0]['msg']}") from error
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
            raise SavedError(
                "the vocabulary is truncated, altered or not Dragoman's; copy it again or import "
                "the model again"
            ) from error
        if digest != _digest(found):
            raise SavedError(
                "the vocabulary was altered after it was written (digest differs); copy it again "
                "or import the model again"
            )
        return cls(found)


def _digest(content: PieceList) -> str:
    value = json.dumps(content.model_dump(mode="json"), sort_keys=True)
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
