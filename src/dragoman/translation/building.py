"""Choosing the engine that searches with an open system; done nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, get_args

from dragoman.saved.model import model_directory
from dragoman.translation.confidence import ConfidentEngine, open_calibration
from dragoman.translation.engines.engine import Engine
from dragoman.translation.opening import OpenSystem
from dragoman.translation.workers import WorkerEngine, torch_engine


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
    if system.workers is not None:
        return WorkerEngine(system, system.workers)
    return torch_engine(opened)
