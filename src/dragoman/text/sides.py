"""Which language a name tells: that of a plain file, or of a side in any other."""

from __future__ import annotations

from pathlib import Path

from babel import Locale, UnknownLocaleError

from dragoman.text.lines import COMPRESSIONS


def language_of_file(path: Path) -> str | None:
    """The suffix of a plain file, such as ``de`` of ``train.de.gz``; None if it has none."""
    plain = path.with_suffix("") if path.suffix in COMPRESSIONS else path
    return plain.suffix[1:] or None


def looks_like_a_language(name: str) -> bool:
    """Whether ``name`` is a tag that Unicode's locale data know, such as ``zh-Hans``."""
    try:
        Locale.parse(name.replace("_", "-"), sep="-")
    except (UnknownLocaleError, ValueError):
        return False
    return True
