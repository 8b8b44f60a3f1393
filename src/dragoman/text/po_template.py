"""A gettext catalogue without translations, made from that of another language."""

from __future__ import annotations

import re

from dragoman.text.po_catalogue import po_string, read_catalogue

_WIDTH = 80
_STATES = re.compile(r"^#(?:~|\|).*\n?|^#, *fuzzy *\n", re.MULTILINE)
_FUZZY = re.compile(r"^(#,.*?)(?: fuzzy,|, fuzzy\b)", re.MULTILINE)
_OF_A_TRANSLATION = ("language:", "plural-forms:", "last-translator:", "language-team:")


def emptied(content: bytes) -> bytes:
    """A catalogue without its translations, to be filled in another language.

    Comments stay, except the header's, those that say fuzzy, and obsolete entries.

    Raises:
        CatalogueError: as for :func:`read_catalogue`.
    """
    catalogue = read_catalogue(content)
    parts: list[str] = []
    end = 0
    for entry in catalogue.entries:
        first, last = entry.msgstr[0], entry.msgstr[-1]
        if entry.is_header:
            start, text = (
                0,
                'msgid ""\n' + po_string("msgstr", _emptied_header(first.value), 80, "\n"),
            )
        else:
            start = first.start
            text = 'msgstr ""' if entry.msgid_plural is None else 'msgstr[0] ""\nmsgstr[1] ""'
        parts += [_without_states(catalogue.text[end:start]), text]
        end = last.stop
    parts.append(_without_states(catalogue.text[end:]))
    joined = "".join(parts).rstrip("\n") + "\n"
    return catalogue.mark + joined.encode(catalogue.encoding)


def _without_states(text: str) -> str:
    """Text between translations without what belongs to these."""
    return _FUZZY.sub(r"\1", _STATES.sub("", text))


def _emptied_header(value: str) -> str:
    lines = value.split("\n")
    kept = [line for line in lines if not line.lower().startswith(_OF_A_TRANSLATION)]
    return "\n".join(kept)
