"""The fastest engine that gives the same text, chosen while it translates.

Dragoman's own engine begins.  After a thousand sentences, the model is converted for CTranslate2
and both engines search for the last few hundred of them.  CTranslate2 goes on only if it found
the same texts, in less time.  The verdict is kept beside the converted model, so that the next
process need not wait.

Sentences that CTranslate2 treats in its own way are searched for by Dragoman's own engine in any
case (:meth:`~.engine.TorchEngine.is_final`, :mod:`.faithful`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, count, groupby, islice
from operator import attrgetter
from typing import NamedTuple

from typing_extensions import override

from dragoman.core.errors import DragomanError
from dragoman.core.wording import CHOICES
from dragoman.search import Hypothesis, SearchConfig
from dragoman.translation.engines.ctranslate2_limits import difference
from dragoman.translation.engines.engine import Engine, SearchedBatch, SourceBatch, TorchEngine
from dragoman.translation.engines.verdicts import EngineTrial, Verdicts

log = logging.getLogger(CHOICES)

FEW = 64
"""Sentences of a process that Dragoman's own engine searches for although there is a verdict:
loading the converted model takes longer."""
ENOUGH = 1000
"""Sentences of a process after which a model is converted and tried."""
COMPARED = 256
"""Sentences of a trial, at least."""
TOGETHER = 8
"""Batches whose sentences without an ordinary output are searched for together."""
NEAR = 1e-3
"""Largest difference of two scores that other orders of summation may turn round."""


class _Searched(NamedTuple):
    """A batch that Dragoman's own engine has searched, with the seconds that it took."""

    batch: SearchedBatch
    seconds: float
    call: int
    """Number of the call of :meth:`AutomaticEngine.search` that the batch came with."""


