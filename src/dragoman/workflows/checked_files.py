"""Translations in files, checked for errors that show without a model; a report for each reader."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.core.files import atomic_write
from dragoman.core.version import __version__
from dragoman.core.wording import shown
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats.projects.project_folder import ProjectFolder, ProjectString, warn_once
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.checking.findings import (
    FINDING_KINDS,
    KIND_TITLES,
    CheckFinding,
    FindingKind,
)
from dragoman.translation.checking.line_checks import TranslationChecks, inconsistent
from dragoman.workflows.material import Choice, find_part
from dragoman.workflows.pile import USUAL_SOURCE, find_parts, has_both_sides, languages_in

_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_Languages = tuple[str, str]


class CheckedPair(NamedTuple):
    """A pair, and where it is."""

    file: Path
    """The file with both sides, or that of the translations."""
    line: int
    """0 if it is not known."""
    counts: str
    """What :attr:`line` counts: ``line``, ``unit`` or ``segment``."""
    source: str
    translation: str
    key: str = ""
    """Such as ``menu.file.open``, in files whose strings have keys."""

    @property
    def place(self) -> str:
        """As compilers write it, such as ``de.po:12``.

        Without lines it is ``de.xlf: unit 12`` or ``de.json: menu.file.open``.
        """
        if not self.line:
            return f"{self.file}: {self.key}" if self.key else str(self.file)
        number = self.line if self.counts == "line" else f" {self.counts} {self.line}"
        return f"{self.file}:{number}"


@dataclass(frozen=True)
class LocatedFinding:
    """An error, and the pair that has it."""

    pair: CheckedPair
    finding: CheckFinding

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "file": str(self.pair.file),
            self.pair.counts: self.pair.line or None,
            **({"key": self.pair.key} if self.pair.key else {}),
            "source": self.pair.source,
            "translation": self.pair.translation,
            "level": self.finding.level,
            **self.finding.to_json(),
        }


@dataclass
class CheckReport:
    """The errors in some files."""

    pairs: int = 0
    """Pairs that were checked."""
    findings: list[LocatedFinding] = field(default_factory=list)
    """In the order of the files and lines."""
    unchecked: dict[FindingKind, str] = field(default_factory=dict)
    """Kinds that could not be checked in some file, with the reason."""

    @property
    def errors(self) -> int:
        """The number of findings that are errors, not warnings."""
        return sum(one.finding.level == "error" for one in self.findings)

    @property
    def counts(self) -> dict[FindingKind, int]:
        """The number of errors of each kind that occurs, the most harmful kind first."""
        numbers = Counter(one.finding.kind for one in self.findings)
        return {kind: numbers[kind] for kind in FINDING_KINDS if kind in numbers}

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "pairs": self.pairs,
            "errors": self.errors,
            "warnings": len(self.findings) - self.errors,
            "counts": self.counts,
            "unchecked": self.unchecked,
            "findings": [one.to_json() for one in self.findings],
        }


def check_files(
    files: Sequence[Path],
    choice: Choice,
    *,
    glossaries: Iterable[Path] = (),
    kinds: Collection[FindingKind] = FINDING_KINDS,
) -> CheckReport:
    """Check the translations in files.

    Files of one pair of languages are checked together: the same source should have the same
    translation in all of them.

    Args:
        files: each with both sides, or two plain files, source first; a project's folder, of which
            all languages are checked unless ``choice`` names one.
        choice: sides and format, where the files do not determine them.
        glossaries: terms and their translations.
        kinds: the errors to look for.

    Raises:
        DataError: a file cannot be read.
    """
    parts: dict[_Languages, list[CorpusPart]] = defaultdict(list)
    for part, languages in _parts(files, choice):
        parts[languages].append(part)
    paths = list(glossaries)
    report = CheckReport()
    for languages, several in parts.items():
        pairs = [pair for part in several for pair in _checked_pairs(part)]
        _check(pairs, languages, [Glossary.read(path, languages) for path in paths], kinds, report)
    return report


def _parts(files: Sequence[Path], choice: Choice) -> Iterator[tuple[CorpusPart, _Languages]]:
    """The corpora in files, each by itself or two that have one side each, and in folders."""
    if len(files) == 2 and not any(
        path.is_dir() or has_both_sides(path, choice.format) for path in files
    ):
        yield find_part(files, choice)
        return
    for path in files:
        if not path.is_dir():
            yield find_part([path], choice)
            continue
        source = choice.source or USUAL_SOURCE
        targets = [choice.target] if choice.target else languages_in(path, source, choice.format)
        for target in targets:
            found, languages = find_parts([path], Choice(source, target, choice.format))
            yield from ((part, languages) for part in found)


def _checked_pairs(part: CorpusPart) -> Iterator[CheckedPair]:
    form = part.file_format
    for unit in _located(part):
        if unit.source.strip():
            file = unit.file
            here = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
            key = ".".join(name.removeprefix(".") for name in unit.key)  # .title of Fluent
            yield CheckedPair(here, unit.line, form.counts, unit.source, unit.target, key)


def _located(part: CorpusPart) -> Iterator[ProjectString]:
    """The pairs with their files, and lines or keys."""
    form = part.file_format
    if isinstance(form, ProjectFolder):
        sides = part.source or "", part.target or ""
        yield from form.pairs(Path(part.path or ""), sides, warn_once)
        return
    file = Path(part.files()[-1])
    for pair in read_pairs(part):
        yield ProjectString(pair.source, pair.target, file, line=pair.line)


def _check(
    pairs: Sequence[CheckedPair],
    languages: _Languages,
    glossaries: Sequence[Glossary],
    kinds: Collection[FindingKind],
    report: CheckReport,
) -> None:
    """Add the errors of translations between two languages to a report."""
    texts = [(pair.source, pair.translation) for pair in pairs]
    checks = TranslationChecks.of(languages[1], texts)
    of_terms = [TranslationChecks(glossary) for glossary in glossaries]
    others = inconsistent(_one_of_each_entry(pairs))
    report.pairs += len(pairs)
    report.unchecked |= {kind: why for kind, why in checks.unchecked.items() if kind in kinds}
    for index, pair in enumerate(pairs):
        found = checks.findings(*texts[index])
        for terms in of_terms:
            found += [one for one in terms.findings(*texts[index]) if one.kind == "terms"]
        if index in others:
            found.append(others[index])
        report.findings += [LocatedFinding(pair, one) for one in found if one.kind in kinds]


def _one_of_each_entry(pairs: Sequence[CheckedPair]) -> list[tuple[str, str]]:
    """Texts to compare with one another, without further translations of a source in one entry.

    These are its plural forms, where the source language has the same form for all numbers.
    """
    seen: set[tuple[Path, int, str]] = set()
    texts = []
    for pair in pairs:
        entry = pair.file, pair.line, pair.source
        texts.append(("", "") if pair.line and entry in seen else (pair.source, pair.translation))
        seen.add(entry)
    return texts


def write_sarif(report: CheckReport, path: Path) -> None:
    """Write a report in SARIF 2.1.0, which code hosts show beside the lines of files."""
    driver = {
        "name": "dragoman check",
        "version": __version__,
        "rules": [
            {"id": kind, "shortDescription": {"text": KIND_TITLES[kind]}} for kind in FINDING_KINDS
        ],
    }
    results = [_sarif_result(one) for one in report.findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    values = {"$schema": _SARIF, "version": "2.1.0", "runs": [run]}
    with atomic_write(path) as stream:
        stream.write(json.dumps(values, indent=1) + "\n")


def _sarif_result(one: LocatedFinding) -> dict[str, Any]:
    pair, finding = one.pair, one.finding
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(pair.file)}}
    if pair.counts == "line" and pair.line:
        place["region"] = {"startLine": pair.line}
    location: dict[str, Any] = {"physicalLocation": place}
    if pair.key:
        location["logicalLocations"] = [{"fullyQualifiedName": pair.key}]
    text = f"{KIND_TITLES[finding.kind]}: {finding.message} ({told_pair(pair)})"
    return {
        "ruleId": finding.kind,
        "level": finding.level,
        "message": {"text": text},
        "locations": [location],
    }


def _uri(path: Path) -> str:
    """Relative to the current directory, which is the repository's where services run checks."""
    return (
        path.as_uri() if path.is_absolute() else Path("/", path).as_uri().removeprefix("file:///")
    )


def told_pair(pair: CheckedPair) -> str:
    """A source and its translation, shortened."""
    return f"{shown(pair.source)} → {shown(pair.translation)}"
