from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from soak import locking


def package(name: str, digest: str) -> dict[str, object]:
    hashes = {"archive_info": {"hashes": {"sha256": digest}}}
    return {"metadata": {"name": name, "version": "1.0"}, "download_info": hashes}


def test_a_lock_names_each_package_with_its_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        found = [package("torch", "b" * 64), package("dragoman", ""), package("click", "a" * 64)]
        return subprocess.CompletedProcess(command, 0, json.dumps({"install": found}), "")

    monkeypatch.setattr(subprocess, "run", run)
    lock = tmp_path / "lock"
    assert locking.write_lock(tmp_path, lock, ["server", "plots"]) == 2
    expected = ["click==1.0 --hash=sha256:" + "a" * 64, "torch==1.0 --hash=sha256:" + "b" * 64]
    assert lock.read_text().splitlines() == expected
    assert commands[0][-1] == f"{tmp_path}[server,plots]"
    assert commands[0][commands[0].index("--constraint") + 1] == str(tmp_path / "constraints.txt")
    locking.install_from_lock(lock)
    assert {"--require-hashes", "--dry-run"} <= set(commands[1])
