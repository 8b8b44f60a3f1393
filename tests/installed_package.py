"""A package of somebody else, as pip would install it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.core.plugins import installed


@contextmanager
def installed_package(
    folder: Path, module: str, source: str, group: str, entries: Mapping[str, str]
) -> Iterator[None]:
    """Install a module with entry points into ``folder``, and let Python find it there.

    Args:
        folder: what stands for ``site-packages``.
        module: name of the module and of the package; no two tests use the same.
        source: of the module.
        group: of the entry points.
        entries: their names and what they lead to.
    """
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir(parents=True)
    (folder / f"{module}.py").write_text(source, encoding="utf-8")
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        installed.cache_clear()
        try:
            yield
        finally:
            installed.cache_clear()
