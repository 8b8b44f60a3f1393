"""Translating through CTranslate2, a C++ engine with int8 weights (Klein et al. 2020).

A standard Transformer is converted once, into a folder inside the model's directory, and converted
again when its weights have changed.  CTranslate2 then runs the searches.  Input, output, options
and ranking stay Dragoman's.  Three things differ:

- Probabilities are over the allowed pieces, in Dragoman over all pieces.
- An output that is cut off at the length limit counts without the end symbol.
- The search for a sentence ends when ``beam`` hypotheses are finished, like Dragoman's with
  ``early_end: quick``; a call with ``exact`` is refused.

A second search, for a sentence whose output is degenerate, repeats no three pieces at all.  Bytes
that do not form a whole character are removed from outputs; Dragoman's search never writes them.
The second search for a sentence whose output lacks a term, or invents a placeholder, is Dragoman's
own, with the model in this process.
"""

from __future__ import annotations

import os
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

from typing_extensions import override

from dragoman.core.errors import ConfigError, MissingExtraError
from dragoman.data.batch import pad_sources
from dragoman.models.families.transformer import Transformer
from dragoman.models.interface import TranslationModel
from dragoman.search import Hypothesis, ModelScorer, SearchConfig
from dragoman.search.degenerate import Bounds, without_faults
from dragoman.search.hypothesis import rank
from dragoman.search.penalties import length_penalty
from dragoman.search.whole_characters import ByteSymbols, unwritable_pieces
from dragoman.text.vocabularies import BOS, EOS, PAD, UNK, Vocabularies
from dragoman.translation.engines.ctranslate2_conversion import convert, piece_names, positions_of
from dragoman.translation.engines.ctranslate2_limits import search_refusal
from dragoman.translation.engines.engine import (
    Engine,
    SearchedBatch,
    SourceBatch,
    bounds_of,
    evaluating,
)
from dragoman.translation.engines.term_search import ConstrainedSearch

try:
    import ctranslate2
except ImportError as error:
    raise MissingExtraError.of("CTranslate2", "ctranslate2") from error

Compute = Literal["float32", "int8"]
_AHEAD = 2  # batches waiting per thread
_SIMILAR = 16  # source lengths, in pieces, that are searched with one limit
_NO_LOOP = 3  # every loop has the same three pieces twice
_LEAST_SHARE = 4  # sentences of a batch that a thread takes from another


