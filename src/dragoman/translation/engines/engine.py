"""Engines, which carry out a translator's searches batch by batch.

:class:`TorchEngine` is Dragoman's own.  Others share its interface: one distributes the batches
among processes, another runs a converted model in CTranslate2.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import NamedTuple

import torch
from torch import Tensor
from typing_extensions import override

from dragoman.core.device import keep_freed_memory
from dragoman.core.errors import NotEnoughMemoryError, is_out_of_memory, memory_words
from dragoman.data.batch import pad_sources
from dragoman.models.interface import TranslationModel
from dragoman.search import Hypothesis, Scorer, SearchConfig, search
from dragoman.search.degenerate import Bounds, without_faults
from dragoman.search.tag_structure import TagSymbols
from dragoman.search.tree_grammar import TreeSymbols
from dragoman.search.whole_characters import ByteSymbols, unwritable_pieces
from dragoman.text.context import ContextConfig
from dragoman.text.inline_tags import InlineTags
from dragoman.text.terms.line_demands import LineDemands
from dragoman.text.vocabularies import Vocabularies
from dragoman.translation.engines.shortlisting import ShortlistedSearch
from dragoman.translation.engines.term_search import ConstrainedSearch

log = logging.getLogger(__name__)


class SourceBatch(NamedTuple):
    """Sentences of similar length that are translated together."""

    numbers: list[int]
    """The numbers of the sentences in the whole input."""

    sources: list[list[int]]
    """Ids of each sentence, without end symbol; only a language model's may be empty."""

    prefixes: list[list[int]] | None = None
    """Target ids that each output begins with; for a language model, the same as the sources."""

    demands: list[LineDemands] | None = None
    """Demands on each output; None if there are none."""

    places: Sequence[int] = ()
    """Indices of the sentences among those that the caller read together."""

    def part(self, places: slice) -> SourceBatch:
        """A contiguous part of the sentences."""
        prefixes, demands = self.prefixes, self.demands
        return SourceBatch(
            self.numbers[places],
            self.sources[places],
            None if prefixes is None else prefixes[places],
            None if demands is None else demands[places],
        )

    def chosen(self, places: Sequence[int]) -> SourceBatch:
        """Some of the sentences."""
        prefixes, demands = self.prefixes, self.demands
        return SourceBatch(
            [self.numbers[place] for place in places],
            [self.sources[place] for place in places],
            None if prefixes is None else [prefixes[place] for place in places],
            None if demands is None else [demands[place] for place in places],
        )


class SearchedBatch(NamedTuple):
    """A batch with its hypotheses."""

    batch: SourceBatch
    hypotheses: list[list[Hypothesis]]
    """Of each sentence, best first."""


def bounds_of(batch: SourceBatch, config: SearchConfig) -> list[Bounds]:
    """Limits of each output, beyond which it is degenerate."""
    prefixes = batch.prefixes or [[] for _ in batch.sources]
    return [
        Bounds.of(source, prefix, config.length_ratio, config.too_long)
        for source, prefix in zip(batch.sources, prefixes, strict=True)
    ]


class Engine(ABC):
    """Searches for translations."""

    has_token_scores = True
    """Whether hypotheses have the log-probability of each of their ids."""

    choice: str | None = None
    """The engine that was chosen automatically, and why, such as "pytorch (float32): the engine
    ctranslate2 has other n-best lists"; None if nothing was to be chosen, or not yet."""

    @property
    def is_ready(self) -> bool:
        """Whether a search begins at once; a search may begin, or fail, before this is True.

        It does not, for example, after processes that search were killed.
        """
        return True

    def refusal(self, config: SearchConfig) -> str | None:
        """The reason why the engine cannot search with these settings; None if it can.

        A remedy follows a semicolon.
        """
        return None

    def outlook(self, config: SearchConfig) -> str | None:
        """The engine that is to be chosen for these settings, and why; None if there is no choice.

        Nothing is opened for it.
        """
        return None

    def prepare(self, config: SearchConfig) -> None:  # noqa: B027 - most have nothing to prepare
        """Prepare for many searches with these settings, as in a server, before the first of them.

        Work that would otherwise wait until it is worthwhile may be done now.
        """

    @abstractmethod
    def search(
        self, batches: Iterable[SourceBatch], config: SearchConfig
    ) -> Iterator[SearchedBatch]:
        """Each batch with its hypotheses, in the order of ``batches``.

        An engine that works on several batches at once reads a bounded number of ``batches`` ahead.

        Raises:
            ConfigError: the engine cannot do what ``config`` asks for.
        """

    def close(self) -> None:  # noqa: B027 - nothing to release
        """Release the engine's resources for good; closing twice is harmless."""


