r"""Notations of placeholders: one table, by the family of programs that fill them in.

Three things decide which rows hold.  Rows of scope ``text`` are like nothing that people write, and
hold in every text.  Those of scope ``strings`` hold in strings of programs, whose format says
nothing more.  All others hold only where a format, a flag or other strings of the file show their
family.  A format that declares one family of ``%`` rules out the guesses at all others.
"""

from __future__ import annotations

from functools import lru_cache
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
    """Where it holds: in every text; in strings of programs; where its family is shown."""
    pattern: str
    """A regular expression, verbose (module ``regex``, version 1)."""
    examples: tuple[str, ...]
    source: str
    """The specification or documentation that it is from."""


_W = "A-Za-z0-9_"
"""Signs of a name; letters of other scripts may follow one without a space."""
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
    """A conversion, but none of a percentage and a word, as in "20%ige" and "100 %sure"."""
    return rf"(?!{_AFTER_NUMBER}{conversion}{_LETTER}){conversion}"


def _alone(conversion: str) -> str:
    """A conversion that no word follows, and no number is in front of."""
    return rf"(?<!\p{{N}}[\s\u00a0\u202f]?){conversion}{_NO_WORD}"


POSITIONAL = rf"%{_FLAGS}{_WIDTH}{_PRECISION}{_LENGTH}[{_COMMON}]"
"""Conversions of printf that take the next argument."""
NUMBERED = r"%\d+\$"
"""How those begin that say which argument they take."""
INTEGER = rf"%(?:\d+\$|\(\w+\))?[-+0\#,']*{_WIDTH}{_LENGTH}[diu]|%<\w+>[-+0\#]*\d*d"
CONVERSION = rf"%%|%(?:\d+\$|\(\w+\))?{_FLAGS}{_WIDTH}{_PRECISION}{_LENGTH}[{_COMMON}ra]"
"""What printf and Python read from left to right."""
STANDALONE = rf"%(?:\d+\$\w|{_FLAGS}{_WIDTH}{_PRECISION}{_LENGTH}[{_COMMON}](?![\w-]))"
"""What is a conversion of printf beyond doubt: no other word begins so."""

_C = "ISO C17, 7.21.6.1; POSIX.1-2017, fprintf"
_GLIBC = "GNU C Library, 12.12.4"
_PYTHON = "Python Library Reference, printf-style String Formatting"
_FORMAT = "Python Library Reference, Format String Syntax"
_JAVA = "Java SE, java.util.Formatter"
_OBJC = "Apple, String Format Specifiers; UTS 35 (stringsdict)"
_QT = "Qt, QString::arg, QObject::tr"
_TEMPLATE_ENDS = (
    (r"\{%", r"%\}"),
    (r"\{\{%", r"%\}\}"),
    (r"\{\{<", r">\}\}"),
    (r"\{\#", r"\#\}"),
    ("<%", "%>"),
    (r"<\?(?=\s|=|php\b)", r"\?>"),
    (r"\[%", r"%\]"),
)


def _between(begin: str, end: str) -> str:
    return rf"{begin}(?:(?!{begin}|{end})[\s\S])*{end}"


TEMPLATE_TAG = "|".join(_between(*ends).replace(r"\#", "#") for ends in _TEMPLATE_ENDS[:3])
"""A tag of a template: Jinja and Liquid, and those of Hugo."""

