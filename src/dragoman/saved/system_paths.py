"""Where the description of a translation system has paths, in values that are not parsed yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def with_paths(values: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """``values`` with every path changed; misplaced values are left for ``parse`` to report."""
    changed = dict(values)
    models, fused = values.get("models"), values.get("language_model")
    if isinstance(models, list):
        changed["models"] = [change(name) if isinstance(name, str) else name for name in models]
    if isinstance(fused, dict) and isinstance(fused.get("path"), str):
        changed["language_model"] = {**fused, "path": change(fused["path"])}
    if isinstance(calibration := values.get("confidence"), str):
        changed["confidence"] = change(calibration)
    if isinstance(shortlist := values.get("shortlist"), str):
        changed["shortlist"] = change(shortlist)
    if isinstance(values.get("adapter"), str):
        changed["adapter"] = change(values["adapter"])
    if isinstance(adapters := values.get("adapters"), dict):
        changed["adapters"] = {
            domain: change(path) if isinstance(path, str) else path
            for domain, path in adapters.items()
        }
    if isinstance(terms := values.get("terms"), dict):
        changed["terms"] = {
            name: _changed_paths(value, change) if name in {"glossary", "keep"} else value
            for name, value in terms.items()
        }
    if isinstance(values.get("pivot"), dict):  # has paths by the same names
        changed["pivot"] = with_paths(values["pivot"], change)
    if isinstance(routes := values.get("routes"), dict):
        changed["routes"] = {
            name: with_paths(one, change) if isinstance(one, dict) else one
            for name, one in routes.items()
        }
    identifier = values.get("identifier")
    if isinstance(identifier, dict) and isinstance(identifier.get("classifier"), str):
        changed["identifier"] = {**identifier, "classifier": change(identifier["classifier"])}
    return changed


def _changed_paths(value: Any, change: Callable[[str], str]) -> Any:
    """A path, or each of a list of paths, changed."""
    if isinstance(value, list):
        return [_changed_paths(one, change) for one in value]
    return change(value) if isinstance(value, str) else value
