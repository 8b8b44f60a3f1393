"""Where lines of the site must not break: browsers break after hyphens and at every space."""

from __future__ import annotations

import re

_PIECE = re.compile(r"(<pre\b.*?</pre>|<code>[^<]*</code>|<[^>]*>)", re.DOTALL)
_OPTION = re.compile(r"(?<![^\s>])-[\w-]+")
_PERCENT = re.compile(r"(?<=\d) (?=%)")
_INTERVAL = re.compile(r"(\[[+-]?[\d.]+,) (?=[+-]?[\d.]+\])")
_NO_BREAK = "\u00a0"


def whole(html: str) -> str:
    """A page in which ``--options``, ``40 %`` and ``[+0.2, +1.4]`` stay on one line.

    Blocks of code, which scroll, stay as they are.
    """
    return "".join(map(_whole_piece, _PIECE.split(html)))


def _whole_piece(piece: str) -> str:
    if piece.startswith("<code>"):
        return _OPTION.sub(r'<span class="whole">\g<0></span>', piece)
    if piece.startswith("<"):
        return piece
    return _INTERVAL.sub(rf"\1{_NO_BREAK}", _PERCENT.sub(_NO_BREAK, piece))
