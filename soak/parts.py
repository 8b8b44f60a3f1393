"""The parts of the soak, in the order in which they run."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from soak.part import Part

PARTS: Mapping[str, str] = {
    "supply": "soak.supply",
    "fleet": "soak.fleet",
    "overload": "soak.overload",
    "schema": "soak.api_schema",
    "kills": "soak.kills",
    "power": "soak.power",
    "disks": "soak.disks",
    "elastic": "soak.elastic",
    "fuzz": "soak.fuzzing.soak_part",
}
"""The module of each part, by its name; the part is the module's ``PART``."""


def find_part(name: str) -> Part:
    """The part of that name; what it needs is imported now.

    Raises:
        KeyError: there is none.
    """
    part: Part = import_module(PARTS[name]).PART
    return part
