"""Checks of translations that come from a server: each problem has a name for the report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from dragoman.evaluation.languages import (
    CLEAR_MARGIN,
    FEWEST_WORDS,
    ExpectedLanguage,
    why_not_judged,
)
from dragoman.text.terms.copied_text import is_intact

Problem = Literal[
    "missing", "refused", "cut off", "explanation", "placeholders", "length", "language"
]
PROBLEMS: tuple[Problem, ...] = get_args(Problem)
"""What may be wrong with an answer.  ``missing``: no translation of the line came back."""

_SLACK = 20  # characters by which short texts may differ beyond the ratio
_REFUSAL = re.compile(
    r"\s*(?:i(?:['’]m| am) (?:sorry|unable)|sorry,? (?:but )?i\b|i (?:can(?:no|['’])t|cannot)\b"
    r"|as an ai\b)",
    re.IGNORECASE,
)
_EXPLANATION = re.compile(
    r"\s*(?:here(?:['’]s| is| are) (?:the|a|your) translations?\b|sure[,!]|certainly[,!]"
    r"|translations?(?: \([^)]*\))?: |\(?note: |\*\*)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class AnswerChecks:
    """Judges translations.

    Args:
        max_length_ratio: see :class:`TeacherConfig`.
        language: code of the language that translations should be in; None: not checked.
    """

    max_length_ratio: float
    expected: ExpectedLanguage | None

    @classmethod
    def of(cls, max_length_ratio: float, language: str | None) -> AnswerChecks:
        """The checks, without that of a language that cannot be judged here."""
        judged = language is not None and why_not_judged(language) is None
        expected = ExpectedLanguage.of(language) if judged and language is not None else None
        return cls(max_length_ratio, expected)

    def problem(self, source: str, translation: str) -> Problem | None:
        """The first problem of a translation; None if it has none."""
        return next(self._problems(source, translation), None)

    def _problems(self, source: str, translation: str) -> Iterator[Problem]:
        if not translation.strip():
            yield "missing"
        if _REFUSAL.match(translation) and not _REFUSAL.match(source):
            yield "refused"
        if self._explains(source, translation):
            yield "explanation"
        if not is_intact(source, translation):
            yield "placeholders"
        if not self._has_fitting_length(source, translation):
            yield "length"
        if self._misses_language(translation):
            yield "language"

    def _explains(self, source: str, translation: str) -> bool:
        further_lines = "\n" in translation.strip() and "\n" not in source.strip()
        begins = _EXPLANATION.match(translation) and not _EXPLANATION.match(source)
        return further_lines or bool(begins)

    def _has_fitting_length(self, source: str, translation: str) -> bool:
        short, long = sorted((len(source), len(translation)))
        return long <= short * self.max_length_ratio + _SLACK

    def _misses_language(self, translation: str) -> bool:
        if self.expected is None or len(translation.split()) < FEWEST_WORDS:
            return False
        return self.expected.misses(translation, CLEAR_MARGIN) is True
