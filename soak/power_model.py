"""What is on a disk after the power was lost: only what was flushed, or a part of the rest.

The model is harsher than most file systems.  The content of a file is safe once the file is
flushed, and its name once its directory is; neither follows from the other.  Of what was not
flushed, each file and each directory keeps a beginning of its own, from nothing to all, and the
last write that is kept may be torn.  Within one directory the order is kept; between two it is not.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from soak.instrument import Operation


@dataclass(eq=False)
class FileNode:
    """A file."""

    safe: bytes = b""
    """Its content when it was last flushed."""
    later: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Writes since, as offset and bytes; None truncates at the offset."""
    modified_ns: int | None = None
    """When it was modified, if that was before everything."""

    def content(self, kept: int, torn: float = 1.0) -> bytes:
        """The content with the first ``kept`` changes, of whose last only a share was done."""
        content = bytearray(self.safe)
        for number, (offset, data) in enumerate(self.later[:kept], 1):
            if data is None:
                del content[offset:]
                content.extend(bytes(offset - len(content)))
                continue
            part = data if number < kept else data[: round(len(data) * torn)]
            content.extend(bytes(max(0, offset - len(content))))
            content[offset : offset + len(part)] = part
        return bytes(content)

    def flush(self) -> None:
        """Everything so far is safe."""
        self.safe, self.later = self.content(len(self.later)), []


@dataclass(eq=False)
class LinkNode:
    """A symbolic link, as safe as its name."""

    target: str


@dataclass(eq=False)
class DirectoryNode:
    """A directory."""

    safe: dict[str, Node] = field(default_factory=dict)
    later: list[dict[str, Node | None]] = field(default_factory=list)
    """Changes since it was flushed, each at once or not at all: new entries, None for none."""

    def entries(self, kept: int | None = None) -> dict[str, Node]:
        """The entries with the first ``kept`` changes, or all."""
        found: dict[str, Node | None] = dict(self.safe)
        for change in self.later[:kept]:
            found |= change
        return {name: node for name, node in found.items() if node is not None}

    def flush(self) -> None:
        """Everything so far is safe."""
        self.safe, self.later = self.entries(), []


Node = FileNode | DirectoryNode | LinkNode


class Disk:
    """The files below a folder, as they are and as they would be after a power loss.

    Args:
        folder: its present content is safe.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._nodes: dict[int, Node] = {}
        self._root = self._read(folder)

    def _read(self, folder: Path) -> DirectoryNode:
        node = DirectoryNode()
        for entry in os.scandir(folder):
            one: Node
            if entry.is_symlink():
                one = LinkNode(os.readlink(entry.path))
            elif entry.is_dir():
                one = self._read(Path(entry.path))
            else:
                modified = entry.stat().st_mtime_ns
                one = FileNode(Path(entry.path).read_bytes(), modified_ns=modified)
            node.safe[entry.name] = one
            self._nodes[entry.inode()] = one
        self._nodes[folder.stat().st_ino] = node
        return node

    def apply(self, operations: Iterable[Operation]) -> None:
        """Do what a program did."""
        for one in operations:
            _APPLIED[one.what](self, one)

    def _parent(self, path: str) -> tuple[DirectoryNode, str]:
        relative = os.path.relpath(path, self._folder)
        *folders, name = relative.split(os.sep)
        node = self._root
        for folder in folders:
            below = node.entries()[folder]
            assert isinstance(below, DirectoryNode), path
            node = below
        return node, name

    def _add(self, one: Operation, node: Node) -> None:
        parent, name = self._parent(one.path)
        parent.later.append({name: node})
        if one.node:
            self._nodes[one.node] = node

    def _create(self, one: Operation) -> None:
        self._add(one, FileNode())

    def _mkdir(self, one: Operation) -> None:
        self._add(one, DirectoryNode())

    def _symlink(self, one: Operation) -> None:
        self._add(one, LinkNode(one.other))

    def _remove(self, one: Operation) -> None:
        parent, name = self._parent(one.path)
        parent.later.append({name: None})

    def _rename(self, one: Operation) -> None:
        parent, name = self._parent(one.path)
        other, new = self._parent(one.other)
        node = parent.entries()[name]
        if parent is other:
            parent.later.append({name: None, new: node})
        else:
            other.later.append({new: node})
            parent.later.append({name: None})

    def _write(self, one: Operation) -> None:
        node = self._nodes[one.node]
        assert isinstance(node, FileNode), one.path
        node.modified_ns = None
        node.later.append((one.offset, one.data if one.what == "write" else None))

    def _fsync(self, one: Operation) -> None:
        node = self._nodes[one.node]
        assert not isinstance(node, LinkNode), one.path
        node.flush()

    def everything(self, place: Path) -> None:
        """Write to ``place`` what is there now, without a power loss."""
        self._write_out(self._root, place, _Everything())

    def after_loss(self, place: Path, chance: random.Random | None = None) -> None:
        """Write to ``place``, which must not exist, what is there after a power loss.

        Args:
            place: a directory to make.
            chance: draws what survives of what was not flushed; None lets nothing survive.
        """
        self._write_out(self._root, place, _Nothing() if chance is None else _Some(chance))

    def _write_out(self, node: DirectoryNode, place: Path, survives: _Nothing) -> None:
        place.mkdir(parents=True)
        for name, below in node.entries(survives.count(len(node.later))).items():
            path = place / name
            if isinstance(below, DirectoryNode):
                self._write_out(below, path, survives)
            elif isinstance(below, LinkNode):
                path.symlink_to(below.target)
            else:
                path.write_bytes(below.content(survives.count(len(below.later)), survives.share()))
                if below.modified_ns is not None:
                    os.utime(path, ns=(below.modified_ns, below.modified_ns))


_APPLIED: dict[str, Callable[[Disk, Operation], None]] = {
    "create": Disk._create,
    "mkdir": Disk._mkdir,
    "symlink": Disk._symlink,
    "unlink": Disk._remove,
    "rmdir": Disk._remove,
    "rename": Disk._rename,
    "write": Disk._write,
    "truncate": Disk._write,
    "fsync": Disk._fsync,
}


class _Nothing:
    """Nothing that was not flushed survives."""

    def count(self, changes: int) -> int:
        """How many of some changes survive."""
        return 0

    def share(self) -> float:
        """How much of the last write."""
        return 1.0


class _Everything(_Nothing):
    """All of it survives."""

    def count(self, changes: int) -> int:
        return changes


class _Some(_Nothing):
    """A beginning of it survives, often all or nothing."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def count(self, changes: int) -> int:
        return self._chance.choice((0, changes, self._chance.randint(0, changes)))

    def share(self) -> float:
        return self._chance.choice((1.0, self._chance.random()))
