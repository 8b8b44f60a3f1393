"""Measures what a vocabulary lacks for new text, and whether extending it pays.

A model that goes on learning from other text should keep its vocabulary as long as that can spell
the text: new pieces have to be learnt, while the existing pieces of the same words are known.
Another script is spelt in unknown pieces, in bytes or in single characters, and an extension pays.

A new piece counts as useful if the text has it often enough to learn it. By Gowda and May 2020
(arXiv:2004.02334, section 4), nearly all classes need many examples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from dragoman.text.tags import SPACE_SIGN
from dragoman.text.vocabularies.extension import Growth, growth, without_tags
from dragoman.text.vocabularies.saved_vocabularies import Vocabularies
from dragoman.text.vocabularies.vocabulary import UNK, Vocabulary, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import Counted, Sides, counted_lines

MOST_LACKING = 0.001
"""Share of the characters that may be unknown before an extension pays."""
LEAST_SAVED = 0.25
"""Share of the pieces of a side that an extension must save to pay."""
LEAST_OCCURRENCES = 20
"""Minimum count in the new text of nearly all new pieces."""

_NEARLY_ALL = 0.95
_MOST_PAIRS = 50_000  # enough for a decision within seconds
_SHOWN_CHARACTERS = 10


class Unknown(NamedTuple):
    """Unknown pieces of some lines."""

    pieces: int
    """Number of unknown pieces."""
    lines: list[str]
    """The lines that contain any."""

    @classmethod
    def of(cls, lines: Sequence[str], vocabulary: Vocabulary) -> Unknown:
        """The unknown pieces of these lines.

        If a dev or test set has any, bytes should spell them (``byte_fallback``). The doctor
        recommends this, and ``dragoman init`` decides by it.
        """
        encoded = vocabulary.encode_batch(lines)
        return cls(
            sum(ids.count(UNK) for ids in encoded),
            [line for line, ids in zip(lines, encoded, strict=True) if UNK in ids],
        )


@dataclass(frozen=True)
class SideNeeds:
    """How a vocabulary spells one side of new text."""

    side: str
    """``source`` or ``target``."""
    lacking: float
    """Share of the characters without a piece: they are unknown, or spelt as bytes."""
    lacking_lines: float
    """Share of the lines with such a character."""
    characters: tuple[str, ...]
    """These characters, the most frequent first."""
    are_bytes: bool
    """Whether they are spelt as bytes rather than unknown."""
    fertility: float
    """Pieces per word, counting each unknown character as one piece. Spaces separate words."""
    extended_fertility: float
    """Pieces per word after the extension."""
    general_fertility: float | None = None
    """Pieces per word of the general text, if there is any."""

    @property
    def saved(self) -> float:
        """Share of its pieces that the extension saves."""
        return 1 - self.extended_fertility / self.fertility if self.fertility else 0.0

    @property
    def pays(self) -> bool:
        """Whether an extension pays for this side."""
        unknown = self.lacking > MOST_LACKING and not self.are_bytes
        return unknown or self.saved >= LEAST_SAVED

    def described(self) -> str:
        """A readable line."""
        text = f"{self.side}: {self.fertility:.1f} pieces per word"
        if self.general_fertility is not None:
            text += f" (general text: {self.general_fertility:.1f})"
        text += f", {self.extended_fertility:.1f} with an extension"
        if self.characters:
            how = "spelt as bytes" if self.are_bytes else "unknown"
            shown = " ".join(self.characters[:_SHOWN_CHARACTERS])
            more = " ..." if len(self.characters) > _SHOWN_CHARACTERS else ""
            text += (
                f"; {_percent(self.lacking)} of the characters, in {_percent(self.lacking_lines)} "
                f"of the lines, are {how}: {shown}{more}"
            )
        return text


@dataclass(frozen=True)
class VocabularyNeeds:
    """The pieces that the vocabularies of a model lack for new text."""

    parent: Vocabularies
    sides: tuple[SideNeeds, SideNeeds]
    """Source and target."""
    growths: tuple[Growth, ...]
    """Possible growth of each vocabulary, a single one if they are joint."""
    counts: tuple[int, ...]
    """Number of longer pieces of each growth that occur often enough."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags that the vocabularies lack."""
        return tuple(dict.fromkeys(tag for one in self.growths for tag in one.tags))

    @property
    def pays(self) -> bool:
        """Whether to extend: tags are missing, or it pays for a side."""
        return bool(self.tags) or any(side.pays for side in self.sides)

    @property
    def pieces(self) -> int:
        """Pieces that the extension adds: tags, characters and longer ones."""
        return sum(len(new) - len(old) for new, old in self._changed())

    @property
    def size(self) -> int:
        """``vocabulary.size`` of the extension."""
        return max(len(new) for new, _ in self._changed())

    @cached_property
    def extended(self) -> Vocabularies:
        """The extended vocabularies, which begin with the pieces of the parent's."""
        grown = [one.grown(count) for one, count in zip(self.growths, self.counts, strict=True)]
        return Vocabularies(grown[0], grown[-1])

    def described(self) -> Iterator[str]:
        """Readable lines: each side that has text, and the conclusion."""
        yield from (side.described() for side in self.sides if side.fertility)
        if self.tags:
            yield f"the vocabulary lacks {', '.join(self.tags)}"
        saved = " and ".join(
            f"{_percent(side.saved)} of the {side.side} pieces"
            for side in self.sides
            if side.fertility
        )
        pays = "pays" if self.pays else "does not pay"
        pieces = "piece" if self.pieces == 1 else "pieces"
        yield f"extending by {self.pieces:,} {pieces} {pays}: it saves {saved}"

    def _changed(self) -> list[tuple[Vocabulary, Vocabulary]]:
        return list(zip(self.extended, self.parent, strict=True))[: len(self.growths)]


