"""Checks that scores can be computed on this machine and these sets, and are meaningful."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dragoman.core.errors import ConfigError, DataError, MissingExtraError
from dragoman.evaluation.metrics import check_installed, check_references, metrics_of
from dragoman.evaluation.sacrebleu_metrics import installing
from dragoman.evaluation.tokenizers import best_tokenizer, suitable_tokenizers
from dragoman.recipe import ExperimentConfig
from dragoman.text.corpora.corpus import evaluation_pairs
from dragoman.text.scripts import script_shares
from dragoman.text.terms.terminology import counters
from dragoman.workflows.doctor.findings import Finding, error, warning
from dragoman.workflows.doctor.text_checks import Texts

_BY_SPACES = {"13a", "intl"}


def check_scores(config: ExperimentConfig, texts: Texts) -> Iterator[Finding]:
    """Check that metrics have the inputs they need, and that BLEU finds words in the target."""
    try:
        for evaluation in config.evaluations():
            check_installed(evaluation)
    except (ConfigError, MissingExtraError) as problem:
        yield error("evaluation", str(problem))
    yield from _check_sets(config, texts)
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


def _check_sets(config: ExperimentConfig, texts: Texts) -> Iterator[Finding]:
    """Check that scores of each set can be computed: with a glossary, with a seed, or of trees."""
    metrics, glossary = config.evaluation.metrics, config.evaluation.glossary
    of_trees = tuple(metrics_of("trees", metrics))
    for name, part in {**config.dev_sets(), **config.test_sets()}.items():
        if not (part.gives_source and texts.evaluation.get(name)):
            continue  # unreadable: reported before; without a source: not translated
        direction = part.direction
        try:
            counters(glossary, (direction.source_language, direction.target_language))
            read = evaluation_pairs(part.scored()) if of_trees else ()
            evaluation = config.evaluation_of(part).model_copy(update={"metrics": of_trees})
            check_references([pair.target for pair in read], evaluation)
        except (ConfigError, DataError) as problem:
            yield error(name, str(problem))
