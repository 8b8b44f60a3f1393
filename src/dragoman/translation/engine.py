"""What carries out a translator's searches, batch by batch.

:class:`TorchEngine` is Dragoman's own.  Others stand behind the same call: one that shares the
batches among processes, or one that runs a converted model in another program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import torch

from dragoman.core.device import keep_freed_memory
from dragoman.data.batches import pad_sources
from dragoman.models.interface import TranslationModel
from dragoman.search import Hypothesis, Scorer, SearchConfig, search


class SourceBatch(NamedTuple):
    """Sentences of like length that are translated together."""

    numbers: list[int]
    """Of the sentences in the whole input."""

    sources: list[list[int]]
    """Ids of each, without end symbol; none is empty but a language model's."""

    prefixes: list[list[int]] | None = None
    """Target ids that the output of each begins with; a language model is given its sources."""


class Engine(Protocol):
    """Searches for translations."""

    def search(
        self, batches: Iterable[SourceBatch], config: SearchConfig
    ) -> Iterator[list[list[Hypothesis]]]:
        """The hypotheses of each sentence, best first, one batch after the other.

        An engine that works on several batches at once takes a bounded number of ``batches`` ahead.

        Raises:
            ConfigError: the engine cannot do what ``config`` asks for.
        """

    def close(self) -> None:
        """End what searches, for good; a second time there is nothing left to do."""


class TorchEngine:
    """Searches with a scorer in this process.

    Models in training may be given: they are in evaluation mode only during each batch.

    Args:
        scorer: what is searched: what ``opening.build_scorer`` makes, or any other.
        models: those that it asks.  Sentences are put where the weights of the first are.
        tags: ids that are put out only where ``search.allow_tags`` says so.
    """

    def __init__(
        self, scorer: Scorer, models: Sequence[TranslationModel] = (), tags: Sequence[int] = ()
    ) -> None:
        keep_freed_memory()
        self.scorer, self.models, self._tags = scorer, list(models), tags

    @property
    def device(self) -> torch.device:
        """Where the models are."""
        first = next((p for model in self.models for p in model.parameters()), None)
        return torch.device("cpu") if first is None else first.device

    def search(
        self, batches: Iterable[SourceBatch], config: SearchConfig
    ) -> Iterator[list[list[Hypothesis]]]:
        """See :meth:`Engine.search`."""
        never = () if config.allow_tags else self._tags
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
                )
            yield found

    def close(self) -> None:
        """Nothing is to be ended: the models are the caller's."""


@contextmanager
def evaluating(models: Iterable[TranslationModel]) -> Iterator[None]:
    """Put models into evaluation mode, and each of their modules back as it was."""
    modules = [module for model in models for module in model.modules()]
    training = [module.training for module in modules]
    for module in modules:
        module.training = False
    try:
        yield
    finally:
        for module, before in zip(modules, training, strict=True):
            module.training = before
