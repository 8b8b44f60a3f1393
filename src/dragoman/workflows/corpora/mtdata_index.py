"""The index of mtdata (Gowda et al. 2021, arXiv:2104.00290): public corpora by name, offline.

It is read once from the installed package and kept in the folder of public corpora.
"""

from __future__ import annotations

import difflib
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.core.errors import ConfigError, MissingExtraError, SavedError
from dragoman.core.files import durable_replace, make_directory, storage_errors
from dragoman.core.wording import named
from dragoman.text.language_codes import common_language, is_language_tag
from dragoman.text.public_corpora import corpora_folder
from dragoman.workflows.corpora.mtdata_export import REFERENCES
from dragoman.workflows.progress import tell

PREFIX = "mtdata:"
_FEWEST_SIGNS = 2  # hyphens before the languages
_NEAR = 3  # names to suggest
_MOST_COMPARED = 3000


class MtdataEntry(NamedTuple):
    """A corpus of the index."""

    name: str
    """Such as ``OPUS-wikimedia-v20230407-eng-kor``."""
    facts: dict[str, Any]
    """As :mod:`~dragoman.workflows.corpora.mtdata_export` writes them."""
    references: tuple[dict[str, str], ...]
    """What to cite: ``line`` and ``bibtex`` of each."""

    @property
    def languages(self) -> tuple[str, str]:
        """Its languages as tags (BCP 47)."""
        _, source, target = _split(self.name)
        return _tag(source), _tag(target)

    @property
    def home(self) -> str:
        """A page about it, or else the address of its file."""
        if self.facts.get("home"):
            return str(self.facts["home"])
        url = str(self.facts["urls"][0])
        opus = re.search(r"/OPUS-([\w.-]+)/", url)
        return f"https://opus.nlpl.eu/{opus[1]}" if opus is not None else url

    @property
    def title(self) -> tuple[str, str]:
        """The name without version and languages, and the version."""
        title, _, version = _split(self.name)[0].rpartition("-")
        return title, version


def search(source: str, target: str) -> list[MtdataEntry]:
    """The corpora of two languages, in either order.

    ``zh`` includes ``zh-Hans``, and ``zh-Hans`` is in corpora of ``zh``, whose script is unknown.
    """

    def has(languages: tuple[str, str]) -> bool:
        return any(
            _fits(source, one) and _fits(target, other)
            for one, other in (languages, languages[::-1])
        )

    return [entry for entry in _entries(lambda name: has(_split(name)[1:])) if has(entry.languages)]


def find(name: str) -> MtdataEntry:
    """The corpus of a name such as ``mtdata:OPUS-wikimedia-v20230407-eng-kor``.

    Case and the order of the languages do not count, nor whether their codes have two letters.

    Raises:
        ConfigError: the index has no such corpus; the message has the nearest names.
        MissingExtraError: mtdata is not installed.
    """
    asked = name.removeprefix(PREFIX)
    if asked.count("-") < _FEWEST_SIGNS:
        raise ConfigError(
            f"{name:.120}: no name of mtdata, such as mtdata:OPUS-wikimedia-v20230407-eng-kor; "
            "'dragoman corpora search en ko' lists those of two languages"
        )
    wanted = _plain(asked)
    found = list(_entries(lambda one: _plain(one) == wanted))
    if not found:
        near = _nearest(asked)
        meant = f"did you mean {named(f'{PREFIX}{one}' for one in near)}?" if near else (
            "'dragoman corpora search en ko' lists those of two languages"
        )  # fmt: skip
        raise ConfigError(f"mtdata {_version()} has no corpus {asked!r:.120}; {meant}")
    exact = (entry for entry in found if entry.name == asked)
    return next(exact, found[0])


