"""Classes that other installed packages add, located by their entry points.

A package names them in its ``pyproject.toml``::

    [project.entry-points."dragoman.formats"]
    mine = "my_package.module:MyFormat"

A package is imported only when its name is requested, and a broken package does not affect others.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from dragoman.core.errors import ConfigError, DragomanError

Base = TypeVar("Base")

log = logging.getLogger(__name__)


class Registry(Generic[Base]):
    """The classes of one kind by name: built-in ones, and those that other packages add.

    Entry points are read only for a name that is not built in, and for a list of all names.

    Args:
        group: group of entry points by which packages add classes.
        base: base class of all; or ``module:Class``, which is imported on demand.
        built_in: by name, what comes with Dragoman: a class, ``module:Class`` to be imported on
            demand, or an instance.
        kind: the kind in errors, such as ``metric``.
        named: whether each class has its name as the attribute ``name``.
    """

    def __init__(
        self,
        group: str,
        base: type[Base] | str,
        built_in: Mapping[str, Any],
        kind: str,
        *,
        named: bool = False,
    ) -> None:
        self.group, self.built_in, self.kind, self._base = group, built_in, kind, base
        self._named = named

    def names(self) -> list[str]:
        """All names, built-in ones first; this imports no package."""
        return [*self.built_in, *self.added()]

    def added(self) -> list[str]:
        """The names that other packages add, without those that are built in, which is warned of.

        A class of another package never replaces one of Dragoman.
        """
        found = installed(self.group)
        for name in sorted(found.keys() & self.built_in.keys()):
            _warn_once(self.taken(name))
        return sorted(found.keys() - self.built_in.keys())

    def taken(self, name: str) -> str:
        """Why the class that a package adds by the name of a built-in one is not used."""
        return (
            f"{self.group}: {name} of {self.packages(name)} is not used, as a {self.kind} that "
            "comes with Dragoman has this name; the package must choose another"
        )

    def find(self, name: str) -> type[Base]:
        """The class of that name.

        Raises:
            ConfigError: the name is unknown, or the package that adds it is broken.
            MissingExtraError: a package that the class needs is missing.
        """
        if name in self.built_in:
            return self._imported(self.built_in[name])
        if name not in self.added():
            raise ConfigError(
                f"no {self.kind} {name!r:.80}; choose one of: {', '.join(self.names())} (the "
                "package that adds another must be installed)"
            )
        return self.load_added(name)

    def load_added(self, name: str) -> type[Base]:
        """The class that a package adds by that name.

        Raises:
            ConfigError: the package is broken.
        """
        found = load_class(self.group, name, self._imported(self._base))
        if self._named and (own := getattr(found, "name", None)) != name:
            raise ConfigError(
                f"{self.group}: {name}: its class must have the name {name!r}, not {own!r:.80}; "
                f"correct the package {self.packages(name)}"
            )
        return found

    def _imported(self, target: type[Base] | str) -> type[Base]:
        if not isinstance(target, str):
            return target
        loaded: type[Base] = EntryPoint("", target, self.group).load()
        return loaded

    def packages(self, name: str) -> str:
        """The packages that add a class by that name, in words."""
        return " and ".join(sorted(map(package_of, installed(self.group)[name])))


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
        DragomanError: raised by the package, such as a
            :class:`~dragoman.core.errors.MissingExtraError`.
    """
    entry, *others = installed(group)[name]
    if others:
        packages = " and ".join(sorted(map(package_of, [entry, *others])))
        raise ConfigError(f"{group}: {packages} both add {name}; uninstall one of them")
    what = f"{group}: {name} ({entry.value} of {package_of(entry)})"
    try:
        loaded = entry.load()
    except DragomanError:
        raise
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


def package_of(entry: EntryPoint) -> str:
    """The name of the package that an entry point is of."""
    return entry.dist.name if entry.dist is not None else "an unknown package"


@cache
def _warn_once(text: str) -> None:
    log.warning(text)
