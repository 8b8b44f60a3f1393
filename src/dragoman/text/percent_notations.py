"""Notations of placeholders: their form, and those that begin with a percent sign, as in printf."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from dragoman.text.word_edges import UNSPACED

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

_WIDTH = r"(?:\d+|\*(?:\d+\$)?)?"
_PRECISION = r"(?:\.(?:\d+|\*(?:\d+\$)?))?"
_LENGTH = r"(?:hh?|ll?|[qLjzt]|I(?:32|64))?"
_NUMBER = r"(?:\d+\$)?"
_FLAGS = r"[-+0\#]*"
_COMMON = "@diouxXeEfFgGcs"
_AFTER_NUMBER = r"(?<=\p{N}[\s\u00a0\u202f]?)"
_LETTER = rf"[\p{{L}}--[{UNSPACED}\p{{Script=Hangul}}]]"
_NO_WORD = rf"(?!['’]?{_LETTER})"


def _careful(conversion: str) -> str:
    """A conversion, but not a percentage and a word, as in "20%ige" and "100 %sure"."""
    return rf"(?!{_AFTER_NUMBER}{conversion}{_LETTER}){conversion}"


def _alone(conversion: str) -> str:
    """A conversion with no word after it and no number in front."""
    return rf"(?<!\p{{N}}[\s\u00a0\u202f]?){conversion}{_NO_WORD}"


POSITIONAL = rf"%{_FLAGS}{_WIDTH}{_PRECISION}{_LENGTH}[{_COMMON}]"
"""Conversions of printf that take the next argument."""
NUMBERED = r"%\d+\$"
"""The beginning of conversions that number their argument."""
INTEGER = rf"%(?:\d+\$|\(\w+\))?[-+0\#,']*{_WIDTH}{_LENGTH}[diu]|%<\w+>[-+0\#]*\d*d"
CONVERSION = rf"%%|%(?:\d+\$|\(\w+\))?{_FLAGS}{_WIDTH}{_PRECISION}{_LENGTH}[{_COMMON}ra]"
"""Conversions as printf and Python read them from left to right."""
STANDALONE = rf"%(?:\d+\$\w|{_FLAGS}{_WIDTH}{_PRECISION}{_LENGTH}[{_COMMON}](?![\w-]))"
"""Certain conversions of printf: nothing else begins like this."""

_C = "ISO C17, 7.21.6.1; POSIX.1-2017, fprintf"
_GLIBC = "GNU C Library, 12.12.4"
_PYTHON = "Python Library Reference, printf-style String Formatting"
_JAVA = "Java SE, java.util.Formatter"
_OBJC = "Apple, String Format Specifiers; UTS 35 (stringsdict)"
_QT = "Qt, QString::arg, QObject::tr"

PERCENT_NOTATIONS: tuple[Notation, ...] = (
    # % of C and its relatives.
    Notation(
        "printf",
        "text",
        r"%(?:<PRI[diouxX](?:LEAST|FAST)?(?:8|16|32|64|MAX|PTR)>"
        r"|PRI[diouxX](?:LEAST|FAST)?(?:8|16|32|64|MAX|PTR)(?![A-Za-z0-9_]))",
        ("%<PRIu64>", "%PRIu64", "%<PRIdMAX>"),
        "ISO C17, 7.8.1; GNU gettext, Special Comments preceding Keywords (sysdep)",
    ),
    Notation(
        "symfony",
        "text",
        rf"(?<![{NAME_SIGNS}%])%(?!{_LENGTH}[{_COMMON}]%)[A-Za-z_][{NAME_SIGNS}.-]*[{NAME_SIGNS}]%(?![{NAME_SIGNS}%])",
        ("%name%", "%count%", "%user.name%", "%APPDATA%"),
        "Symfony, Translations (placeholders); Windows, variables of the environment",
    ),
    Notation(
        "symfony",
        "text",
        r"(?<!\p{N}[\s\u00a0\u202f]?)%[A-Z][A-Z0-9_]+(?![a-z])",
        ("%PRODUCTNAME", "%CURRENT_USER"),
        "LibreOffice, variables of its user interface",
    ),
    Notation(
        "symfony",
        "strings",
        rf"(?<![{NAME_SIGNS}%])%%[A-Za-z_][{NAME_SIGNS}-]*[{NAME_SIGNS}]%%(?![{NAME_SIGNS}%])",
        ("%%title%%", "%%user_name%%"),
        "Yoast SEO, variables; Symfony (%% escapes)",
    ),
    Notation(
        "words",
        "strings",
        rf"(?<!\p{{N}}[\s\u00a0\u202f]?)(?<![{NAME_SIGNS}%])%[a-z_][a-z0-9][{NAME_SIGNS}]+(?:-[{NAME_SIGNS}]+)*(?![${NAME_SIGNS}])",
        ("%name", "%user_name", "%field-name"),
        "Drupal, FormattableMarkup",
    ),
    Notation(
        "python",
        "text",
        # A whole one behind a number is no percentage either.
        rf"%\([A-Za-z_]\w*\)[-+0\#]*(?:\d+|\*)?(?:\.(?:\d+|\*))?[diouxXeEfFgGcrsa]{_NO_WORD}|"
        rf"(?!{_AFTER_NUMBER})%\([A-Za-z_][^()\n]*\)"
        rf"[-+0\#]*(?:\d+|\*)?(?:\.(?:\d+|\*))?[hlL]?[diouxXeEfFgGcrsa]|"
        rf"(?!{_AFTER_NUMBER})%\([A-Za-z_][\w.-]*\)",
        ("%(name)s", "%(name)r", "%(count)d", "%(x)05.2f", "%(first name)s"),
        _PYTHON,
    ),
    Notation(
        "objc",
        "text",
        r"%(?:\d+\$)?\#@\w+@",
        ("%#@files@", "%1$#@name@"),
        _OBJC,
    ),
    Notation(
        "printf",
        "text",
        _careful(rf"%{_NUMBER}{_FLAGS}{_WIDTH}{_PRECISION}{_LENGTH}[{_COMMON}]"),
        ("%s", "%d", "%-10s", "%.2f", "%05d", "%*s", "%-*.*f", "%1$s", "%2$*1$d", "%hhx", "%zu",
         "%ld", "%lu", "%lld", "%i", "%c", "%x", "%e", "%g", "%#x", "%+d", "%@", "%1$@"),
        f"{_C}; {_OBJC}",
    ),
    Notation(
        "printf",
        "text",
        rf"%\d+\$[-+0\#'\ ,(]*{_WIDTH}{_PRECISION}{_LENGTH}(?:[tT][A-Za-z]|[A-Za-z])",
        ("%1$b", "%1$tY", "%2$p", "%1$,d"),
        f"{_C}; {_JAVA}",
    ),
    Notation(
        "printf",
        "text",
        _alone(rf"%{_NUMBER}[-+0\#]*'[-+0\#]*{_WIDTH}{_PRECISION}{_LENGTH}[diufFgG]"),
        ("%'d", "%'.2f"),
        f"{_GLIBC} (flag ')",
    ),
    Notation(
        "java",
        "text",
        _alone(r"%(?:\d+\$|<)?[-+0\#]*,[-+0\#]*\d*(?:\.\d+)?[dfegoxX]")
        + "|"
        + _alone(r"%(?:\d+\$|<)?-?\d*[tT][HIklMSLNpzZsQBbhAaCYyjmdeRTrDFc]"),
        ("%,d", "%,.2f", "%tY", "%<tm"),
        _JAVA,
    ),
    Notation(
        "php",
        "text",
        r"%(?:\d+\$)?[-+0]*'[^\s\p{L}\p{N}]-?\d+(?:\.\d+)?[bcdeEfFgGosuxX]"
        r"|%(?:\d+\$)?[-+]*'[0x*._-]\d+(?:\.\d+)?[bcdeEfFgGosuxX]",
        ("%'.10d", "%'*-12s", "%1$'010d"),
        "PHP Manual, sprintf",
    ),
    Notation(
        "go",
        "text",
        r"%[-+\#\ 0]*(?:\[\d+\](?:\*|\d+)?(?:\.(?:\[\d+\])?(?:\*|\d+))?)"
        r"(?:\[\d+\])?[vTtbcdoOqxXUeEfFgGspw]|"
        + _alone(r"%[+\#]+v"),
        ("%[1]d", "%[2]*[1]d", "%+v", "%#v"),
        "Go, package fmt",
    ),
    Notation(
        "boost",
        "text",
        rf"%\|[^|\s]+\||(?<![\p{{N}}%])%\d{{1,2}}%(?![{NAME_SIGNS}%])",
        ("%|1$s|", "%|10|", "%1%"),
        "Boost.Format, Syntax",
    ),
    Notation(
        "ruby",
        "text",
        r"%[-+0\#]*\d*(?:\.\d+)?<\w+>[-+0\#]*\d*(?:\.\d+)?[a-zA-Z]|%-?\d*\{[^{}\s]+\}"
        r"|%-?\d*\{\s*[\w.]+\s*\}|\#\{[^{}\n]+\}",
        ("%<n>d", "%<count>05d", "%-10<name>s", "%{x}", "%{user_name}", "#{x}", "#{user.name}"),
        "Ruby, Kernel#sprintf; Rails Guides, I18n (interpolation)",
    ),
    Notation(
        "qt",
        "strings",
        r"%L?\d{1,2}(?![\d%$]) | %L?n(?![A-Za-z0-9_])",
        ("%1", "%L1", "%n", "%Ln"),
        f"{_QT}; KDE, KLocalizedString",
    ),
    Notation(
        "printf",
        "strings",
        r"(?<!\p{N}[\s\u00a0\u202f]?)%[-+0\#]*\ [-+0\#]*\d*(?:\.\d+)?(?:ll?)?[dif]"
        rf"(?!\p{{N}}){_NO_WORD}",
        ("% d", "% 5d", "%- d"),
        f"{_C} (flag space)",
    ),
    Notation(
        "strftime",
        "strings",
        _alone(r"%[-_0^\#EO]?[A-Za-z]") + r"(?!\p{N})",
        ("%Y", "%-d", "%r", "%a", "%p", "%v", "%T", "%q", "%b", "%h", "%X", "%m"),
        f"{_C} (p, a, A, n, m); ISO C17, 7.27.3.5 (dates); {_PYTHON}; Go, package fmt",
    ),
    Notation("printf", "strings", "%%", ("%%",), _C),
    # % if the format declares the family.
    Notation(
        "printf",
        "declared",
        rf"%{_NUMBER}[-+0\#'I]*{_WIDTH}(?:\.(?:\d+|\*(?:\d+\$)?)?)?{_LENGTH}"
        rf"[diouxXeEfFgGaAcsCSpnm@]",
        ("%p", "%a", "%A", "%n", "%m", "%Id", "%.s", "%S"),
        f"{_C}; {_GLIBC} (flag I, conversion m)",
    ),
    Notation(
        "printf",
        "declared",
        rf"%{_NUMBER}[-+0\#'I]*\ [-+0\#'I\ ]*{_WIDTH}{_PRECISION}{_LENGTH}"
        rf"[diouxXeEfFgGaAcsp]{_NO_WORD}",
        ("% d", "% s", "%+ i"),
        f"{_C} (flag space)",
    ),
    Notation(
        "python",
        "declared",
        rf"%(?:\([^()]*\))?[-+0\#]*{_WIDTH}{_PRECISION}[hlL]?[diouxXeEfFgGcrsa%]"
        rf"|%(?:\([^()]*\))?[-+0\#]*\ [-+0\#\ ]*{_WIDTH}{_PRECISION}[hlL]?"
        rf"[diouxXeEfFgGcrsa]{_NO_WORD}",
        ("%r", "%a", "%(n)r", "%(n) d", "%5%"),
        _PYTHON,
    ),
    Notation(
        "java",
        "declared",
        r"%(?:\d+\$|<)?[-+0\#,(]*\d*(?:\.\d+)?(?:[bBhHsScCdoxXeEfgGaA%n]|[tT][A-Za-z])"
        rf"|%(?:\d+\$|<)?[-+0\#,(]*\ [-+0\#,(\ ]*\d*(?:\.\d+)?[bhsScdoxXeEfgGaA]{_NO_WORD}",
        ("%b", "%-5b", "%n", "%h", "%S", "%(d", "%tY", "%<s"),
        _JAVA,
    ),
    Notation(
        "objc",
        "declared",
        rf"%%|%{_NUMBER}\#@\w+@|%{_NUMBER}arg(?![{NAME_SIGNS}])|%{_NUMBER}[-+0\#']*{_WIDTH}(?:\.(?:\d+|\*(?:\d+\$)?)?)?{_LENGTH}"
        rf"[@diouUxXeEfFgGaAcsCSpnDOK]",
        ("%@", "%#@files@", "%C", "%S", "%p", "%a", "%D", "%arg"),
        _OBJC,
    ),
    Notation(
        "php",
        "declared",
        r"%%|%(?:\d+\$)?(?:[-+0\ ]|'.)*\d*(?:\.\d+)?[bcdeEfFgGhHosuxX]" + _NO_WORD
        + r"|%(?:\d+\$)?(?:[-+0]|'.)*\d*(?:\.\d+)?[bcdeEfFgGosuxX]",
        ("%b", "%'010d", "%h", "% 5d"),
        "PHP Manual, sprintf",
    ),
    Notation(
        "go",
        "declared",
        r"%%|%[-+\#0]*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?[vTtbcdoOqxXUeEfFgGspw]",
        ("%v", "%T", "%q", "%U", "%w", "%t"),
        "Go, package fmt",
    ),
    Notation(
        "lua",
        "declared",
        r"%%|%[-+0\#]*\d*(?:\.\d+)?[aAcdeEfgGioqsuxXp] | %\d",
        ("%q", "%s", "%5.1f", "%1"),
        "Lua 5.4 Reference Manual, string.format, string.gsub",
    ),
    Notation(
        "perl",
        "declared",
        r"%%|%(?:\d+\$)?[-+0\#]*(?:\*?v)?(?:\d+|\*(?:\d+\$)?)?(?:\.(?:\d+|\*))?(?:hh?|ll?|[qLVzt])?"
        r"[csduoxXeEfgGbBpniDUOFaA]",
        ("%vd", "%*vX", "%b", "%Vd"),
        "perldoc, sprintf",
    ),
    Notation(
        "gcc",
        "declared",
        r"%%|%[q+\#]*[-0-9.*]*(?:hh?|ll?|w|[zt])?[diouxcspmDEFTVHJKOCLPSAXe]|%[<>'{}R]|%q\p{L}+",
        ("%qs", "%<", "%>", "%qD", "%E", "%'"),
        "GCC, pretty-print.c; GNU gettext, gcc-internal-format",
    ),
)  # fmt: skip
