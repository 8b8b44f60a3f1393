"""A calibration with weights that are known, for tests that need any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman.evaluation.criterion import Criterion
from dragoman.saved.calibration import Calibration, write_calibration
from dragoman.saved.model import CONFIDENCE_FILE
from dragoman.saved.system import TranslationSystem
from dragoman.translation.confidence import MEASUREMENTS, conditions_of
from dragoman.translation.opening import open_system

INTERCEPT, WEIGHTS = 2.0, (1.5, -0.3, 0.7, -0.9)


def calibration_of(system: TranslationSystem, **changed: Any) -> Calibration:
    """A calibration that holds for a system."""
    values: dict[str, Any] = {
        "right": Criterion(),
        "intercept": INTERCEPT,
        "weights": dict(zip(MEASUREMENTS, WEIGHTS, strict=True)),
        "text": "dev",
        "lines": 100,
        "share": 0.5,
        "conditions": conditions_of(open_system(system)),
    }
    return Calibration(**{**values, **changed})


def plant_calibration(model: Path) -> Path:
    """Write the calibration of a model beside its weights; returns the model."""
    system = TranslationSystem(models=(model,), device="cpu")
    write_calibration(model / CONFIDENCE_FILE, calibration_of(system))
    return model
