"""Location of public corpora on this machine, so that recipes need not name the folder.

A recipe names ``corpora/multi30k/train.en.gz``.  This is a file beside the recipe if it exists, and
otherwise one in the folder that ``dragoman corpora get`` fills.  Corpora that others list by name
have folders there such as ``mtdata/OPUS-wikimedia-v20230407-eng-kor``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.core.files import absolute, user_data_folder

if TYPE_CHECKING:
    from dragoman.core.relocation import Relocation

SETTING = "DRAGOMAN_CORPORA"
"""The environment variable that names the folder of public corpora."""

_PREFIX = "corpora"
_LISTS = {"mtdata": ("mtdata:", 1), "hf": ("hf:datasets/", 2)}
"""Folders of the corpora of a list: how their names begin, and the levels of folders below."""


def corpora_folder() -> Path:
    """The absolute path of the folder of public corpora, which may not exist yet.

    ``DRAGOMAN_CORPORA`` names it. Otherwise it is ``corpora`` in :func:`user_data_folder`.
    """
    if named := os.environ.get(SETTING):
        # Unlike pathlib's, this keeps the ~ of an unknown user, so that opening the file fails.
        return Path(os.path.abspath(os.path.expanduser(named)))
    return user_data_folder() / "corpora"


def located(name: str, folder: Path) -> Path:
    """The absolute path of the file ``name`` in a configuration in ``folder``.

    A name that begins with ``corpora/`` is looked up in ``folder`` first and then in
    :func:`corpora_folder`.
    """
    beside = absolute(name, folder)
    first, _, rest = name.partition("/")
    if first == _PREFIX and rest and not os.path.lexists(beside):
        return corpora_folder() / rest
    return beside


def corpus_of(path: Path) -> str | None:
    """The public corpus of a file, by its location; None for other files."""
    folder = corpora_folder()
    if path.is_relative_to(folder) and len(parts := path.relative_to(folder).parts) > 1:
        begin, levels = _LISTS.get(parts[0], ("", 0))
        if not begin:
            return parts[0]
        return begin + "/".join(parts[1 : 1 + levels]) if len(parts) > 1 + levels else None
    return None


def listed_folder(name: str) -> Path | None:
    """The folder of a corpus such as ``mtdata:NAME``; None for the names of our own manifest."""
    for folder, (begin, _) in _LISTS.items():
        if name.startswith(begin):
            return corpora_folder() / folder / name[len(begin) :]
    return None


def remedy(path: Path) -> str:
    """The remedy for a missing text file."""
    if (name := corpus_of(path)) is not None:
        return f"get it with 'dragoman corpora get {name}'"
    return "check the path"


def from_folder(folder: Path, *sorts: str) -> Relocation:
    """Paths made absolute: relative ones from a folder, and files of public corpora.

    Args:
        folder: of the file that has the paths.
        sorts: the :attr:`PathMark.sort` of paths to change; by default both.
    """
    from dragoman.core.relocation import Relocation  # which needs pydantic

    changes: dict[str, Callable[[str], str]] = {
        "model": lambda name: str(absolute(name, folder)),
        "text": lambda name: str(located(name, folder)) if name else name,
    }
    return Relocation({sort: changes[sort] for sort in sorts or changes})
