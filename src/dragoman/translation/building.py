"""The engines of open systems: PyTorch in this process or in several, CTranslate2, or a choice.

With small models, the threads of one process keep waiting for one another.  Single-threaded
processes do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import cast, get_args

import torch
from typing_extensions import override

from dragoman.core.errors import ConfigError
from dragoman.core.lasting_pool import LastingPool
from dragoman.core.processes import WorkerPool
from dragoman.saved.engine_names import ENGINES
from dragoman.saved.model import model_directory
from dragoman.saved.system import TranslationSystem
from dragoman.search import SearchConfig
from dragoman.translation.confidence import ConfidentEngine, open_calibration
from dragoman.translation.engine_choice import automatic_engine
from dragoman.translation.engines.added_engine import AddedEngine
from dragoman.translation.engines.engine import Engine, SearchedBatch, SourceBatch, TorchEngine
from dragoman.translation.opening import OpenSystem, open_system

_AHEAD = 2  # batches waiting per worker, so that no worker waits for this process
_engine: TorchEngine | None = None  # in a worker: the engine it searches with


def build_engines(legs: Sequence[OpenSystem]) -> list[Engine]:
    """Build an engine for each leg; legs that differ only in settings and tags share one engine.

    Raises:
        DragomanError: the errors of :func:`build_engine`; engines made before are closed.
    """
    engines: list[Engine] = []
    try:
        for leg in legs:
            if engines and leg.system.searches_like(legs[0].system):
                engines.append(engines[0])
            else:
                engines.append(build_engine(leg))
    except BaseException:
        for engine in engines:
            engine.close()
        raise
    return engines


def build_engine(opened: OpenSystem) -> Engine:
    """Build the engine of a system; the caller must close it.

    Raises:
        ConfigError: the engine lacks a feature that the system needs, or confidence is requested
            but not calibrated.
        SavedError: the calibration is damaged, or of other weights.
        MissingExtraError: a package that the engine needs is not installed.
        StorageError: the engine's converted model cannot be written.
    """
    calibration = open_calibration(opened)  # before processes start
    engine = _searching_engine(opened)
    return engine if calibration is None else ConfidentEngine(engine, calibration, opened)


def _searching_engine(opened: OpenSystem) -> Engine:
    system = opened.system
    if system.engine == "ctranslate2":
        from dragoman.translation.engines.ctranslate2 import Compute, CTranslate2Engine

        (path,), (model,) = system.models, opened.models
        assert system.precision in get_args(Compute), "ensured by the description"
        return CTranslate2Engine(
            model_directory(path),
            model,
            opened.vocabularies,
            compute=cast("Compute", system.precision),
            workers=system.workers,
            adapter=system.adapter,
        )
    if system.engine not in ENGINES.built_in:
        return _added_engine(opened)
    own: Engine
    if system.workers is not None:
        own = WorkerEngine(system, system.workers)
    else:
        own = torch_engine(opened)
    return own if system.engine == "pytorch" else automatic_engine(opened, own)


def _added_engine(opened: OpenSystem) -> Engine:
    """The engine of another package."""
    system = opened.system
    beyond = [
        name for name in ("language_model", "shortlist", "own_pieces") if getattr(system, name)
    ]
    if beyond or len(opened.models) > 1:
        raise ConfigError(
            f"engine {system.engine} gets one model, and searches without "
            f"{beyond[0] if beyond else 'others'}; name one model alone, or choose engine pytorch"
        )
    added: type[AddedEngine] = ENGINES.load_added(system.engine)
    path = model_directory(system.models[0])
    return added.opened(path, opened.models[0], opened.vocabularies, system)


class WorkerEngine(Engine):
    """Searches in several processes, each with the models and one thread.

    When a process is killed, for example for lack of memory, all are replaced by new ones, which
    repeat the lost searches.

    Args:
        system: the system that each worker opens; its precision must be decided already.
        workers: number of processes.
    """

    def __init__(self, system: TranslationSystem, workers: int) -> None:
        self._ahead = workers * _AHEAD
        self._pool = LastingPool(
            lambda: WorkerPool(
                workers, _begin, (system,), work="translates", remedy="repeat with fewer workers"
            )
        )
        self._pool.start()

    @override
    def search(
        self, batches: Iterable[SourceBatch], config: SearchConfig
    ) -> Iterator[SearchedBatch]:
        """Search several batches at once.

        Raises:
            NoWorkersError: a worker was killed, and others cannot be started.
            WorkerError: a batch was lost twice with its worker, or the engine was closed meanwhile.
        """
        tasks = ((batch, config) for batch in batches)
        yield from self._pool.in_order(_search, tasks, ahead=self._ahead)

    @property
    @override
    def is_ready(self) -> bool:
        return self._pool.is_ready

    @override
    def close(self) -> None:
        """End the processes once they have finished their current batches."""
        self._pool.close()


def _begin(system: TranslationSystem) -> None:
    """Open the system in this process, which becomes a worker."""
    global _engine  # noqa: PLW0603 - what a pool's initializer leaves for its tasks
    torch.set_num_threads(1)
    _engine = torch_engine(open_system(system))


def torch_engine(opened: OpenSystem) -> TorchEngine:
    """The engine that searches with an open system in this process."""
    return TorchEngine(
        opened.scorer,
        opened.models,
        opened.vocabularies,
        inline_tags=opened.inline_tags,
        shortlist=opened.shortlist,
        foreign=opened.foreign,
        context=opened.context,
    )


def _search(task: tuple[SourceBatch, SearchConfig]) -> SearchedBatch:
    assert _engine is not None, "a worker has begun"
    batch, config = task
    return next(_engine.search([batch], config))
