"""The soak tells what it tried, fails when anything failed, and survives a broken part."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner

from soak import __main__ as command
from soak.part import Allowance, Tried


class _Steady:
    about = "tries nothing twice"
    share = 3.0

    def __init__(self) -> None:
        self.allowed = 0.0

    def run(self, allowance: Allowance) -> list[Tried]:
        self.allowed = allowance.seconds
        return [Tried("all", 7, {"p99 ms": 12}), Tried("none", 0, skipped="no program")]


class _Broken:
    about = "breaks"
    share = 1.0

    def run(self, allowance: Allowance) -> list[Tried]:
        raise ValueError(f"broken in {allowance.folder.name}")


def test_a_report_tells_of_every_part_and_a_broken_one_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = {"steady": _Steady(), "broken": _Broken()}
    monkeypatch.setattr(command, "PARTS", dict.fromkeys(parts, ""))
    monkeypatch.setattr(command, "find_part", parts.__getitem__)
    result = CliRunner().invoke(command.soak, ["--hours", "1", "--output", str(tmp_path)])
    assert result.exit_code == 1, result.output
    assert "1 failures" in result.output
    (folder,) = tmp_path.iterdir()
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert "| steady | all | 7 | p99 ms 12 | 0 |" in text
    assert "skipped: no program" in text
    assert "ValueError: broken in broken" in text
    told = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert told["parts"]["steady"]["tried"][0]["figures"] == {"p99 ms": 12}
    assert parts["steady"].allowed == pytest.approx(2700, abs=60)  # type: ignore[attr-defined]


def test_without_failures_the_exit_code_is_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "PARTS", {"steady": ""})
    monkeypatch.setattr(command, "find_part", lambda _: _Steady())
    result = CliRunner().invoke(command.soak, ["--output", str(tmp_path)])
    assert result.exit_code == 0, result.output


class _Stopped(_Steady):
    ended = False

    def run(self, allowance: Allowance) -> list[Tried]:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            return []
        finally:
            self.ended = True


def run(parts: dict[str, _Steady], monkeypatch: pytest.MonkeyPatch, folder: Path) -> int:
    monkeypatch.setattr(command, "PARTS", dict.fromkeys(parts, ""))
    monkeypatch.setattr(command, "find_part", parts.__getitem__)
    return CliRunner().invoke(command.soak, ["--hours", "1", "--output", str(folder)]).exit_code


def test_a_part_leaves_the_time_that_it_does_not_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = {"first": _Steady(), "second": _Steady(), "last": _Steady()}
    assert run(parts, monkeypatch, tmp_path) == 0
    assert [part.allowed for part in parts.values()] == pytest.approx([1200, 1800, 3600], abs=60)


def test_a_soak_that_is_told_to_stop_ends_what_it_has_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        stopped = _Stopped()
        assert run({"stopped": stopped}, monkeypatch, tmp_path) == 128 + signal.SIGTERM
        assert stopped.ended
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
