from pathlib import Path
from typing import Any

from dragoman.run.finish_record import (
    FINISH_FILE,
    choice_in_words,
    confidence_in_words,
    read_finish,
    write_finish,
)

CHOICE: dict[str, Any] = {
    "metric": "chrf",
    "candidates": [
        {"name": "mean of 5 checkpoints", "score": 30.7, "chosen": False},
        {"name": "checkpoint of step 400", "score": 31.2, "chosen": True},
    ],
    "length_penalties": [
        {"length_penalty": 0.6, "score": 31.2, "chosen": True},
        {"length_penalty": 1.0, "score": 31.3, "lowers": ["bleu"], "chosen": False},
    ],
}
CONFIDENCE = {
    "calibrated": True,
    "text": "dev.tsv",
    "lines": 1014,
    "right": "chrF above 60",
    "share": 0.296,
    "calibration_error": 0.0231,
    "error_by_chance": 0.02,
    "auc": 0.843,
}


def test_what_was_decided_in_words() -> None:
    assert choice_in_words({"choice": CHOICE}) == (
        "The weights are the checkpoint of step 400 (dev chrf 31.20), chosen over mean of 5 "
        "checkpoints (30.70). The length penalty is 0.6 (dev chrf 31.20), chosen over 1.0 "
        "(31.30, but lower bleu)."
    )
    assert confidence_in_words({"confidence": CONFIDENCE}) == (
        "Confidence is calibrated on 1,014 lines of dev.tsv, of which 30% are right (chrF "
        "above 60): calibration error 0.023, AUC 0.84."
    )


def test_a_single_candidate_that_was_not_compared() -> None:
    only = {**CHOICE, "candidates": [CHOICE["candidates"][1]], "length_penalties": []}
    assert choice_in_words({"choice": only}) == (
        "The weights are the checkpoint of step 400 (dev chrf 31.20)."
    )


def test_nothing_was_decided() -> None:
    assert choice_in_words({"choice": {**CHOICE, "candidates": [], "length_penalties": []}}) == ""
    assert choice_in_words({}) == ""
    assert confidence_in_words({"confidence": {"calibrated": False, "reason": "few"}}) == ""
    assert confidence_in_words({}) == ""
    assert ", AUC" not in confidence_in_words({"confidence": {**CONFIDENCE, "auc": None}})


def test_older_runs_have_no_record(tmp_path: Path) -> None:
    assert read_finish(tmp_path) == {}
    (tmp_path / FINISH_FILE).write_text("{", encoding="utf-8")
    assert read_finish(tmp_path) == {}
    write_finish(tmp_path, {"choice": CHOICE})
    assert read_finish(tmp_path) == {"choice": CHOICE}
