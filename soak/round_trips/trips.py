"""One file, translated by pseudo-translators, and what is wrong with its translations."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from office_files import CapitalService, ReversingService

from dragoman.documents.file_translation import translate_file
from dragoman.documents.filetypes import file_suffixes
from dragoman.translation.service.interface import RefusedError, TextRequest
from soak.round_trips.office_check import differences
from soak.round_trips.text_check import BILINGUAL, lost_parts, untranslated

AIM = 0.995
"""Share of files that are intact."""
_OFFICE = frozenset([".docx", ".odp", ".ods", ".odt", ".pptx"])


@dataclass
class Trips:
    """What became of files of a format."""

    intact: int = 0
    refused: int = 0
    """Damaged, encrypted or no documents: not counted among those tried."""
    faults: dict[Path, list[str]] = field(default_factory=dict)

    @property
    def tried(self) -> int:
        """How many files were translated."""
        return self.intact + len(self.faults)


def files_in(folders: Iterable[Path], suffixes: Iterable[str] | None = None) -> Iterator[Path]:
    """The documents in folders, each content once; of all suffixes by default."""
    wanted = frozenset(file_suffixes() if suffixes is None else suffixes)
    seen: set[bytes] = set()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix.lower() in wanted and path.is_file():
                content = path.read_bytes()
                if content not in seen:
                    seen.add(content)
                    yield path


def faults_of(name: str, content: bytes) -> list[str]:
    """What is wrong with the translations of a file.

    Raises:
        RefusedError: it is damaged, or no document.
    """
    content, *languages = untranslated(name, content)
    faults = []
    if Path(name).suffix.lower() not in BILINGUAL:
        same = _translated(name, content, ReversingService(reverses=False), *languages)
        faults += [] if same == (content, ()) else ["words that stay change the file"]
    for service in (CapitalService(), ReversingService()):
        written, left = _translated(name, content, service, *languages)
        faults += [f"not translated: {text[:80]!r}" for text in left]
        if Path(name).suffix.lower() in _OFFICE:
            is_reversed = not isinstance(service, CapitalService)
            faults += differences(content, written, is_reversed=is_reversed)
        else:
            faults += lost_parts(name, content, written)
    return faults


def _translated(
    name: str, content: bytes, service: ReversingService, source: str, target: str
) -> tuple[bytes, tuple[str, ...]]:
    """A translation, and the texts that were left as they are."""
    found = asyncio.run(translate_file(service, name, content, TextRequest("", target, source)))
    return found.content, tuple(one.text for one in found.untranslated)


def round_trips(paths: Iterable[Path]) -> dict[str, Trips]:
    """What became of files, by suffix."""
    found: dict[str, Trips] = {}
    for path in paths:
        trips = found.setdefault(path.suffix.lower(), Trips())
        try:
            faults = faults_of(path.name, path.read_bytes())
        except RefusedError:
            trips.refused += 1
        except Exception as error:  # whatever it is, it is a fault of the program
            trips.faults[path] = [f"{type(error).__name__}: {error}"]
        else:
            if faults:
                trips.faults[path] = [f"{fault} ({n})" for fault, n in Counter(faults).items()]
            else:
                trips.intact += 1
    return found
