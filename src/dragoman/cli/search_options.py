"""Options of search, their settings, and checks that a system's search reads them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli import declare
from dragoman.core.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.saved.system import TranslationSystem
    from dragoman.search import SearchConfig

search_options = declare.options("""
    --beam: 1 <= int -> search.beam
        Beam size; 1 is greedy search.
    --early-end: exact | quick -> search.early_end
        When to end beam search: exact waits until no better hypothesis is possible; quick is faster
        and may miss the best.
    --length-penalty ALPHA: 0 <= number -> search.length_penalty
        Length penalty: 0 favours short translations, 1 long ones.
    --coverage-penalty BETA: 0 <= number -> search.coverage_penalty
        Coverage penalty: above 0, translations that leave out parts of the source score lower.
    --unknown: mark | copy -> search.unknown
        Unknown pieces in translations: mark leaves ⁇; copy replaces each by the source word with
        most attention.
    --degenerate: avoid | keep -> search.degenerate
        Translations that repeat themselves or are far too long: avoid searches again; keep only
        warns.
    --capitals: lower | keep -> search.capitals
        Lines all in capitals: lower translates them in the usual case of their words, and puts the
        translations in capitals; keep translates them as they are.
""")
"""Options of both translating and calibrating: a calibration holds only for the same settings."""
output_options = declare.options("""
    --grammar: any | trees -> search.grammar
        Output of a parser: any sequence of symbols, or only trees over the words.
    --nbest N: 1 <= int -> search.nbest
        Print the N best translations as tab-separated lines: line number, score, text.
""")
"""Options for the possible outputs, and their number."""
sampling_options = declare.options("""
    --sample
        Sample translations instead of searching.
    --temperature: 0 < number -> search.sampling.temperature
        With --sample: below 1 favours likely pieces.
    --top-k K: 1 <= int -> search.sampling.top_k
        With --sample: sample from the K likeliest pieces.
    --top-p P: 0 < number <= 1 -> search.sampling.top_p
        With --sample: sample from the likeliest pieces with total probability P.
    --min-p P: 0 <= number <= 1 -> search.sampling.min_p
        With --sample: never sample pieces of less than P times the likeliest's probability.
    --epsilon P: 0 <= number < 1 -> search.sampling.epsilon
        With --sample or --mbr: never sample pieces of lower probability.  [default: 0, with --mbr
        0.02]
    --seed: 0 <= int -> search.sampling.seed
        With --sample: seed of the samples.
    --mbr N: 2 <= int <= 1000 -> search.mbr.samples
        Minimum Bayes risk: draw N samples, as the options of --sample say, and print the one most
        similar to all of them.
    --utility: chrf | bleu -> search.mbr.utility
        With --mbr: measure of similarity.  [default: chrf]
    --candidates: samples | beam | both -> search.mbr.candidates
        With --mbr: choose among the samples, the hypotheses of beam search, or both.  [default:
        samples]
""")
"""Options for drawing outputs, and for choosing among them."""
buffer_option = declare.options("""
    --buffer-lines N: 1 <= int -> search.buffer_lines
        Number of lines to read before translating; 1 answers each line at once.
""")
_all_options = declare.Options(search_options, output_options, buffer_option, sampling_options)


def given_search(options: dict[str, Any]) -> dict[str, Any]:
    """The search settings that the command line gives; the model's apply to the others."""
    search: dict[str, Any] = _all_options.set_fields(options).get("search", {})
    if options.get("sample"):
        search.setdefault("sampling", {})
    return search


def check_sampling(options: dict[str, Any]) -> None:
    """Check that options of sampling go together."""
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
        where: name of its search settings in errors.
    """
    from dragoman.core.config import parse
    from dragoman.search import SearchConfig
    from dragoman.translation.opening import changed_search

    model = system.models[0]
    saved = parse(SearchConfig, saved_search(model), f"{model}: search")
    if problem := unread(options, changed_search(saved, system.search, where)):
        raise ConfigError(problem)


def check_mbr(given: dict[str, Any] | None, system: TranslationSystem) -> None:
    """Check that options of minimum-Bayes-risk search come with samples to choose from."""
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
    from dragoman.saved.model import config_of

    return config_of(model).search
