"""TensorBoard: the one door to it."""

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
        directory: where the event files go; look at them with ``tensorboard --logdir``.
        step: that training begins or goes on at; events of later steps are hidden.
    """

    def __init__(self, directory: Path, step: int) -> None:
        self._directory = directory
        self._writer = self._writer_from(step)

    def _writer_from(self, step: int) -> SummaryWriter:
        """Of a new file, which makes TensorBoard hide what the others say of later steps."""
        with storage_errors(self._directory):
            return SummaryWriter(str(self._directory), purge_step=step + 1)

    def record(self, record: Record) -> None:
        """Take note of one record of training or validation."""
        with storage_errors(self._directory):
            for name, value in record.items():
                if isinstance(value, float):
                    self._writer.add_scalar(f"{record['kind']}/{name}", value, record["step"])

    def rewind(self, step: int) -> None:
        """Hide the events of later steps."""
        self.close()
        self._writer = self._writer_from(step)

    def close(self) -> None:
        """Write out what is left."""
        with storage_errors(self._directory):
            self._writer.close()
