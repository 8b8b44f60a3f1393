"""The folder of installed models on this machine, so that commands need not name it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from dragoman.core.files import absolute, user_data_folder

SETTING = "DRAGOMAN_MODELS"
"""The environment variable that names the folder of installed models."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")


def models_folder() -> Path:
    """The folder of installed models, absolute, whether it exists or not.

    ``DRAGOMAN_MODELS`` names it; otherwise it is ``models`` in
    :func:`~dragoman.core.files.user_data_folder`.
    """
    if named := os.environ.get(SETTING):
        return Path(os.path.abspath(os.path.expanduser(named)))
    return user_data_folder() / "models"


def is_model_name(name: str) -> bool:
    """Whether a model can be installed under this name: one part of a path, not hidden."""
    return _NAME.fullmatch(name) is not None


def found_model(path: Path) -> Path:
    """``path`` if it exists, otherwise the installed model of that name.

    If there is neither, ``path`` is returned for its reader to report.
    """
    return path if os.path.lexists(path) else _installed(str(path)) or path


def found_model_from(name: str, folder: Path) -> Path:
    """The same for a path that may be relative to a folder, which becomes absolute."""
    path = absolute(name, folder)
    return path if os.path.lexists(path) else _installed(name) or path


def _installed(name: str) -> Path | None:
    installed = models_folder() / name
    return installed if is_model_name(name) and installed.is_dir() else None
