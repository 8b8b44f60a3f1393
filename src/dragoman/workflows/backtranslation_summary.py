"""The effect of back-translation: scores by round, beside those of real pairs alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dragoman.core.errors import ConfigError, SavedError
from dragoman.core.text_tables import terminal_table
from dragoman.run.scores_file import read_scores
from dragoman.saved.model import MODEL_DIRECTORY
from dragoman.techniques.backtranslation.rounds import BackTranslation
from dragoman.text.examples import Direction
from dragoman.validation import Report, figures

BASELINE = "real pairs alone"


def baseline_scores(run: Path, direction: Direction) -> dict[str, Report]:
    """The scores of a finished run of the recipe, without synthetic pairs."""
    if not run.is_dir():
        raise SavedError(f"--baseline {run}: no such run")
    scores = read_scores(run)
    wanted = direction.source_language, direction.target_language
    for name, report in scores.items():
        languages = report.get("source_language"), report.get("target_language")
        if None not in languages and languages != wanted:  # an older run names none
            raise ConfigError(
                f"--baseline {run}: {name} is {'-'.join(map(str, languages))} there, and the "
                f"recipe is {'-'.join(wanted)}; name a run of the recipe itself"
            )
    return scores


def to_json(result: BackTranslation, baseline: Mapping[str, Report] | None) -> dict[str, Any]:
    """Everything as plain values, including the settings."""
    plan = result.plan
    return {
        "directory": str(plan.directory),
        "model": str(result.rounds[-1].forward / MODEL_DIRECTORY),
        "settings": plan.settings.model_dump(mode="json"),
        "real_pairs": result.real_pairs,
        "baseline": None if baseline is None else dict(baseline),
        "rounds": [
            {
                "round": each.number,
                "reverse": None if each.reverse is None else str(each.reverse),
                "forward": str(each.forward),
                "synthetic": asdict(each.synthetic),
                "reverse_synthetic": (
                    None if each.reverse_synthetic is None else asdict(each.reverse_synthetic)
                ),
                "scores": read_scores(each.forward),
            }
            for each in result.rounds
        ],
    }


def table(result: BackTranslation, baseline: Mapping[str, Report] | None) -> str:
    """A line per set and metric, a column per round."""
    columns = {} if baseline is None else {BASELINE: baseline}
    columns |= {f"round {each.number}": read_scores(each.forward) for each in result.rounds}
    rows = [["", "", *columns]]
    last = read_scores(result.rounds[-1].forward)
    for name, report in last.items():
        for metric in figures(report):
            cells = [_cell(scores, name, metric) for scores in columns.values()]
            rows.append([name, metric, *cells])
    counts = [f"{each.synthetic.kept:,}" for each in result.rounds]
    rows.append(["", "synthetic pairs", *(["0"] if baseline is not None else []), *counts])
    aligned = terminal_table(rows, "ll" + "r" * len(columns))
    return f"{result.real_pairs:,} real pairs\n\n{aligned}"


def _cell(scores: Mapping[str, Report], name: str, metric: str) -> str:
    """A figure; empty if these scores lack it."""
    value = figures(scores[name]).get(metric) if name in scores else None
    return "" if value is None else f"{value:.2f}"
