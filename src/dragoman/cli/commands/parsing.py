"""The command that parses sentences: parse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.commands.translation import keep_texts, lines_of, shown_progress
from dragoman.cli.option_types import MODEL, PATH
from dragoman.cli.options import device_option, json_option
from dragoman.cli.translated_lines import RefusedLines, write_lines
from dragoman.core.errors import DataError
from dragoman.workflows.results import to_json

if TYPE_CHECKING:
    from dragoman.core.constituency import Tree
    from dragoman.workflows.parsing import ParsedLine

_PICTURE = ".svg"
_MOST_DRAWN = 1000  # trees: all of them are in memory until they are drawn


@click.command()
@click.argument("model", type=MODEL)
@click.argument("file", type=PATH, required=False)
@declare.options("""
    --tokenize
        Split ordinary English text into words first.
    --beam: 1 <= int
        Beam size; 1 is greedy search.
    --nbest N: 1 <= int
        Print the N best trees as tab-separated lines: line number, score, tree.
    --svg PATH: FILE as picture
        Also draw the best trees: all in one picture if PATH ends in .svg, or else one picture per
        line in the new directory PATH.
    --output FILE: OUTPUT
        Write to FILE, which appears once everything is parsed, instead of standard output.
""")
@json_option
@device_option
def parse(
    model: Path,
    file: Path | None,
    picture: Path | None,
    output: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Parse sentences into trees with a MODEL that was trained on trees.

    Each line of FILE, or of standard input, is a sentence of words separated by spaces, as in the
    Penn Treebank; with --tokenize it is ordinary English text.  Each gives one tree in brackets,
    always over exactly its words; a word is tagged XX if MODEL writes no tags.  An empty line gives
    an empty line, and so does one that is too long, with a warning and exit code 3 at the end.

    \b
    Examples:
      echo "The dog barks ." | dragoman parse runs/parser
      echo "It's the dog's." | dragoman parse runs/parser --tokenize --svg dog.svg
      dragoman parse runs/parser test.txt --beam 21 --output test.parsed
      dragoman evaluate test.parsed test.trees --evalb
    """
    from dragoman.saved.system import TranslationSystem
    from dragoman.translation.translator import Translator
    from dragoman.workflows.parsing import check_parser, parse_lines

    inputs = () if file is None else (file,)
    keep_texts(inputs, {"output": output, "svg": picture})
    search = {"grammar": "trees", "beam": options["beam"], "nbest": options["nbest"]}
    given = {name: value for name, value in search.items() if value is not None}
    system = TranslationSystem(models=(model,), search=given, device=options["device"])
    lines, interactive = lines_of(inputs)
    with Translator.of(system) as translator:
        check_parser(translator, model)
        refused, drawn = RefusedLines("parsed", "its tree is left out"), _Drawn(picture)
        several = bool(options["nbest"]) or translator.search.nbest > 1
        with shown_progress(output, interactive, "parsing") as progress:
            parsed = parse_lines(
                translator,
                lines,
                tokenize=options["tokenize"],
                progress=progress,
                buffer_lines=1 if interactive else None,
            )
            parsed = drawn.watch(refused.watch(parsed))
            write_lines(output, _as_json(parsed) if as_json else _as_text(parsed, several))
    drawn.draw()
    refused.conclude()


def _as_json(parsed: Iterable[ParsedLine]) -> Iterator[str]:
    return (to_json(line.to_json()) for line in parsed)


def _as_text(parsed: Iterable[ParsedLine], several: bool) -> Iterator[str]:
    for line in parsed:
        if several:
            for parse in line.parses:
                yield f"{line.number}\t{parse.score:.4f}\t{parse.tree}"
        else:
            yield str(line.parses[0].tree) if line.parses else ""


class _Drawn:
    """Draws the best tree of each line."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._trees: dict[int, Tree] = {}

    def watch(self, parsed: Iterable[ParsedLine]) -> Iterator[ParsedLine]:
        """Pass lines on, and keep their trees if they are to be drawn."""
        for line in parsed:
            if self._path is not None and line.parses:
                self._trees[line.number] = line.parses[0].tree
                if len(self._trees) > _MOST_DRAWN:
                    raise DataError(f"--svg draws at most {_MOST_DRAWN} trees; parse fewer lines")
            yield line

    def draw(self) -> None:
        if self._path is None:
            return
        from dragoman.core.files import atomic_directory, atomic_write
        from dragoman.workflows.reports.tree_picture import tree_picture

        if not self._trees:
            raise DataError("--svg: no line has a tree to draw; give a sentence")
        if self._path.suffix == _PICTURE:
            with atomic_write(self._path) as stream:
                stream.write(tree_picture(list(self._trees.values())))
            return
        names = {number: f"line-{number:05d}{_PICTURE}" for number in self._trees}
        with atomic_directory(self._path, frozenset(names.values())) as directory:
            for number, tree in self._trees.items():
                (directory / names[number]).write_text(tree_picture([tree]), encoding="utf-8")
