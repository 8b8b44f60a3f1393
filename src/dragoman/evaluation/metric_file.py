"""The place of the file that names metrics of other programs, without reading it."""

from __future__ import annotations

import os
from pathlib import Path

from dragoman.core.files import user_data_folder

METRICS_SETTING = "DRAGOMAN_METRICS"
"""The environment variable that names another file."""


def metrics_file() -> Path:
    """The file that names programs; it need not exist."""
    given = os.environ.get(METRICS_SETTING)
    return Path(given).absolute() if given else user_data_folder() / "metrics.yaml"


def names_programs() -> bool:
    """Whether there may be such metrics: the file exists, or somebody says that it does."""
    return METRICS_SETTING in os.environ or metrics_file().exists()
