"""Two records, compared file by file."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path


def differences(old: Path, new: Path, lines: int = 20) -> Iterator[str]:
    """A paragraph for each file that only one record has, or that differs.

    Args:
        old: folder of the first record.
        new: folder of the second.
        lines: at most, of each file.
    """
    names_old, names_new = _names(old), _names(new)
    for name in sorted(names_old | names_new):
        if name not in names_new:
            yield f"{name}: only in {old}"
        elif name not in names_old:
            yield f"{name}: only in {new}"
        elif (old / name).read_bytes() != (new / name).read_bytes():
            yield "\n".join([f"{name}: differs", *_changes(old / name, new / name, lines)])


def _names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def _changes(old: Path, new: Path, most: int) -> list[str]:
    before, after = (path.read_text(encoding="utf-8").splitlines() for path in (old, new))
    changed = list(unified_diff(before, after, lineterm="", n=0))[2:]
    left = len(changed) - most
    return changed[:most] + ([f"... {left} more lines"] if left > 0 else [])