class TorchEngine(Engine):
    """Searches with a scorer in this process; the models belong to the caller.

    Models in training may be given: they are in evaluation mode only during each batch.

    Args:
        scorer: source of scores, such as the result of ``opening.build_scorer``.
        models: the models that the scorer uses.  Sentences are moved to the device of the first.
        vocabularies: of the models, needed for outputs that must contain something or be trees.
            Outputs may contain their tags only if ``search.allow_tags`` is set.
        tags: ids in place of their tags.
        inline_tags: the inline tags that the models have learned, if any.  An output then has those
            of its source.
        shortlist: lists the pieces allowed in a batch, if outputs are restricted.  The second
            search, for terms, ignores it because terms may need any piece.
        foreign: ids of other languages, forbidden in outputs except in terms.
        context: the preceding lines that the models read with each line.
    """

    def __init__(
        self,
        scorer: Scorer,
        models: Sequence[TranslationModel] = (),
        vocabularies: Vocabularies | None = None,
        *,
        tags: Sequence[int] = (),
        inline_tags: InlineTags | None = None,
        shortlist: ShortlistedSearch | None = None,
        foreign: Sequence[int] = (),
        context: ContextConfig | None = None,
    ) -> None:
        keep_freed_memory()
        self._shortlist, self._foreign = shortlist, tuple(foreign)
        self.scorer, self.models, self._vocabularies = scorer, list(models), vocabularies
        self._fitting = FittingSearch()
        self._tags = tags if vocabularies is None else vocabularies.target.tags
        self._tag_symbols = None
        if vocabularies is not None and inline_tags is not None:
            self._tag_symbols = TagSymbols.of(vocabularies, inline_tags)
        self._constrained, self._characters = None, None
        self._unwritable: Sequence[int] = ()
        if vocabularies is not None:
            target = vocabularies.target
            self._characters = ByteSymbols.of(target)
            self._unwritable = unwritable_pieces(target)
            separator = None if context is None else context.written_separator(target)
            self._constrained = ConstrainedSearch(
                scorer, target, self._tag_symbols, separator, self._characters
            )

    @property
    def device(self) -> torch.device:
        """The device of the models."""
        first = next((p for model in self.models for p in model.parameters()), None)
        return torch.device("cpu") if first is None else first.device

    @override
    def search(
        self, batches: Iterable[SourceBatch], config: SearchConfig
    ) -> Iterator[SearchedBatch]:
        for batch in batches:
            found = self._fitting(batch, partial(self._searched, config=config))
            yield SearchedBatch(batch, found)

    def _searched(self, batch: SourceBatch, config: SearchConfig) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence of a batch."""
        with evaluating(self.models):
            return self.completed(batch, self._found(batch, config), config)

    def completed(
        self, batch: SourceBatch, found: list[list[Hypothesis]], config: SearchConfig
    ) -> list[list[Hypothesis]]:
        """``found`` by ordinary search, replaced by second searches for what they improve."""
        with evaluating(self.models):
            found = self._without_faults(found, batch, config)
            if batch.demands is not None and config.sampling is None:
                assert self._constrained is not None, "the engine was given a vocabulary"
                found = self._constrained.improve(
                    found,
                    batch.demands,
                    *self._padded(batch),
                    config,
                    prefixes=batch.prefixes,
                    never=self._never(config),
                )
                found = without_faults(found, bounds_of(batch, config), None)
        return found

    def _found(
        self, batch: SourceBatch, config: SearchConfig, bounds: Sequence[Bounds] | None = None
    ) -> list[list[Hypothesis]]:
        """Search a batch, within the bounds of its sentences if given."""
        characters = None if self._characters is None else self._characters.to(self.device)
        if self._shortlist is not None:
            return self._shortlist.search(
                batch.sources,
                self._padded(batch),
                config,
                prefixes=batch.prefixes,
                never=self._never(config),
                numbers=batch.numbers,
                bounds=bounds,
                characters=characters,
            )
        return search(
            self.scorer,
            *self._padded(batch),
            config,
            prefixes=batch.prefixes,
            never=self._never(config),
            numbers=batch.numbers,
            symbols=self._symbols.to(self.device) if config.grammar == "trees" else None,
            tags=None if self._tag_symbols is None else self._tag_symbols.to(self.device),
            bounds=bounds,
            characters=characters,
        )

    def _without_faults(
        self, found: list[list[Hypothesis]], batch: SourceBatch, config: SearchConfig
    ) -> list[list[Hypothesis]]:
        """Name the faults of ``found``, or search again without them if a second search can."""
        if config.grammar != "any":  # trees repeat their brackets
            return found

        def again(places: list[int], bounds: list[Bounds]) -> list[list[Hypothesis]]:
            return self._found(batch.chosen(places), config, bounds)  # which reads no demands

        bounds = bounds_of(batch, config)
        return without_faults(found, bounds, again if config.searches_again else None)

    def is_final(
        self, batch: SourceBatch, found: list[list[Hypothesis]], config: SearchConfig
    ) -> list[bool]:
        """Whether the first hypotheses of each sentence stand: no second search is due for them.

        Args:
            found: by another engine's ordinary search; empty for a sentence that it left out.
        """
        bounds = bounds_of(batch, config)
        demands: Sequence[LineDemands | None] = batch.demands or [None] * len(found)
        return [
            bool(hypotheses)
            and not any(bound.faults(one.ids) for one in hypotheses)
            and self._meets(hypotheses, wanted)
            for hypotheses, bound, wanted in zip(found, bounds, demands, strict=True)
        ]

    def _meets(self, hypotheses: list[Hypothesis], demands: LineDemands | None) -> bool:
        if demands is None:
            return True
        assert self._constrained is not None, "the engine was given a vocabulary"
        return self._constrained.meets(hypotheses, demands)

    def _padded(self, batch: SourceBatch) -> tuple[Tensor, Tensor]:
        source, mask = pad_sources(batch.sources)
        return source.to(self.device), mask.to(self.device)

    def _never(self, config: SearchConfig) -> Sequence[int]:
        """Pieces that no output may contain except in a term."""
        never = (*self._foreign, *self._unwritable)
        return never if config.allow_tags else (*self._tags, *never)

    @cached_property
    def _symbols(self) -> TreeSymbols:
        """Symbols that trees are made of."""
        assert self._vocabularies is not None, "whoever asks for a grammar gives them"
        return TreeSymbols.of(self._vocabularies)


class FittingSearch:
    """Searches in batches that fit into memory, and remembers which did not.

    A batch that does not fit is searched in halves.  Translations do not depend on the batch, so
    memory changes only the speed.
    """

    def __init__(self) -> None:
        self._limit: int | None = None

    def __call__(
        self, batch: SourceBatch, search: Callable[[SourceBatch], list[list[Hypothesis]]]
    ) -> list[list[Hypothesis]]:
        """Search a batch, dividing it if it does not fit.

        Raises:
            NotEnoughMemoryError: a sentence does not fit even alone.
        """
        size = _tokens(batch)
        if len(batch.sources) == 1 or self._limit is None or size <= self._limit:
            try:
                return search(batch)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                said = memory_words(error)
            # Not in the handler, as the error's traceback held the tensors of the failed search.
            self._lower(batch, size, said)
        middle = len(batch.sources) // 2
        halves = batch.part(slice(middle)), batch.part(slice(middle, None))
        return [found for half in halves for found in self(half, search)]

    def _lower(self, batch: SourceBatch, size: int, said: str) -> None:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()  # free memory may be too fragmented to use
        if len(batch.sources) == 1:
            raise NotEnoughMemoryError(
                f"line {batch.numbers[0] + 1}: out of memory ({said}), though its "
                f"{len(batch.sources[0])} pieces are translated alone; use a narrower beam, or "
                "divide the line"
            )
        if self._limit is None:
            log.warning("out of memory (%s); going on with smaller batches", said)
        self._limit = size // 2


def _tokens(batch: SourceBatch) -> int:
    """Number of padded tokens."""
    return len(batch.sources) * (1 + max(map(len, batch.sources)))


@contextmanager
def evaluating(models: Iterable[TranslationModel]) -> Iterator[None]:
    """Put models into evaluation mode, then restore the mode of each of their modules."""
    modules = [module for model in models for module in model.modules()]
    training = [module.training for module in modules]
    for module in modules:
        module.training = False
    try:
        yield
    finally:
        for module, before in zip(modules, training, strict=True):
            module.training = before
