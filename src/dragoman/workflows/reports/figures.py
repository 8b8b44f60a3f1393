"""Figures of matplotlib as files, in fonts that have their characters."""

from __future__ import annotations

import io
import logging
import unicodedata
import warnings
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from dragoman.core.errors import MissingExtraError
from dragoman.core.files import atomic_write

try:
    import matplotlib
    from matplotlib import font_manager
    from matplotlib.figure import Figure
    from matplotlib.text import Text
except ImportError as error:
    raise MissingExtraError.of("matplotlib", "matplotlib", "jinja2") from error

log = logging.getLogger(__name__)

_FIRST = "DejaVu Sans"  # it comes with matplotlib
_SHOWN = 5  # characters that are named


def write_picture(figure: Figure, path: Path, *, text_as_paths: bool = False) -> None:
    """Write a figure as PNG or SVG, by the suffix of ``path``."""
    if path.suffix == ".svg":
        content = to_svg(figure, text_as_paths=text_as_paths).encode("utf-8", "replace")
    else:
        content = to_png(figure)
    with atomic_write(path, "wb") as stream:
        stream.write(content)


def to_svg(figure: Figure, *, text_as_paths: bool = False) -> str:
    """The figure as an ``<svg>`` element, identical for identical figures.

    Args:
        text_as_paths: looks the same everywhere but takes more room; otherwise text uses the
            fonts of the page.
    """
    settings: Any = {
        "svg.fonttype": "path" if text_as_paths else "none",
        "svg.hashsalt": "dragoman",
    }
    _take_literally(figure)
    buffer = io.StringIO()
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # Viewers have other fonts. As paths, a missing character is a box.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    return svg[svg.index("<svg") :]


def to_png(figure: Figure) -> bytes:
    """The figure as a PNG file, each character in the first installed font that has it.

    Warns of characters that no font has; they are drawn as boxes.
    """
    _take_literally(figure)
    texts = [one.get_text() for one in figure.findobj(Text)]
    families, missing = fonts_for("".join(texts))
    if missing:
        named = ", ".join(f"{one} (U+{ord(one):04X})" for one in missing[:_SHOWN])
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        log.warning(
            "no font on this machine has %s%s, drawn as boxes; install one that does, such as "
            "Noto Sans CJK (fonts-noto-cjk) for Chinese, Japanese and Korean, or draw an SVG or "
            "HTML file, which the fonts of its reader are used for",
            named,
            more,
        )
    for one in figure.findobj(Text):
        one.set_fontfamily(families)
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        figure.savefig(buffer, format="png", dpi=150, metadata={"Software": None})
    return buffer.getvalue()


def _take_literally(figure: Figure) -> None:
    """Draw dollar signs literally: matplotlib would parse text between two as a formula."""
    for text in figure.findobj(Text):
        text.set_parse_math(False)


def fonts_for(text: str) -> tuple[list[str], list[str]]:
    """Fonts that together cover the characters of a text, and the characters that no font has.

    matplotlib's font comes first, followed by those that cover most of the missing characters.
    """
    missing = {ord(one) for one in text if not unicodedata.category(one).startswith(("C", "Z"))}
    missing -= _characters(font_manager.findfont(_FIRST))
    families = [_FIRST]
    while missing:
        best = max(
            _others(), key=lambda one: (len(missing & _characters(one[1])), one), default=None
        )
        if best is None or not (covered := missing & _characters(best[1])):
            break
        families.append(best[0])
        missing -= covered
    return families, sorted(map(chr, missing))


def _others() -> Iterable[tuple[str, str]]:
    """Name and file of each upright font, sorted."""
    return sorted(
        (font.name, font.fname)
        for font in font_manager.fontManager.ttflist
        if font.style == "normal" and str(font.weight) in {"400", "normal", "regular"}
    )


@cache
def _characters(file: str) -> frozenset[int]:
    """The code points that a font has; none if it cannot be read."""
    try:
        return frozenset(font_manager.get_font(file).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()
