"""What Dragoman is made of: every package that it can bring along, and under which licence.

``python -m soak.dependencies`` prints the tables of ``docs/dependencies.md`` from what is
installed; the rule which licences are allowed stands here.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TOOLS = frozenset({"dev", "dist", "mutants", "site", "soak", "studies"})
"""Extras for people who work on Dragoman; nothing of a user's installation needs them."""

JOINED = frozenset({"all"})
"""Extras that only join others, and so say nothing about what a package is for."""

PERMISSIVE = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        "CC0-1.0",
        "CNRI-Python",
        "ISC",
        "MIT",
        "MIT-0",
        "MIT-CMU",
        "PSF-2.0",
        "Zlib",
    }
)
"""May be used, changed and shipped with a notice."""

BY_FILE = frozenset({"MPL-2.0", "LGPL-2.1-only", "LGPL-3.0-only", "LGPL-2.0-or-later"})
"""May be used and shipped as they are; who changes their files has to publish those files.  For
packages that stay packages of their own, as all of ours do."""

SPELLINGS = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License v2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "GNU Library or Lesser General Public License (LGPL)": "LGPL-2.0-or-later",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "Apache-2.0 WITH LLVM-exception": "Apache-2.0",
    "DFSG approved; MIT License": "MIT",
}
"""Other ways of writing the same licence."""

READ_BY_HAND = {
    "atheris": "Apache-2.0",
    "axe-playwright-python": "MIT",
    "mtdata": "Apache-2.0",  # of its repository, and of its release 0.4.1, which still had the file
}
"""Packages whose metadata names no licence: what the licence file of their source says."""


BY_NVIDIA = ("cuda-", "nvidia-")
"""Beginnings of the names of packages that PyTorch's build for NVIDIA's cards brings along; their
terms are NVIDIA's, and whoever wants none of them takes the build for processors."""


@dataclass(frozen=True)
class Dependency:
    """A package that is installed because Dragoman asks for it."""

    name: str
    version: str
    licence: str
    """As SPDX writes it; ``AND`` between licences that all hold."""
    direct: bool
    """Whether ``pyproject.toml`` names it."""
    extras: frozenset[str]
    """The extras that bring it; an empty name is what every installation has."""

    @property
    def only_tools(self) -> bool:
        """Whether no user's installation has it."""
        return self.extras <= TOOLS

    @property
    def allowed(self) -> bool:
        """Whether the rule allows its licence: one side of an ``OR``, all sides of an ``AND``."""
        if self.name.startswith(BY_NVIDIA) and not self.direct:
            return True
        known = PERMISSIVE | BY_FILE
        return any(
            all(part.strip(" ()") in known for part in choice.split(" AND "))
            for choice in self.licence.split(" OR ")
        )


def brought_by(requirements: Iterable[str], extras: frozenset[str]) -> dict[str, set[str]]:
    """The packages that ``requirements`` lead to, each with the extras that are asked of it.

    What is not installed here, such as what another system needs, is left out.

    Args:
        requirements: as in a package's metadata.
        extras: of the package whose requirements these are.
    """
    reached: dict[str, set[str]] = {}
    waiting = [(Requirement(text), extras) for text in requirements]
    while waiting:
        requirement, of = waiting.pop()
        if requirement.marker and not any(
            requirement.marker.evaluate({"extra": extra}) for extra in {"", *of}
        ):
            continue
        name = canonicalize_name(requirement.name)
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        wanted = set(requirement.extras)
        if name in reached and wanted <= reached[name]:
            continue
        reached.setdefault(name, set()).update(wanted)
        waiting += [(Requirement(text), frozenset(wanted)) for text in found.requires or ()]
    return reached


def dependencies(package: str = "dragoman") -> list[Dependency]:
    """All that an installation of ``package`` with all its extras has, by name.

    Raises:
        importlib.metadata.PackageNotFoundError: the package is not installed.
    """
    own = metadata.distribution(package)
    requires = own.requires or []
    direct = {canonicalize_name(Requirement(text).name) for text in requires} - {package}
    by_name: dict[str, set[str]] = {}
    for extra in ("", *sorted(set(own.metadata.get_all("Provides-Extra") or []) - JOINED)):
        for name in brought_by(requires, frozenset({extra}) - {""}):
            by_name.setdefault(name, set()).add(extra)
    by_name.pop(package, None)
    licences = read_licences()
    return [
        Dependency(
            name=name,
            version=metadata.version(name),
            licence=licences.get(name, "unknown"),
            direct=name in direct,
            # What every installation has, each extra has too: that says nothing.
            extras=frozenset({""}) if "" in extras else frozenset(extras),
        )
        for name, extras in sorted(by_name.items())
    ]


def read_licences() -> Mapping[str, str]:
    """The licence of each installed package, by its name, as pip-licenses reads them."""
    command = [sys.executable, "-m", "piplicenses", "--from=mixed", "--format=json"]
    printed = subprocess.run(
        [*command, "--with-system"], check=True, capture_output=True, text=True
    )
    return {
        canonicalize_name(row["Name"]): READ_BY_HAND.get(
            canonicalize_name(row["Name"]), spelled(row["License"])
        )
        for row in json.loads(printed.stdout)
    }


def spelled(licence: str) -> str:
    """``licence`` with each of its parts as SPDX writes it, each part once."""
    if licence in SPELLINGS:
        return SPELLINGS[licence]
    choices = []
    for choice in licence.replace(";", " OR ").split(" OR "):
        parts = [SPELLINGS.get(part.strip(), part.strip()) for part in choice.split(" AND ")]
        choices.append(" AND ".join(dict.fromkeys(parts)))
    return " OR ".join(choices)


def tables(found: Iterable[Dependency]) -> str:
    """Two tables in Markdown: what a user's installation can have, and what tools need."""
    rows = list(found)
    lines = []
    for title, part in (
        ("In users' installations", [row for row in rows if not row.only_tools]),
        ("For work on Dragoman alone", [row for row in rows if row.only_tools]),
    ):
        lines += ["", f"## {title}", "", "| package | licence | extras |", "|---|---|---|"]
        for row in part:
            name = f"**{row.name}**" if row.direct else row.name
            extras = "always" if "" in row.extras else ", ".join(sorted(_shown(row)))
            lines.append(f"| {name} | {row.licence} | {extras} |")
    return "\n".join(lines)


def _shown(row: Dependency) -> frozenset[str]:
    """The extras to name: those of tools only where nothing else brings the package."""
    return row.extras if row.only_tools else row.extras - TOOLS


if __name__ == "__main__":
    print(tables(dependencies()))
