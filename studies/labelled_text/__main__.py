"""The command ``python -m studies.labelled_text``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import click

from dragoman.cli.option_types import PATH, Number
from dragoman.cli.options import check_apart, check_no_input, device_option
from dragoman.workflows.progress import counting, quiet_option, tell
from studies.command import StudyCommand


@click.command(
    "labelled_text",
    cls=StudyCommand,
    params=[quiet_option],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.argument("writer", metavar="MODEL", type=PATH)
@click.argument("classifier", metavar="CLASSIFIER", type=PATH)
@click.option(
    "--symbol",
    metavar="SYMBOL",
    required=True,
    help="What MODEL reads: the symbol of a kind of text, such as <news>.",
)
@click.option(
    "--input",
    "real",
    metavar="FILE",
    type=PATH,
    required=True,
    help="Real text of that kind; as many lines are written as it has.",
)
@click.option(
    "--top-p",
    metavar="P",
    type=Number(min=0, max=1, min_open=True),
    default=0.9,
    show_default=True,
    help="Draw from the likeliest pieces that together have this probability.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@click.option("--output", metavar="FILE", type=PATH, help="Write the labels, one in a line.")
@click.option("--texts", metavar="FILE", type=PATH, help="Write the text, too, one in a line.")
@device_option
def labelled_text(
    *,
    writer: Path,
    classifier: Path,
    symbol: str,
    real: Path,
    top_p: float,
    seed: int,
    output: Path | None,
    texts: Path | None,
    device: str | None,
) -> None:
    """Sample text from MODEL, a language model that reads a SYMBOL, and label it by CLASSIFIER.

    If the classifier was trained on real text, the share of lines with the label of the symbol says
    how well the model writes what it is asked for; its accuracy on real text is what to compare it
    with.  Labels are printed with their percentages.

    \b
    Example:
      python -m studies.labelled_text runs/texts runs/kinds --symbol '<wesnoth>' --input game.en
    """
    from dragoman.text.lines import read_lines
    from dragoman.translation.classification import Classifier
    from dragoman.translation.translator import Translator

    for option, file in (("--output", output), ("--texts", texts)):
        if file is not None:
            check_no_input(file, [real], option)
    check_apart(output, texts, "--texts")
    asked = [symbol for _ in read_lines(real)]
    labeller = Classifier.load(classifier, device=device)
    sampling = {"top_p": top_p, "seed": seed}
    model = Translator.load(writer, device=device)
    with model, counting("writing", "lines", len(asked)) as show:
        written = model.translate(asked, sampling=sampling, progress=show)
    # What is empty or too long to be read has no label, and so none that is right.
    found = [one.best[0].label if one.best else "" for one in labeller.stream(written)]
    for label, count in sorted(Counter(found).items()):
        click.echo(f"{label or '(none)':<20} {100 * count / len(found):6.2f}")
    for file, lines in ((output, found), (texts, written)):
        if file is not None:
            _write(file, lines)


def _write(path: Path, lines: Iterable[str]) -> None:
    from dragoman.text.lines import write_text

    with write_text(path) as stream:
        stream.writelines(f"{line}\n" for line in lines)
    tell(f"written: {path}")


if __name__ == "__main__":
    labelled_text()
