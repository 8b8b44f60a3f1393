"""Kinds of errors in translations, and one error that was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from dragoman.text.word_edges import Span

FindingKind = Literal[
    "empty",
    "placeholders",
    "tags",
    "urls",
    "numbers",
    "terms",
    "untranslated",
    "wrong_language",
    "repeated",
    "too_short",
    "too_long",
    "inconsistent",
]
FINDING_KINDS: tuple[FindingKind, ...] = get_args(FindingKind)
"""All kinds, the most harmful first."""

KIND_TITLES: dict[FindingKind, str] = {
    "empty": "nothing written",
    "placeholders": "placeholders wrong",
    "tags": "tags wrong",
    "urls": "addresses wrong",
    "numbers": "numbers wrong",
    "terms": "terms translated otherwise",
    "untranslated": "untranslated",
    "wrong_language": "wrong language",
    "repeated": "repeated",
    "too_short": "far too short",
    "too_long": "far too long",
    "inconsistent": "translated in several ways",
}
"""Names of the kinds for people."""

UNCERTAIN: frozenset[FindingKind] = frozenset(
    ["numbers", "wrong_language", "too_short", "too_long", "inconsistent"]
)
"""Kinds of which people write some on purpose, such as "1" for "one": warnings, not errors."""


@dataclass(frozen=True)
class CheckFinding:
    """An error in a translation."""

    kind: FindingKind
    message: str
    """A sentence without its full stop, such as ``{name} is missing``."""
    span: Span
    """Position of the error, in characters of the normalised text."""
    in_source: bool = False
    """Whether :attr:`span` is in the source, for what the translation lacks."""
    text: str = ""
    """The string in question, such as a placeholder; "" if it is the whole translation."""

    @property
    def level(self) -> Literal["error", "warning"]:
        """How certain it is that something is wrong."""
        return "warning" if self.kind in UNCERTAIN else "error"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        side = "source" if self.in_source else "translation"
        return {
            "kind": self.kind,
            "message": self.message,
            "side": side,
            "span": list(self.span),
            "text": self.text,
        }