class CTranslate2Engine(Engine):
    """Searches with a converted model.

    Args:
        directory: of the model; the converted model is kept in it.
        model: the model in that directory.
        compute: type of weights and activations.
        workers: number of batches at a time, one thread each; by default one per core.
        adapter: merged into the model; the converted model is then kept beside the adapter's file.

    Raises:
        ConfigError: CTranslate2 does not support the model or the type of numbers.
        StorageError: the converted model cannot be written.
    """

    has_token_scores = False
    _patience = 1
    """Finished hypotheses that end the search for a sentence, as a multiple of the beam."""

    def __init__(
        self,
        directory: Path,
        model: TranslationModel,
        vocabularies: Vocabularies,
        *,
        compute: Compute = "float32",
        workers: int | None = None,
        adapter: Path | None = None,
    ) -> None:
        converted = convert(directory, model, vocabularies, adapter)
        supported = ctranslate2.get_supported_compute_types("cpu")
        if compute not in get_args(Compute) or compute not in supported:
            raise ConfigError(
                f"CTranslate2 does not compute in {compute} here; choose one of: "
                + ", ".join(kind for kind in get_args(Compute) if kind in supported)
            )
        threads = workers or os.cpu_count() or 1
        self._threads, self._ahead = threads, threads * _AHEAD
        self._translator = ctranslate2.Translator(
            str(converted),
            device="cpu",
            compute_type=compute,
            inter_threads=threads,
            intra_threads=1,
        )
        self._positions = positions_of(model)
        self._tags = vocabularies.target.tags
        self._source = piece_names(vocabularies.source)
        assert isinstance(model, Transformer), "or else it was not converted"
        self._end = [self._source[EOS]] if model.config.source_end else []
        target = piece_names(vocabularies.target)
        self._target = target
        self._ids = {name: number for number, name in enumerate(target)}
        self._characters = ByteSymbols.of(vocabularies.target)
        self._unwritable = unwritable_pieces(vocabularies.target)
        self._models = [model]
        self._constrained = ConstrainedSearch(
            ModelScorer(model), vocabularies.target, characters=self._characters
        )

    @override
    def refusal(self, config: SearchConfig) -> str | None:
        if config.early_end == "exact":
            return (
                "the engine ctranslate2 ends by its own rule, without early_end exact; leave it "
                "out, or choose engine pytorch"
            )
        return search_refusal(config)

    @override
    def search(
        self, batches: Iterable[SourceBatch], config: SearchConfig
    ) -> Iterator[SearchedBatch]:
        if (reason := self.refusal(config)) is not None:
            raise ConfigError(reason)
        pending: deque[tuple[SourceBatch, list[Any]]] = deque()
        for batch in batches:
            if batch.prefixes is not None:
                raise ConfigError("the engine ctranslate2 has no forced prefix; leave out --engine")
            pending.append((batch, self._submit(batch.sources, config)))
            if len(pending) >= self._ahead:
                yield self._searched(*pending.popleft(), config)
        while pending:
            yield self._searched(*pending.popleft(), config)

    @override
    def close(self) -> None:
        self._translator.unload_model()

    def _searched(
        self, batch: SourceBatch, results: list[Any], config: SearchConfig
    ) -> SearchedBatch:
        found = self._found(batch.sources, results, config)

        def again(places: list[int], bounds: list[Bounds]) -> list[list[Hypothesis]]:
            second = []
            for place, bound in zip(places, bounds, strict=True):
                sources = [batch.sources[place]]
                changed = config.model_copy(update=_without_faults(bound, config))
                second += self._found(sources, self._submit(sources, changed), changed)
            return second

        bounds = bounds_of(batch, config)
        best = without_faults(found, bounds, again if config.searches_again else None)
        if batch.demands is not None:
            best = without_faults(self._improved(best, batch, config), bounds, None)
        return SearchedBatch(batch, best)

    def _improved(
        self, found: list[list[Hypothesis]], batch: SourceBatch, config: SearchConfig
    ) -> list[list[Hypothesis]]:
        """``found``, where Dragoman's own search replaces what does not meet its demands."""
        assert batch.demands is not None, "the caller has looked"
        tags = () if config.allow_tags else self._tags
        with evaluating(self._models):
            improved = self._constrained.improve(
                found,
                batch.demands,
                *pad_sources(batch.sources),
                config,
                prefixes=None,
                never=(*tags, *self._unwritable),
            )
        return [[replace(one, token_scores=None) for one in each] for each in improved]

    def _found(
        self, sources: list[list[int]], results: list[Any], config: SearchConfig
    ) -> list[list[Hypothesis]]:
        """Hypotheses of each sentence within the sentence's limit.

        The searches used the higher limit that sources of similar length share.  The few sentences
        whose outputs come near their limit are searched again with it.
        """
        found = [result.result() for result in results]
        limits = [self._longest(len(source), config) for source in sources]
        near = [
            place
            for place, (one, limit) in enumerate(zip(found, limits, strict=True))
            if limit < self._shared_limit(sources[place], config) and _comes_near(one, limit)
        ]
        again = self._submit_within(
            [sources[place] for place in near], [limits[place] for place in near], config
        )
        for place, result in zip(near, again, strict=True):
            found[place] = result.result()
        return [
            self._hypotheses(one, limit, config) for one, limit in zip(found, limits, strict=True)
        ]

    def _submit(self, sources: list[list[int]], config: SearchConfig) -> list[Any]:
        """Submit sentences to CTranslate2, in groups whose limit is independent of neighbours.

        Groups of equal source length would be small, and slow.
        """
        limits = [self._shared_limit(source, config) for source in sources]
        return self._submit_within(sources, limits, config)

    def _shares(self, sentences: int) -> Iterator[slice]:
        """A batch divided among the threads that have no work.

        Of a single batch, such as that of a server, each thread then takes a part.
        """
        idle = self._threads - self._translator.num_active_batches
        size = max(1, -(-sentences // max(1, min(idle, sentences // _LEAST_SHARE))))
        return (slice(start, start + size) for start in range(0, sentences, size))

    def _submit_within(
        self, sources: list[list[int]], limits: list[int], config: SearchConfig
    ) -> list[Any]:
        """Submit sentences with their maximum output lengths, grouped by limit."""
        groups: dict[int, list[int]] = defaultdict(list)
        for place, limit in enumerate(limits):
            groups[limit].append(place)
        pending: dict[int, Any] = {}
        for limit, places in groups.items():
            for share in self._shares(len(places)):
                some = [sources[place] for place in places[share]]
                results = self._submit_group(some, limit, config)
                pending.update(zip(places[share], results, strict=True))
        return [pending[place] for place in range(len(sources))]

    def _submit_group(
        self, sources: list[list[int]], limit: int, config: SearchConfig
    ) -> list[Any]:
        """Submit sentences with a common limit.

        CTranslate2 returns all ``beam`` hypotheses, without a length penalty, because it divides by
        another power of the length, which would make it stop earlier.
        """
        patience = self._patience if config.beam > 1 else 1  # greedy search has one hypothesis
        pending: list[Any] = self._translator.translate_batch(
            self._named(sources),
            beam_size=config.beam,
            num_hypotheses=config.beam * patience,
            patience=patience,
            length_penalty=0,
            return_scores=True,
            max_input_length=0,
            max_decoding_length=limit,
            min_decoding_length=min(config.minimum_length, limit),
            no_repeat_ngram_size=config.no_repeat_ngram,
            suppress_sequences=[[self._target[i]] for i in self._suppressed(config)] or None,
            asynchronous=True,
        )
        return pending

    def _forbidden(self, config: SearchConfig) -> list[int]:
        """Pieces that no output may contain."""
        unknown = [] if config.writes_unknown else [UNK]
        tags = [] if config.allow_tags else self._tags
        return [PAD, BOS, *unknown, *tags, *self._unwritable]

    def _suppressed(self, config: SearchConfig) -> list[int]:
        """Pieces that CTranslate2 leaves out, as of probabilities."""
        return self._forbidden(config)

    def _named(self, sources: list[list[int]]) -> list[list[str]]:
        """The pieces of sentences as CTranslate2 reads them."""
        return [
            [self._source[i] for i in source] + self._end or [self._source[EOS]]
            for source in sources
        ]

    def _shared_limit(self, source: list[int], config: SearchConfig) -> int:
        """The limit of the longest source that may be searched together with this source."""
        if self._positions is not None and len(source) >= self._positions:  # with the end symbol
            raise ConfigError(
                f"the engine ctranslate2 reads up to {self._positions - 1} pieces, found "
                f"{len(source)}; lower search.max_source_pieces, or leave out --engine"
            )
        return self._longest(-(-len(source) // _SIMILAR) * _SIMILAR, config)

    def _longest(self, source: int, config: SearchConfig) -> int:
        """Maximum output length for a source of ``source`` pieces.

        CTranslate2 fails beyond its table of positions.
        """
        longest = config.longest(source)
        return longest if self._positions is None else min(longest, self._positions - 1)

    def _hypotheses(self, result: Any, limit: int, config: SearchConfig) -> list[Hypothesis]:
        """CTranslate2's hypotheses for a sentence with this limit, ranked as in the paper."""
        hypotheses = []
        for names, log_probability in zip(result.hypotheses, result.scores, strict=True):
            ids = [self._ids[name] for name in names]
            score = log_probability / length_penalty(len(ids) + 1, config.length_penalty)
            ended = len(ids) < limit
            if self._characters is not None:  # CTranslate2 ignores characters
                ids = self._characters.without_broken(ids)
            hypotheses.append(Hypothesis(ids, score, log_probability, ended))
        return rank(hypotheses)[: config.nbest]


def _comes_near(result: Any, limit: int) -> bool:
    """Whether hypotheses exceed a limit, or would compete with hypotheses that it cuts off.

    These end in the same step as hypotheses that are a piece shorter.
    """
    return any(len(names) + 1 >= limit for names in result.hypotheses)


def _without_faults(bounds: Bounds, config: SearchConfig) -> dict[str, int]:
    """Settings of a second search; an output of the maximum length counts as cut off."""
    changed = {"no_repeat_ngram": config.no_repeat_ngram or _NO_LOOP}
    if bounds.pieces is not None:
        limits = [bounds.pieces + 1, config.maximum_length]
        changed["maximum_length"] = min(limit for limit in limits if limit is not None)
    return changed
