r"""Notations of placeholders in one table, grouped by the programs that fill them in.

Three rules decide which rows apply.  Rows of scope ``text`` resemble no human writing and apply to
every text.  Rows of scope ``strings`` apply to strings of programs whose format declares nothing
more.  All others apply only if a format, a flag or other strings of the file show their family.  A
format that declares one family of ``%`` rules out guesses at all others.
"""

from __future__ import annotations

from functools import lru_cache

from dragoman.text.percent_notations import NAME_SIGNS, PERCENT_NOTATIONS, Family, Notation

_FORMAT = "Python Library Reference, Format String Syntax"
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
"""A tag of a template in Jinja, Liquid or Hugo."""

NOTATIONS: tuple[Notation, ...] = (
    *PERCENT_NOTATIONS,
    # Templates come first, since they contain other notations.
    Notation(
        "templates",
        "text",
        "|".join(_between(*ends) for ends in _TEMPLATE_ENDS),
        ("{% name %}", "{% if a %}", "{{% b %}}", '{{< ref "a" >}}', "{# c #}", "<%= name %>",
         "<?= $name ?>", "<?php echo $a; ?>", "[% name %]"),
        "Jinja, Template Designer Documentation; Hugo, Shortcodes; ERB; EJS; PHP, Escaping from "
        "HTML; Template Toolkit",
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
        r"\{[^{}\s]*\} | \{\d+(?:,\s?-?\d+)?(?::[^{}]*)?\}"
        r"| \{\s*[\w.-]+\s*,\s*(?:number|date|time|spellout|ordinal|duration)\s*(?:,[^{}]*)?\}",
        ("{name}", "{}", "{0}", "{0:N2}", "{0,-10:d MMM}", "{!r}", "{0!r:>10}", "{name:>10}",
         "{ n, number }", "{n, date, short}", "{0, number, #.##}", "{a.b[0]}", "{user_name}",
         "{name|upper}", "{@name}"),
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
        rf"(?<![{NAME_SIGNS}:/\\.]):[A-Za-z_][{NAME_SIGNS}]+(?![{NAME_SIGNS}`/]|:[{NAME_SIGNS}`])",
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
        rf"(?<![{NAME_SIGNS}@./+-])@[A-Za-z][{NAME_SIGNS}]*(?:-[{NAME_SIGNS}]+)*(?![{NAME_SIGNS}@]|\.[{NAME_SIGNS}])"
        rf"|(?<![\w!?.¡)\]])![a-z][{NAME_SIGNS}]+(?:-[{NAME_SIGNS}]+)*(?![{NAME_SIGNS}!])",
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
        rf"(?<![{NAME_SIGNS}])__[A-Za-z0-9.-]+(?:_[A-Za-z0-9.-]+)*__(?![{NAME_SIGNS}])",
        ("__name__", "__user_name__"),
        "i18next 1, Interpolation; GitLab and Chrome extensions",
    ),
)  # fmt: skip

PERCENT: frozenset[Family] = frozenset(
    one.family for one in NOTATIONS if one.scope == "declared" and one.examples[0].startswith("%")
) | {"boost", "ruby", "qt", "symfony"}
"""Families whose placeholders begin with ``%``. Declaring one rules out guesses at the others."""


_FIRST_SIGNS = "".join(
    sorted({f"\\{example[0]}" for row in NOTATIONS for example in row.examples} | {r"\("})
)
"""Characters that may begin a placeholder or an address in parentheses. Elsewhere in a text, no
row is tried."""


@lru_cache(maxsize=64)
def notation_pattern(
    *,
    is_string: bool,
    declared: frozenset[Family] = frozenset(),
    certain: bool = True,
    without: frozenset[Family] = frozenset(),
) -> str:
    """One verbose regular expression, for the module ``regex``, of all rows that apply.

    Args:
        declared: families that its format or its file shows.
        certain: whether the text has no other families of ``%``.
        without: families that the text certainly lacks.
    """
    rules_out = certain and bool(declared & PERCENT)

    def holds(row: Notation) -> bool:
        if row.scope == "text" or row.family in declared:
            return True
        is_guess = rules_out and row.examples[0].startswith("%")
        return is_string and row.scope == "strings" and not is_guess and row.family not in without

    def order(row: Notation) -> int:
        """Sort key: declared families first if certain, but a single brace never before two."""
        if row.scope == "declared" and (not certain or row.family == "braces"):
            return 3
        is_first = certain and row.family in declared and row.family != "braces"
        return (0 if row.scope == "declared" else 1) if is_first else 2

    rows = sorted(filter(holds, NOTATIONS), key=order)
    pattern = "|".join(f"(?:{row.pattern})" for row in rows)
    return rf"(?=[{_FIRST_SIGNS}])(?:{pattern})"
