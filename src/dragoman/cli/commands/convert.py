"""The command ``dragoman convert``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.option_types import PATH
from dragoman.cli.options import json_option, refuse_options
from dragoman.cli.reviewed_documents import holds_document, write_reviewed
from dragoman.core.claims import new_outputs
from dragoman.core.errors import ConfigError, DataError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dragoman.text.corpora.corpus_part import CorpusPart
    from dragoman.text.formats import Format, Sides
    from dragoman.workflows.material import Choice

_TOLD_PAIRS = 1000  # between two updates of the bar


@click.command()
@click.argument("paths", metavar="INPUT... OUTPUT...", type=PATH, nargs=-1, required=True)
@declare.options(
    """
    --source: text
        Column, key or language of the source in INPUT.
    --target: text
        Column, key or language of the target in INPUT.
    --format: FORMAT
        Format of INPUT, if the suffix does not determine it.
    --output-format: FORMAT
        Format of OUTPUT, if the suffix does not determine it.
    --changed-from EARLIER: PATH as before
        Write only corrections and additions of reviewers: pairs that this earlier state of INPUT
        does not have, reviewed or not.
    --names: text
        Names of the columns or keys in OUTPUT.  [default: the languages of INPUT]
    """,
    names={"metavar": "SOURCE TARGET", "nargs": 2},
)
@json_option
def convert(
    paths: tuple[Path, ...],
    output_format: str | None,
    names: Sides | None,
    before: Path | None,
    as_json: bool,
    **choices: Any,
) -> None:
    """Convert the pairs of INPUT to the format of OUTPUT, or a reviewed file to its document.

    INPUT is one file with both sides (TSV with a header, JSONL, TMX, PO, XLIFF), two plain files,
    source first, or the folder of a project; OUTPUT is one file, TSV or JSONL, or two plain ones.
    All pairs are written unchanged and in order, empty ones too.  The suffix .gz, .xz or .zst
    compresses OUTPUT.
    Existing files are never replaced.

    An INPUT of 'dragoman translate --to-format xliff' whose document has the suffix of OUTPUT gives
    this document, translated as the reviewers have left it.

    \b
    Examples:
      dragoman convert memory.tmx train.tsv --source en --target de
      dragoman convert train.en.gz train.de.gz train.jsonl
      dragoman convert train.jsonl.zst train.en train.de --source translation.en \\
        --target translation.de
      dragoman convert de.po de.tsv.gz --names en de
      dragoman convert report.de.md.xlf report.de.md
      dragoman convert de.po corrections.tsv --changed-from de-by-machine.po
    """
    from dragoman.workflows.material import Choice
    from dragoman.workflows.pile import find_parts
    from dragoman.workflows.progress import tell
    from dragoman.workflows.results import print_json

    if output_format is None and holds_document(paths):
        given = choices | {"names": names, "before": before}
        refuse_options(given, given, "{option} is for pairs, not for a document; leave it out")
        write_reviewed(*paths, as_json=as_json)
        return
    form, outputs = _outputs(paths, output_format)
    if names and not form.names_sides:
        raise ConfigError(f"--names: a {form.name} file has no names for its sides; leave it out")
    files = [path for path in outputs if not _is_device(path)]
    with new_outputs(files, "move it away or name another output file"):
        parts, languages = find_parts(paths[: -len(outputs)], Choice(**choices))
        sides = names or languages
        known = set() if before is None else _all_pairs(before, Choice(*languages))
        count = _write(parts, form, outputs, sides, known)
    written = " and ".join(map(str, outputs))
    if as_json:
        print_json(
            {
                "output": [str(path) for path in outputs],
                "format": form.name,
                "sides": list(sides),
                "pairs": count,
            }
        )
    else:
        tell(f"{count:,} pairs of {sides[0]} and {sides[1]} written to {written}")


def _outputs(paths: Sequence[Path], output_format: str | None) -> tuple[Format, Sequence[Path]]:
    """The format to write, and its files among ``paths``: the last, or the last two."""
    from dragoman.text.formats import FORMATS, FormatError, format_named, format_of

    told: list[Format | None] = []
    for path in paths[-2:]:
        try:
            told.append(format_of(path))
        except FormatError:
            told.append(None)  # as of plain files
    form = format_named(output_format) if output_format else told[-1] or FORMATS["plain"]
    outputs = paths[-1:] if form.one_file else paths[-2:]
    if len(paths) <= len(outputs) or (not form.one_file and not output_format and any(told)):
        raise ConfigError(
            f"{paths[-1]}: name the input and then the output: one file with a suffix such "
            "as .tsv or .jsonl (or any with --output-format), or two plain files, source first"
        )
    if len(set(outputs)) < len(outputs):
        raise ConfigError(f"{outputs[0]}: named for both sides; name two files")
    return form, outputs


def _is_device(path: Path) -> bool:
    """Whether it is a device or a pipe, such as ``/dev/stdout``, with nothing to overwrite."""
    return path.exists() and not (path.is_file() or path.is_dir())


def _all_pairs(path: Path, choice: Choice) -> set[tuple[str, str]]:
    """The pairs of a file or folder, also those that are not reviewed."""
    from dragoman.text.corpora.corpus import read_pairs
    from dragoman.workflows.pile import find_parts

    parts, _ = find_parts([path], choice, unreviewed=True)
    return {(pair.source, pair.target) for part in parts for pair in read_pairs(part)}


def _write(
    parts: Sequence[CorpusPart],
    form: Format,
    outputs: Sequence[Path],
    sides: Sides,
    known: Collection[tuple[str, str]],
) -> int:
    from dragoman.text.corpora.corpus import read_pairs
    from dragoman.workflows.progress import counting

    count = 0
    pairs = (pair for part in parts for pair in read_pairs(part))
    with form.write(outputs, sides) as add, counting("converting", "pairs") as show:
        for pair in pairs:
            if pair[:2] in known:
                continue
            add(pair)
            count += 1
            if count % _TOLD_PAIRS == 0:
                show(count)
        if not count:
            name = parts[0].name
            if known:
                raise DataError(f"{name}: no pair has changed; there is nothing to write")
            raise DataError(f"{name}: no pairs; give a file with pairs")
    return count
