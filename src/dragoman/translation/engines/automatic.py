"""The fastest engine that gives the same text, chosen while it translates.

Dragoman's own engine begins.  After a thousand sentences, the model is converted for CTranslate2
and both engines search for the last few hundred of them.  CTranslate2 goes on only if it found
the same texts, in less time.  The verdict is kept beside the converted model, so that the next
process need not wait.

No search waits long for this: the model is converted in a thread, and the trial advances by at
most half a second, or one batch, between two batches.  A server changes at once if there is a
verdict, and tries sooner if there is none (:meth:`AutomaticEngine.prepare`).

Sentences that CTranslate2 treats in its own way are searched for by Dragoman's own engine in any
case (:meth:`~.engine.TorchEngine.is_final`, :mod:`.faithful`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillOpeningError
from itertools import chain, islice
from typing import NamedTuple

from typing_extensions import override

from dragoman.core.errors import DragomanError
from dragoman.core.wording import CHOICES
from dragoman.search import SearchConfig
from dragoman.translation.engines.ctranslate2_limits import difference
from dragoman.translation.engines.engine import Engine, SearchedBatch, SourceBatch, TorchEngine
from dragoman.translation.engines.joined_batches import (
    SearchedSentence,
    join_batches,
    replace_hypotheses,
)
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
PATIENCE = 0.5
"""Seconds for which a search waits, at most, for the other engine to open, and after which no
further batch of a trial begins."""


class _Searched(NamedTuple):
    """A batch that Dragoman's own engine has searched, with the seconds that it took."""

    batch: SearchedBatch
    seconds: float