NOTATIONS: tuple[Notation, ...] = (
    # Templates; first of all, since they hold other notations.
    Notation(
        "templates",
        "text",
        "|".join(_between(*ends) for ends in _TEMPLATE_ENDS),
        ("{% name %}", "{% if a %}", "{{% b %}}", '{{< ref "a" >}}', "{# c #}", "<%= name %>",
         "<?= $name ?>", "<?php echo $a; ?>", "[% name %]"),
        "Jinja, Template Designer Documentation; Hugo, Shortcodes; ERB; EJS; PHP, Escaping from "
        "HTML; Template Toolkit",
    ),
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
        rf"(?<![{_W}%])%(?!{_LENGTH}[{_COMMON}]%)[A-Za-z_][{_W}.-]*[{_W}]%(?![{_W}%])",
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
        rf"(?<![{_W}%])%%[A-Za-z_][{_W}-]*[{_W}]%%(?![{_W}%])",
        ("%%title%%", "%%user_name%%"),
        "Yoast SEO, variables; Symfony (%% escapes)",
    ),
    Notation(
        "words",
        "strings",
        rf"(?<!\p{{N}}[\s\u00a0\u202f]?)(?<![{_W}%])%[a-z_][a-z0-9][{_W}]+(?:-[{_W}]+)*(?![${_W}])",
        ("%name", "%user_name", "%field-name"),
        "Drupal, FormattableMarkup",
    ),
    Notation(
        "python",
        "text",
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
        rf"%\|[^|\s]+\||(?<![\p{{N}}%])%\d{{1,2}}%(?![{_W}%])",
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
    # % where the format says whose it is.
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
        rf"%%|%{_NUMBER}\#@\w+@|%{_NUMBER}arg(?![{_W}])|%{_NUMBER}[-+0\#']*{_WIDTH}(?:\.(?:\d+|\*(?:\d+\$)?)?)?{_LENGTH}"
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
    Notation(
        "lisp",
        "declared",
        r"~(?:-?\d+|'.|[,\#vV])*[:@]*[A-Za-z%&~|*?<>\[\]{}(;)^$]",
        ("~a", "~D", "~%", "~2,4F", "~:d"),
        "Common Lisp HyperSpec, 22.3; Guile, Formatted Output",
    ),
    # Braces.
    Notation(
        "mustache",
        "text",
        r"\{\{\{[^{}]*\}\}\} | \{\{(?:[^{}]|\{\{[^{}]*\}\})*\}\} | \{\$[^{}]*\$\}",
        ("{{name}}", "{{ name }}", "{{{x}}}", "{{count, number}}", "{{- name}}", "{{#if name}}",
         "{{/if}}", "{{.Name}}", "{{ x | date }}", "{{> part}}",
         "{{PLURAL:$1|{{a}} b|c}}", "{$ name $}"),
        "Mustache; MediaWiki, Parser functions; Handlebars; i18next, Interpolation; Go, "
        "text/template; Angular",
    ),
    Notation(
        "i18next",
        "strings",
        r"\$t\([^()]*\)",
        ("$t(common.name)", '$t(key, {"count": 2})'),
        "i18next, Nesting",
    ),
    Notation(
        "dollar",
        "strings",
        r"\$\d+(?!\d|[.,]\d) | \$[A-Za-z0-9_@]+\$",
        ("$1", "$USER$", "$user@x$"),
        "Chrome, chrome.i18n (messages.json)",
    ),
    Notation(
        "dollar",
        "text",
        r"\$\{[^{}]+\} | \$\[[^\[\]]+\] | \$\(\w+\) | \$[A-Za-z_][A-Za-z0-9_]*\$?"
        r"(?:(?:->|\[)[A-Za-z0-9_]+\]?)*",
        ("${name}", "$name", "$NAME", "$[officename]", "$(ARG1)", "$NAME$", "$user->name"),
        "POSIX.1-2017, Shell 2.6; ECMA-262, Template Literals; Chrome, chrome.i18n; PHP Manual, "
        "Variable parsing",
    ),
    Notation(
        "braces",
        "text",
        r"\{[^{}\s]*\} | \{\d+(?:,\s?-?\d+)?(?::[^{}]*)?\}",
        ("{name}", "{}", "{0}", "{0:N2}", "{0,-10:d MMM}", "{!r}", "{0!r:>10}", "{name:>10}",
         "{a.b[0]}", "{user_name}", "{name|upper}", "{@name}"),
        f"{_FORMAT}; .NET, Composite formatting; Java SE, MessageFormat; Fluent Syntax Guide",
    ),
    Notation(
        "braces",
        "strings",
        r"\{\s*[\w.-]+\s*,\s*choice\s*,(?:[^{}]|\{[^{}]*\})*\} | \{\s*\$?[\w.-]+\s*(?:,[^{}]*)?\}"
        r"| \{\s*[\w.$-]+\s*\|[^{}]*\} | \{[^{}\s]*\{[^{}\s]*\}[^{}\s]*\}"
        r"| \{\s*[A-Z]+\([^{}]*\)\s*\} | \{'[^{}']*'\}"
        r"| \{\w[\w.\[\]]*(?:![rsa])?:[^{}]?[<>=^][^{}]*\}",
        ("{ name }", "{ $name }", "{name, number}", "{name, date, short}", "{0,number,#.##}",
         "{name | upper}", "{x:{width}}", "{0,choice,0#none|1#one|1<{0} files}",
         '{ DATETIME($d, month: "long") }',
         "{name: >10}", "{'@'}"),
        f"ICU User Guide, Formatting Messages; Java SE, MessageFormat, ChoiceFormat; {_FORMAT}",
    ),
    Notation(
        "braces",
        "declared",
        r"\{[^{}!:]*(?:![rsa])?(?::(?:[^{}]|\{[^{}]*\})*)?\}",
        ("{a b}", "{a[x y]!r:>{w}}", "{:%d %m}"),
        f"{_FORMAT}; Rust, std::fmt; C++20, std::format",
    ),
    Notation(
        "swift",
        "strings",
        r"\\\((?:[^()\n]|\([^()\n]*\))*\)",
        (r"\(name)", r"\(user.name(in: x))"),
        "The Swift Programming Language, String Interpolation",
    ),
    # Names behind a sign.
    Notation(
        "vue",
        "strings",
        r"@(?:\.[a-z]+)?:(?:\([^()]*\)|\{[^{}]*\}|[\w&&\p{ASCII}]+(?:[.-][\w&&\p{ASCII}]+)*)",
        ("@:common.name", "@.lower:common.name", "@:{'a.b'}", "@:(a.b)"),
        "vue-i18n, Linked messages",
    ),
    Notation(
        "emoji",
        "strings",
        r"(?<![A-Za-z0-9_:]):[a-z+-][a-z0-9_+-]*:(?![A-Za-z0-9_:`])",
        (":smile:", ":+1:"),
        "GitHub and Slack, short codes of emoji",
    ),
    Notation(
        "laravel",
        "strings",
        rf"(?<![{_W}:/\\.]):[A-Za-z_][{_W}]+(?![{_W}`/]|:[{_W}`])",
        (":name", ":Name", ":NAME", ":user_name"),
        "Laravel, Localization (replacing parameters)",
    ),
    Notation(
        "laravel",
        "declared",
        r"(?<![:/\\]):[A-Za-z_][A-Za-z0-9_]*",
        (":n", ":count"),
        "Laravel, Localization (replacing parameters)",
    ),
    Notation(
        "drupal",
        "strings",
        rf"(?<![{_W}@./+-])@[A-Za-z][{_W}]*(?:-[{_W}]+)*(?![{_W}@]|\.[{_W}])"
        rf"|(?<![\w!?.¡)\]])![a-z][{_W}]+(?:-[{_W}]+)*(?![{_W}!])",
        ("@name", "@count", "!name", "@user-name"),
        "Drupal, FormattableMarkup, PluralTranslatableMarkup",
    ),
    # Between signs.
    Notation(
        "markdown",
        "strings",
        r"""(?<=\])\([^()\s]+(?:\s+"[^"]*")?\) | (?<![`A-Za-z0-9_])`[^`'\n]+`(?![`A-Za-z0-9_])""",
        ("`platform: cloud`",),
        "CommonMark, Links, Code spans",
    ),
    Notation(
        "escapes",
        "strings",
        r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}",
        (r"\u00a0", r"\x1b"),
        "ECMA-262, String Literals; ISO C17, 6.4.4.4",
    ),
    Notation(
        "wiki",
        "text",
        r"\[\[\s?[^\s\[\]|]+\s?\]\]",
        ("[[name]]", "[[ name ]]", "[[+name]]"),
        "MODX, Tag Syntax; MediaWiki, Links",
    ),
    Notation(
        "wiki",
        "strings",
        r"\[\[[^\[\]|\n]+(?:\]\]|\|(?=[^\[\]\n]*\]\]))",
        ("[[a page]]",),
        "MediaWiki, Links",
    ),
    Notation(
        "squares",
        "strings",
        r"\[(?:count|number|num|[a-z]\w*(?::[\w-]+)+|[a-z][a-z0-9]*(?:[_-][a-z0-9]+)+"
        r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\](?!\()",
        ("[site:name]", "[user_name]", "[first-name]", "[USER_NAME]"),
        "Drupal, Token; WordPress, Shortcodes",
    ),
    Notation(
        "squares",
        "declared",
        r"\[[A-Za-z]\w*\](?!\()",
        ("[name]",),
        "WordPress, Shortcodes",
    ),
    Notation(
        "cms",
        "strings",
        r"\#{2,3}[A-Za-z]\w*\#{2,3} | \#[A-Z][A-Z0-9_]+\# | \*\|[^|\s]+\|\*",
        ("###NAME###", "##name##", "#SITE_NAME#", "*|FNAME|*"),
        "TYPO3, marker; Bitrix, messages; Mailchimp, merge tags",
    ),
    Notation(
        "polymer",
        "strings",
        rf"(?<![{_W}])__[A-Za-z0-9.-]+(?:_[A-Za-z0-9.-]+)*__(?![{_W}])",
        ("__name__", "__user_name__"),
        "i18next 1, Interpolation; GitLab and Chrome extensions",
    ),
)  # fmt: skip

