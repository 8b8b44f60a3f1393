"""All targets, by name; each is made when it is attacked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from soak.fuzzing.target import Target
from soak.fuzzing.targets import (
    document_files,
    foreign_models,
    requests,
    saved_files,
    settings,
    text_files,
)

TARGETS: Mapping[str, Callable[[Path], Target]] = {
    **text_files.TARGETS,
    **document_files.TARGETS,
    **settings.TARGETS,
    **saved_files.TARGETS,
    **foreign_models.TARGETS,
    **requests.TARGETS,
}
"""Each makes its target, with the files that it needs in a folder."""
