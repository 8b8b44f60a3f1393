"""What ``make results-TOPIC`` calls, with a program in place of Python that notes it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from studies.tables.plan import read_table

ROOT = Path(__file__).parents[1]
_KINDS = ("ui", "office", "dialogue")

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


def made(
    target: str, folder: Path, fails: str = "", code: int = 1, settings: Sequence[str] = ()
) -> tuple[int, list[str]]:
    """How ``make TARGET`` ended, and the arguments of each call of Python.

    Args:
        target: such as ``results-TOPIC``.
        folder: an empty one, or with a folder ``runs`` in place of the repository's.
        fails: a table whose call ends with ``code``.
        code: how that ends.
        settings: of make, such as ``MINUTES=60``.
    """
    environment, calls = folder / "venv", folder / "calls"
    (environment / "bin").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy2(ROOT / name, folder)
    python = environment / "bin/python"
    python.write_text(
        f'#!/bin/sh\necho "$*" >> {calls}\ncase "$*" in *"{fails or "none"}/table.yaml"*) '
        f"exit {code};; esac\n",
        encoding="utf-8",
    )
    python.chmod(0o755)
    for name in ("installed", "development", "mutants"):  # newer than what they are made of
        (environment / name).touch()
    command = ["make", "--directory", str(folder), "VENV=venv", target]
    ours = {"MAKEFLAGS", "MINUTES", "JOBS"}
    own = {key: value for key, value in os.environ.items() if key not in ours}
    done = subprocess.run([*command, *settings], capture_output=True, check=False, env=own)
    return done.returncode, calls.read_text(encoding="utf-8").splitlines()


def tables(calls: list[str]) -> list[str]:
    """The folders of the tables that were called."""
    return [Path(call.split()[2]).parent.name for call in calls if "table.yaml" in call]


def test_a_table_that_fails_does_not_keep_the_next_from_being_made(tmp_path: Path) -> None:
    code, calls = made("results-multilingual", tmp_path, fails="domains")
    assert tables(calls) == ["multilingual", "domains", "homeassistant"]
    assert code != 0


def test_minutes_and_jobs_are_passed_on(tmp_path: Path) -> None:
    code, calls = made("results-records", tmp_path, settings=("MINUTES=60", "JOBS=8"))
    (call,) = calls
    assert call.endswith("--output runs/records --minutes 60 --jobs 8")
    assert code == 0


@pytest.mark.parametrize("settings", [[], ["JOBS=8"]])
def test_mutants_are_tried_two_at_once_or_as_many_as_wanted(
    settings: list[str], tmp_path: Path
) -> None:
    code, calls = made("mutants", tmp_path, settings=settings)
    assert calls == [f"tests/mutants.py --sample 300 --seed 1{' --jobs 8' * bool(settings)}"]
    assert code == 0


def test_a_table_that_is_interrupted_is_the_last(tmp_path: Path) -> None:
    code, calls = made("results-multilingual", tmp_path, fails="domains", code=128 + signal.SIGINT)
    assert tables(calls) == ["multilingual", "domains"]
    assert code != 0


def test_forms_of_address_are_counted_where_a_domain_was_asked_for(tmp_path: Path) -> None:
    """What asking for another domain visibly changes; no call where nothing is translated."""
    translations = tmp_path / "runs/domains/translations"
    translations.mkdir(parents=True)
    for kind in _KINDS:
        (translations / f"as-{kind}.wesnoth").touch()
    (translations / "as-ui.libreoffice").touch()
    code, calls = made("results-multilingual", tmp_path)
    asked = " ".join(f"runs/domains/translations/as-{kind}.wesnoth" for kind in _KINDS)
    assert calls[3:] == [f"-m studies.address {asked}"]
    assert code == 0


def test_the_files_that_are_counted_are_those_of_the_table() -> None:
    path = ROOT / "recipes/domains/table.yaml"
    _, others = read_table(path).sections
    assert list(others.rows) == [f"as-{kind}" for kind in _KINDS]
    assert list(others.tests) == ["homeassistant", "libreoffice", "wesnoth"]


def test_students_are_timed_once_they_and_their_teacher_are_trained(tmp_path: Path) -> None:
    runs = tmp_path / "runs/monolingual"
    for name in ("teacher", "student", "student-plain"):
        (runs / name).mkdir(parents=True)
        (runs / name / "scores.json").touch()
    code, calls = made("results-monolingual", tmp_path)
    assert calls == [
        "-m studies.tables recipes/monolingual/table.yaml --output runs/monolingual",
        "benchmarks/student.py --teacher runs/monolingual/teacher "
        "--student runs/monolingual/student --student runs/monolingual/student-plain "
        "--source runs/monolingual/text/test2016.source "
        "--reference runs/monolingual/text/test2016.reference --json runs/monolingual/speed.json",
    ]
    assert code == 0


@pytest.mark.parametrize("made_before", [["teacher/scores.json"], ["speed.json"]])
def test_students_that_lack_or_are_timed_are_not_timed(
    tmp_path: Path, made_before: list[str]
) -> None:
    for name in made_before:
        file = tmp_path / "runs/monolingual" / name
        file.parent.mkdir(parents=True)
        file.touch()
    _, calls = made("results-monolingual", tmp_path)
    assert len(calls) == 1


def test_a_topic_is_a_folder_of_recipes(tmp_path: Path) -> None:
    code, calls = made("results-terms", tmp_path)
    assert calls == ["-m studies.tables recipes/terms/table.yaml --output runs/terms"]
    assert code == 0
