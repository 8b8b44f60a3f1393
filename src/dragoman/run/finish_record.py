"""``finish.json``: what was decided when a training ended, and the errors on its dev sets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman.core.files import read_json, write_json
from dragoman.run.model_choice import ChosenModel
from dragoman.translation.calibration_fitting import MeasuredConfidence
from dragoman.translation.checking.error_summary import ErrorSummary

FINISH_FILE = "finish.json"


def finish_values(
    made: ChosenModel, errors: Mapping[str, ErrorSummary], calibrated: MeasuredConfidence | str
) -> dict[str, Any]:
    """Everything that is recorded, as plain values."""
    return {
        "choice": made.to_json(),
        "confidence": _confidence(calibrated),
        "errors": {name: summary.to_json() for name, summary in errors.items()},
    }


def _confidence(calibrated: MeasuredConfidence | str) -> dict[str, Any]:
    if isinstance(calibrated, str):
        return {"calibrated": False, "reason": calibrated}
    calibration, judged = calibrated.calibration, calibrated.reliability
    return {
        "calibrated": True,
        "text": calibration.text,
        "lines": calibration.lines,
        "right": str(calibration.right),
        "share": calibration.share,
        "calibration_error": judged.calibration_error,
        "error_by_chance": judged.error_by_chance,
        "auc": judged.auc,
    }


def write_finish(run: Path, values: Mapping[str, Any]) -> None:
    """Write ``finish.json``."""
    write_json(run / FINISH_FILE, values)


def read_finish(run: Path) -> dict[str, Any]:
    """The content of ``finish.json``; empty if it is missing, as in runs of older versions."""
    try:
        values = read_json(run / FINISH_FILE)
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def choice_in_words(values: Mapping[str, Any]) -> str:
    """How the weights and the length penalty were chosen; "" if the recipe decided.

    Args:
        values: those of :func:`finish_values`.
    """
    choice = values.get("choice", {})
    metric, told = choice.get("metric"), []
    if candidates := choice.get("candidates"):
        told.append(f"The weights are the {_chosen(candidates, 'name', metric)}.")
    if penalties := choice.get("length_penalties"):
        told.append(f"The length penalty is {_chosen(penalties, 'length_penalty', metric)}.")
    return " ".join(told)


def _chosen(values: list[dict[str, Any]], name: str, metric: Any) -> str:
    """Such as ``mean of 5 checkpoints (dev bleu 31.20), chosen over step 400 (30.70)``."""
    taken = next(one for one in values if one["chosen"])
    others = [f"{one[name]} ({_score(one)})" for one in values if one is not taken]
    chosen = f"{taken[name]} (dev {metric} {taken['score']:.2f})"
    return f"{chosen}, chosen over {', '.join(others)}" if others else chosen


def _score(value: Mapping[str, Any]) -> str:
    lowered = " and ".join(value.get("lowers", ()))
    return f"{value['score']:.2f}{', but lower ' * bool(lowered)}{lowered}"


def confidence_in_words(values: Mapping[str, Any]) -> str:
    """What confidence was calibrated on, and how well; "" if it was not."""
    found = values.get("confidence", {})
    if not found.get("calibrated"):
        return ""
    auc = "" if found["auc"] is None else f", AUC {found['auc']:.2f}"
    return (
        f"Confidence is calibrated on {found['lines']:,} lines of {found['text']}, of which "
        f"{found['share']:.0%} are right ({found['right']}): calibration error "
        f"{found['calibration_error']:.3f}{auc}."
    )
