"""Checks of the scores: whether they can be computed here, and are meaningful."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dragoman.apps.doctor.findings import Finding, error, warning
from dragoman.apps.doctor.text_checks import Texts
from dragoman.core.errors import ConfigError, MissingExtraError
from dragoman.evaluation.metrics import check_installed, installing
from dragoman.evaluation.tokenizers import best_tokenizer, suitable_tokenizers
from dragoman.recipe import ExperimentConfig
from dragoman.text.scripts import script_shares

_BY_SPACES = {"13a", "intl"}


def check_scores(config: ExperimentConfig, texts: Texts) -> Iterator[Finding]:
    """Check that packages for scores are installed, and that BLEU finds words in the target."""
    try:
        for evaluation in config.evaluations():
            check_installed(evaluation)
    except (ConfigError, MissingExtraError) as problem:
        yield error("evaluation", str(problem))
    tokenizer = config.evaluation.bleu_tokenize
    if "bleu" not in config.evaluation.metrics or tokenizer not in _BY_SPACES:
        return
    characters = Counter("".join(pair.target for pairs in texts.dev.values() for pair in pairs))
    scripts = script_shares(characters)
    wanted = suitable_tokenizers(scripts)
    if not wanted:
        return
    best = best_tokenizer(scripts)
    others = "" if best == wanted[0] else f"; {wanted[0]} is usual, after {installing(wanted[0])}"
    yield warning(
        "evaluation",
        f"BLEU with bleu_tokenize: {tokenizer} finds hardly any words in {next(iter(scripts))} "
        f"script, so it is low even for good translations; set evaluation.bleu_tokenize: "
        f"{best}{others}",
    )
