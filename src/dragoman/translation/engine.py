"""Engines, which carry out a translator's searches batch by batch.

:class:`TorchEngine` is Dragoman's own.  Others share its interface: one distributes the batches
among processes, another runs a converted model in another program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import NamedTuple, Protocol

import torch

from dragoman.core.device import keep_freed_memory
from dragoman.data.batches import pad_sources
from dragoman.models.interface import TranslationModel
from dragoman.search import Hypothesis, Scorer, SearchConfig, search
from dragoman.search.tree_grammar import TreeSymbols
from dragoman.text.terminology import LexicalConstraint
from dragoman.text.vocabulary import Vocabularies
from dragoman.translation.term_search import ConstrainedSearch


class SourceBatch(NamedTuple):
    """Sentences of similar length that are translated together."""

    numbers: list[int]
    """The numbers of the sentences in the whole input."""

    sources: list[list[int]]
    """Ids of each sentence, without end symbol; only a language model's may be empty."""

    prefixes: list[list[int]] | None = None
    """Target ids that each output begins with; for a language model, the same as the sources."""

    constraints: list[tuple[LexicalConstraint, ...]] | None = None
    """What each output must contain; None if nothing."""


class Engine(Protocol):
    """Searches for translations."""

    def search(
        self, batches: Iterable[SourceBatch], config: SearchConfig
    ) -> Iterator[list[list[Hypothesis]]]:
        """The hypotheses of each sentence, best first, one batch after the other.

        An engine that works on several batches at once reads a bounded number of ``batches`` ahead.

        Raises:
            ConfigError: the engine cannot do what ``config`` asks for.
        """

    def close(self) -> None:
        """Release what the engine holds, for good; closing it again does nothing."""


class TorchEngine:
    """Searches with a scorer in this process.

    Models in training may be given: they are in evaluation mode only during each batch.

    Args:
        scorer: what search reads scores from, such as the result of ``opening.build_scorer``.
        models: those that the scorer uses.  Sentences are moved to the first one's device.
        vocabularies: of the models, needed for outputs that must contain something or be trees;
            outputs may contain their tags only if ``search.allow_tags`` is set.
        tags: ids in place of their tags.
    """

    def __init__(
        self,
        scorer: Scorer,
        models: Sequence[TranslationModel] = (),
        vocabularies: Vocabularies | None = None,
        *,
        tags: Sequence[int] = (),
    ) -> None:
        keep_freed_memory()
        self.scorer, self.models, self._vocabularies = scorer, list(models), vocabularies
        self._tags = tags if vocabularies is None else vocabularies.target.tags
        self._constrained = (
            None if vocabularies is None else ConstrainedSearch(scorer, vocabularies.target)
        )

    @property
    def device(self) -> torch.device:
        """The device of the models."""
        first = next((p for model in self.models for p in model.parameters()), None)
        return torch.device("cpu") if first is None else first.device

    def search(
        self, batches: Iterable[SourceBatch], config: SearchConfig
    ) -> Iterator[list[list[Hypothesis]]]:
        """See :meth:`Engine.search`."""
        never = () if config.allow_tags else self._tags
        symbols = self._symbols.to(self.device) if config.grammar == "trees" else None
        for batch in batches:
            source, mask = (tensor.to(self.device) for tensor in pad_sources(batch.sources))
            with evaluating(self.models):
                found = search(
                    self.scorer,
                    source,
                    mask,
                    config,
                    prefixes=batch.prefixes,
                    never=never,
                    numbers=batch.numbers,
                    symbols=symbols,
                )
                if batch.constraints is not None:
                    assert self._constrained is not None, "the engine was given a vocabulary"
                    found = self._constrained.improve(
                        found,
                        batch.constraints,
                        source,
                        mask,
                        config,
                        prefixes=batch.prefixes,
                        never=never,
                    )
            yield found

    @cached_property
    def _symbols(self) -> TreeSymbols:
        """What trees are made of.

        Raises:
            ConfigError: the models write no trees.
        """
        assert self._vocabularies is not None, "whoever asks for a grammar gives them"
        return TreeSymbols.of(self._vocabularies)

    def close(self) -> None:
        """Do nothing: the models belong to the caller."""


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
