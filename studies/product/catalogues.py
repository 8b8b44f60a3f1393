"""The catalogues that packages carry, as pairs that are learned from and pairs that are not."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from dragoman.core.errors import DataError, StorageError
from dragoman.core.files import atomic_directory
from dragoman.text.corpora.cleaning import CleaningConfig, clean, held_out_keys
from dragoman.text.corpora.cleaning_report import CleaningReport
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import FORMATS, Pair
from dragoman.workflows.init.look import hold_out

PACKAGES = ("Django==5.2.19", "wagtail==8.0.1", "django-allauth==65.22.1", "Sphinx==9.0.4")
"""What is got if nothing else is named; the figures in docs/results are of these."""
SETS = ("train", "dev", "test")
_SITE = "site"


def install(packages: Sequence[str], folder: Path) -> None:
    """Put packages, without what they need, into a folder by pip, with its usual settings.

    Raises:
        StorageError: pip ends with an error.
    """
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    wheels = ["--no-deps", "--only-binary", ":all:", "--target", str(folder)]
    done = subprocess.run([*pip, *wheels, *packages], capture_output=True, text=True, check=False)
    if done.returncode:
        why = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise StorageError(f"pip cannot get {' '.join(packages)}: {why[-1]}; repeat the command")


def catalogues(site: Path, packages: Sequence[str], source: str, target: str) -> list[CorpusPart]:
    """Each folder of installed packages that has catalogues of a language, as a part of a corpus.

    Raises:
        DataError: no package has any.
    """
    folders = dict.fromkeys(name for package in packages for name in _folders(site, package))
    parts = [
        CorpusPart(
            path=str(site / name),
            source=source,
            target=target,
            format="po-files",
            source_language=source,
            target_language=target,
        )
        for name in folders
        if any((site / name).rglob(f"{target}/LC_MESSAGES/*.po"))
    ]
    if not parts:
        raise DataError(f"{site}: no package has catalogues of {target}; choose another language")
    return parts


def _folders(site: Path, package: str) -> Iterator[str]:
    """The folders of a package in which it has catalogues, by the list of its files."""
    name = re.split(r"[^\w.-]", package)[0]
    for record in site.glob("*.dist-info/RECORD"):
        installed = record.parent.name.partition("-")[0]
        if re.sub(r"[-_.]+", "-", installed).casefold() == re.sub(r"[-_.]+", "-", name).casefold():
            for line in record.read_text(encoding="utf-8").splitlines():
                path = line.partition(",")[0]
                if path.endswith(".po"):
                    yield path.partition("/")[0]


def divided(parts: Sequence[CorpusPart]) -> dict[str, list[Pair]]:
    """The pairs as ``dragoman init`` divides them: no set repeats a sentence of another."""
    dev, test = hold_out(parts, dev=None, test=None)
    keys = held_out_keys([*dev, *test])
    pairs = (pair for part in parts for pair in read_pairs(part))
    train = list(clean(pairs, CleaningConfig(), CleaningReport(), held_out=keys))
    return dict(zip(SETS, (train, dev, test), strict=True))


def get_catalogues(
    packages: Sequence[str], source: str, target: str, output: Path
) -> dict[str, int]:
    """Write the sets of packages' catalogues as tables, and return their sizes.

    Nothing is left where anything goes wrong.
    """
    with atomic_directory(output) as place:
        install(packages, place / _SITE)
        sets = divided(catalogues(place / _SITE, packages, source, target))
        for name, pairs in sets.items():
            with FORMATS["tsv"].write([place / f"{name}.tsv"], (source, target)) as add:
                for pair in pairs:
                    add(pair)
    return {name: len(pairs) for name, pairs in sets.items()}
