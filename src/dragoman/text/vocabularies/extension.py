"""Extension of vocabularies: pieces of new text are appended, and existing ones keep their ids.

Byte-pair encoding is continued: the words of the new text are split by the vocabulary and merged
further (Purason et al. 2025, arXiv:2512.03989, section 3). Appending the pieces of a vocabulary
trained on the new text instead would add some that no split ever reaches.  Old merges come first,
so old pieces are formed as before.  In a unigram model every piece is reachable: it gets the pieces
of a model trained on the new text, with their log-probabilities there.
"""

from __future__ import annotations

import heapq
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from dragoman.core.errors import ConfigError, DataError
from dragoman.text.tags import SPACE_SIGN
from dragoman.text.vocabularies.piece_messages import USER_DEFINED, piece_message
from dragoman.text.vocabularies.saved_vocabularies import Vocabularies
from dragoman.text.vocabularies.sentencepiece_vocabulary import SentencePieceVocabulary
from dragoman.text.vocabularies.subword_sampling import merge_all
from dragoman.text.vocabularies.vocabulary import Vocabulary, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import (
    Counted,
    Sides,
    counted_lines,
    train_vocabulary,
)

Scored = tuple[str, float]
"""A piece and its score in the vocabulary."""

_LONGEST_PIECE = 16  # characters, as in sentencepiece
_FEWEST = 2  # a pair of pieces that occurs once is not a pattern
_JAPANESE = {"HIRAGANA", "KATAKANA", "CJK"}


def extensible(vocabulary: Vocabulary) -> bool:
    """Whether pieces can be appended: not to a fixed list from another toolkit."""
    return isinstance(vocabulary, SentencePieceVocabulary)


def extend_vocabularies(
    parents: Vocabularies,
    pairs: Iterable[tuple[Sides, float]],
    config: VocabularyConfig,
    *,
    seed: int,
) -> Vocabularies:
    """Vocabularies of ``config.size`` pieces each that begin with the pieces of ``parents``.

    The kind, the normalisation and the sharing of one vocabulary by both sides do not change.

    Args:
        parents: the vocabularies to extend. A joint one is extended by the text of both sides.
        config: only ``size``, ``tags``, ``character_coverage``, ``balance`` and ``training_pairs``
            are read.
    """
    sources, targets = counted_lines(pairs, config, seed, joint=parents.joint)
    if parents.joint:
        extended = extend(parents.source, sources + targets, config, "")
        return Vocabularies(extended, extended)
    return Vocabularies(
        extend(parents.source, sources, config, "source "),
        extend(parents.target, targets, config, "target "),
    )


def extend(
    parent: Vocabulary, lines: Sequence[Counted], config: VocabularyConfig, side: str
) -> Vocabulary:
    """:func:`extend_vocabularies` of one side.

    Args:
        side: name of the side in messages, such as "source "; empty for both.

    Raises:
        ConfigError, DataError: as for :func:`extend_vocabularies`.
    """
    found = growth(parent, lines, config, side, lambda needed: config.size - len(parent) - needed)
    tags, characters, others = found.tags, found.characters, found.others
    room = config.size - len(parent) - len(tags) - len(characters)
    if room < 0:
        raise ConfigError(
            f"vocabulary.size {config.size} is too small to extend the {side}vocabulary of "
            f"{len(parent)} pieces by {len(characters)} new characters and {len(tags)} tags; set "
            f"it to {config.size - room} or more"
        )
    if len(others) < room:
        raise ConfigError(
            f"vocabulary.size {config.size} is larger than the {side}text allows: it has "
            f"{len(characters) + len(others)} pieces beyond the {len(parent)} existing ones; "
            f"set it to {config.size - room + len(others)} or less"
        )
    return found.grown(room)


@dataclass(frozen=True)
class Growth:
    """The pieces that new text can add to a vocabulary."""

    parent: SentencePieceVocabulary
    tags: tuple[str, ...]
    """New tags."""
    characters: tuple[Scored, ...]
    """New characters, the most frequent first."""
    others: tuple[Scored, ...]
    """New longer pieces, the most useful first."""

    def grown(self, count: int) -> SentencePieceVocabulary:
        """The vocabulary with the tags, the characters and the first ``count`` longer pieces."""
        added = b"".join(piece_message(tag, 0.0, USER_DEFINED) for tag in self.tags)
        characters, others = self.characters, self.others[:count]
        # In byte-pair encoding, characters come after the merges, as in its training.
        pieces = characters + others if self.parent.is_unigram else others + characters
        added += b"".join(piece_message(piece, score) for piece, score in pieces)
        return self.parent.extended(added)


