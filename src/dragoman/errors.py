"""The errors of Dragoman for programs, as ``dragoman.errors``; see :mod:`dragoman.core.errors`."""

from dragoman.core.errors import (
    ConfigError,
    DataError,
    DownloadError,
    DragomanError,
    InterruptedRunError,
    MissingExtraError,
    SavedError,
    StorageError,
    TrainingError,
    UsageError,
    WorkerError,
)

__all__ = [
    "ConfigError",
    "DataError",
    "DownloadError",
    "DragomanError",
    "InterruptedRunError",
    "MissingExtraError",
    "SavedError",
    "StorageError",
    "TrainingError",
    "UsageError",
    "WorkerError",
]
