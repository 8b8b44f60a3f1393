"""Files that the arguments of a command name, and whether they are as they were."""

from __future__ import annotations

import os.path
import shlex
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from dragoman.core.config import parse
from dragoman.data.origin import InputFile, describe, same_content
from studies.tables.plan import expanded, named_places

Described = Mapping[str, Mapping[str, Any]]
"""What records keep of files, by how arguments name them."""


def named_files(
    arguments: str, places: dict[str, Path], made: Collection[str] = ()
) -> dict[str, Path]:
    """The files among arguments, by how these name them.

    Args:
        arguments: as the file of a table has them.
        places: what they may name in braces.
        made: those of the places whose files are made here.
    """
    found = {}
    for argument in shlex.split(arguments):
        for name in (argument, argument.partition("=")[2]):
            path = expanded(name, places)
            if set(named_places(name)).isdisjoint(made) and os.path.isfile(path):
                found[name] = Path(path)
    return found


def described(files: Mapping[str, Path]) -> Described:
    """What a record keeps of files.

    Raises:
        DataError: one cannot be read.
    """
    inputs = describe(files.values())
    return {name: one.model_dump() for name, one in zip(files, inputs, strict=True)}


def other_files(before: Described, files: Mapping[str, Path]) -> Iterator[str]:
    """Those of the files, by name, that have other content than a record says; it may lack some.

    Raises:
        ConfigError: the record is damaged.
        DataError: a file cannot be read.
    """
    for name, path in files.items():
        if name in before:
            known = [parse(InputFile, dict(before[name]), name)]
            if not same_content(known, describe([path], known)):
                yield name
