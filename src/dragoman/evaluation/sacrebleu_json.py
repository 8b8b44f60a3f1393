"""Scores as ``sacrebleu --format json`` prints them, for programs that read that."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dragoman.evaluation.metrics import (
    EvaluationConfig,
    SourceSide,
    build_metric,
    check_parallel,
)

_WIDTH = 1  # decimal places, as sacrebleu's default


def sacrebleu_json(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    config: EvaluationConfig,
    source: SourceSide | None = None,
) -> str:
    """An object for one metric; for several, a list in the order of their names.

    Arguments and errors are those of :func:`~dragoman.evaluation.metrics.score_corpus`.
    """
    check_parallel(hypotheses, references)
    results = []
    for name in sorted(config.metrics):
        metric = build_metric(name, config, source)
        score = metric.corpus_score(
            hypotheses, references, n_bootstrap=max(1, config.confidence_samples)
        )
        signature = str(metric.get_signature())
        # sacrebleu takes a signature apart at each ":", which the name of a glossary may have.
        values: dict[str, Any] = json.loads(score.format(_WIDTH, is_json=True, signature="nrefs:1"))
        del values["nrefs"]
        values["signature"] = signature
        for part in signature.split("|"):
            key, _, value = part.partition(":")
            values[key] = value
        results.append(json.dumps(values, indent=1, ensure_ascii=False))
    return results[0] if len(results) == 1 else "[\n" + ",\n".join(results) + "\n]"
