"""Two files of lines, aligned by their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
        if len(files) == 1:
            yield from (Pair("", line, n) for n, line in enumerate(read_lines(files[0]), 1))
            return
        sources, targets = read_lines(files[0]), read_lines(files[1])
        for number, (source, target) in enumerate(zip_longest(sources, targets), 1):
            if source is None or target is None:
                # One side has ended: count the rest of the other, to report both lengths.
                longer = number + sum(1 for _ in (targets if source is None else sources))
                counts = (number - 1, longer) if source is None else (longer, number - 1)
                raise DataError(
                    f"{files[0]} has {counts[0]} lines and {files[1]} has {counts[1]}; "
                    "a line and its translation must have the same number in both"
                )
            yield Pair(source, target, number)

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
