"""The command ``python -m studies.heads_and_syntax``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dragoman.cli.option_types import PATH
from dragoman.cli.options import device_option, json_option
from dragoman.workflows.progress import counting, quiet_option, tell
from dragoman.workflows.results import print_json
from studies.command import StudyCommand

if TYPE_CHECKING:
    from dragoman.saved.saved_config import SavedModel


@click.command(
    "heads_and_syntax",
    cls=StudyCommand,
    params=[quiet_option],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.argument("model", type=PATH)
@click.argument("treebank", type=PATH)
@click.option(
    "--output",
    metavar="DIRECTORY",
    type=PATH,
    help="Write heads.json, heads.md and pictures of the clearest heads there.",
)
@json_option
@device_option
def heads_and_syntax(
    model: Path, treebank: Path, output: Path | None, as_json: bool, device: str | None
) -> None:
    """Compare the attention of MODEL's encoder with the trees of TREEBANK.

    MODEL is a Transformer: a parser, or a translation model from the language of the trees.  Give
    trees that it was not trained on.

    \b
    Example:
      python -m studies.heads_and_syntax runs/parser test.trees.gz --output heads
    """
    from dragoman.core.device import find_device
    from dragoman.core.errors import DataError
    from dragoman.saved.model import load_model
    from studies.chart_parser.parser import read_treebank
    from studies.heads_and_syntax.agreement import agreement
    from studies.heads_and_syntax.attention import between_words
    from studies.heads_and_syntax.head_rules import syntax
    from studies.heads_and_syntax.page import tables, write

    if output is not None:
        import dragoman.workflows.reports.plots  # noqa: F401 - reports a missing package at once
    sentences = [one for tree in read_treebank(treebank) if len((one := syntax(tree)).words) > 1]
    saved = load_model(model, find_device(device))
    spelled = _spelling(saved)
    weights, read = [], []
    with counting("reading", "sentences", len(sentences)) as show:
        for number, sentence in enumerate(sentences, 1):
            found = between_words(saved, [spelled.get(word, word) for word in sentence.words])
            if found is not None:
                weights.append(found)
                read.append(sentence)
            show(number)
    if not read:
        raise DataError(f"{treebank}: the model reads none of its sentences word by word")
    result = agreement(weights, read)
    left_out = len(sentences) - len(read)
    if as_json:
        print_json({**result.values(), "left_out": left_out})
    else:
        click.echo(tables(result))
    if left_out:
        tell(f"left out: {left_out} sentences that are too long or whose words it reads otherwise")
    if output is not None:
        write(output, result, weights, read)
        tell(f"written: {output / 'heads.md'}, heads.json and pictures")


def _spelling(saved: SavedModel) -> dict[str, str]:
    """How a model knows words that treebanks write in their own way: parsers know them so."""
    from dragoman.core.errors import ConfigError
    from dragoman.search.tree_grammar import TreeSymbols

    try:
        TreeSymbols.of(saved.vocabularies)
    except ConfigError:
        brackets = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]"}
        return {**brackets, "-LCB-": "{", "-RCB-": "}", "``": '"', "''": '"'}
    return {}


if __name__ == "__main__":
    heads_and_syntax()
