"""The command that aligns the words of parallel text: align."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dragoman.apps.cli.options import (
    PATH,
    check_no_input,
    device_option,
    model_and_files,
    model_language_option,
    output_option,
    pairs_options,
)
from dragoman.apps.cli.translated_lines import write_lines
from dragoman.apps.progress import counting


@click.command(name="align")
@click.argument("paths", metavar="[MODEL] FILES...", type=PATH, nargs=-1, required=True)
@pairs_options
@model_language_option
@output_option
@device_option
def align_words(paths: tuple[Path, ...], output: Path | None, **options: Any) -> None:
    """Print which words of each pair translate each other, in Pharaoh format: 0-0 1-2 2-1.

    FILES is one file with both sides (TSV with a header, JSONL, TMX, PO) or two plain files, source
    first; words are what stands between spaces, counted from 0.  They are aligned by the attention
    of MODEL, a model or run directory, or without one by an aligner that learns from FILES alone.
    Each pair gives one line, in order; a pair with an empty side gives an empty one.

    \b
    Examples:
      dragoman align train.en train.de --output train.align
      dragoman align runs/my test.tsv --source en --target de > test.align
    """
    from dragoman.apps.material import Choice, find_part
    from dragoman.apps.pair_alignment import (
        attended_links,
        learned_links,
        pharaoh_lines,
    )
    from dragoman.text.corpus import read_pairs
    from dragoman.text.word_alignment import ROUNDS

    language = options["target_language"]
    model, files = model_and_files(paths, language)
    if output is not None:
        check_no_input(output, files)
    part, _ = find_part(files, Choice(options["source"], options["target"], options["file_format"]))
    pairs = [(one.source, one.target) for one in read_pairs(part)]
    if model is None:
        with counting("aligning", "rounds", 2 * ROUNDS) as progress:
            write_lines(output, pharaoh_lines(learned_links(pairs, progress)))
        return
    from dragoman.translation.forced import check_attention
    from dragoman.translation.translator import Translator

    with Translator.load(model, device=options["device"], target_language=language) as translator:
        check_attention(translator.models)
        with counting("aligning", "pairs", len(pairs)) as progress:
            write_lines(output, pharaoh_lines(attended_links(translator, pairs, progress)))
