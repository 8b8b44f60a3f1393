"""The recipes that come with Dragoman, available by name wherever it is installed."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path, PurePosixPath

from dragoman.core.errors import ConfigError

_FOLDER = "recipes"
_SUFFIX = ".yaml"
_TABLE = "table.yaml"  # beside recipes: the rows of a table of their results; see studies/tables
_BASE = re.compile(r"^base: *(\S+)", re.MULTILINE)


def recipes_folder() -> Path:
    """The folder of recipes: in the installed package, or at the top of its source."""
    package = Path(__file__).parents[1]
    installed = package / _FOLDER
    return installed if installed.is_dir() else package.parents[1] / _FOLDER


def recipe_names() -> list[str]:
    """The names of all recipes, such as ``table3/base``; those of folders come last."""
    folder = recipes_folder()
    recipes = [p.relative_to(folder) for p in folder.rglob(f"*{_SUFFIX}") if p.name != _TABLE]
    return [
        path.as_posix().removesuffix(_SUFFIX)
        for path in sorted(recipes, key=lambda path: (len(path.parts), path))
    ]


def known_recipe(name: str | Path) -> Path | None:
    """The file of the recipe ``name``, which may also be ``recipes/NAME.yaml``."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        return None
    inner = path.as_posix().removeprefix(f"{_FOLDER}/").removesuffix(_SUFFIX)
    file = recipes_folder() / f"{inner}{_SUFFIX}"
    return file if file.name != _TABLE and os.path.isfile(file) else None


def found_recipe(path: Path) -> Path:
    """``path`` if it exists, and otherwise the recipe of that name.

    If neither exists, ``path`` is returned so that reading it fails, unless it resembles a recipe.
    """
    if os.path.lexists(path):
        return path
    if known := known_recipe(path):
        return known
    if close := _close(str(path)):
        raise ConfigError(f"{path}: no such configuration file or recipe; did you mean {close!r}?")
    return path


def recipe(name: str) -> Path:
    """The file of a recipe; the error for an unknown name suggests a similar name."""
    if known := known_recipe(name):
        return known
    close = _close(name)
    meant = f"did you mean {close!r}?" if close else "'dragoman recipes' lists them"
    raise ConfigError(f"no recipe is called {name!r:.80}; {meant}")


def recipe_text(name: str) -> str:
    """The text of a recipe to save anywhere, with its base named by its place in the library."""
    path = recipe(name)

    def placed(match: re.Match[str]) -> str:
        base = Path(os.path.normpath(path.parent / match[1])).relative_to(recipes_folder())
        return f"base: {_FOLDER}/{base.as_posix()}"

    return _BASE.sub(placed, path.read_text(encoding="utf-8"))


def recipe_summary(name: str) -> str:
    """The first sentence of the comment at the beginning of a recipe."""
    lines = recipe(name).read_text(encoding="utf-8").splitlines()
    comment = []
    for line in lines:
        text = line.removeprefix("#").strip()
        if not line.startswith("#") or not text:
            break
        comment.append(text)
    # A full stop or question mark ends a sentence if a capital follows, but not after "et al.".
    return re.split(r"(?<!al\.)(?<=[.?])\s+(?=[A-Z])", " ".join(comment))[0]


def _close(name: str) -> str | None:
    inner = name[:80].removeprefix(f"{_FOLDER}/").removesuffix(_SUFFIX)
    close = difflib.get_close_matches(inner, recipe_names(), n=1, cutoff=0.75)
    return close[0] if close else None
