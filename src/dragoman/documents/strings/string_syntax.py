"""How the strings of a file write placeholders, as its format, flags and other strings show."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from dragoman.text.percent_notations import Family

Numbering = Literal["none", "printf", "braces", "go"]
"""How placeholders in another order are written: as in the source; ``%2$s``; ``{1}``; ``%[2]d``."""


@dataclass(frozen=True)
class StringSyntax:
    """The syntax of a file's placeholders."""

    declared: frozenset[Family] = frozenset()
    """Families that it shows."""
    is_certain: bool = False
    """Whether a flag declares them, so that its strings have no other placeholders of ``%``."""
    without: frozenset[Family] = frozenset()
    """Families that it is known not to have."""
    numbering: Numbering = "none"

    def also(self, *families: Family) -> StringSyntax:
        """This with more families that the file shows."""
        return replace(self, declared=self.declared | set(families))


def _syntax(*families: Family, numbering: Numbering = "none") -> StringSyntax:
    return StringSyntax(frozenset(families), is_certain=True, numbering=numbering)


ANY = StringSyntax()
"""Nothing is told."""
JAVA = StringSyntax(
    frozenset(["java", "printf"]), without=frozenset(["escapes", "swift"]), numbering="printf"
)
APPLE = StringSyntax(frozenset(["objc"]), numbering="printf")
QT = _syntax("qt")

_FLAGS = {
    "c-format": _syntax("printf", numbering="printf"),
    "c++-format": _syntax("braces", numbering="braces"),
    "objc-format": _syntax("objc", numbering="printf"),
    "python-format": _syntax("python"),
    "python-brace-format": _syntax("braces", numbering="braces"),
    "java-format": _syntax("braces"),
    "java-printf-format": _syntax("java", numbering="printf"),
    "csharp-format": _syntax("braces"),
    "rust-format": _syntax("braces", numbering="braces"),
    "javascript-format": _syntax("printf"),
    "scheme-format": _syntax("lisp"),
    "lisp-format": _syntax("lisp"),
    "elisp-format": _syntax("printf"),
    "librep-format": _syntax("printf"),
    "ruby-format": _syntax("ruby", "printf", numbering="printf"),
    "sh-format": _syntax("dollar"),
    "sh-printf-format": _syntax("printf", numbering="printf"),
    "awk-format": _syntax("printf"),
    "lua-format": _syntax("lua"),
    "object-pascal-format": _syntax("printf"),
    "modula2-format": _syntax("printf"),
    "d-format": _syntax("printf", numbering="printf"),
    "smalltalk-format": _syntax("qt"),
    "ycp-format": _syntax("qt"),
    "qt-format": _syntax("qt"),
    "qt-plural-format": _syntax("qt"),
    "kde-format": _syntax("qt"),
    "kde-kuit-format": _syntax("qt"),
    "boost-format": _syntax("boost", "printf", numbering="printf"),
    "tcl-format": _syntax("printf", numbering="printf"),
    "perl-format": _syntax("perl", numbering="printf"),
    "perl-brace-format": _syntax("braces"),
    "php-format": _syntax("php", numbering="printf"),
    "gcc-internal-format": _syntax("gcc", numbering="printf"),
    "gfc-internal-format": _syntax("gcc"),
    "go-format": _syntax("go", numbering="go"),
}
"""Flags of gettext (GNU gettext, Special Comments preceding Keywords)."""


def flagged_syntax(flags: Iterable[str], syntax: StringSyntax = ANY) -> StringSyntax:
    """The syntax of a message with flags of gettext, and with what its file tells besides.

    Flags are such as ``c-format``.  ``no-c-format`` says that it has none of these.
    """
    for flag in flags:
        if known := _FLAGS.get(flag):
            numbering = known.numbering if syntax.numbering == "none" else syntax.numbering
            syntax = replace(syntax.also(*known.declared), is_certain=True, numbering=numbering)
        elif flag.startswith("no-") and (known := _FLAGS.get(flag.removeprefix("no-"))):
            syntax = replace(syntax, without=syntax.without | known.declared | {"strftime"})
    return syntax


_NAME = r"[A-Za-z_][\w.-]*"
_NAMED = re.compile(
    rf"\{{\s*({_NAME})|%\(({_NAME})\)|%({_NAME})%|(?<!\w)[:@]({_NAME})|\$\{{?({_NAME})|__({_NAME}?)__"
)
_IN_SQUARES = re.compile(r"(?<!\[)\[([A-Za-z]\w*)\](?!\]|\()")
_SURE_SQUARES = re.compile(r"\[[a-z]\w*(?:[_:-][a-z0-9]+)+\]")
_LARAVEL = re.compile(r"(?<![A-Za-z0-9_:/\\.]):[A-Za-z_][A-Za-z0-9_]+(?![\w`/:])")
_SURE = 3
"""Strings with ``:name`` after which a file is one of Laravel's."""


def shown_syntax(strings: Iterable[str]) -> StringSyntax:
    """The syntax that the strings of a file show together.

    ``[name]`` is a placeholder where others are written so beyond doubt (``[user_name]``), or where
    the same name is a placeholder in another notation.  ``:n`` is where several strings have such.
    """
    names: set[str] = set()
    in_squares: set[str] = set()
    of_laravel, is_sure = 0, False
    for text in strings:
        names.update(name.rstrip("._-") for found in _NAMED.findall(text) for name in found if name)
        in_squares.update(_IN_SQUARES.findall(text))
        is_sure = is_sure or _SURE_SQUARES.search(text) is not None
        of_laravel += _LARAVEL.search(text) is not None
    syntax = ANY.also("squares") if is_sure or names & in_squares else ANY
    return syntax.also("laravel") if of_laravel >= _SURE else syntax
