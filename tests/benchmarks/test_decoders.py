"""Start-up is excluded from the speed of a decoder, or there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))  # its programs name one another like this

import decoders  # noqa: E402
from contenders import FailedError, Finished  # noqa: E402
from decoders import Decoder  # noqa: E402
from shared_material import Material  # noqa: E402


class Timed(Decoder):
    name = "timed"

    def source(self, count: int) -> Path:
        return Path(str(count))

    def command(self, size: str, source: Path) -> list[object]:
        return [source]


@pytest.mark.parametrize("seconds", [{"64": 5.0, "80": 6.0}, {"64": 6.0, "80": 5.0}])
def test_what_start_up_hides_is_no_speed(
    seconds: dict[str, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few lines may take less than fewer; a speed of them could even be negative."""

    def start(command: list[object], *_: object) -> Finished:
        return Finished("", seconds[str(command[0])], 7)

    monkeypatch.setattr(decoders, "start", start)
    timed = Timed(Material(tmp_path), tmp_path, tmp_path)
    if seconds["80"] > seconds["64"]:
        assert timed.measure("tiny", 80) == (16.0, 7)
    else:
        with pytest.raises(FailedError, match="80 lines took no longer than 64; give more"):
            timed.measure("tiny", 80)
