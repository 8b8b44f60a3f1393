"""The language of a plain file, from its name."""

from __future__ import annotations

from pathlib import Path

from dragoman.text.lines import COMPRESSIONS


def language_of_file(path: Path) -> str | None:
    """The language suffix of a plain file, such as ``de`` of ``train.de.gz``, or None."""
    plain = path.with_suffix("") if path.suffix in COMPRESSIONS else path
    return plain.suffix[1:] or None
