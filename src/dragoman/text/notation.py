"""A notation of placeholders: a row of the table."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

Family = Literal[
    "printf", "python", "java", "objc", "php", "go", "lua", "perl", "boost", "ruby", "qt", "gcc",
    "lisp", "strftime", "symfony", "words", "drupal", "laravel", "braces", "mustache", "dollar",
    "vue", "i18next", "swift", "templates", "wiki", "squares", "cms", "polymer", "emoji", "escapes",
    "markdown",
]  # fmt: skip
FAMILIES: tuple[Family, ...] = get_args(Family)
Scope = Literal["text", "strings", "declared"]


class Notation(NamedTuple):
    """A row of the table."""

    family: Family
    scope: Scope
    """Scope of the row: every text, strings of programs, or texts that show its family."""
    pattern: str
    """A verbose regular expression (module ``regex``, version 1)."""
    examples: tuple[str, ...]
    source: str
    """Its specification or documentation."""


NAME_SIGNS = "A-Za-z0-9_"
"""Signs of a name. Letters of other scripts may follow a name without a space."""
