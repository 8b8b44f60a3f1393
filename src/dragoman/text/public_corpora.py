"""Where public corpora are on this machine, so that recipes need not name the folder.

A recipe names ``corpora/multi30k/train.en.gz``.  This is a file beside the recipe if there is one,
and otherwise one in the folder that ``dragoman corpora get`` fills.
"""

from __future__ import annotations

import os
from pathlib import Path

from dragoman.core.files import absolute, user_data_folder

SETTING = "DRAGOMAN_CORPORA"
"""The environment variable that names the folder of public corpora."""

_PREFIX = "corpora"


def corpora_folder() -> Path:
    """The folder of public corpora, absolute, whether it exists or not.

    ``DRAGOMAN_CORPORA`` names it; otherwise it is ``corpora`` in :func:`user_data_folder`.
    """
    if named := os.environ.get(SETTING):
        # Unlike pathlib's, this keeps the ~ of an unknown user, for opening the file to fail.
        return Path(os.path.abspath(os.path.expanduser(named)))
    return user_data_folder() / "corpora"


def located(name: str, folder: Path) -> Path:
    """The file that a configuration in ``folder`` calls ``name``, absolute.

    A name that begins with ``corpora/`` is looked up in ``folder`` first and then in
    :func:`corpora_folder`.
    """
    beside = absolute(name, folder)
    first, _, rest = name.partition("/")
    if first == _PREFIX and rest and not os.path.lexists(beside):
        return corpora_folder() / rest
    return beside


def corpus_of(path: Path) -> str | None:
    """The name of the public corpus that a file belongs to, by its place; None if it is none."""
    folder = corpora_folder()
    if path.is_relative_to(folder) and len(parts := path.relative_to(folder).parts) > 1:
        return parts[0]
    return None


def remedy(path: Path) -> str:
    """What to do about a missing file of text."""
    if (name := corpus_of(path)) is not None:
        return f"get it with 'dragoman corpora get {name}'"
    return "check the path"