def vocabulary_needs(
    parent: Vocabularies,
    pairs: Iterable[tuple[Sides, float]],
    config: VocabularyConfig,
    *,
    seed: int,
    general: Iterable[tuple[Sides, float]] = (),
) -> VocabularyNeeds:
    """Finds the pieces that ``parent`` lacks for new text.

    Extending pays if tags are missing, if more than one character in a thousand is unknown, or if
    it saves a quarter of the pieces of a side (:data:`MOST_LACKING`, :data:`LEAST_SAVED`). It adds
    the longer pieces that occur at least :data:`LEAST_OCCURRENCES` times, up to the size of the
    parent.

    Args:
        config: only ``tags``, ``character_coverage``, ``balance`` and ``training_pairs`` are read.
        general: text of the kind that the model was trained on, for comparing pieces per word.
    """
    config = config.model_copy(update={"training_pairs": min(config.training_pairs, _MOST_PAIRS)})
    tags = {tag for one in parent for tag in one.pieces(one.tags)} | {*config.tags}
    sides, known = (
        [without_tags(one, tags) for one in counted_lines(text, config, seed, joint=parent.joint)]
        for text in (pairs, general)
    )
    growths, counts = [], []
    for vocabulary, lines, name in _texts(parent, sides):
        found = _growth(vocabulary, lines, config, name)
        growths.append(found)
        counts.append(_useful(found, _words(vocabulary, lines)))
    needs = [
        _side(name, lines, growths[place], counts[place], given)
        for name, lines, given, place in zip(
            ("source", "target"), sides, known, (0, len(growths) - 1), strict=True
        )
    ]
    return VocabularyNeeds(parent, (needs[0], needs[1]), tuple(growths), tuple(counts))


def _texts(
    parent: Vocabularies, sides: Sequence[list[Counted]]
) -> Iterator[tuple[Vocabulary, list[Counted], str]]:
    """Each vocabulary with its text and the name of its side in messages."""
    if parent.joint:
        yield parent.source, sides[0] + sides[1], ""
    else:
        yield parent.source, sides[0], "source "
        yield parent.target, sides[1], "target "


def _growth(
    vocabulary: Vocabulary, lines: Sequence[Counted], config: VocabularyConfig, side: str
) -> Growth:
    """The possible growth of a vocabulary, at most to twice its size."""
    return growth(
        vocabulary, lines, config, side, lambda _: len(vocabulary), fewest=LEAST_OCCURRENCES
    )


def _useful(found: Growth, words: Counter[str]) -> int:
    """Number of longer pieces to add so that nearly all of them occur often enough."""
    count = len(found.others)
    while count:
        pieces = {piece for piece, _ in found.others[:count]}
        vocabulary = found.grown(count)
        occurrences = _occurrences(vocabulary, words)
        ids = vocabulary.ids(pieces)
        often = sum(occurrences[i] >= LEAST_OCCURRENCES for i in ids)
        if often >= _NEARLY_ALL * count:
            return count
        count = often  # without the other pieces, their parts occur more often
    return 0


def _side(
    side: str, lines: Sequence[Counted], found: Growth, count: int, general: Sequence[Counted]
) -> SideNeeds:
    parent = found.parent
    text = [(parent.normalized(line), times) for line, times in lines]
    lacking = {character for character, _ in found.characters}
    characters: Counter[str] = Counter()
    affected = total = 0
    for line, times in text:
        total += times
        affected += times * (not lacking.isdisjoint(line))
        for character in line.replace(SPACE_SIGN, ""):
            characters[character] += times
    there = [(one, characters[one]) for one, _ in found.characters if characters[one]]
    there.sort(key=lambda item: (-item[1], item[0]))
    words = _words(parent, lines)
    known = _words(parent, general)
    return SideNeeds(
        side,
        _share(sum(times for _, times in there), characters.total()),
        _share(affected, total),
        tuple(character for character, _ in there),
        parent.has_bytes,
        _fertility(parent, words),
        _fertility(found.grown(count), words),
        _fertility(parent, known) if known else None,
    )


def _words(vocabulary: Vocabulary, lines: Sequence[Counted]) -> Counter[str]:
    """Words of normalised text. A piece never extends beyond a word."""
    found: Counter[str] = Counter()
    for line, times in lines:
        for word in vocabulary.normalized(line).split(SPACE_SIGN):
            if word:
                found[word] += times
    return found


def _occurrences(vocabulary: Vocabulary, words: Counter[str]) -> Counter[int]:
    found: Counter[int] = Counter()
    ids = vocabulary.encode_batch(list(words))
    for times, pieces in zip(words.values(), ids, strict=True):
        for piece in pieces:
            found[piece] += times
    return found


def _fertility(vocabulary: Vocabulary, words: Counter[str]) -> float:
    """Pieces per word, counting each unknown character as one piece; 0 without words."""
    occurrences = _occurrences(vocabulary, words)
    pieces = occurrences.total()
    if occurrences[UNK]:  # a whole run of them is a single unknown piece
        known = set(vocabulary.pieces(range(len(vocabulary))))
        unknown = (times for word, times in words.items() for one in word if one not in known)
        pieces += sum(unknown) - occurrences[UNK]
    return _share(pieces, words.total())


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 or not share else f"{share:.2%}"
