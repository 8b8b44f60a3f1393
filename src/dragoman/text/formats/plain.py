"""Two files of lines, aligned by their numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path

from dragoman.core.errors import DataError
from dragoman.text.formats.interface import AddPair, Format, Sides, unwritable
from dragoman.text.lines import line_problem, read_lines, write_text
from dragoman.text.pairs import Pair


class Plain(Format):
    """A file of source lines and one of target lines, or only the latter for language models."""

    name = "plain"
    sides = "files"
    one_file = False

    def read(self, files: Sequence[Path], sides: Sides) -> Iterator[Pair]:
        """Pairs of lines; those of a single file have empty sources.

        Raises:
            DataError: the two files differ in length.
        """
        return aligned(files, read_lines, "line")

    @contextmanager
    def write(self, files: Sequence[Path], sides: Sides) -> Iterator[AddPair]:
        """Writes two files of lines. Each appears whole, one right after the other.

        Raises:
            DataError: in the block: a text has a line break.
        """
        paths = dict(zip(("source", "target"), files, strict=True))
        with write_text(paths["source"]) as sources, write_text(paths["target"]) as targets:
            first = True

            def add(pair: Pair) -> None:
                nonlocal first
                for side, line in (("source", pair.source), ("target", pair.target)):
                    if problem := line_problem(line, first=first):
                        raise unwritable(paths[side], pair, side, problem)
                first = False
                sources.write(f"{pair.source}\n")
                targets.write(f"{pair.target}\n")

            yield add


def aligned(
    files: Sequence[Path], texts_of: Callable[[Path], Iterator[str]], unit: str
) -> Iterator[Pair]:
    """Pairs of the texts of two files with the same number; those of one file have no sources.

    Args:
        files: the source and the target, or only the target.
        texts_of: reads the texts of a file.
        unit: a text in errors, such as ``line``.

    Raises:
        DataError: the two files differ in length.
    """
    if len(files) == 1:
        yield from (Pair("", text, n) for n, text in enumerate(texts_of(files[0]), 1))
        return
    sources, targets = texts_of(files[0]), texts_of(files[1])
    for number, (source, target) in enumerate(zip_longest(sources, targets), 1):
        if source is None or target is None:
            # One side has ended: count the rest of the other, to report both lengths.
            longer = number + sum(1 for _ in (targets if source is None else sources))
            counts = (number - 1, longer) if source is None else (longer, number - 1)
            raise DataError(
                f"{files[0]} has {counts[0]} {unit}s and {files[1]} has {counts[1]}; "
                f"a {unit} and its translation must have the same number in both"
            )
        yield Pair(source, target, number)