def growth(
    parent: Vocabulary,
    lines: Sequence[Counted],
    config: VocabularyConfig,
    side: str,
    room: Callable[[int], int],
    *,
    fewest: int = _FEWEST,
) -> Growth:
    """The pieces that the text can add to ``parent``.

    Args:
        config: only ``tags`` and ``character_coverage`` are read.
        side: name of the side in messages, such as "source "; empty for both.
        room: maximum number of longer pieces, given the number of tags and characters; below 0
            counts as 0.
        fewest: minimum count of a merge of byte-pair encoding in the text.

    Raises:
        ConfigError: the pieces are a fixed list from another toolkit.
        DataError: there is no text.
    """
    if not isinstance(parent, SentencePieceVocabulary):
        raise ConfigError(
            f"the {side}vocabulary is a fixed list of pieces from another toolkit, which cannot be "
            "extended; keep it as it is"
        )
    plain = without_tags(lines, [*parent.pieces(parent.tags), *config.tags])
    text = [(parent.normalized(line), count) for line, count in plain]
    text = [(line, count) for line, count in text if line]
    if not text:
        raise DataError(f"there is no {side}text to extend a vocabulary by; is the corpus empty?")
    known = set(parent.pieces(range(len(parent))))
    tags = tuple(tag for tag in config.tags if tag not in known)
    characters = _new_characters(text, known, config.character_coverage)
    wanted = max(room(len(tags) + len(characters)), 0)
    if parent.is_unigram:
        found = _unigram_pieces(parent, text, characters, wanted)
    else:
        found = _merges(parent, text, characters, wanted, fewest)
    new = set(characters)
    return Growth(
        parent,
        tags,
        tuple(one for one in found if one[0] in new),
        tuple(one for one in found if one[0] not in new),
    )


def without_tags(lines: Sequence[Counted], tags: Iterable[str]) -> list[Counted]:
    """Lines without their tags, such as those of context and markup, which are never split."""
    names = "|".join(map(re.escape, sorted(tags, key=len, reverse=True)))
    if not names:
        return list(lines)
    return [(re.sub(names, " ", line), count) for line, count in lines]


def lineage(child: Vocabulary, parent: Vocabulary) -> list[list[int]]:
    """The pieces of ``parent`` that each piece of ``child`` is made of, by id.

    That is the same piece if ``parent`` has it, or else the pieces into which ``parent`` splits it
    (Gee et al. 2022, arXiv:2402.09977).  It is empty if ``parent`` lacks a character, and for
    symbols that are never split.
    """
    known = {piece: i for i, piece in enumerate(parent.pieces(range(len(parent))))}

    def parts(i: int, piece: str) -> list[int]:
        if piece in known:
            return [known[piece]]
        if child.atoms[i]:
            return []
        found = parent.split(piece)
        return found if "".join(parent.pieces(found)) == piece else []

    return [parts(i, piece) for i, piece in enumerate(child.pieces(range(len(child))))]


def _new_characters(text: Sequence[Counted], known: set[str], coverage: float) -> list[str]:
    """Characters to add, most frequent first; the rarest are left out as ``coverage`` allows."""
    counts: Counter[str] = Counter()
    for line, count in text:
        for character, times in Counter(line).items():
            counts[character] += times * count
    new = sorted(counts.keys() - known - {SPACE_SIGN}, key=lambda c: (-counts[c], c))
    spared = (1 - coverage) * counts.total()
    while new and counts[new[-1]] <= spared:
        spared -= counts[new.pop()]
    return new


def _unigram_pieces(
    parent: SentencePieceVocabulary,
    text: Sequence[Counted],
    characters: Sequence[str],
    room: int,
) -> list[Scored]:
    """Pieces and log-probabilities of a unigram model of the new text, the likeliest first."""
    size = len(parent) + len(characters) + room
    config = VocabularyConfig(kind="unigram", size=size)
    lines = [(line.replace(SPACE_SIGN, " ").strip(), count) for line, count in text]
    scores = train_vocabulary(lines, config, "", exact_size=False).scores
    needed = [(c, scores.get(c, min(scores.values()))) for c in characters]
    known = {*parent.pieces(range(len(parent))), *characters}
    others = [(piece, score) for piece, score in scores.items() if piece not in known]
    others.sort(key=lambda item: (-item[1], item[0]))
    return needed + others[:room]


