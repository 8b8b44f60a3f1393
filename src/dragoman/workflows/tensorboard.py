"""TensorBoard events; the only module that uses TensorBoard."""

from __future__ import annotations

from pathlib import Path

from dragoman.core.errors import MissingExtraError
from dragoman.core.files import storage_errors
from dragoman.training.observers import Record

try:
    from torch.utils.tensorboard import SummaryWriter
except ImportError as error:
    raise MissingExtraError.of("TensorBoard", "tensorboard") from error


class TensorBoard:
    """Writes the figures of a run as TensorBoard events.

    Args:
        directory: of the event files; view them with ``tensorboard --logdir``.
        step: at which training begins or resumes; events of later steps are hidden.
    """

    def __init__(self, directory: Path, step: int) -> None:
        self._directory = directory
        self._writer = self._writer_from(step)

    def _writer_from(self, step: int) -> SummaryWriter:
        """A writer of a new file, which makes TensorBoard hide later steps of the others."""
        with storage_errors(self._directory):
            return SummaryWriter(str(self._directory), purge_step=step + 1)

    def record(self, record: Record) -> None:
        """Write one record of training or validation."""
        with storage_errors(self._directory):
            for name, value in record.items():
                if isinstance(value, float):
                    self._writer.add_scalar(f"{record['kind']}/{name}", value, record["step"])

    def rewind(self, step: int) -> None:
        """Hide the events of later steps."""
        self.close()
        self._writer = self._writer_from(step)

    def close(self) -> None:
        """Write out the remaining events."""
        with storage_errors(self._directory):
            self._writer.close()
