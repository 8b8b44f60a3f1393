"""The command that cuts short segments out of the training text: segments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.options import check_no_input, config_argument, json_option, set_option
from dragoman.cli.translated_lines import write_lines
from dragoman.core.errors import ConfigError
from dragoman.workflows.progress import counting, tell
from dragoman.workflows.results import print_json

if TYPE_CHECKING:
    from dragoman.recipe import ExperimentConfig
    from dragoman.text.corpora.corpus_part import CorpusPart


@click.command()
@config_argument
@declare.options("""
    --output FILE: OUTPUT
        Write the segments to FILE instead of standard output.
""")
@set_option
@declare.options("""
    --maximum-words N: 1 <= int <= 10 = 4
        Maximum words of a segment.
    --minimum-count N: 1 <= int = 2
        Minimum occurrences of a segment with its translation.
    --minimum-share SHARE: 0 <= number <= 1 = 0.1
        Leave out translations that have a smaller share of the occurrences of their segment.
""")
@json_option
def segments(
    config: Path,
    output: Path | None,
    settings: tuple[str, ...],
    as_json: bool,
    **limits: Any,
) -> None:
    """Cut words and phrases with their translations out of the training text of CONFIG.

    Words are aligned by an aligner that learns from that text alone.  FILE is a table of sources
    and targets, the most frequent first; check it, and name it in a transform of a training part:
    {kind: segment, segments: FILE}.  --json counts them, and needs a FILE for the segments.

    \b
    Example:
      dragoman segments my.yaml --output segments.tsv
    """
    from dragoman.core.errors import DataError
    from dragoman.recipe import read_experiment
    from dragoman.text.segments import SegmentLimits, extract_segments, segment_lines
    from dragoman.text.word_alignment import ROUNDS
    from dragoman.workflows.candidate_glossary import aligned_alone, read_words

    if as_json and output is None:
        raise click.UsageError("--json counts the segments; name a file for them by --output")
    described = read_experiment(config, settings)
    parts = _parts(described, config)
    texts = [*(part for _, part in described.parts()), *described.data.held_out]
    if output is not None:
        check_no_input(output, [config, *(file for part in texts for file in part.files())])
    corpus = read_words(_pairs(described, parts), str(config))
    with counting("aligning", "rounds", 2 * ROUNDS) as progress:
        aligned = aligned_alone(corpus, progress)
    extracted = extract_segments(
        corpus.lines,
        corpus.words,
        aligned,
        language=parts[0].direction.source_language,
        limits=SegmentLimits(**limits),
    )
    if not extracted:
        raise DataError(
            f"{config}: no segment occurs {limits['minimum_count']} times in "
            f"{len(corpus.lines):,} pairs; lower --minimum-count, or name more text"
        )
    write_lines(output, segment_lines(extracted))
    left_out = f"; {corpus.left_out:,} left out" if corpus.left_out else ""
    place = "" if output is None else f": {output}"
    tell(f"{len(extracted):,} segments from {len(corpus.lines):,} pairs{left_out}{place}")
    if as_json:
        print_json(
            {
                "output": str(output),
                "pairs": len(corpus.lines),
                "pairs_left_out": corpus.left_out,
                "segments": len(extracted),
                "single_words": sum(" " not in source for source, _ in extracted),
            }
        )


def _parts(described: ExperimentConfig, config: Path) -> list[CorpusPart]:
    """The training parts that translate, all in one direction."""
    parts = [
        part
        for part in described.train_parts()
        if part.has_source and part.direction.source_language != part.direction.target_language
    ]
    names = list(dict.fromkeys(part.direction.name for part in parts))
    if not names:
        raise ConfigError(f"{config}: data.train has no pairs to cut segments out of")
    if len(names) > 1:
        raise ConfigError(
            f"{config}: segments are of one direction, and data.train has {', '.join(names)}; give "
            "a configuration of the parts of one of them"
        )
    return parts


def _pairs(described: ExperimentConfig, parts: list[CorpusPart]) -> Iterator[tuple[str, str]]:
    """The cleaned pairs, without those of dev and test sets."""
    from dragoman.text.corpora.cleaning import clean_part
    from dragoman.text.corpora.cleaning_report import CleaningReport

    report = CleaningReport()
    held_out = described.held_out(described.data.never_trained_on)
    for part in parts:
        for example in clean_part(part, described.cleaning, report, held_out=held_out):
            yield example.source, example.target