class _RunningTrial:
    """A trial that advances batch by batch.

    Args:
        recent: searched by the own engine.
        config: settings of these searches.
    """

    def __init__(self, recent: Iterable[_Searched], config: SearchConfig) -> None:
        self.config = config
        self._left = deque(recent)
        self._lines = self._differing = 0
        self._seconds = self._own_seconds = 0.0

    def advance(self, search: Callable[[SourceBatch], SearchedBatch]) -> EngineTrial | None:
        """Search for further batches by the other engine, until :data:`PATIENCE` is over.

        Returns:
            The result; None as long as there are batches left.
        """
        if not self._lines:
            search(self._left[0].batch.batch.part(slice(1)))  # loads what is loaded at first use
        end = time.monotonic() + PATIENCE
        while self._left and not self._differing:
            self._compare(self._left.popleft(), search)
            if time.monotonic() > end:
                break
        if self._left and not self._differing:
            return None
        return EngineTrial(
            lines=self._lines,
            differing=self._differing,
            seconds=self._seconds,
            own_seconds=self._own_seconds,
        )

    def _compare(self, own: _Searched, search: Callable[[SourceBatch], SearchedBatch]) -> None:
        started = time.perf_counter()
        found = search(own.batch.batch).hypotheses
        self._seconds += time.perf_counter() - started
        self._own_seconds += own.seconds
        self._lines += len(found)
        self._differing += sum(
            theirs[0].ids != ours[0].ids and abs(theirs[0].score - ours[0].score) > NEAR
            for theirs, ours in zip(found, own.batch.hypotheses, strict=True)
        )


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
        self._opening: Future[Engine] | None = None
        self._running: _RunningTrial | None = None
        self._failed = self._lasts = False
        self._seen = 0
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
        waiting = iter(batches)
        for batch in waiting:
            other = self._chosen(config)
            if other is not None and batch.prefixes is None:
                yield from self._by_other(other, chain([batch], waiting), config)
            else:
                yield self._by_own(batch, config)

    @property
    @override
    def is_ready(self) -> bool:
        return self._own.is_ready

    @override
    def outlook(self, config: SearchConfig) -> str:
        reason = self._reason or difference(config)
        if reason is not None:
            return self._words("pytorch", reason)
        assert self._verdicts is not None, "there is a choice"
        if (trial := self._verdicts.of(config)) is None:
            return self._words("pytorch", f"ctranslate2 is tried after {ENOUGH:,} sentences")
        return self._words("ctranslate2" if trial.is_won else "pytorch", trial.words)

    @override
    def prepare(self, config: SearchConfig) -> None:
        self._lasts = True
        if self._reason is None and difference(config) is None:
            self._chosen(config, patience=None)

    @override
    def close(self) -> None:
        self._own.close()
        self._close_other()

    def _close_other(self) -> None:
        """Close the other engine, which may hold much memory, as soon as it has opened."""
        if self._opening is not None:
            self._opening.add_done_callback(_close_opened)
        self._other = self._opening = None

    def _counted(self, batches: Iterable[SearchedBatch], reason: str) -> Iterator[SearchedBatch]:
        for searched in batches:
            self._count(searched.batch, reason)
            yield searched

    def _count(self, batch: SourceBatch, reason: str) -> None:
        self._seen += len(batch.sources)
        if self._seen >= ENOUGH:  # or nobody cares
            self._take("pytorch", reason)

    def _words(self, engine: str, reason: str) -> str:
        """An engine and the reason for it, without the remedy."""
        return f"{engine} ({self._precision}): {reason.partition(';')[0]}"

    def _take(self, engine: str, reason: str) -> None:
        """Say which engine is taken and why, once for the same words."""
        words = self._words(engine, reason)
        if words != self.choice:
            self.choice = words
            log.info("engine %s", words)

    def _by_own(self, batch: SourceBatch, config: SearchConfig) -> SearchedBatch:
        """Search by the own engine, and remember how long it took."""
        started = time.perf_counter()
        (searched,) = self._own.search([batch], config)
        seconds = time.perf_counter() - started
        with self._lock:
            self._seen += len(batch.sources)
            if batch.prefixes is None and not self._failed and self._running is None:
                self._remember(_Searched(searched, seconds), config)
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
        """Search for sentences that the other engine left out, or that a second search is due for.

        The ordinary search of the latter was the other engine's.
        """
        own = self._own
        assert isinstance(own, TorchEngine), "the caller has looked"
        left: list[SearchedSentence] = []
        due: list[SearchedSentence] = []
        for batch, found in together:
            for place, is_final in enumerate(own.is_final(batch, found, config)):
                if not is_final:
                    (due if found[place] else left).append(SearchedSentence(batch, found, place))
        tokens = config.tokens_at_once // config.beam
        searched = own.search(join_batches((one.alone for one in left), tokens), config)
        replace_hypotheses(left, (best for batch in searched for best in batch.hypotheses))
        found_before = (one.found[one.place] for one in due)
        replace_hypotheses(
            due,
            (
                best
                for batch in join_batches((one.alone for one in due), tokens)
                for best in own.completed(
                    batch, list(islice(found_before, len(batch.sources))), config
                )
            ),
        )

    def _chosen(self, config: SearchConfig, patience: float | None = PATIENCE) -> Engine | None:
        """The other engine, if it is to search with these settings.

        Args:
            config: of the search.
            patience: seconds to wait for it to open; None: until it is open.
        """
        assert self._verdicts is not None, "there is a choice"
        if self._failed or (self._seen < FEW and not self._lasts):
            return None
        with self._lock:
            try:
                return self._decide(config, patience)
            except (DragomanError, OSError, RuntimeError, ValueError) as error:
                self._failed = True
                self._recent.clear()
                self._take("pytorch", " ".join(str(error).split()))
        return None

    def _decide(self, config: SearchConfig, patience: float | None) -> Engine | None:
        """The other engine, if a trial has found it faster with the same texts."""
        assert self._verdicts is not None, "there is a choice"
        trial = self._verdicts.of(config)
        if trial is None:
            if (trial := self._advanced(config)) is None:
                return None
            self._verdicts.keep(config, trial)
        if not trial.is_won:
            self._take("pytorch", trial.words)
            self._close_other()
            return None
        if (other := self._opened(patience)) is not None:
            self._take("ctranslate2", trial.words)
        return other

    def _advanced(self, config: SearchConfig) -> EngineTrial | None:
        """The result of a trial with these settings, if it is over; begins or advances it."""
        if self._running is None:
            compared = sum(len(one.batch.hypotheses) for one in self._recent)
            enough = COMPARED if self._lasts else ENOUGH
            if self._seen < enough or compared < COMPARED or self._recent_settings != config:
                return None
            self._running = _RunningTrial(self._recent, config)
            self._recent.clear()
        other = self._opened(PATIENCE)
        if other is None or self._running.config != config:
            return None

        def search(batch: SourceBatch) -> SearchedBatch:
            return next(self._by_other(other, [batch], config))

        trial = self._running.advance(search)
        if trial is not None:
            self._running = None
        return trial

    def _opened(self, patience: float | None) -> Engine | None:
        """The other engine; None if it takes longer than ``patience`` seconds to open.

        Only the first caller waits for it.
        """
        if self._other is not None:
            return self._other
        if self._opening is None:
            assert self._open_other is not None, "there is a choice"
            thread = ThreadPoolExecutor(1)
            self._opening = thread.submit(self._open_other)
            thread.shutdown(wait=False)  # it ends when the engine is open
        elif patience is not None:
            patience = 0
        try:
            self._other = self._opening.result(patience)
        except StillOpeningError:
            return None
        return self._other


def _close_opened(opening: Future[Engine]) -> None:
    """Close an engine that has opened."""
    if opening.exception() is None:
        opening.result().close()
