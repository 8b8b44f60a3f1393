"""What ``make results-TOPIC`` calls, with a program in place of Python that notes it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


def made(topic: str, folder: Path, fails: str = "", code: int = 1) -> tuple[int, list[str]]:
    """How ``make results-TOPIC`` ended, and the arguments of each call of Python.

    Args:
        topic: of which tables.
        folder: an empty one.
        fails: a table whose call ends with ``code``.
        code: how that ends.
    """
    environment, calls = folder / "venv", folder / "calls"
    (environment / "bin").mkdir(parents=True)
    python = environment / "bin/python"
    python.write_text(
        f'#!/bin/sh\necho "$*" >> {calls}\ncase "$*" in *"{fails or "none"}/table.yaml"*) '
        f"exit {code};; esac\n",
        encoding="utf-8",
    )
    python.chmod(0o755)
    for name in ("installed", "studies"):  # newer than what they are made of
        (environment / name).touch()
    command = ["make", "--directory", str(ROOT), f"VENV={environment}", f"results-{topic}"]
    own = {key: value for key, value in os.environ.items() if key not in {"MAKEFLAGS", "MINUTES"}}
    done = subprocess.run(command, capture_output=True, check=False, env=own)
    return done.returncode, calls.read_text(encoding="utf-8").splitlines()


def tables(calls: list[str]) -> list[str]:
    """The folders of the tables that were called."""
    return [Path(call.split()[2]).parent.name for call in calls if "table.yaml" in call]


def test_a_table_that_fails_does_not_keep_the_next_from_being_made(tmp_path: Path) -> None:
    code, calls = made("multilingual", tmp_path, fails="domains")
    assert tables(calls) == ["multilingual", "domains", "homeassistant"]
    assert code != 0


def test_a_table_that_is_interrupted_is_the_last(tmp_path: Path) -> None:
    code, calls = made("multilingual", tmp_path, fails="domains", code=128 + signal.SIGINT)
    assert tables(calls) == ["multilingual", "domains"]
    assert code != 0


def test_a_topic_is_a_folder_of_recipes(tmp_path: Path) -> None:
    code, calls = made("terms", tmp_path)
    assert calls == ["-m studies.tables recipes/terms/table.yaml --output runs/terms"]
    assert code == 0
