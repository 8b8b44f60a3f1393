"""The command that aligns the words of parallel text: align."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from dragoman.cli import declare
from dragoman.cli.option_types import PATH
from dragoman.cli.options import (
    check_no_input,
    device_option,
    json_option,
    model_and_files,
    model_language_option,
    output_option,
    pairs_options,
)
from dragoman.cli.translated_lines import write_lines
from dragoman.workflows.progress import counting


@click.command(name="align")
@click.argument("paths", metavar="[MODEL] FILES...", type=PATH, nargs=-1, required=True)
@pairs_options
@model_language_option
@declare.options("""
    --layer N: 1 <= int
        With MODEL: the layer whose attention is read.  [default: the last but one]
    --head N: 1 <= int
        With MODEL: the head of that layer, such as 1 after guided alignment.  [default: mean over
        all]
    --against FILE: PATH
        Compare the links with those in FILE, made by people, and print precision, recall and
        alignment error rate instead; FILE is in the same format, where 1p2 or 1?2 is a possible
        link and 1-2 a sure one.
""")
@output_option
@json_option
@device_option
def align_words(
    paths: tuple[Path, ...],
    output: Path | None,
    against: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Print which words of each pair translate each other, in Pharaoh format: 0-0 1-2 2-1.

    FILES is one file with both sides (TSV with a header, JSONL, TMX, PO, XLIFF) or two plain files,
    source first; words are what stands between spaces, counted from 0.  They are aligned by the
    attention of MODEL, a model or run directory, or, without MODEL, by an aligner that learns from
    FILES alone.
    Each pair gives one line, in order; a pair with an empty side gives an empty one.

    \b
    Examples:
      dragoman align train.en train.de --output train.align
      dragoman align runs/my test.tsv --source en --target de > test.align
      dragoman align runs/my test.en test.de --against test.gold
      dragoman align runs/guided test.en test.de --layer 1 --head 1 --against test.gold
    """
    from dragoman.evaluation.alignment_error import alignment_score
    from dragoman.text.corpora.corpus import read_pairs
    from dragoman.text.word_alignment import ROUNDS
    from dragoman.translation.forced import check_attention
    from dragoman.translation.translator import Translator
    from dragoman.workflows.material import Choice, find_part
    from dragoman.workflows.pair_alignment import (
        attended_links,
        learned_links,
        pharaoh_lines,
        read_gold,
        score_values,
    )
    from dragoman.workflows.results import print_json

    language = options["target_language"]
    model, files = model_and_files(paths, language, options["device"])
    layer, head = options["layer"], options["head"]
    if model is None and (layer or head):
        raise click.UsageError("--layer and --head are of a MODEL; name one in front of FILES")
    if as_json and against is None:
        raise click.UsageError("--json is read with --against; leave it out")
    if output is not None:
        if against is not None:
            raise click.UsageError("--against prints figures; leave out --output, or --against")
        check_no_input(output, files)
    part, _ = find_part(files, Choice(options["source"], options["target"], options["file_format"]))
    text = list(read_pairs(part))
    gold = None if against is None else read_gold(against, text, part.name)
    pairs = [(pair.source, pair.target) for pair in text]
    with ExitStack() as stack:
        if model is None:
            progress = stack.enter_context(counting("aligning", "rounds", 2 * ROUNDS))
            aligned = learned_links(pairs, progress)
        else:
            translator = stack.enter_context(
                Translator.load(model, device=options["device"], target_language=language)
            )
            check_attention(translator.models)
            progress = stack.enter_context(counting("aligning", "pairs", len(pairs)))
            aligned = attended_links(translator, pairs, progress, layer, head)
        if gold is None:
            write_lines(output, pharaoh_lines(aligned))
            return
        score = alignment_score((pair.all for pair in aligned), gold)
    if as_json:
        print_json({"pairs": len(pairs), **score_values(score)})
    else:
        click.echo(
            f"{len(pairs):,} pairs: precision {100 * score.precision:.1f} %, recall "
            f"{100 * score.recall:.1f} %, alignment error rate {100 * score.error_rate:.1f} %"
        )
