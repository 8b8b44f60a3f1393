"""Checks that references can be scored against, before there are translations."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.errors import DataError
from dragoman.evaluation.evalb import compare_all
from dragoman.evaluation.metrics import EvaluationConfig, SourceSide, build_metric, metrics_of
from dragoman.evaluation.resampling_seed import resampling_seed


def check_references(
    references: Sequence[str],
    config: EvaluationConfig,
    source: SourceSide | None = None,
) -> None:
    """Check that any translations can be scored against these references.

    Args:
        references: one for each sentence.
        config: the scores.
        source: what the translations are of.

    Raises:
        DataError: trees are scored, and a reference is no tree.
        ConfigError: a metric lacks something; or intervals are wanted and SACREBLEU_SEED is no
            seed.
        MissingExtraError: a package that a metric needs is not installed.
    """
    if config.confidence_samples:
        resampling_seed()
    for name in config.metrics:
        build_metric(name, config, source)
    if of_trees := metrics_of("trees", config.metrics):  # all others take any text
        try:
            compare_all(references, references)
        except DataError as error:
            raise DataError(f"{of_trees[0]}: {error}; score text by another metric") from error
