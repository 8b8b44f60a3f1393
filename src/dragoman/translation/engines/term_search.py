"""Translations that must contain phrases: spelled in pieces, and searched for if missing.

The ordinary search comes first.  Only the sentences whose translations lack a phrase are searched
again, so that a glossary neither changes nor delays a translation that already has its terms.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import torch
from torch import Tensor

from dragoman.search import Hypothesis, Scorer, SearchConfig, search
from dragoman.search.phrases import Phrase, Spelling, WordEdges
from dragoman.search.tag_structure import TagSymbols
from dragoman.search.whole_characters import ByteSymbols
from dragoman.text.context import behind_context
from dragoman.text.inline_tags import structure, symbols_in, without_tags
from dragoman.text.tags import SPACE_SIGN
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


class ConstrainedSearch:
    """Searches again for sentences whose translations lack phrases.

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

    def improve(
        self,
        found: list[list[Hypothesis]],
        constraints: Sequence[Sequence[LexicalConstraint]],
        source: Tensor,
        source_mask: Tensor,
        config: SearchConfig,
        *,
        prefixes: Sequence[Sequence[int]] | None,
        never: Sequence[int],
    ) -> list[list[Hypothesis]]:
        """``found``, with a second search for sentences that lack phrases, unless it is worse.

        The constraints are required in each sentence's output; the other arguments are those of
        the ordinary search, whose beam is widened.
        """
        phrases: dict[int, list[Phrase]] = {}
        for place, (hypotheses, wanted) in enumerate(zip(found, constraints, strict=True)):
            possible = [one for one in wanted if self._speller.phrase(one)]
            if any(self._lacking(one, possible) for one in hypotheses):
                phrases[place] = list(map(self._speller.phrase, possible))
        found = list(found)
        for width, places in self._batches(phrases, source_mask, config):
            rows = torch.tensor(places, device=source.device)
            longest = int(source_mask[rows].sum(1).amax())
            again = search(
                self._scorer,
                source[rows, :longest],
                source_mask[rows, :longest],
                config.model_copy(update={"beam": width}),
                prefixes=None if prefixes is None else [prefixes[place] for place in places],
                never=never,
                tags=None if self._tags is None else self._tags.to(source.device),
                phrases=[phrases[place] for place in places],
                edges=self._speller.edges,
                restart=self._separator,
                characters=None if self._characters is None else self._characters.to(source.device),
            )
            for place, hypotheses in zip(places, again, strict=True):
                wanted = constraints[place]
                before = self._lacking(found[place][0], wanted)
                if self._lacking(hypotheses[0], wanted) <= before and self._keeps_tags(
                    hypotheses, found[place]
                ):
                    found[place] = hypotheses
        return found

    def _lacking(self, hypothesis: Hypothesis, constraints: Sequence[LexicalConstraint]) -> int:
        """Number of phrases that an output lacks."""
        if not constraints:
            return 0
        text = self._vocabulary.decode(behind_context(hypothesis.ids, self._separator))
        if self._tags is not None:
            text = without_tags(text)
        return len(missing(constraints, text))

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
        phrases: dict[int, list[Phrase]], source_mask: Tensor, config: SearchConfig
    ) -> list[tuple[int, list[int]]]:
        """Sentences that are searched together, with their beam.

        The beam depends only on a sentence's own phrases, and so does its translation.
        """
        by_width: dict[int, list[int]] = defaultdict(list)
        least = max(config.beam, config.constrained_beam)
        for place, wanted in phrases.items():
            pieces = sum(min(len(one.ids) for one in phrase) for phrase in wanted)
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
