"""The command that labels text: classify."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.commands.translation import keep_texts, lines_of, shown_progress
from dragoman.cli.option_types import MODEL
from dragoman.cli.options import device_option, input_option, json_option, output_option
from dragoman.cli.translated_lines import RefusedLines, write_lines
from dragoman.workflows.results import to_json

if TYPE_CHECKING:
    from dragoman.translation.classification import Labeller, LineLabels


@click.command()
@click.argument("models", metavar="[MODEL]...", type=MODEL, nargs=-1)
@declare.options("""
    --py3langid LANGUAGE,... as languages
        Tell these languages apart, such as de,en,zh-Hans, by py3langid instead of a MODEL.
    --identifier: IDENTIFIER = py3langid
        With --py3langid: another identifier, which an installed package adds.
""")
@input_option
@output_option
@declare.options(
    """
    --nbest N: 1 <= int
        Print the N likeliest labels of each line.  [default: 1]
    --labels
        Print labels alone, without their probabilities.
    """,
    nbest={"default": 1, "show_default": False},
)
@json_option
@device_option
def classify(
    models: tuple[Path, ...],
    inputs: tuple[Path, ...],
    output: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Label lines of text with a MODEL of the family classifier; several form an ensemble.

    Each line gives its likeliest label, a tab and the label's probability.  An empty line gives an
    empty line, and so does one that is too long, with a warning and exit code 3 at the end.

    \b
    Examples:
      dragoman classify runs/languages < input.txt
      dragoman classify runs/languages --nbest 3 < input.txt
      dragoman classify --py3langid de,en,fr < input.txt
      dragoman classify runs/languages --labels --input test.txt --output found.txt
    """
    labels: bool = options["labels"]
    if as_json and labels:
        raise click.UsageError("--json includes the probabilities; leave out --labels")
    keep_texts(inputs, {"output": output})
    classifier = _labeller(models, options["languages"], options["identifier"], options["device"])
    lines, interactive = lines_of(inputs)
    with shown_progress(output, interactive, "labelling") as progress:
        refused = RefusedLines("labelled", "its label is left empty")
        labelled = classifier.stream(
            lines,
            options["nbest"],
            buffer_lines=1 if interactive else None,
            progress=progress or (lambda count: None),
        )
        labelled = refused.watch(labelled)
        write_lines(output, _objects(labelled) if as_json else _formatted(labelled, labels))
    refused.conclude()


def _labeller(
    models: tuple[Path, ...], languages: tuple[str, ...], identifier: str, device: str | None
) -> Labeller:
    from dragoman.translation.classification import Classifier, Identifier

    if bool(languages) == bool(models):
        raise click.UsageError("name a MODEL, or languages with --py3langid")
    if languages and device is not None:
        raise click.UsageError("--device is of a MODEL; leave it out with --py3langid")
    if not languages:
        return Classifier.load(*models, device=device)
    if len(languages) < 2:
        raise click.UsageError(f"--py3langid {languages[0]!r}: name at least two, such as de,en")
    return Identifier(languages, identifier)


def _formatted(labelled: Iterable[LineLabels], labels: bool) -> Iterator[str]:
    """A line for each line: its labels, with their probabilities, separated by tabs."""
    for line in labelled:
        cells = [
            label.label if labels else f"{label.label}\t{label.probability:.4f}"
            for label in line.best
        ]
        yield "\t".join(cells)


def _objects(labelled: Iterable[LineLabels]) -> Iterator[str]:
    """A JSON object for each line, as docs/command-line.md describes it."""
    for number, line in enumerate(labelled, 1):
        labels = [label._asdict() for label in line.best]
        values = {"line": number, "source": line.text, "labels": labels}
        yield to_json({**values, "refused": line.refused})
