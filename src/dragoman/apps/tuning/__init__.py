"""Search settings tried on a dev set, for 'dragoman tune'."""

from __future__ import annotations

from dragoman.apps.tuning.dev_text import DevText, text_of_files, text_of_run
from dragoman.apps.tuning.grid import Grid, read_grid
from dragoman.apps.tuning.trials import Tuned, Tuning

__all__ = ["DevText", "Grid", "Tuned", "Tuning", "read_grid", "text_of_files", "text_of_run"]
