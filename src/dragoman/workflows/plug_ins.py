"""A list of the plug-ins that installed packages add, and whether each can be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from dragoman.core.errors import DragomanError
from dragoman.core.plugins import Registry, installed, package_of
from dragoman.text.formats.interface import instead

_PREFIX = "dragoman."


class _Kind(NamedTuple):
    registry: str
    """Its registry, as ``module:object``."""
    loader: str = ""
    """A function that loads and checks more than the registry, as ``module:function``."""


_KINDS = {
    "metrics": _Kind("dragoman.evaluation.metric_names:METRICS"),
    "trackers": _Kind("dragoman.workflows.trackers:TRACKERS"),
    "documents": _Kind(
        "dragoman.documents.filetypes:REGISTRY", "dragoman.documents.filetypes:added_format"
    ),
    "importers": _Kind("dragoman.exchange.toolkits:IMPORTERS"),
    "exporters": _Kind("dragoman.exchange.toolkits:EXPORTERS"),
    "identifiers": _Kind("dragoman.evaluation.identifiers:IDENTIFIERS"),
    "splitters": _Kind("dragoman.text.splitters:SPLITTERS"),
    "engines": _Kind("dragoman.saved.engine_names:ENGINES"),
    "formats": _Kind("dragoman.text.formats:REGISTRY", "dragoman.text.formats:format_named"),
    "families": _Kind(
        "dragoman.models.registry:REGISTRY", "dragoman.models.registry:FAMILIES.find"
    ),
    "objectives": _Kind("dragoman.training.objectives:KINDS.registry"),
    "optimizers": _Kind("dragoman.training.optimizers:KINDS.registry"),
    "transforms": _Kind("dragoman.text.transforms:KINDS.registry"),
}
"""By the group of entry points, without its prefix; in the order of docs/plug-ins.md."""


class PlugIn(NamedTuple):
    """What a package adds by one entry point."""

    kind: str
    """Such as ``metrics``: the group of its entry point, without ``dragoman.``."""
    name: str
    package: str
    version: str
    problem: str
    """Why it cannot be used; empty if it can."""


def plug_ins() -> Iterator[PlugIn]:
    """Import every plug-in, and list it; first the kinds that exist, then misspelt ones."""
    for kind, parts in _KINDS.items():
        for name, entries in sorted(installed(_PREFIX + kind).items()):
            problem = _problem(parts, name)
            yield from (_listed(kind, entry, problem) for entry in entries)
    for group in sorted(entry_points().groups):
        kind = group.removeprefix(_PREFIX)
        if group.startswith(_PREFIX) and kind not in _KINDS:
            problem = f"{group} is no group of Dragoman's{instead(kind, _KINDS, 'kinds')}"
            for _, entries in sorted(installed(group).items()):
                yield from (_listed(kind, entry, problem) for entry in entries)


def _listed(kind: str, entry: EntryPoint, problem: str) -> PlugIn:
    version = "" if entry.dist is None else entry.dist.version
    return PlugIn(kind, entry.name, package_of(entry), version, problem)


def _problem(kind: _Kind, name: str) -> str:
    registry: Registry[Any] = _loaded(kind.registry)
    if name in registry.built_in:
        return registry.taken(name)
    load: Callable[[str], object] = _loaded(kind.loader) if kind.loader else registry.load_added
    try:
        load(name)
    except DragomanError as error:
        return str(error)
    return ""


def _loaded(target: str) -> Any:
    return EntryPoint("", target, "").load()
