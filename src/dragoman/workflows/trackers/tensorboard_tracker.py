"""TensorBoard events; the only module that uses TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from typing_extensions import override

from dragoman.core.errors import MissingExtraError
from dragoman.core.text_tables import markdown_table
from dragoman.workflows.trackers.interface import Cell, TrackedRun, Tracker

try:
    from torch.utils.tensorboard import SummaryWriter
except ImportError as error:
    raise MissingExtraError.of("TensorBoard", "tensorboard") from error


class TensorBoard(Tracker):
    """Events in the directory ``tensorboard`` of the run, for ``tensorboard --logdir``."""

    name = "tensorboard"
    forgets = True

    def __init__(self, run: TrackedRun) -> None:
        super().__init__(run)
        self._writer = self._writer_from(run.step)

    def _writer_from(self, step: int) -> SummaryWriter:
        """A writer of a new file, which makes TensorBoard hide later steps of the others."""
        return SummaryWriter(str(self.run.directory / "tensorboard"), purge_step=step + 1)

    @override
    def figures(self, values: Mapping[str, float], step: int) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    @override
    def table(
        self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], step: int
    ) -> None:
        text = markdown_table(columns, [[str(cell) for cell in row] for row in rows])
        self._writer.add_text(name, text, step)

    @override
    def card(self, path: Path) -> None:
        self._writer.add_text("model card", path.read_text(encoding="utf-8"))

    @override
    def rewind(self, step: int) -> None:
        self.close()
        self._writer = self._writer_from(step)

    @override
    def close(self) -> None:
        self._writer.close()
