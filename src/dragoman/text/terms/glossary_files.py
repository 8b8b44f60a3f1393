"""Files of terms: tables separated by tabs, and TBX (ISO 30042).

**A table** has a term and its translation in each line, then flags, if any::

    home<TAB>Startseite
    house<TAB>Haus|Hauses|Häuser
    Home Assistant<TAB><TAB>do-not-translate
    IT<TAB>EDV<TAB>case-sensitive

``|`` separates alternative translations, and spaces or commas separate flags.  A first line
``source<TAB>target`` is a header. So are two languages: those of the run if they are known,
otherwise any two.  There is no quoting.

**TBX** has concepts with terms in several languages. All versions and dialects write them alike
except for the names of the elements: ``termEntry`` and ``langSet`` before version 3,
``conceptEntry`` and ``langSec`` since.  Every term of a concept in the source language may be
translated by every term in the target language that is not marked as deprecated or superseded.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree.ElementTree import Element

from dragoman.core.errors import DataError
from dragoman.core.wording import named, shown
from dragoman.text.language_codes import base_language, is_language_tag, spelling
from dragoman.text.lines import COMPRESSIONS, read_lines
from dragoman.text.normalization import normalize
from dragoman.text.word_edges import fold, occurrences
from dragoman.text.xml_parts import each_part, local

log = logging.getLogger(__name__)

CASE_SENSITIVE, DO_NOT_TRANSLATE = "case-sensitive", "do-not-translate"
FLAGS = (CASE_SENSITIVE, DO_NOT_TRANSLATE)
_HEADER = ("source", "target", "flags")
_ENTRIES = ("termEntry", "conceptEntry")
_LANGUAGES = ("langSet", "langSec")
_STATUS = ("administrativeStatus", "normativeAuthorization")
_OUTDATED = ("deprecated", "superseded")
_XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_FEWEST_COLUMNS, _MOST_COLUMNS = 2, 3


def read_terms(path: Path, languages: tuple[str, str] | None) -> tuple[list[Term], str]:
    """The terms of a file, and the unit of :attr:`Term.line` (a line or an entry).

    Args:
        languages: source and target language. A table needs none, but may have them as a header.
    """
    if is_tbx(path):
        return _read_tbx(path, languages), "entry"
    return list(_read_table(path, languages)), "line"


def is_tbx(path: Path) -> bool:
    """Whether a glossary, compressed or not, is TBX by its suffix, and so has several languages."""
    suffixes = [one.lower() for one in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1:] == [".tbx"]


def read_kept(path: Path) -> Iterator[Term]:
    """Terms that must not be translated, from a file with one term in each line."""
    for number, line in enumerate(read_lines(path), 1):
        if text := line.strip():
            yield _kept(text, number)


def _kept(text: str, number: int) -> Term:
    return Term(text, (text,), case_sensitive=True, do_not_translate=True, line=number)


def _read_table(path: Path, languages: tuple[str, str] | None) -> Iterator[Term]:
    for number, line in enumerate(read_lines(path), 1):
        cells = [cell.strip() for cell in line.split("\t")]
        if not any(cells) or (number == 1 and _is_header(path, cells, languages)):
            continue
        where = f"{path}:{number}"
        if not _FEWEST_COLUMNS <= len(cells) <= _MOST_COLUMNS:
            raise DataError(
                f"{where}: {len(cells)} column{'s' * (len(cells) > 1)}, expected a term, its "
                "translation and perhaps flags, separated by tabs"
            )
        source, target, *rest = cells
        flags = set("".join(rest).replace(",", " ").split())
        if unknown := sorted(flags.difference(FLAGS)):
            raise DataError(
                f"{where}: no flag {shown(unknown[0])}; flags there are: {', '.join(FLAGS)}"
            )
        if DO_NOT_TRANSLATE in flags and target in {"", source}:
            yield _kept(source, number)
            continue
        targets = tuple(one.strip() for one in target.split("|"))
        yield Term(source, targets, CASE_SENSITIVE in flags, DO_NOT_TRANSLATE in flags, number)


def _is_header(path: Path, cells: list[str], languages: tuple[str, str] | None) -> bool:
    """Whether the first line of a table names its columns.

    Raises:
        DataError: it names the target language first, or one of the languages and a third.
    """
    if len(cells) < _FEWEST_COLUMNS:
        return False
    if tuple(cell.lower() for cell in cells) == _HEADER[: len(cells)]:
        return True
    first, second = cells[:_FEWEST_COLUMNS]
    here = [base_language(first), base_language(second)]
    has_codes = is_language_tag(first) and is_language_tag(second) and here[0] != here[1]
    if languages is None:
        if has_codes:
            log.warning("%s:1: %s and %s are taken for a header, not a term", path, first, second)
        return has_codes
    known = [base_language(language) for language in languages]
    if here == known[::-1] != known:
        raise DataError(
            f"{path}:1: the columns are {first} and {second}; write the terms of the source "
            f"language, {languages[0]}, into the first column"
        )
    if has_codes and here != known:
        if here[0] == known[0] or here[1] == known[1]:
            raise DataError(
                f"{path}:1: the columns are {first} and {second}, but the languages are "
                f"{languages[0]} and {languages[1]}"
            )
        log.warning(
            "%s:1: %s and %s are taken for a term and its translation; a header has %s and %s",
            *(path, first, second, *languages),
        )
    return here == known


def _read_tbx(path: Path, languages: tuple[str, str] | None) -> list[Term]:
    there: dict[str, None] = {}
    terms: list[Term] = []
    for number, entry in enumerate(each_part(path, _ENTRIES), 1):
        found = _terms_of(entry)
        there.update(dict.fromkeys(found))
        if languages is None:
            continue
        sources, targets = (_in_language(found, language) for language in languages)
        allowed = tuple(text for text, current in targets if current)
        if allowed:
            terms += [Term(text, allowed, line=number) for text, _ in sources]
    names = named(there) or "none"
    if languages is None:
        raise DataError(
            f"{path}: name the source and the target language of its terms; there are: {names}"
        )
    if not terms:
        raise DataError(
            f"{path}: no entry has terms in both {languages[0]!r} and {languages[1]!r}; languages "
            f"there: {names}"
        )
    return _merged(terms)


def _merged(terms: list[Term]) -> list[Term]:
    """Merges equal terms of several concepts: any translation of any concept suffices.

    A term in capitals, such as ``US``, is kept apart from ``us`` if both occur.
    """
    by_source: dict[tuple[str, bool], Term] = {}
    for term in terms:
        source = normalize(term.source)
        key = fold(source), len(source) > 1 and source.isupper()  # as glossaries compare
        if (first := by_source.get(key)) is not None:
            targets = tuple(dict.fromkeys((*first.targets, *term.targets)))
            term = Term(first.source, targets, line=first.line)  # noqa: PLW2901
        by_source[key] = term
    return [
        replace(term, case_sensitive=True) if capitals and (folded, False) in by_source else term
        for (folded, capitals), term in by_source.items()
    ]


def _terms_of(entry: Element) -> dict[str, list[tuple[str, bool]]]:
    """By language, the terms of a concept, and whether each is in current use."""
    found: dict[str, list[tuple[str, bool]]] = {}
    for section in entry:
        language = section.get(_XML_LANGUAGE) or section.get("lang")
        if local(section) in _LANGUAGES and language:
            for group in section:
                text = next(("".join(e.itertext()) for e in group.iter() if local(e) == "term"), "")
                if text.strip():
                    found.setdefault(language, []).append((text, not _is_outdated(group)))
    return found


def _is_outdated(group: Element) -> bool:
    for element in group.iter():
        if element.get("type") in _STATUS or local(element) in _STATUS:
            text = "".join(element.itertext()).strip().lower()
            if text.startswith(_OUTDATED):
                return True
    return False


def _in_language(found: dict[str, list[tuple[str, bool]]], language: str) -> list[tuple[str, bool]]:
    """The terms of a language; ``en`` includes ``en-US``."""
    wanted = spelling(language)
    exact = [terms for name, terms in found.items() if spelling(name) == wanted]
    near = [terms for name, terms in found.items() if spelling(name).startswith(f"{wanted}-")]
    return [term for terms in exact or near for term in terms]


@dataclass(frozen=True)
class Term:
    """A source term and its translations in the target language."""

    source: str
    """The term as it occurs in sources, normalised as every line is."""
    targets: tuple[str, ...]
    """Alternative translations, such as inflected forms."""
    case_sensitive: bool = False
    """Whether case matters, in the source and in translations."""
    do_not_translate: bool = False
    """Whether the only translation is the term itself."""
    line: int = 0
    """Its line in the file, or the number of its entry in TBX, from 1; 0 without a file."""

    def spellings(self) -> tuple[str, ...]:
        """The translations. Unless case-sensitive, they also begin with a capital letter."""
        if self.case_sensitive:
            return self.targets
        capitals = (target[0].upper() + target[1:] for target in self.targets)
        return tuple(dict.fromkeys((*self.targets, *capitals)))

    def occurs_in(self, translation: str) -> bool:
        """Whether a text contains a translation of it as whole words."""
        return any(
            next(occurrences(translation, one), None) is not None for one in self.spellings()
        )
