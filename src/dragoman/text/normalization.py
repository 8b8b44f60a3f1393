"""The normal form of all text, in training and in use."""

from __future__ import annotations

import re
import unicodedata

import regex

from dragoman.core.unseen import UNSEEN, without_unseen

# Control characters other than white space, a byte order mark inside a text, and halves of
# surrogate pairs (JSON can smuggle them in; no UTF-8 can carry them out).
CONTROLS = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufeff\ud800-\udfff]")
_MOST_MARKS = 500
_RUN_OF_MARKS = regex.compile(rf"(\p{{M}}{{{_MOST_MARKS},}})")


def normalize(text: str) -> str:
    """``text`` in the form that every vocabulary sees, in training and in use.

    Control characters are removed, and so are invisible ones, except where the writing needs them
    (:mod:`dragoman.core.unseen`), such as joiners in Persian and emoji.  The rest is composed
    (Unicode NFC), and any run of Unicode white space becomes one space, with none at the ends.
    Runs of 500 combining marks are not writing, and stay unchanged.  Normalising twice changes
    nothing.
    """
    if not text.isascii() or not text.isprintable():
        text = _composed(CONTROLS.sub("", text))
        while UNSEEN.search(text) and (seen := _composed(without_unseen(text))) != text:
            text = seen  # composed text may need fewer of them
    return " ".join(text.split())


def _composed(text: str) -> str:
    """``text`` in NFC except for long runs of marks, whose sorting takes quadratic time."""
    if len(text) < _MOST_MARKS:
        return unicodedata.normalize("NFC", text)
    parts = _RUN_OF_MARKS.split(text)
    parts[::2] = [unicodedata.normalize("NFC", part) for part in parts[::2]]
    return "".join(parts)
