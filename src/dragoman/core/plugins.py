"""Classes that other installed packages add, found by their entry points.

A package names them in its ``pyproject.toml``::

    [project.entry-points."dragoman.formats"]
    mine = "my_package.module:MyFormat"

Nothing of a package is imported before its name is asked for, and one that is broken does no harm
to the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import TypeVar

from dragoman.core.errors import ConfigError

Base = TypeVar("Base")


@cache
def installed(group: str) -> Mapping[str, EntryPoint]:
    """What installed packages add to ``group``, by name.

    Of two with the same name the one that Python finds first counts, as among modules.  What is
    installed while this process runs is not seen.
    """
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        found.setdefault(entry.name, entry)
    return MappingProxyType(found)


def load_class(entry: EntryPoint, base: type[Base]) -> type[Base]:
    """The class that an entry point names.

    Args:
        entry: one of :func:`installed`.
        base: what it must be a subclass of.

    Raises:
        ConfigError: it cannot be imported, or is something else; the message names the package.
    """
    package = entry.dist.name if entry.dist is not None else "an unknown package"
    what = f"{entry.name} ({entry.value} of {package})"
    try:
        found = entry.load()
    except Exception as error:  # whatever a foreign module does when it is imported
        raise ConfigError(
            f"{entry.group}: {what} cannot be loaded: {type(error).__name__}: {error}; update or "
            "remove the package"
        ) from error
    if not (isinstance(found, type) and issubclass(found, base)):
        raise ConfigError(
            f"{entry.group}: {what} is no subclass of {base.__module__}.{base.__qualname__}; "
            "update or remove the package"
        )
    return found
