"""Translating ids with a model in training: on-line back-translation, and candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dragoman.models.interface import TranslationModel
from dragoman.search import ModelScorer, SearchConfig
from dragoman.search.sampling import SamplingConfig
from dragoman.text.transforms import SourceByModelConfig
from dragoman.translation.engines.engine import SourceBatch, TorchEngine

_SEEDS = 1 << 31


def id_translator(tags: Sequence[int]) -> Callable[..., list[list[int]]]:
    """A function that translates ids: a :class:`dragoman.training.on_line.TranslateIds`.

    No translation may contain the ids ``tags``.
    """

    def translate(
        model: TranslationModel,
        sentences: Sequence[list[int]],
        settings: SourceByModelConfig,
        *,
        numbers: Sequence[int],
        seed: int,
        never: Sequence[int],
    ) -> list[list[int]]:
        search = id_search([*tags, *never])
        found = search(model, sentences, search_of(settings, seed), numbers=numbers)
        return [outputs[0] for outputs in found]

    return translate


def id_search(never: Sequence[int]) -> Callable[..., list[list[list[int]]]]:
    """A function that searches: a :class:`dragoman.training.on_line.SearchIds`.

    Args:
        never: ids that outputs may not contain, such as tags.
    """

    def search(
        model: TranslationModel,
        sentences: Sequence[list[int]],
        config: SearchConfig,
        *,
        numbers: Sequence[int],
    ) -> list[list[list[int]]]:
        engine = TorchEngine(ModelScorer(model), [model], tags=never)
        ((_, found),) = engine.search([SourceBatch(list(numbers), list(sentences))], config)
        return [[hypothesis.ids for hypothesis in hypotheses] for hypotheses in found]

    return search


def search_of(settings: SourceByModelConfig, seed: int) -> SearchConfig:
    """The search that makes sources in training: greedy, or one sample per sentence.

    Penalties are disabled because scores play no part.  Degenerate outputs are not searched again
    because early in training most outputs are degenerate.
    """
    sampling = None
    if settings.temperature:
        sampling = SamplingConfig(temperature=settings.temperature, seed=seed % _SEEDS)
    return SearchConfig(
        beam=1,
        length_penalty=0.0,
        extra_length=settings.extra_length,
        sampling=sampling,
        degenerate="keep",
    )
