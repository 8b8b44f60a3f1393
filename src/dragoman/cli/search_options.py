"""Options of search, their settings, and checks that a system's search reads them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.options import Number
from dragoman.core.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.saved.system import TranslationSystem
    from dragoman.search import SearchConfig

search_options = declare.Options(
    declare.option(
        "--beam", "Beam size; 1 is greedy search.", click.IntRange(min=1), sets="search.beam"
    ),
    declare.option(
        "--early-end",
        "When to end beam search: exact waits until no better hypothesis is possible; quick "
        "is faster and may miss the best.",
        click.Choice(["exact", "quick"]),
        sets="search.early_end",
    ),
    declare.option(
        "--length-penalty ALPHA",
        "Length penalty: 0 favours short translations, 1 long ones.",
        Number(min=0),
        sets="search.length_penalty",
    ),
    declare.option(
        "--coverage-penalty BETA",
        "Coverage penalty: above 0, translations that leave out parts of the source score lower.",
        Number(min=0),
        sets="search.coverage_penalty",
    ),
    declare.option(
        "--unknown",
        "What becomes of unknown pieces in translations that may have some: mark leaves ⁇; "
        "copy replaces each by the word of the source with most attention.",
        click.Choice(["mark", "copy"]),
        sets="search.unknown",
    ),
    declare.option(
        "--degenerate",
        "What becomes of translations that repeat themselves or are far too long: avoid "
        "searches again; keep only warns.",
        click.Choice(["avoid", "keep"]),
        sets="search.degenerate",
    ),
)
"""Options of both translating and calibrating: a calibration holds only for the same settings."""
output_options = declare.Options(
    declare.option(
        "--grammar",
        "What a parser may write: any sequence of symbols, or only trees over the words.",
        click.Choice(["any", "trees"]),
        sets="search.grammar",
    ),
    declare.option(
        "--nbest N",
        "Print the N best translations as tab-separated lines: line number, score, text.",
        click.IntRange(min=1),
        sets="search.nbest",
    ),
)
"""Options for the possible outputs, and their number."""
sampling_options = declare.Options(
    declare.flag("--sample", "Sample translations instead of searching."),
    declare.option(
        "--temperature",
        "With --sample: below 1 favours likely pieces.",
        Number(min=0, min_open=True),
        sets="search.sampling.temperature",
    ),
    declare.option(
        "--top-k K",
        "With --sample: sample from the K likeliest pieces.",
        click.IntRange(min=1),
        sets="search.sampling.top_k",
    ),
    declare.option(
        "--top-p P",
        "With --sample: sample from the likeliest pieces with total probability P.",
        Number(0, 1, min_open=True),
        sets="search.sampling.top_p",
    ),
    declare.option(
        "--min-p P",
        "With --sample: never sample pieces of less than P times the likeliest's probability.",
        Number(0, 1),
        sets="search.sampling.min_p",
    ),
    declare.option(
        "--epsilon P",
        "With --sample or --mbr: never sample pieces of lower probability.  [default: 0, with "
        "--mbr 0.02]",
        Number(0, 1, max_open=True),
        sets="search.sampling.epsilon",
    ),
    declare.option(
        "--seed",
        "With --sample: seed of the samples.",
        click.IntRange(min=0),
        sets="search.sampling.seed",
    ),
    declare.option(
        "--mbr N",
        "Minimum Bayes risk: draw N samples, and print the one most similar to all of them; the "
        "options of --sample say how they are drawn.",
        click.IntRange(2, 1000),
        sets="search.mbr.samples",
    ),
    declare.option(
        "--utility",
        "With --mbr: measure of similarity.  [default: chrf]",
        click.Choice(["chrf", "bleu"]),
        sets="search.mbr.utility",
    ),
    declare.option(
        "--candidates",
        "With --mbr: choose among the samples, the hypotheses of beam search, or both.  [default: "
        "samples]",
        click.Choice(["samples", "beam", "both"]),
        sets="search.mbr.candidates",
    ),
)
"""Options for drawing outputs, and for choosing among them."""
buffer_option = declare.option(
    "--buffer-lines N",
    "Number of lines to read before translating; 1 answers each line at once.",
    click.IntRange(min=1),
    sets="search.buffer_lines",
)
_all_options = declare.Options(search_options, output_options, buffer_option, sampling_options)


def given_search(options: dict[str, Any]) -> dict[str, Any]:
    """The search settings that the command line gives; the model's apply to the others."""
    search: dict[str, Any] = _all_options.set_fields(options).get("search", {})
    if options.get("sample"):
        search.setdefault("sampling", {})
    return search


def check_sampling(options: dict[str, Any]) -> None:
    """Check that options of sampling go together.

    Raises:
        ConfigError: they do not.
    """
    if options["sample"] and options["beam"]:
        raise ConfigError("--beam and --sample exclude each other; leave one of them out")
    if options["sample"] and options["mbr"]:
        raise ConfigError(
            "--sample prints samples, and --mbr chooses among them; leave one of them out"
        )


_OF_BEAMS = ("beam", "early_end")


def check_read(options: dict[str, Any], system: TranslationSystem, where: str) -> None:
    """Check that a system's search reads the options of search, before a model is loaded.

    Args:
        options: of the command line.
        system: that they describe.
        where: name of its search settings in errors.

    Raises:
        ConfigError: the search does not read an option.
    """
    from dragoman.core.config import parse
    from dragoman.search import SearchConfig
    from dragoman.translation.opening import changed_search

    model = system.models[0]
    saved = parse(SearchConfig, saved_search(model), f"{model}: search")
    if problem := unread(options, changed_search(saved, system.search, where)):
        raise ConfigError(problem)


def check_mbr(given: dict[str, Any] | None, system: TranslationSystem) -> None:
    """Check that options of minimum-Bayes-risk search come with samples to choose from.

    Raises:
        ConfigError: neither an option nor the model sets samples.
    """
    if not given or "samples" in given or isinstance(system.search["mbr"].get("samples"), int):
        return
    if not isinstance(saved_search(system.models[0]).get("mbr"), dict):
        flag = f"--{next(iter(given))}"
        raise ConfigError(f"{flag} needs --mbr; add it, or leave out {flag}")


def unread(options: dict[str, Any], search: SearchConfig) -> str | None:
    """The first option that a search does not read, with a remedy; None if it reads all."""
    of_beams = [f"--{name.replace('_', '-')}" for name in _OF_BEAMS if options.get(name)]
    if search.mbr is not None:
        if options.get("sample"):
            return "--sample: this system chooses among samples (mbr); leave it out"
        if of_beams and search.mbr.candidates == "samples":
            remedy = "leave it out, or add --candidates both"
            return f"{of_beams[0]}: --mbr chooses among samples; {remedy}"
    elif of_beams and search.sampling is not None:
        return f"{of_beams[0]}: this system samples; leave it out"
    return None


def draws(search: object) -> bool:
    """Whether search settings draw samples."""
    return isinstance(search, dict) and any(
        isinstance(search.get(name), dict) for name in ("sampling", "mbr")
    )


def saved_search(model: Path) -> dict[str, Any]:
    """The search settings of a model."""
    from dragoman.saved.model import CONFIG_FILE, home_of, model_directory, read_config

    return read_config(home_of(model_directory(model)) / CONFIG_FILE).search
