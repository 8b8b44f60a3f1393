"""Translations that must contain phrases, and may invent nothing: searched for if the first fail.

The ordinary search comes first.  Only the sentences whose translations lack a phrase, or have a
string of a program that the source lacks, are searched again.  So demands neither change nor delay
a translation that already meets them.

The second search forbids the signs of such strings outside the phrases, unless they are among the
words of the source, as in "50 %".  If a translation still invents something, a third search forbids
all of these signs, and puts a space in front of each phrase.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from dragoman.search import Hypothesis, Scorer, SearchConfig, search
from dragoman.search.forbidden_signs import ALL_CODE_SIGNS, ALL_DIGITS, PieceSigns, signs_in
from dragoman.search.phrases import Phrase, Spelling, WordEdges
from dragoman.search.tag_structure import TagSymbols
from dragoman.search.whole_characters import ByteSymbols
from dragoman.text.context import behind_context
from dragoman.text.inline_tags import structure, symbols_in, without_tags
from dragoman.text.tags import SPACE_SIGN
from dragoman.text.terms.line_demands import LineDemands
from dragoman.text.terms.terminology import LexicalConstraint, missing
from dragoman.text.vocabularies import UNK, Vocabulary
from dragoman.text.word_edges import continues, in_word, suffixed

_WIDEST = 32  # beam for phrases of many pieces
_REMEMBERED = 10_000  # phrases whose spellings are kept
_FITTING = 16  # glossaries whose terms are known to fit


class PhraseSpeller:
    """Spells phrases in pieces of a vocabulary, for several threads at once."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._known: dict[LexicalConstraint, Phrase] = {}
        self._fitting: list[tuple[Sequence[object], int]] = []

    def phrase(self, constraint: LexicalConstraint) -> Phrase:
        """The spellings of a phrase; none if the vocabulary lacks a character of each of them.

        Raises:
            ConfigError: the pieces do not mark spaces.
        """
        self._vocabulary.require_space_signs("a phrase that a translation must contain")
        known = self._known.get(constraint)
        if known is None:  # another thread may forget what this one is about to return
            if len(self._known) >= _REMEMBERED:  # addresses and numbers may differ in every line
                self._known.clear()
            known = self._known[constraint] = self._spelled(constraint)
        return known

    def is_known_to_fit(self, terms: Sequence[object], limit: int) -> bool:
        """Whether :meth:`note_fit` was called with just these terms and this limit."""
        return any(one is terms and known == limit for one, known in self._fitting)

    def note_fit(self, terms: Sequence[object], limit: int) -> None:
        """Remember that terms fit into outputs, so that not all are spelled for each batch."""
        self._fitting = [*self._fitting, (terms, limit)][-_FITTING:]

    def as_decoded(self, constraint: LexicalConstraint) -> LexicalConstraint:
        """Add the phrases as the vocabulary decodes them, which may change characters."""
        vocabulary = self._vocabulary
        encoded = map(vocabulary.encode, constraint.phrases)
        written = [vocabulary.decode(ids) for ids in encoded if UNK not in ids]
        phrases = tuple(dict.fromkeys((*constraint.phrases, *filter(None, written))))
        return replace(constraint, phrases=phrases)

    @cached_property
    def edges(self) -> WordEdges:
        """The pieces that join to their neighbours."""
        vocabulary = self._vocabulary
        plain = [
            "" if atom else piece
            for piece, atom in zip(
                vocabulary.pieces(range(len(vocabulary))), vocabulary.atoms, strict=True
            )
        ]
        return WordEdges(
            torch.tensor([in_word(piece[-1:]) for piece in plain]),
            torch.tensor([continues(piece[:1]) for piece in plain]),
        )

    def _spelled(self, constraint: LexicalConstraint) -> Phrase:
        """The spellings of a phrase, each once."""
        by_ids: dict[tuple[int, ...], Spelling] = {}
        for text in constraint.phrases:
            for spelling in self._spellings(text, constraint.whole):
                by_ids.setdefault(spelling.ids, spelling)
        spellings = list(by_ids.values())
        if not any(spelling.after_word for spelling in spellings):
            spellings = [spelling._replace(after_word=True) for spelling in spellings]
        return spellings

    def _spellings(self, text: str, whole: bool) -> list[Spelling]:
        """Spellings in the middle of a text, at its beginning, and joined to text in front."""
        vocabulary = self._vocabulary
        bare = vocabulary.normalized(text).removeprefix(SPACE_SIGN)
        if not bare:
            return []
        within = not whole or suffixed(bare[-1]) or not in_word(bare[-1])
        apart = vocabulary.split(SPACE_SIGN + bare)
        joined = vocabulary.split(bare)
        joins = not whole or not in_word(bare[0])
        candidates = [
            Spelling(tuple(apart), after_word=True, within_word=within),
            Spelling(tuple(joined), after_word=joins, within_word=within),
        ]
        return [one for one in candidates if UNK not in one.ids]


