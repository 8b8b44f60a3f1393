"""The results of tuning, for people."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.core.text_tables import terminal_table
from dragoman.workflows.tuning.grid import Values
from dragoman.workflows.tuning.trials import Trial, Tuned


def table(tuned: Tuned) -> str:
    """A row for each setting with its score, the 95 % interval and the time, and the verdict."""
    first = tuned.trials[0]
    keys = list(first.values)
    rows = [[*keys, first.score.name, "seconds", ""]]
    rows += [_cells(trial, tuned) for trial in tuned.trials]
    aligned = terminal_table(rows, "r" * (len(keys) + 2) + "l")
    text = f"{len(tuned.text.references):,} lines of {tuned.text.name} [{first.score.signature}]"
    return "\n".join([text, "", aligned, "", verdict(tuned), *edges(tuned)])


def _cells(trial: Trial, tuned: Tuned) -> list[str]:
    score = trial.score
    margin = "" if score.confidence is None else f" ± {score.confidence.margin:.2f}"
    mark = "as it is" if trial is tuned.trials[0] else ""
    if trial is tuned.best:
        mark = f"{mark}, best".removeprefix(", ")
    values = [str(value) for value in trial.values.values()]
    return [*values, f"{score.value:.2f}{margin}", f"{trial.seconds:.1f}", mark]


def verdict(tuned: Tuned) -> str:
    """The best setting, and whether the difference is more than chance."""
    if tuned.comparison is None:
        return "Best: the present settings"
    chance = "" if tuned.comparison.is_significant() else ", which may be chance"
    name = tuned.best.score.name
    return (
        f"Best: {described(tuned.best.values)}: {tuned.comparison.difference:+.2f} {name} "
        f"(p = {tuned.comparison.p_value:.4f}{chance})\n"
        "It was chosen on these very lines, so its advantage elsewhere is smaller: confirm it on a "
        "test set"
    )


def edges(tuned: Tuned) -> Iterator[str]:
    """The best settings that are the largest or smallest of three or more values tried."""
    for key, value in tuned.best.values.items():
        tried = {trial.values[key] for trial in tuned.trials}
        if len(tried) < 3 or any(type(one) not in {int, float} for one in tried):
            continue
        if value == max(tried):
            yield f"{key}={value} is the largest that was tried; try larger ones, too"
        elif value == min(tried) > 0:
            yield f"{key}={value} is the smallest that was tried; try smaller ones, too"


def described(values: Values) -> str:
    """Settings in words, such as ``search.beam=8``."""
    return " ".join(f"{key}={value}" for key, value in values.items())
