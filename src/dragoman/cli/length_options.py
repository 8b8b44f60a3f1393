"""The table that ``evaluate --by-length`` adds: a score for each group of sentences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.options import input_lines

if TYPE_CHECKING:
    from dragoman.evaluation.metrics import EvaluationConfig, SourceSide
    from dragoman.workflows.reports.score_tables import LengthReport


def check_by_length(options: dict[str, Any]) -> None:
    """Refuse invalid options of the report for --by-length, before anything is read or scored."""
    if options["sources"] is None:
        if any(options[name] for name in ("beside", "bounds", "vocabulary", "picture")):
            raise click.UsageError(
                "--beside, --bounds, --pieces and --picture need --by-length; add it"
            )
        return
    if options["picture"]:
        if options["picture"].suffix != ".svg":
            raise click.UsageError(
                f"--picture {options['picture']}: pictures are SVG; name it FILE.svg"
            )
        import dragoman.workflows.reports.plots  # noqa: F401 - reports a missing package at once


def by_length(
    translations: dict[Path, list[str]],
    references: list[list[str]],
    config: EvaluationConfig,
    options: dict[str, Any],
    source: SourceSide | None,
) -> LengthReport | None:
    """The report for --by-length, drawn if --picture is given."""
    if options["sources"] is None:
        return None
    from dragoman.evaluation.lengths import score_by_length
    from dragoman.text.lines import read_lines
    from dragoman.workflows.reports.score_tables import LengthReport, source_lengths, system_names

    others = {path: list(input_lines((path,))) for path in options["beside"]}
    translations = translations | others
    systems = dict(zip(system_names(list(translations)), translations.values(), strict=True))
    lengths = source_lengths(list(read_lines(options["sources"])), options["vocabulary"])
    bounds = options["bounds"]
    buckets = score_by_length(lengths, systems, references, config, bounds, source=source)
    report = LengthReport("pieces" if options["vocabulary"] else "words", buckets)
    if options["picture"]:
        report.draw(options["picture"])
    return report
