"""Checks of translations, line by line and against one another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from dragoman.core.wording import shown
from dragoman.evaluation.kept_items import SLACK, TOO_LONG, repeats
from dragoman.evaluation.languages import (
    CLEAR_MARGIN,
    FEWEST_WORDS,
    ExpectedLanguage,
    count_words,
    why_not_judged,
)
from dragoman.text.normalization import normalize
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.checking.findings import FINDING_KINDS, CheckFinding, FindingKind
from dragoman.translation.checking.protected_strings import (
    protected_findings,
    without_protected,
)

_IDENTICAL_WORDS = 4
"""Words from which on a translation that equals its source is untranslated: fewer are often a name
or a word of both languages."""


@dataclass(frozen=True)
class TranslationChecks:
    """Finds the errors of translations that show without a reference."""

    glossary: Glossary | None = None
    """Terms and their translations; None: terms are not checked."""
    language: ExpectedLanguage | None = None
    """The language of translations; None: it is not checked."""
    length_ratio: float = 1.0
    """Usual number of characters of a translation per character of its source."""
    unchecked: dict[FindingKind, str] = field(default_factory=dict)
    """Kinds that cannot be checked here, with the reason."""

    @classmethod
    def of(
        cls,
        language: str,
        pairs: Iterable[tuple[str, str]] = (),
        glossary: Glossary | None = None,
    ) -> TranslationChecks:
        """The checks for translations into a language, as far as it can be identified here.

        Args:
            language: of the translations, such as ``de``.
            pairs: translations whose lengths are usual, such as all that will be checked.
        """
        unchecked: dict[FindingKind, str] = {}
        if (reason := why_not_judged(language)) is not None:
            unchecked["wrong_language"] = reason
        expected = None if unchecked else ExpectedLanguage.of(language)
        return cls(glossary, expected, usual_length_ratio(pairs), unchecked)

    def findings(
        self, source: str, translation: str, reference: str | None = None
    ) -> list[CheckFinding]:
        """The errors of a translation, the most harmful first.

        Args:
            reference: a good translation.  It gives the expected length, and what would be found
                in it, too, is no error: a number may be written as a word.
        """
        found = self._unsorted(normalize(source), normalize(translation), reference)
        return sorted(found, key=lambda one: FINDING_KINDS.index(one.kind))

    def _unsorted(self, source: str, translation: str, reference: str | None) -> list[CheckFinding]:
        if reference is None:
            return list(self._found(source, translation, self.length_ratio * len(source)))
        reference = normalize(reference)
        if translation == reference:
            return []
        found = list(self._found(source, translation, len(reference), fewest_identical=1))
        if not found:
            return []
        excused = set(map(_identity, self._found(source, reference, len(reference))))
        return [one for one in found if _identity(one) not in excused]

    def _found(
        self, source: str, text: str, usual: float, fewest_identical: int = _IDENTICAL_WORDS
    ) -> Iterator[CheckFinding]:
        """Findings in normalised texts; ``usual`` is the expected number of characters."""
        everything = 0, len(text)
        if not text:
            if source:
                yield CheckFinding("empty", "nothing is written", (0, len(source)), in_source=True)
            return
        yield from protected_findings(source, text)
        yield from self._terms(source, text)
        if source == text and count_words(without_protected(text)) >= fewest_identical:
            yield CheckFinding("untranslated", "it is the source", everything)
        elif self._is_foreign(text):
            yield CheckFinding("wrong_language", "it is in another language", everything)
        # "YYYY" of a source may be in a long word of a script without spaces.
        if (times := repeats(text)) > repeats(source, longer_than=0):
            yield CheckFinding("repeated", f"it repeats itself {times} times", everything)
        elif len(text) > TOO_LONG * usual + SLACK:
            message = f"{len(text)} characters where about {usual:.0f} are usual"
            yield CheckFinding("too_long", message, everything)
        if usual > TOO_LONG * len(text) + SLACK:
            message = f"{len(text)} characters where about {usual:.0f} are usual"
            yield CheckFinding("too_short", message, everything)

    def _terms(self, source: str, text: str) -> Iterator[CheckFinding]:
        for match in self.glossary.missing(source, text) if self.glossary is not None else ():
            wanted = " or ".join(map(shown, match.term.targets))
            message = f"{shown(match.term.source)} should be {wanted}"
            span = match.start, match.end
            yield CheckFinding("terms", message, span, in_source=True, text=match.term.source)

    def _is_foreign(self, text: str) -> bool:
        words = without_protected(text)
        if self.language is None or count_words(words) < FEWEST_WORDS:
            return False
        return self.language.misses(words, CLEAR_MARGIN) is True


def _identity(finding: CheckFinding) -> tuple[str, bool, str]:
    """The error, wherever it is in the text."""
    return finding.kind, finding.in_source, finding.text


def usual_length_ratio(pairs: Iterable[tuple[str, str]]) -> float:
    """The median of characters of a translation per character of its source; 1 without any."""
    ratios = [len(target) / len(source) for source, target in pairs if source and target]
    return median(ratios) if ratios else 1.0


def inconsistent(pairs: Sequence[tuple[str, str]]) -> dict[int, CheckFinding]:
    """Translations that differ from the most frequent one of the same source, by their index.

    Of equally frequent translations, the first counts.
    """
    by_source: dict[str, dict[str, list[int]]] = {}
    for index, pair in enumerate(pairs):
        source, text = map(normalize, pair)
        if source and text:
            by_source.setdefault(source, {}).setdefault(text, []).append(index)
    found: dict[int, CheckFinding] = {}
    for translations in by_source.values():
        most = max(translations, key=lambda text: len(translations[text]))
        for text, indices in translations.items():
            message = f"elsewhere, this source is translated as {shown(most)}"
            for index in indices if text != most else ():
                found[index] = CheckFinding("inconsistent", message, (0, len(text)))
    return dict(sorted(found.items()))
