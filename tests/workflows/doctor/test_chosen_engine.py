from __future__ import annotations

from pathlib import Path

from tiny_model import save_tiny_model

from dragoman.saved.weights import WEIGHTS_FILE
from dragoman.workflows.doctor.chosen_engine import check_engine


def test_the_engine_of_a_run_is_told_once_it_has_a_model(tmp_path: Path) -> None:
    assert list(check_engine(tmp_path)) == []
    save_tiny_model(tmp_path / "model")
    (found,) = check_engine(tmp_path)
    assert (found.level, found.topic) == ("ok", "engine")
    assert found.text == (
        f"the model of {tmp_path} is searched by pytorch (float32): ctranslate2 is tried after "
        "1,000 sentences"
    )


def test_a_model_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / WEIGHTS_FILE).write_bytes(b"damaged")
    (found,) = check_engine(tmp_path)
    assert (found.level, found.topic) == ("warning", "engine")
    assert "cannot be opened: " in found.text
