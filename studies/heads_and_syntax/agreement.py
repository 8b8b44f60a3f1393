"""How often a head looks where syntax says, beside heads that know only positions.

The questions are those of Clark et al. (2019), arXiv:1906.04341, and Voita et al. (2019),
arXiv:1905.09418: does a word look most at its syntactic head, or at a word that depends on it; and,
as in section 4 of Vaswani et al. (2017), how much of a word's attention stays in its phrase?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dragoman.core.errors import DataError
from studies.heads_and_syntax.head_rules import ROOT, Sentence

Floats = npt.NDArray[np.float64]

_FARTHEST = 6
"""Offsets of the positions that fixed baselines look at, either way."""
_FEWEST = 50
"""Minimum number of words in a relation that is reported."""
_SAMPLES, _SEED = 1000, 1


@dataclass(frozen=True)
class HeadAgreement:
    """One head; shares are percentages."""

    layer: int
    head: int
    to_head: float
    """Words that look most at their syntactic head."""
    to_head_by_position: float
    """The same if the head looked as often at each distance, whatever the words are."""
    gain: float
    """The difference of the two."""
    gain_margin: float
    """Half of the gain's 95 % interval, over resampled sentences."""
    to_dependent: float
    """Words that look most at a word that depends on them, of those that have one."""
    in_phrase: float
    """Attention on the other words of the smallest phrase."""
    in_phrase_by_position: float
    """The same if the head looked at each distance as it does on average."""


@dataclass(frozen=True)
class RelationAgreement:
    """The head that finds the syntactic head best in one relation."""

    relation: str
    words: int
    layer: int
    head: int
    found: float
    """Percentage of these words that look most at their syntactic head."""
    offset: int
    """The best fixed distance, such as 1 for the next word."""
    found_by_offset: float


@dataclass(frozen=True)
class Agreement:
    """All heads of an encoder, and what knows nothing of the sentence."""

    sentences: int
    words: int
    """That are no punctuation."""
    heads: list[HeadAgreement]
    """The clearest first: by gain."""
    relations: list[RelationAgreement]
    """The most frequent first."""
    offsets: dict[int, float]
    """Words whose syntactic head is at a distance."""
    random: float
    """Words that find it by chance."""
    in_phrase_evenly: float
    """Attention in the phrase if it were the same on all other words."""

    def values(self) -> dict[str, Any]:
        """As plain values."""
        plain = {
            name: [vars(one) for one in getattr(self, name)] for name in ("heads", "relations")
        }
        offsets = {f"{offset:+d}": share for offset, share in self.offsets.items()}
        return {**vars(self), **plain, "offsets": offsets}


def positional(weights: Sequence[Floats]) -> list[Floats]:
    """Each head's mean weight by distance, as weights that sum to 1 for each word.

    Args:
        weights: ``(layers, heads, words, words)`` of each sentence, zero on the diagonal.
    """
    longest = max(one.shape[-1] for one in weights)
    total = np.zeros((*weights[0].shape[:2], 2 * longest - 1))
    count = np.zeros(2 * longest - 1)
    for one in weights:
        for offset in range(1 - one.shape[-1], one.shape[-1]):
            diagonal = one.diagonal(offset, -2, -1)
            total[..., offset + longest - 1] += diagonal.sum(-1)
            count[offset + longest - 1] += diagonal.shape[-1]
    mean = total / np.maximum(count, 1)
    found = []
    for one in weights:
        places = np.arange(one.shape[-1])
        row = mean[..., places - places[:, None] + longest - 1]
        found.append(row / np.maximum(row.sum(-1, keepdims=True), 1e-300))
    return found


class _Count:
    """What one sentence's weights find; arrays are ``(layers, heads)``."""

    def __init__(self, weights: Floats, sentence: Sentence) -> None:
        words = len(sentence.words)
        looks = weights.argmax(-1)  # (layers, heads, words)
        heads = np.array(sentence.heads)
        asked = np.array(sentence.counted) & (heads != ROOT)
        self.hits = (looks == heads) & asked  # (layers, heads, words)
        self.asked = asked
        depends = np.zeros((words, words), dtype=bool)  # word, one that depends on it
        depends[heads[asked], asked.nonzero()[0]] = True
        self.governing = depends.any(1) & np.array(sentence.counted)
        self.dependent = depends[np.arange(words), looks] & self.governing
        within = np.zeros((words, words))
        for word, (begin, end) in enumerate(sentence.phrases):
            within[word, begin:end] = 1
        np.fill_diagonal(within, 0)
        self.counted = np.array(sentence.counted)
        self.in_phrase = (weights * within).sum(-1)[..., self.counted].sum(-1)
        self.evenly = float((within.sum(-1) / (words - 1))[self.counted].sum())