class _SecondSearch(NamedTuple):
    """The second search for a sentence."""

    phrases: list[Phrase]
    """Those that its output must contain."""
    signs: int
    """Signs that its output may have only in phrases."""


class ConstrainedSearch:
    """Searches again for sentences whose translations do not meet their demands.

    ``separator`` is the id before the translation, if outputs translate its context first.
    """

    def __init__(
        self,
        scorer: Scorer,
        vocabulary: Vocabulary,
        tags: TagSymbols | None = None,
        separator: int | None = None,
        characters: ByteSymbols | None = None,
    ) -> None:
        self._characters = characters
        self._scorer, self._vocabulary, self._tags = scorer, vocabulary, tags
        self._separator = separator
        self._speller = PhraseSpeller(vocabulary)

    @cached_property
    def _signs(self) -> PieceSigns:
        return PieceSigns(self._vocabulary)

    def improve(
        self,
        found: list[list[Hypothesis]],
        demands: Sequence[LineDemands],
        source: Tensor,
        source_mask: Tensor,
        config: SearchConfig,
        *,
        prefixes: Sequence[Sequence[int]] | None,
        never: Sequence[int],
    ) -> list[list[Hypothesis]]:
        """``found``, with a second search where demands are not met, unless it is worse.

        The other arguments are those of the ordinary search, whose beam is widened.
        """
        found = list(found)
        places = [
            place
            for place, (hypotheses, wanted) in enumerate(zip(found, demands, strict=True))
            if not self.meets(hypotheses, wanted)
        ]
        for allows_some in (True, False):
            tasks = {
                place: self._task(demands[place], found[place], allows_some=allows_some)
                for place in places
            }
            for width, together in self._batches(tasks, source_mask, config):
                again = self._search(
                    [tasks[place] for place in together],
                    torch.tensor(together, device=source.device),
                    (source, source_mask),
                    config.model_copy(update={"beam": width}),
                    prefixes=None if prefixes is None else [prefixes[place] for place in together],
                    never=never,
                )
                for place, hypotheses in zip(together, again, strict=True):
                    found[place] = self._better(found[place], hypotheses, demands[place])
            places = [
                place
                for place in places
                if self._separator is None and self._invented(found[place][0], demands[place])
            ]
        return found

    def meets(self, hypotheses: Sequence[Hypothesis], demands: LineDemands) -> bool:
        """Whether no second search is due: nothing possible is missing, and nothing invented."""
        return not any(self._faults(one, demands, possible=True) for one in hypotheses)

    def _task(
        self, demands: LineDemands, before: Sequence[Hypothesis], *, allows_some: bool
    ) -> _SecondSearch:
        """The second search for a sentence, whose first one found ``before``."""
        lacking = {one for each in before for one in demands.missing(self._text(each))}
        text = self._text(before[0])
        # A number in words stays so, unless another one is in its place.
        excused = set(missing(demands.phrases, text)) - lacking
        wanted = [one for one in demands.phrases if one not in excused]
        signs = 0
        if demands.codes and self._separator is None:  # or the context may have some
            signs = ALL_CODE_SIGNS & ~(signs_in(demands.plain) if allows_some else 0)
        if any(one.kind == "numbers" for one in lacking):
            signs |= ALL_DIGITS & ~signs_in(demands.text)
        phrases = list(filter(None, map(self._speller.phrase, wanted)))
        if not allows_some:
            phrases = list(map(self._apart, phrases))
        return _SecondSearch(phrases, signs)

    def _apart(self, phrase: Phrase) -> Phrase:
        """The spellings with a space in front, so that no code runs on into the next."""
        starts = self._vocabulary.pieces([one.ids[0] for one in phrase])
        apart = [
            one for one, start in zip(phrase, starts, strict=True) if start.startswith(SPACE_SIGN)
        ]
        return apart or phrase

    def _search(
        self,
        tasks: Sequence[_SecondSearch],
        rows: Tensor,
        padded: tuple[Tensor, Tensor],
        config: SearchConfig,
        *,
        prefixes: Sequence[Sequence[int]] | None,
        never: Sequence[int],
    ) -> list[list[Hypothesis]]:
        """Search for the sentences with these rows of a padded batch."""
        source, mask = padded
        longest, device = int(mask[rows].sum(1).amax()), source.device
        return search(
            self._scorer,
            source[rows, :longest],
            mask[rows, :longest],
            config,
            prefixes=prefixes,
            never=never,
            tags=None if self._tags is None else self._tags.to(device),
            phrases=[task.phrases for task in tasks],
            edges=self._speller.edges,
            restart=self._separator,
            characters=None if self._characters is None else self._characters.to(device),
            signs=self._signs.forbidding([task.signs for task in tasks], device),
        )

    def _better(
        self, before: list[Hypothesis], again: list[Hypothesis], demands: LineDemands
    ) -> list[Hypothesis]:
        """The hypotheses of the second search, unless they are worse than those before."""
        is_worse = self._faults(again[0], demands) > self._faults(before[0], demands)
        return before if is_worse or not self._keeps_tags(again, before) else again

    def _faults(
        self, hypothesis: Hypothesis, demands: LineDemands, *, possible: bool = False
    ) -> int:
        """The number of phrases that an output lacks, and of what it invents.

        If ``possible``, phrases that the vocabulary cannot spell do not count.
        """
        if not demands.phrases and self._signs.codes.isdisjoint(hypothesis.ids):
            return 0
        text = self._text(hypothesis)
        lacking = demands.missing(text)
        if possible:
            lacking = tuple(one for one in lacking if self._speller.phrase(one))
        return len(lacking) + len(demands.invented(text))

    def _invented(self, hypothesis: Hypothesis, demands: LineDemands) -> bool:
        return bool(demands.invented(self._text(hypothesis)))

    def _text(self, hypothesis: Hypothesis) -> str:
        text = self._vocabulary.decode(behind_context(hypothesis.ids, self._separator))
        return text if self._tags is None else without_tags(text)

    def _keeps_tags(self, again: Sequence[Hypothesis], before: Sequence[Hypothesis]) -> bool:
        """Whether new outputs keep the tags of those before, as phrases may take their room."""
        if self._tags is None:
            return True
        wanted = symbols_in(self._vocabulary.decode(before[0].ids))
        found = [symbols_in(self._vocabulary.decode(one.ids)) for one in again]
        return all(
            sorted(one) == sorted(wanted) and structure(one) == structure(wanted) for one in found
        )

    @staticmethod
    def _batches(
        tasks: Mapping[int, _SecondSearch], source_mask: Tensor, config: SearchConfig
    ) -> list[tuple[int, list[int]]]:
        """Sentences that are searched together, with their beam.

        The beam depends only on a sentence's own phrases, and so does its translation.
        """
        by_width: dict[int, list[int]] = defaultdict(list)
        least = max(config.beam, config.constrained_beam)
        for place, task in tasks.items():
            pieces = sum(min(len(one.ids) for one in phrase) for phrase in task.phrases)
            width = least
            while width <= pieces and width < _WIDEST:
                width = min(2 * width, _WIDEST)
            by_width[width].append(place)
        size = source_mask.size(1)
        batches = []
        for width, places in sorted(by_width.items()):
            count = max(1, config.tokens_at_once // (width * size))
            batches += [(width, places[i : i + count]) for i in range(0, len(places), count)]
        return batches
