"""The normal form of all text, in training and in use."""

from __future__ import annotations

import re
import unicodedata

# Control characters other than white space, a byte order mark inside a text, and halves of
# surrogate pairs (JSON can smuggle them in; no UTF-8 can carry them out).
CONTROLS = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufeff\ud800-\udfff]")


def normalize(text: str) -> str:
    """Bring ``text`` into the form that every vocabulary sees, in training and in use.

    Control characters go, the rest is composed (Unicode NFC), and any run of Unicode white
    space becomes one space, none at the ends.  Joiners and direction marks stay: Persian,
    Hebrew and emoji need them.  Normalising twice changes nothing.
    """
    if not text.isascii() or not text.isprintable():
        text = unicodedata.normalize("NFC", CONTROLS.sub("", text))
    return " ".join(text.split())
