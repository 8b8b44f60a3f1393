"""What a notation of placeholders is: a row of the table."""

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
    """Where it holds: in every text; in strings of programs; where its family is shown."""
    pattern: str
    """A regular expression, verbose (module ``regex``, version 1)."""
    examples: tuple[str, ...]
    source: str
    """The specification or documentation that it is from."""


NAME_SIGNS = "A-Za-z0-9_"
"""Signs of a name; letters of other scripts may follow one without a space."""
