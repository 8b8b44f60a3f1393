"""Parallel corpora: where pairs of sentences come from, in whatever format they lie there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from dragoman.core.config import Config
from dragoman.core.errors import DataError
from dragoman.text.lines import COMPRESSIONS, decode_lines, read_lines, stream_lines
from dragoman.text.public_corpora import located
from dragoman.text.readers import Pair, read_jsonl, read_po, read_tmx, read_tsv

__all__ = [
    "CorpusPart",
    "Format",
    "Pair",
    "decode_lines",
    "read_lines",
    "read_pairs",
    "relocate_part",
    "stream_lines",
]

Format = Literal["plain", "tsv", "jsonl", "tmx", "po"]

_SUFFIXES: dict[str, Format] = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".tmx": "tmx",
    ".po": "po",
}


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
    format: Format | None = None
    """The format of the file, where its suffix does not tell."""
    alignments: str | None = None
    """Word alignments of its pairs, for `training.objective: {kind: guided_alignment}`: a file
    that has for the n-th pair the line n, in the format of Pharaoh, `0-0 1-2 2-1`. Words are what
    white space separates in the text as it stands; they count from 0, source first."""

    def conflicts(self) -> Iterator[str]:
        """A format that is not told, or does not go with what is named."""
        try:
            kind = self.kind
        except ValueError as error:
            yield str(error)
            return
        if (kind == "plain") != (self.path is None):
            yield (
                "two plain files are given as source and target without path, "
                "any other format as path"
            )
        elif kind == "po" and (self.source is not None or self.target is not None):
            yield "a PO file has msgid and msgstr; leave source and target out"
        elif kind != "po" and self.target is None:
            what = {"plain": "files", "tsv": "columns", "jsonl": "keys", "tmx": "languages"}[kind]
            yield f"name both source and target: the {what} to read"
        if self.alignments is not None and not self.has_source:
            yield "alignments are of two sides, and there is no source; leave them out"

    @property
    def has_source(self) -> bool:
        """Whether its pairs have a source; where they have none, it is an empty string."""
        return self.source is not None or self.kind == "po"

    def fills(self, pair: Pair) -> bool:
        """Whether every side that this part has says something in ``pair``."""
        return bool(pair.target.strip() and (pair.source.strip() or not self.has_source))

    @property
    def kind(self) -> Format:
        """The format: as given, or told from the suffix."""
        if self.format is not None:
            return self.format
        if self.path is None:
            return "plain"
        path = Path(self.path)
        suffix = path.with_suffix("").suffix if path.suffix in COMPRESSIONS else path.suffix
        if suffix not in _SUFFIXES:
            raise ValueError(
                f"the suffix of {path.name} does not tell its format; set format to tsv, jsonl, "
                "tmx or po, or give two plain files as source and target"
            )
        return _SUFFIXES[suffix]

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
    kind = part.kind
    first, *second = part.files()
    if kind == "po":
        return read_po(first)
    if kind == "plain" and second:
        return _read_plain(first, second[0])
    if kind == "plain":
        return (Pair("", line, number) for number, line in enumerate(read_lines(first), 1))
    assert part.target is not None
    reader = {"tsv": read_tsv, "jsonl": read_jsonl, "tmx": read_tmx}[kind]
    if part.source is None:
        targets = reader(first, part.target, part.target)
        return (pair._replace(source="") for pair in targets)
    return reader(first, part.source, part.target)


def _read_plain(source_path: Path, target_path: Path) -> Iterator[Pair]:
    sources, targets = read_lines(source_path), read_lines(target_path)
    for number, (source, target) in enumerate(zip_longest(sources, targets), 1):
        if source is None or target is None:
            # One side has ended: count what is left of the other, to tell both lengths.
            longer = number + sum(1 for _ in (targets if source is None else sources))
            counts = (number - 1, longer) if source is None else (longer, number - 1)
            raise DataError(
                f"{source_path} has {counts[0]} lines and {target_path} has {counts[1]}; "
                "a line and its translation must have the same number in both"
            )
        yield Pair(source, target, number)