class AutomaticEngine(Engine):
    """Searches by Dragoman's own engine until another one is known to be faster.

    Args:
        own: Dragoman's own engine.
        precision: in which it computes, for messages.
        reason: why nothing is to be chosen; None if there is a choice.
        open_other: opens the other engine, converting the model if necessary.
        verdicts: those of earlier trials; None if ``reason`` is given.
    """

    def __init__(
        self,
        own: Engine,
        precision: str,
        reason: str | None,
        open_other: Callable[[], Engine] | None = None,
        verdicts: Verdicts | None = None,
    ) -> None:
        self._own, self._precision, self._reason = own, precision, reason
        self._open_other, self._verdicts = open_other, verdicts
        self._other: Engine | None = None
        self._failed = False
        self._calls, self._seen = count(), 0
        self._recent: deque[_Searched] = deque()
        self._recent_settings: SearchConfig | None = None
        self._lock = threading.Lock()

    @override
    def search(
        self, batches: Iterable[SourceBatch], config: SearchConfig
    ) -> Iterator[SearchedBatch]:
        reason = self._reason or difference(config)
        if reason is not None:
            yield from self._counted(self._own.search(batches, config), reason)
            return
        waiting, call = iter(batches), next(self._calls)
        for batch in waiting:
            other = self._chosen(config)
            if other is not None and batch.prefixes is None:
                yield from self._by_other(other, chain([batch], waiting), config)
            else:
                yield self._by_own(batch, config, call)

    @property
    @override
    def is_ready(self) -> bool:
        return self._own.is_ready

    @override
    def close(self) -> None:
        self._own.close()
        if self._other is not None:
            self._other.close()

    def _counted(self, batches: Iterable[SearchedBatch], reason: str) -> Iterator[SearchedBatch]:
        for searched in batches:
            self._count(searched.batch, reason)
            yield searched

    def _count(self, batch: SourceBatch, reason: str) -> None:
        self._seen += len(batch.sources)
        if self._seen >= ENOUGH:  # or nobody cares
            self._take("pytorch", reason)

    def _take(self, engine: str, reason: str) -> None:
        """Say which engine is taken and why, without the remedy; once for the same words."""
        words = f"{engine} ({self._precision}): {reason.partition(';')[0]}"
        if words != self.choice:
            self.choice = words
            log.info("engine %s", words)

    def _by_own(self, batch: SourceBatch, config: SearchConfig, call: int) -> SearchedBatch:
        """Search by the own engine, and remember how long it took."""
        started = time.perf_counter()
        (searched,) = self._own.search([batch], config)
        seconds = time.perf_counter() - started
        with self._lock:
            self._seen += len(batch.sources)
            if batch.prefixes is None and not self._failed:
                self._remember(_Searched(searched, seconds, call), config)
        return searched

    def _remember(self, searched: _Searched, config: SearchConfig) -> None:
        """Keep just so many batches of the same settings as a trial needs."""
        if self._recent_settings != config:
            self._recent.clear()
            self._recent_settings = config
        self._recent.append(searched)
        sizes = [len(one.batch.hypotheses) for one in self._recent]
        while sum(sizes) - sizes[0] >= COMPARED:
            self._recent.popleft()
            del sizes[0]

    def _by_other(
        self, other: Engine, batches: Iterable[SourceBatch], config: SearchConfig
    ) -> Iterator[SearchedBatch]:
        """Search by the other engine; sentences that it leaves out by the own engine.

        Those of several batches are searched for together: they are few, and each step takes
        almost as long for one sentence as for many.
        """
        found = iter(other.search(batches, config))
        while together := list(islice(found, TOGETHER)):
            self._complete(together, config)
            for searched in together:
                self._seen += len(searched.batch.sources)
                yield searched

    def _complete(self, together: Sequence[SearchedBatch], config: SearchConfig) -> None:
        """Search for the sentences that the other engine left out."""
        assert isinstance(self._own, TorchEngine), "the caller has looked"
        places: list[tuple[list[list[Hypothesis]], int]] = []
        left: list[SourceBatch] = []
        for batch, found in together:
            final = self._own.is_final(batch, found, config)
            missing = [place for place, is_final in enumerate(final) if not is_final]
            places += [(found, place) for place in missing]
            left.append(batch.chosen(missing))
        again = self._own.search(_joined(left, config.tokens_at_once // config.beam), config)
        hypotheses = [one for searched in again for one in searched.hypotheses]
        for (found, place), best in zip(places, hypotheses, strict=True):
            found[place] = best

    def _chosen(self, config: SearchConfig) -> Engine | None:
        """The other engine, if it is to search with these settings."""
        assert self._verdicts is not None, "there is a choice"
        if self._failed or self._seen < FEW:
            return None
        with self._lock:
            try:
                return self._decide(config)
            except (DragomanError, OSError, RuntimeError, ValueError) as error:
                self._failed = True
                self._recent.clear()
                self._take("pytorch", " ".join(str(error).split()))
        return None

    def _decide(self, config: SearchConfig) -> Engine | None:
        """The other engine, if a trial has found it faster with the same texts."""
        assert self._verdicts is not None, "there is a choice"
        assert self._open_other is not None, "there is a choice"
        trial = self._verdicts.of(config)
        if trial is None:
            compared = sum(len(one.batch.hypotheses) for one in self._recent)
            if self._seen < ENOUGH or compared < COMPARED or self._recent_settings != config:
                return None
            self._other = self._other or self._open_other()
            trial = self._tried(self._other, config)
            self._verdicts.keep(config, trial)
        if not trial.is_won:
            self._take("pytorch", trial.words)
            if self._other is not None:  # which may hold much memory
                self._other.close()
                self._other = None
            return None
        self._other = self._other or self._open_other()
        self._take("ctranslate2", trial.words)
        return self._other

    def _tried(self, other: Engine, config: SearchConfig) -> EngineTrial:
        """Search for the remembered batches by the other engine, too, call by call."""
        recent = list(self._recent)
        self._recent.clear()
        list(other.search([recent[0].batch.batch], config))  # loads what is loaded at first use
        searched: list[SearchedBatch] = []
        started = time.perf_counter()
        for _, together in groupby(recent, attrgetter("call")):
            searched += self._by_other(other, [one.batch.batch for one in together], config)
        seconds = time.perf_counter() - started
        pairs = [
            (theirs[0], ours[0])
            for (_, found), one in zip(searched, recent, strict=True)
            for theirs, ours in zip(found, one.batch.hypotheses, strict=True)
        ]
        differing = sum(
            theirs.ids != ours.ids and abs(theirs.score - ours.score) > NEAR
            for theirs, ours in pairs
        )
        own_seconds = sum(one.seconds for one in recent)
        return EngineTrial(
            lines=len(pairs), differing=differing, seconds=seconds, own_seconds=own_seconds
        )


def _joined(batches: Iterable[SourceBatch], tokens: int) -> Iterator[SourceBatch]:
    """The sentences of several batches, whose outputs have the same demands, in larger batches.

    A batch has at most ``tokens`` padded source pieces, unless a single one of ``batches`` has
    more.
    """
    joined: SourceBatch | None = None
    for batch in batches:
        if not batch.sources:
            continue
        if joined is None:
            joined = batch
            continue
        sources = joined.sources + batch.sources
        alike = (joined.prefixes is None, joined.demands is None) == (
            batch.prefixes is None,
            batch.demands is None,
        )
        if not alike or len(sources) * max(map(len, sources)) > tokens:
            yield joined
            joined = batch
            continue
        joined = SourceBatch(
            joined.numbers + batch.numbers,
            sources,
            None if batch.prefixes is None else (joined.prefixes or []) + batch.prefixes,
            None if batch.demands is None else (joined.demands or []) + batch.demands,
        )
    if joined is not None:
        yield joined
