"""Whether references can be scored against, asked before there are translations."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.evaluation.metrics import EvaluationConfig, SourceSide, build_metric
from dragoman.evaluation.resampling_seed import resampling_seed
from dragoman.evaluation.tree_metrics import TREE_METRICS


def check_references(
    references: Sequence[Sequence[str]],
    config: EvaluationConfig,
    source: SourceSide | None = None,
) -> None:
    """Check that translations can be scored against these references, whatever they are.

    Args:
        references: as for :func:`~dragoman.evaluation.metrics.score_corpus`, which would raise the
            same errors.
        config: the scores.
        source: what the translations are of.

    Raises:
        DataError: a metric of trees finds no tree in a reference.
        ConfigError: a metric lacks something; or intervals are wanted and SACREBLEU_SEED is no
            seed.
        MissingExtraError: a package that a metric needs is not installed.
    """
    if config.confidence_samples:
        resampling_seed()
    for name in config.metrics:
        metric = build_metric(name, config, source)
        if name in TREE_METRICS:  # all others take any text
            metric.corpus_score(references[0], references)
