"""Options of search that translating and calibrating share: what is calibrated must be the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from dragoman.cli import declare
from dragoman.cli.options import Number

_options = (
    declare.option("--beam", "Beam size; 1 is greedy search.", click.IntRange(min=1)),
    declare.option(
        "--early-end",
        "When to end beam search: exact waits until no better hypothesis is possible; quick "
        "is faster and may miss the best.",
        click.Choice(["exact", "quick"]),
    ),
    declare.option(
        "--length-penalty ALPHA",
        "Length penalty: 0 favours short translations, 1 long ones.",
        Number(min=0),
    ),
    declare.option(
        "--coverage-penalty BETA",
        "Coverage penalty: above 0, translations that leave out parts of the source score lower.",
        Number(min=0),
    ),
    declare.option(
        "--unknown",
        "What becomes of unknown pieces in translations that may have some: mark leaves ⁇; "
        "copy replaces each by the word of the source with most attention.",
        click.Choice(["mark", "copy"]),
    ),
    declare.option(
        "--degenerate",
        "What becomes of translations that repeat themselves or are far too long: avoid "
        "searches again; keep only warns.",
        click.Choice(["avoid", "keep"]),
    ),
)
_NAMES = (
    "beam",
    "early_end",
    "length_penalty",
    "coverage_penalty",
    "unknown",
    "degenerate",
)


def search_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that :func:`given_search` reads to a command."""
    for option in reversed(_options):
        option(command)
    return command


def given_search(options: dict[str, Any]) -> dict[str, Any]:
    """These options as values of SearchConfig; None is left to the model."""
    return {name: options[name] for name in _NAMES}
