"""Search settings tried on a dev set, for 'dragoman tune'."""

from __future__ import annotations

from dragoman.workflows.tuning.dev_text import DevText, text_of_files, text_of_run
from dragoman.workflows.tuning.grid import Grid, read_grid
from dragoman.workflows.tuning.trials import Tuned, Tuning

__all__ = ["DevText", "Grid", "Tuned", "Tuning", "read_grid", "text_of_files", "text_of_run"]
