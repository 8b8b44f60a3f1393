"""Takes the files of the client, and of what it needs, out of src/dragoman: decision 104."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).resolve().parent
ORIGINAL = HERE.parent / "src" / "dragoman"  # not there in the source distribution
FACE = "dragoman.client"
"""The package that becomes dragoman_client; others become packages within it."""
IMPORT = re.compile(r"^(\s*(?:from|import) )(dragoman(?:\.client)?)(?=[. ])", re.MULTILINE)


def needed(package: Path) -> Iterator[str]:
    """The modules of the client and all that they import, with the packages that they are in."""
    waiting = [
        ".".join(("dragoman", *path.relative_to(package).with_suffix("").parts))
        for path in (package / "client").glob("*.py")
    ]
    seen = set(waiting)
    while waiting:
        module = waiting.pop()
        yield module
        tree = ast.parse(_file(package, module).read_text(encoding="utf-8"))
        found = {
            node.module
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            and node.module
            and node.module.startswith("dragoman.")
        }
        found |= {f"{name}.__init__" for one in (module, *found) for name in _parents(one)}
        new = found - seen - {FACE}
        seen |= new
        waiting += sorted(new)


def _parents(module: str) -> Iterator[str]:
    """The packages that a module is in, but for ``dragoman`` itself."""
    parts = module.split(".")
    return (".".join(parts[:end]) for end in range(2, len(parts)))


def assemble(package: Path, target: Path) -> None:
    """Write the package ``dragoman_client`` into the empty folder ``target``."""
    for module in needed(package):
        text = _file(package, module).read_text(encoding="utf-8")
        place = target / _renamed(module).replace(".", "/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.with_suffix(".py").write_text(
            IMPORT.sub(lambda found: found[1] + _renamed(found[2]), text), encoding="utf-8"
        )
    shutil.copy(package / "py.typed", target / "dragoman_client")


def _file(package: Path, module: str) -> Path:
    return package.parent / f"{module.replace('.', '/')}.py"


def _renamed(name: str) -> str:
    return re.sub(r"^dragoman(\.client\b)?", "dragoman_client", name)


if __name__ == "__main__":
    if ORIGINAL.is_dir():
        for made in ("build", "src"):
            shutil.rmtree(HERE / made, ignore_errors=True)
        assemble(ORIGINAL, HERE / "src")
        shutil.copy(HERE.parent / "LICENSE", HERE / "LICENSE")
    setup(packages=find_packages("src"), package_dir={"": "src"})
