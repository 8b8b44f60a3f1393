"""The one list of metrics: ours, and those of other installed packages.

A metric is a subclass of :class:`~dragoman.evaluation.metric.Metric`.  Ours have a line here; a
package adds one by an entry point in the group ``dragoman.metrics`` (see
:mod:`dragoman.core.plugins`), which has the metric's name and refers to the class.  No metric is
imported before it is used.
"""

from __future__ import annotations

from dragoman.core.plugins import installed

GROUP = "dragoman.metrics"
"""The group of entry points by which packages add metrics."""

BUILT_IN = {
    "bleu": "sacrebleu_metrics:Bleu",
    "chrf": "sacrebleu_metrics:Chrf",
    "ter": "sacrebleu_metrics:Ter",
    "wrong_language": "languages:WrongLanguage",
    "terms": "kept_items:Terms",
    "placeholders": "kept_items:Placeholders",
    "numbers": "kept_items:Numbers",
    "exact_match": "kept_items:ExactMatch",
    "degenerate": "kept_items:Degenerate",
    "tag_structure": "tag_metrics:MatchingTags",
    "tag_placement": "tag_metrics:TagPlacement",
    "accuracy": "label_metrics:Accuracy",
    "macro_f1": "label_metrics:MacroF1",
    "bracketing_f1": "bracketing:BracketingF1",
    "bracketing_recall": "bracketing:BracketingRecall",
    "bracketing_precision": "bracketing:BracketingPrecision",
    "complete_match": "bracketing:CompleteMatch",
    "tagging_accuracy": "bracketing:TaggingAccuracy",
    "malformed_trees": "bracketing:MalformedTrees",
}
"""The module of this package and the class of each metric, in the order of references and help."""


def metric_names() -> list[str]:
    """Names of all metrics, built-in ones first; this imports none."""
    return [*BUILT_IN, *added_metrics()]


def added_metrics() -> list[str]:
    """Names of the metrics that other packages add."""
    return sorted(installed(GROUP).keys() - BUILT_IN.keys())