def _merges(
    parent: SentencePieceVocabulary,
    text: Sequence[Counted],
    characters: Sequence[str],
    room: int,
    fewest: int,
) -> list[Scored]:
    """Further merges in their order, then characters, with scores below all existing ones."""
    scores = parent.scores
    # Including those that are never split, such as "<?>": they must not be added twice.
    symbols = {*parent.pieces(range(len(parent))), *characters, SPACE_SIGN}
    words = [(list(merge_all(word, scores)), count) for word, count in sorted(_words(text).items())]
    merges = _Merging(words, symbols).merges(room, fewest)
    lowest = min(scores.values(), default=0.0)
    pieces = [*merges, *characters]
    return [(piece, lowest - place) for place, piece in enumerate(pieces, start=1)]


def _words(text: Sequence[Counted]) -> Counter[str]:
    """Runs of characters that may become one piece, within one word and one script."""
    words: Counter[str] = Counter()
    for line, count in text:
        for word in line.split(SPACE_SIGN)[0 if line[0] != SPACE_SIGN else 1 :]:
            words[word] += count
    found: Counter[str] = Counter()
    for word, count in words.items():
        for number, run in enumerate(_runs(word)):
            found[run if number else SPACE_SIGN + run] += count
    return found


def _runs(word: str) -> Iterator[str]:
    """Parts of ``word`` in one script each, cut as sentencepiece does; marks follow letters."""
    script = ""

    def of(character: str) -> str:
        nonlocal script
        category = unicodedata.category(character)
        if category[0] != "M":
            name = unicodedata.name(character, "") if category[0] == "L" else ""
            script = name.split(" ")[0].split("-")[0]
            script = "CJK" if script in _JAPANESE or character == "ー" else script
        return script

    for _, run in groupby(word, of):
        yield "".join(run)


class _Merging:
    """Byte-pair encoding (Sennrich et al. 2016, algorithm 1) continued from an existing split.

    Args:
        symbols: those that may be merged, and the results of earlier merges.
    """

    def __init__(self, words: list[tuple[list[str], int]], symbols: set[str]) -> None:
        self._words, self._symbols = words, set(symbols)
        self._counts: Counter[tuple[str, str]] = Counter()
        self._places: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        for place in range(len(words)):
            self._count(place, 1)
        self._heap = [(-count, pair) for pair, count in self._counts.items()]
        heapq.heapify(self._heap)

    def merges(self, most: int, fewest: int = _FEWEST) -> list[str]:
        """Up to ``most`` new symbols that occur at least ``fewest`` times, most frequent first."""
        found: list[str] = []
        while self._heap and len(found) < most:
            count, pair = heapq.heappop(self._heap)
            if -count != self._counts[pair]:
                continue  # another merge changed it, and the heap also has it with its new count
            merged = "".join(pair)
            if merged not in self._symbols:  # an old merge has it once its parts are neighbours
                if -count < fewest:
                    break
                found.append(merged)
                self._symbols.add(merged)
            self._merge(pair, merged)
        return found

    def _count(self, place: int, sign: int) -> None:
        symbols, count = self._words[place]
        for pair in pairwise(symbols):
            if len(pair[0]) + len(pair[1]) > _LONGEST_PIECE or not self._symbols.issuperset(pair):
                continue
            self._counts[pair] += sign * count
            if sign > 0:
                self._places[pair].add(place)

    def _merge(self, pair: tuple[str, str], merged: str) -> None:
        changed: set[tuple[str, str]] = set()
        for place in sorted(self._places.pop(pair)):
            symbols, _ = self._words[place]
            self._count(place, -1)
            changed.update(pairwise(symbols))
            at = 0
            while at < len(symbols) - 1:
                if (symbols[at], symbols[at + 1]) == pair:
                    symbols[at : at + 2] = [merged]
                at += 1
            self._count(place, 1)
            changed.update(pairwise(symbols))
        for other in changed:
            if self._counts[other] > 0:
                heapq.heappush(self._heap, (-self._counts[other], other))
