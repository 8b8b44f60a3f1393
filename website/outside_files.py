"""Links that leave docs/: in the site, what they lead to lies under ``repository/``.

On a host of Git repositories a page may link to any file.  The site takes in each file that its
pages link to: pages as pages, code as text, a folder as a list of its files.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

HOME = "repository"
_CODE = r"^(?P<fence>`{3,}).*?^(?P=fence)$|(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)"
_LINK = r"(?:\]\(|\b(?:href|src|srcset)=\")(?P<link>[^)\s\"#]+)(?:#[^)\s\"]*)?(?=[)\"])"
_CODE_OR_LINK = re.compile(f"{_CODE}|{_LINK}", re.MULTILINE | re.DOTALL)


def site_path(path: str, root: Path) -> str:
    """The source that the site has for a file or folder, given by its path in the repository."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    shown = re.sub(r"(^|/)\.", r"\1", path)  # MkDocs leaves out what begins with a dot
    if (root / path).is_dir():
        page = "README.md" if (root / path / "README.md").exists() else "index.md"
        return f"{HOME}/{shown}/{page}"
    return f"{HOME}/{shown}" if path.endswith(".md") else f"{HOME}/{shown}.txt"


def _linked(markdown: str, page: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each link to a file, and the path of that file in the repository."""
    for found in _CODE_OR_LINK.finditer(markdown):
        link = found["link"]
        if link and ":" not in link and not link.startswith("/"):
            yield found, posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def links(markdown: str, page: str) -> list[str]:
    """What a page links to, as paths in the repository."""
    return [path for _, path in _linked(markdown, page)]


def rewritten(markdown: str, page: str, root: Path) -> str:
    """The page with links between the sources of the site.

    Args:
        markdown: the text of the page.
        page: its path in the repository, such as ``docs/tutorial.md``.
        root: of the repository.
    """
    parts, end = [], 0
    here = posixpath.dirname(site_path(page, root)) or "."
    for found, path in _linked(markdown, page):
        link = posixpath.relpath(site_path(path, root), here)
        parts += [markdown[end : found.start("link")], link]
        end = found.end("link")
    return "".join([*parts, markdown[end:]])


def outside_files(pages: Iterable[Path], root: Path) -> dict[str, str]:
    """What the site has besides docs/: source paths of the site with their text."""
    waiting = [page.relative_to(root).as_posix() for page in pages]
    seen = set(waiting)
    found: dict[str, str] = {}
    while waiting:
        path = waiting.pop()
        text = _text(root / path, root)
        if not path.startswith("docs/"):
            found[site_path(path, root)] = rewritten(text, _page(path, root), root)
        for link in links(text, _page(path, root)) if _is_page(path, root) else ():
            inside = link.startswith("docs/") and not link.endswith(".md")
            if link not in seen and not inside and (root / link).exists():
                seen.add(link)
                waiting.append(link)
    return found


def _is_page(path: str, root: Path) -> bool:
    return path.endswith(".md") or (root / path).is_dir()


def _page(path: str, root: Path) -> str:
    """The file whose folder the links of ``path`` are relative to."""
    return f"{path}/README.md" if (root / path).is_dir() else path


def _text(path: Path, root: Path) -> str:
    if not path.is_dir():
        return path.read_text(encoding="utf-8")
    if (path / "README.md").exists():
        return (path / "README.md").read_text(encoding="utf-8")
    files = sorted(one for one in path.rglob("*") if one.is_file() and one.suffix != ".pyc")
    names = [PurePosixPath(one.relative_to(path)) for one in files]
    rows = [f"- [{name}]({name})" for name in names]
    return "\n".join([f"# {path.relative_to(root).as_posix()}", "", *rows, ""])