def agreement(weights: Sequence[Floats], sentences: Sequence[Sentence]) -> Agreement:
    """How the heads of an encoder agree with the syntax of sentences.

    Args:
        weights: ``(layers, heads, words, words)`` of each sentence.
        sentences: of two or more words each.

    Raises:
        DataError: there is nothing to ask about.
    """
    counts = [_Count(one, sentence) for one, sentence in zip(weights, sentences, strict=True)]
    asked = np.array([one.asked.sum() for one in counts])  # (sentences,)
    words = sum(int(one.counted.sum()) for one in counts)
    governing = sum(int(one.governing.sum()) for one in counts)
    if not asked.sum():
        raise DataError("no word of these trees depends on another; give sentences")
    plain = [_Count(*pair) for pair in zip(positional(weights), sentences, strict=True)]
    hits = np.stack([one.hits.sum(-1) for one in counts])  # (sentences, layers, heads)
    flat_hits = np.stack(
        [
            _expected(one, sentence, count.asked)
            for one, sentence, count in zip(
                positional([_most(one) for one in weights]), sentences, counts, strict=True
            )
        ]
    )
    found, by_position = (100 * one.sum(0) / asked.sum() for one in (hits, flat_hits))
    margin = _margin(hits - flat_hits, asked)
    dependent = 100 * sum(one.dependent.sum(-1) for one in counts) / max(governing, 1)
    within, flat_within = (
        100 * sum(one.in_phrase for one in each) / words for each in (counts, plain)
    )
    heads = [
        HeadAgreement(
            layer=layer + 1,
            head=head + 1,
            to_head=_rounded(found[layer, head]),
            to_head_by_position=_rounded(by_position[layer, head]),
            gain=_rounded(found[layer, head] - by_position[layer, head]),
            gain_margin=_rounded(margin[layer, head]),
            to_dependent=_rounded(dependent[layer, head]),
            in_phrase=_rounded(within[layer, head]),
            in_phrase_by_position=_rounded(flat_within[layer, head]),
        )
        for layer, head in np.ndindex(found.shape)
    ]
    chance = sum(one.asked.sum() / (len(one.asked) - 1) for one in counts)
    return Agreement(
        sentences=len(sentences),
        words=words,
        heads=sorted(heads, key=lambda one: -one.gain),
        relations=_relations(counts, sentences),
        offsets=_offsets(sentences, [one.asked for one in counts]),
        random=_rounded(100 * chance / asked.sum()),
        in_phrase_evenly=_rounded(100 * sum(one.evenly for one in counts) / words),
    )


def _most(weights: Floats) -> Floats:
    """All weight where there is most."""
    return np.eye(weights.shape[-1])[weights.argmax(-1)]


def _expected(weights: Floats, sentence: Sentence, asked: npt.NDArray[np.bool_]) -> Floats:
    """Words that find their syntactic head if they draw where to look, ``(layers, heads)``."""
    (words,) = asked.nonzero()
    expected: Floats = weights[..., words, np.array(sentence.heads)[words]].sum(-1)
    return expected


def _rounded(value: Any) -> float:
    return round(float(value), 2)


def _margin(differences: Floats, asked: npt.NDArray[np.int_]) -> Floats:
    """Half of the 95 % interval of the share of differences, ``(layers, heads)``."""
    rng = np.random.default_rng(_SEED)
    count = len(asked)
    drawn = rng.multinomial(count, np.full(count, 1 / count), size=_SAMPLES)  # (samples, sentences)
    totals = np.maximum(drawn @ asked, 1)
    shares = 100 * np.tensordot(drawn, differences, 1) / totals[:, None, None]
    low, high = np.quantile(shares, [0.025, 0.975], axis=0)
    half: Floats = (high - low) / 2
    return half


def _distances(sentence: Sentence) -> npt.NDArray[np.int_]:
    return np.array(sentence.heads) - np.arange(len(sentence.heads))


def _offsets(
    sentences: Sequence[Sentence], asked: Sequence[npt.NDArray[np.bool_]]
) -> dict[int, float]:
    pairs = zip(sentences, asked, strict=True)
    distances = np.concatenate([_distances(sentence)[chosen] for sentence, chosen in pairs])
    return {
        offset: _rounded(100 * (distances == offset).mean())
        for offset in range(-_FARTHEST, _FARTHEST + 1)
        if offset
    }


def _relations(counts: Sequence[_Count], sentences: Sequence[Sentence]) -> list[RelationAgreement]:
    hits = np.concatenate([one.hits for one in counts], axis=-1)  # (layers, heads, words)
    asked = np.concatenate([one.asked for one in counts])
    distances = np.concatenate([_distances(sentence) for sentence in sentences])
    names = np.array([name for sentence in sentences for name in sentence.relations])
    found = []
    for name in sorted({*names[asked]}):
        chosen = asked & (names == name)
        if (words := int(chosen.sum())) < _FEWEST:
            continue
        shares = hits[..., chosen].mean(-1)
        layer, head = np.unravel_index(int(shares.argmax()), shares.shape)
        by_offset = {
            offset: float((distances[chosen] == offset).mean())
            for offset in range(-_FARTHEST, _FARTHEST + 1)
        }
        best = max(by_offset, key=lambda offset: by_offset[offset])
        found.append(
            RelationAgreement(
                relation=str(name),
                words=words,
                layer=int(layer) + 1,
                head=int(head) + 1,
                found=_rounded(100 * shares.max()),
                offset=best,
                found_by_offset=_rounded(100 * by_offset[best]),
            )
        )
    return sorted(found, key=lambda one: -one.words)
