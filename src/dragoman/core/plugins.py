"""Classes that other installed packages add, located by their entry points.

A package names them in its ``pyproject.toml``::

    [project.entry-points."dragoman.formats"]
    mine = "my_package.module:MyFormat"

A package is imported only when its name is requested, and a broken package does not affect others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import TypeVar

from dragoman.core.errors import ConfigError

Base = TypeVar("Base")


@cache
def installed(group: str) -> Mapping[str, Sequence[EntryPoint]]:
    """Entry points of installed packages in ``group``, by name: several if packages conflict.

    Packages installed while this process runs are ignored.
    """
    by_name: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=group):
        by_name.setdefault(entry.name, []).append(entry)
    return MappingProxyType(by_name)


def load_class(group: str, name: str, base: type[Base]) -> type[Base]:
    """The class, derived from ``base``, that a package adds to ``group`` as ``name``.

    Raises:
        ConfigError: it cannot be imported, is not a subclass of ``base``, lacks a method, or two
            packages add the same name; the message names the packages.
    """
    entry, *others = installed(group)[name]
    if others:
        packages = " and ".join(sorted(map(_package, [entry, *others])))
        raise ConfigError(f"{group}: {packages} both add {name}; uninstall one of them")
    what = f"{group}: {name} ({entry.value} of {_package(entry)})"
    try:
        loaded = entry.load()
    except Exception as error:  # any failure of a foreign module's import
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ConfigError(
            f"{what} cannot be loaded: {reason:.300}; update or uninstall the package"
        ) from error
    if not (isinstance(loaded, type) and issubclass(loaded, base)):
        raise ConfigError(
            f"{what} is not a subclass of {base.__module__}.{base.__qualname__}; update or "
            "uninstall the package"
        )
    if missing := ", ".join(sorted(getattr(loaded, "__abstractmethods__", ()))):
        raise ConfigError(f"{what} is abstract without {missing}; update or uninstall the package")
    return loaded


def are_suffixes(suffixes: object) -> bool:
    """Whether a package's suffixes of a format are in the form ``(".one", ".another")``."""
    return isinstance(suffixes, (tuple, list)) and all(
        isinstance(suffix, str) and suffix.startswith(".") for suffix in suffixes
    )


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "an unknown package"
