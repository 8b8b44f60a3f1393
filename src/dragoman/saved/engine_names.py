"""The list of engines that a translation system may name: ours, and those of other packages.

A package adds one by an entry point in the group ``dragoman.engines`` (see
:mod:`dragoman.core.plugins`), whose name is that of the engine, and which refers to a subclass of
:class:`~dragoman.translation.engines.added_engine.AddedEngine`.
"""

from __future__ import annotations

from typing import Any

from dragoman.core.plugins import Registry

_PLACE = "dragoman.translation.engines"

ENGINES: Registry[Any] = Registry(
    "dragoman.engines",
    f"{_PLACE}.added_engine:AddedEngine",
    {
        "auto": "dragoman.translation.engine_choice:automatic_engine",
        "pytorch": f"{_PLACE}.engine:TorchEngine",
        "ctranslate2": f"{_PLACE}.ctranslate2:CTranslate2Engine",
    },
    "engine",
)
"""All engines by name; their class is above this room, and imported when one is added."""