def _entries(wanted: Any) -> Iterator[MtdataEntry]:
    """The corpora whose name is wanted."""
    references: dict[str, dict[str, str]] = {}
    path = _index_file()
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
            for line in stream:
                name, _, facts = line.partition("\t")
                if name == REFERENCES:
                    references = json.loads(facts)
                elif wanted(name):
                    values = json.loads(facts)
                    cited = [references[key] for key in values["citations"] if key in references]
                    yield MtdataEntry(name, values, tuple(cited))
    except (OSError, EOFError, ValueError, LookupError) as error:
        raise SavedError(f"{path}: damaged ({error}); remove it and repeat the command") from error


def _nearest(asked: str) -> list[str]:
    """The names nearest to one that is not there: those of its languages, or else of its corpus."""
    title, *languages = _split(asked)
    pair = {_common(one) for one in languages}
    names = [entry.name for entry in _entries(lambda one: _is_near(one, title, pair))]
    ranked = sorted(names, key=lambda one: {_common(x) for x in _split(one)[1:]} != pair)
    by_lower = {one.lower(): one for one in ranked[:_MOST_COMPARED]}
    near = difflib.get_close_matches(asked.lower()[:200], by_lower, n=_NEAR, cutoff=0.5)
    return [by_lower[one] for one in near]


def _is_near(name: str, title: str, pair: set[str]) -> bool:
    other, *languages = _split(name)
    return {_common(one) for one in languages} == pair or other.lower() == title.lower()


def _split(name: str) -> tuple[str, str, str]:
    """The name without its languages, and these."""
    title, source, target = name.rsplit("-", 2)
    return title, source, target


def _plain(name: str) -> str:
    """A name whose spelling does not matter."""
    title, source, target = _split(name)
    return "-".join([title.lower(), *sorted((_tag(source).lower(), _tag(target).lower()))])


@lru_cache(maxsize=20_000)
def _tag(code: str) -> str:
    """A code of mtdata, such as ``zho_Hans``, as a tag."""
    import langcodes

    tag = code.replace("_", "-")
    try:
        return langcodes.standardize_tag(tag)
    except ValueError:  # langcodes.tag_parser.LanguageTagError
        return tag


@lru_cache(maxsize=20_000)
def _common(code: str) -> str:
    """The language of a code, without script and region."""
    return common_language(code) if is_language_tag(code) else code.lower()


@lru_cache(maxsize=20_000)
def _fits(wanted: str, code: str) -> bool:
    """Whether a corpus of a language may have text of the one that is wanted."""
    if _common(wanted) != _common(code):
        return False
    import langcodes

    first, second = langcodes.get(_tag(wanted)), langcodes.get(_tag(code))
    pairs = ((first.script, second.script), (first.territory, second.territory))
    return all(one is None or other is None or one == other for one, other in pairs)


def _version() -> str:
    try:
        return version("mtdata")
    except PackageNotFoundError as error:
        raise MissingExtraError.of("mtdata", "mtdata") from error


def _index_file() -> Path:
    """The file of the index, which is made at its first use."""
    release = _version()
    path = corpora_folder() / f".mtdata-{release}.tsv.gz"
    if not path.is_file():
        tell(f"reading the index of mtdata {release}, which takes about a minute, this once")
        _make_index(path)
    return path


def _make_index(path: Path) -> None:
    make_directory(path.parent, path)
    with storage_errors(path), tempfile.TemporaryDirectory(dir=path.parent) as folder:
        made, empty = Path(folder, "index"), Path(folder, "empty")
        empty.mkdir()
        package = str(Path(__file__).parents[3])
        above = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH", ""))))
        done = subprocess.run(
            [sys.executable, "-m", "dragoman.workflows.corpora.mtdata_export", str(made)],
            cwd=empty,
            env=os.environ | {"MTDATA": str(empty), "PYTHONPATH": above},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode or not made.is_file():
            last = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
            raise SavedError(
                f"the index of mtdata cannot be read ({last:.200}); install it again, and free "
                "about 1 GB of memory and 200 MB of disk"
            )
        durable_replace(made, path)
