"""Pages, pictures and logs of runs, with Jinja2, matplotlib and TensorBoard."""

from __future__ import annotations

import re

# Control characters, halves of surrogate pairs (bytes of a file name that is no UTF-8 are such
# halves in Python) and what is no character: XML 1.0 has none of them, so that no viewer would
# open an SVG with one, and fonts have none.
_NO_CHARACTER = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_REPLACEMENT = "\ufffd"


def plain(text: str) -> str:
    """``text``, with a replacement for each character that pictures cannot have.

    Names of files and words may hold any characters.
    """
    return _NO_CHARACTER.sub(_REPLACEMENT, text)