PERCENT: frozenset[Family] = frozenset(
    one.family for one in NOTATIONS if one.scope == "declared" and one.examples[0].startswith("%")
) | {"boost", "ruby", "qt", "symfony"}
"""Families whose placeholders begin with ``%``: a declared one rules out guesses at others."""


@lru_cache(maxsize=64)
def notation_pattern(
    *,
    is_string: bool,
    declared: frozenset[Family] = frozenset(),
    certain: bool = True,
    without: frozenset[Family] = frozenset(),
) -> str:
    """The rows that hold as one regular expression, verbose, for the module ``regex``.

    Args:
        is_string: whether the text is a string of a program.
        declared: families that its format or its file shows.
        certain: whether it has no others of ``%``.
        without: families that it is known not to have.
    """
    rules_out = certain and bool(declared & PERCENT)

    def holds(row: Notation) -> bool:
        if row.scope == "text" or row.family in declared:
            return True
        is_guess = rules_out and row.examples[0].startswith("%")
        return is_string and row.scope == "strings" and not is_guess and row.family not in without

    def order(row: Notation) -> int:
        """What is declared comes first if it is certain, but no brace before two."""
        if row.scope == "declared" and (not certain or row.family == "braces"):
            return 3
        is_first = certain and row.family in declared and row.family != "braces"
        return (0 if row.scope == "declared" else 1) if is_first else 2

    rows = sorted(filter(holds, NOTATIONS), key=order)
    return "|".join(f"(?:{row.pattern})" for row in rows)
