"""Where public corpora lie on this machine, so that recipes can name them without knowing it.

A recipe names ``corpora/multi30k/train.en.gz``.  That is a file beside the recipe if there is one,
and otherwise one of the folder that ``dragoman corpora get`` fills.
"""

from __future__ import annotations

import os
from pathlib import Path

from dragoman.core.files import absolute

SETTING = "DRAGOMAN_CORPORA"
"""The environment variable that names the folder of public corpora."""

_PREFIX = "corpora"


def corpora_folder() -> Path:
    """The folder of public corpora, absolute, whether it is there or not.

    ``DRAGOMAN_CORPORA`` names it; otherwise it is ``dragoman/corpora`` among the user's data, which
    lie where the XDG Base Directory Specification says.
    """
    if named := os.environ.get(SETTING):
        # Unlike pathlib's, this leaves the ~ of a user that there is not to whoever opens the file.
        return Path(os.path.abspath(os.path.expanduser(named)))
    data = os.environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data):  # which the specification says to ignore
        data = os.path.expanduser("~/.local/share")
    return Path(data) / "dragoman" / "corpora"


def located(name: str, folder: Path) -> Path:
    """The file that a configuration in ``folder`` calls ``name``, absolute.

    What begins with ``corpora/`` is looked for in ``folder`` first and otherwise belongs to
    :func:`corpora_folder`.
    """
    beside = absolute(name, folder)
    first, _, rest = name.partition("/")
    if first == _PREFIX and rest and not os.path.lexists(beside):
        return corpora_folder() / rest
    return beside


def remedy(path: Path) -> str:
    """What to do about a missing file of text."""
    folder = corpora_folder()
    if path.is_relative_to(folder) and len(parts := path.relative_to(folder).parts) > 1:
        return f"get it with 'dragoman corpora get {parts[0]}'"
    return "check the path in the configuration"
