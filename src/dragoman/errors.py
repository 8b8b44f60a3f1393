"""The public errors, as ``dragoman.errors``; see :mod:`dragoman.core.errors`."""

from dragoman.core.errors import (
    BusyError,
    ConfigError,
    DataError,
    DeadlineError,
    DownloadError,
    DragomanError,
    ExportError,
    InterruptedRunError,
    MissingExtraError,
    NotEnoughMemoryError,
    SavedError,
    ServiceError,
    StorageError,
    TrainingError,
    UsageError,
    WorkerError,
)

__all__ = [
    "BusyError",
    "ConfigError",
    "DataError",
    "DeadlineError",
    "DownloadError",
    "DragomanError",
    "ExportError",
    "InterruptedRunError",
    "MissingExtraError",
    "NotEnoughMemoryError",
    "SavedError",
    "ServiceError",
    "StorageError",
    "TrainingError",
    "UsageError",
    "WorkerError",
]
