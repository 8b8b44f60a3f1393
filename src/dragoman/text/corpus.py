"""Parallel corpora: where pairs of sentences come from, in whatever format they lie there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from dragoman.core.config import Config
from dragoman.text.formats import FORMATS, Format, Pair, format_named, format_of
from dragoman.text.lines import decode_lines, read_lines, stream_lines
from dragoman.text.public_corpora import located

__all__ = [
    "CorpusPart",
    "Pair",
    "decode_lines",
    "read_lines",
    "read_pairs",
    "relocate_part",
    "stream_lines",
]


class CorpusPart(Config):
    """One source of sentence pairs: two plain files, or one file that has both sides.

    Text for a language model is a part that names its target alone.
    """

    path: str | None = None
    """A TSV with a header, JSONL, TMX or PO file. Without it, `source` and `target` are two plain
    files, aligned line by line. What gzip, xz or zstd compressed is recognised. A relative path
    starts at the configuration; `corpora/NAME/FILE` may be of the public corpus NAME."""
    source: str | None = None
    """Column, key or language of the source; without `path`, the file of the source lines. Left
    out where a language model reads the target alone."""
    target: str | None = None
    """The same of the target."""
    weight: float = Field(default=1.0, ge=1e-6, le=1e6)
    """How often an epoch sees each pair: 2 is twice, 0.5 every other epoch. An epoch must see at
    least one pair.  The vocabulary counts it in the same proportion."""
    format: str | None = Field(default=None, examples=list(FORMATS))
    """The format of the file, where its suffix does not tell; installed packages may add others."""

    alignments: str | None = None
    """Word alignments of its pairs, for `training.objective: {kind: guided_alignment}`: a file
    that has for the n-th pair the line n, in the format of Pharaoh, `0-0 1-2 2-1`. Words are what
    white space separates in the text as it stands; they count from 0, source first."""

    @field_validator("format")
    @classmethod
    def _is_known(cls, value: str | None) -> str | None:
        if value is not None:
            format_named(value)
        return value

    def conflicts(self) -> Iterator[str]:
        """A format that is not told, or does not go with what is named."""
        try:
            form = self.file_format
        except ValueError as error:
            yield str(error)
            return
        if form.one_file == (self.path is None):
            yield (
                "two plain files are given as source and target without path, "
                "any other format as path"
            )
        elif form.sides is None and (self.source is not None or self.target is not None):
            yield f"{form.name} files have just two sides; leave source and target out"
        elif form.sides is not None and self.target is None:
            yield f"name both source and target: the {form.sides} to read"
        if self.alignments is not None and not self.has_source:
            yield "alignments are of two sides, and there is no source; leave them out"

    @property
    def has_source(self) -> bool:
        """Whether its pairs have a source; where they have none, it is an empty string."""
        return self.source is not None or self.file_format.sides is None

    def fills(self, pair: Pair) -> bool:
        """Whether every side that this part has says something in ``pair``."""
        return bool(pair.target.strip() and (pair.source.strip() or not self.has_source))

    @property
    def file_format(self) -> Format:
        """The format: as given, or told from the suffix.

        Raises:
            FormatError: neither tells it.
        """
        if self.format is not None:
            return format_named(self.format)
        return FORMATS["plain"] if self.path is None else format_of(Path(self.path))

    @property
    def name(self) -> str:
        """A short label for reports: the file and its folder."""
        first, *second = self.files()
        label = "/".join([first.parent.name, first.name] if first.parent.name else [first.name])
        return " + ".join([label, *(path.name for path in second)])

    def files(self) -> list[Path]:
        """The files that are read: one, or the source's, if there is one, and the target's."""
        names = (self.source, self.target) if self.path is None else (self.path,)
        return [Path(name) for name in names if name is not None]


def relocate_part(values: Any, folder: Path) -> Any:
    """The plain values of a :class:`CorpusPart` with relative paths starting from ``folder``.

    Those that begin with ``corpora/`` may be of public corpora, see
    :func:`dragoman.text.public_corpora.located`.

    What is no such mapping is given back as it is: it is not checked yet.
    """
    if not isinstance(values, dict):
        return values
    keys = ["source", "target"] if values.get("path") is None else ["path"]
    keys.append("alignments")
    files = {key: values[key] for key in keys if isinstance(values.get(key), str)}
    return values | {key: str(located(name, folder)) for key, name in files.items()}


def read_pairs(part: CorpusPart) -> Iterator[Pair]:
    """The pairs of a part, one by one, just as they stand there; empty sides too.

    Memory does not grow with the corpus, but for PO catalogues.

    Raises:
        DataError: a file is missing, empty, damaged, not UTF-8, not of its format, lacks the
            column or language asked for, or two plain files are not equally long.
    """
    sides = part.source or part.target or "", part.target or ""
    pairs = part.file_format.read(part.files(), sides)
    return pairs if part.has_source else (pair._replace(source="") for pair in pairs)
