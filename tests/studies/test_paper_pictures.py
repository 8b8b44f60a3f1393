"""The pictures of docs/paper.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from studies.paper_pictures import NAME, paper_pictures, picture


def test_positions_and_rates_are_those_of_the_paper() -> None:
    positions, rates = picture().axes
    table = np.asarray(positions.collections[0].get_array()).reshape(100, 128)
    assert table[7, 4] == pytest.approx(np.sin(7 / 10000 ** (4 / 128)))
    assert table[7, 5] == pytest.approx(np.cos(7 / 10000 ** (4 / 128)))
    drawn = rates.lines[0].get_xydata()
    step, rate = max(np.asarray(drawn).tolist(), key=lambda point: point[1])
    assert step == pytest.approx(4000, abs=50)
    assert rate == pytest.approx(512**-0.5 * 4000**-0.5, rel=0.01)


def test_the_command_writes_the_picture(tmp_path: Path) -> None:
    result = CliRunner().invoke(paper_pictures, ["--output", str(tmp_path / "new")])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "new" / NAME).read_text(encoding="utf-8").startswith("<svg")
