"""What commands say of a finished run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_model import save_tiny_model

from dragoman.text.examples import Direction
from dragoman.workflows.runs import show_use


def test_a_model_of_several_target_languages_is_used_with_one_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directions = tuple(
        Direction(source_language="en", target_language=target, tags=(f"<2{target}>",))
        for target in ("de", "fr")
    )
    save_tiny_model(tmp_path / "model", tags=("<2de>", "<2fr>"), directions=directions)
    show_use(tmp_path)
    where, use = capsys.readouterr().out.splitlines()
    assert where == f"Model:  {tmp_path / 'model'}"
    assert use == f"Use it: dragoman translate {tmp_path} --to de < input.txt"
