"""The one list of metrics: ours, and those of other installed packages.

A metric is a subclass of :class:`~dragoman.evaluation.metric.Metric`.  Ours have a line here; a
package adds one by an entry point in the group ``dragoman.metrics`` (see
:mod:`dragoman.core.plugins`), which has the metric's name and refers to the class.  No metric is
imported before it is used.
"""

from __future__ import annotations

from typing import Any

from dragoman.core.plugins import Registry
from dragoman.evaluation.metric_file import names_programs

GROUP = "dragoman.metrics"
"""The group of entry points by which packages add metrics."""

BUILT_IN = {
    "bleu": "dragoman.evaluation.sacrebleu_metrics:Bleu",
    "chrf": "dragoman.evaluation.sacrebleu_metrics:Chrf",
    "ter": "dragoman.evaluation.sacrebleu_metrics:Ter",
    "wrong_language": "dragoman.evaluation.languages:WrongLanguage",
    "terms": "dragoman.evaluation.kept_items:Terms",
    "placeholders": "dragoman.evaluation.kept_items:Placeholders",
    "numbers": "dragoman.evaluation.kept_items:Numbers",
    "exact_match": "dragoman.evaluation.kept_items:ExactMatch",
    "degenerate": "dragoman.evaluation.kept_items:Degenerate",
    "tag_structure": "dragoman.evaluation.tag_metrics:MatchingTags",
    "tag_placement": "dragoman.evaluation.tag_metrics:TagPlacement",
    "accuracy": "dragoman.evaluation.label_metrics:Accuracy",
    "macro_f1": "dragoman.evaluation.label_metrics:MacroF1",
    "bracketing_f1": "dragoman.evaluation.bracketing:BracketingF1",
    "bracketing_recall": "dragoman.evaluation.bracketing:BracketingRecall",
    "bracketing_precision": "dragoman.evaluation.bracketing:BracketingPrecision",
    "complete_match": "dragoman.evaluation.bracketing:CompleteMatch",
    "tagging_accuracy": "dragoman.evaluation.bracketing:TaggingAccuracy",
    "malformed_trees": "dragoman.evaluation.bracketing:MalformedTrees",
}
"""Module and class of each metric, in the order of references and help."""

METRICS: Registry[Any] = Registry(
    GROUP, "dragoman.evaluation.metric:Metric", BUILT_IN, "metric", named=True
)
"""All metrics by name.  Their class is not named here, since it checks names with this module."""


def metric_names() -> list[str]:
    """Names of all metrics, built-in ones first; this imports none."""
    return [*BUILT_IN, *added_metrics()]


def added_metrics() -> list[str]:
    """Names of the metrics that other packages or programs add."""
    added = METRICS.added()
    if not names_programs():
        return added
    from dragoman.evaluation.metric_commands import metric_commands  # reads YAML

    return [*added, *sorted(metric_commands().keys() - BUILT_IN.keys() - {*added})]
