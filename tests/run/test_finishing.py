"""Which calibration a finished model has."""

from __future__ import annotations

from pathlib import Path

import pytest
from planted_calibration import calibration_of, plant_calibration
from tiny_model import save_tiny_model

from dragoman.evaluation.reliability import reliability
from dragoman.run.finishing import _confidence
from dragoman.saved.calibration import Calibration, read_calibration, write_calibration
from dragoman.saved.model import CONFIDENCE_FILE
from dragoman.saved.system import TranslationSystem
from dragoman.saved.weights import weights_digest
from dragoman.translation.calibration_fitting import MeasuredConfidence


@pytest.fixture
def run(tmp_path: Path) -> Path:
    save_tiny_model(tmp_path / "model")
    return tmp_path


def measured(run: Path) -> MeasuredConfidence:
    """What the end of a run finds."""
    system = TranslationSystem(models=(run / "model",), device="cpu")
    found = calibration_of(system, text="dev of the run")
    return MeasuredConfidence(found, reliability([0.5, 0.5], [True, False]), 0)


def kept(run: Path, calibrated: MeasuredConfidence | str) -> Calibration | None:
    paths = _confidence(run, calibrated, weights_digest(run / "model"))
    return read_calibration(*paths) if paths else None


def test_a_run_calibrates_its_model(run: Path) -> None:
    found = measured(run)
    assert kept(run, found) == found.calibration
    assert kept(run, "too few lines") is None


def test_a_calibration_that_a_person_made_for_these_weights_stays(run: Path) -> None:
    plant_calibration(run / "model")
    found = kept(run, measured(run))
    assert found is not None
    assert found.text == "dev"


def test_that_of_the_run_is_made_again(run: Path) -> None:
    """As after ``resume --set search.beam=8``: it is for the settings of search, too."""
    first = measured(run)
    write_calibration(run / "model" / CONFIDENCE_FILE, first.calibration)
    write_calibration(run / CONFIDENCE_FILE, first.calibration)
    changed = first.calibration.model_copy(update={"lines": 200})
    again = MeasuredConfidence(changed, first.reliability, 0)
    assert kept(run, again) == changed


def test_that_of_other_weights_is_replaced_if_there_is_another(run: Path) -> None:
    found = measured(run)
    conditions = found.calibration.conditions.model_copy(update={"weights": ("0" * 64,)})
    other = found.calibration.model_copy(update={"conditions": conditions})
    write_calibration(run / "model" / CONFIDENCE_FILE, other)
    assert kept(run, "too few lines") == other, "in use it is refused, with the remedy"
    assert kept(run, found) == found.calibration
