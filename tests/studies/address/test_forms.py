"""Forms of address, counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from studies.address.__main__ import address
from studies.address.forms import Forms, changed, forms

KINDS = {
    "Möchtest du fortfahren?": (1, 0, 0),
    "Prüfe deine Eingaben.": (1, 0, 0),
    "Du bist da.": (1, 0, 0),
    "Wählen Sie eine Datei.": (0, 1, 0),
    "Wenn vorhanden, Sie sehen es": (0, 1, 0),
    "Wir danken Ihnen": (0, 1, 0),
    "Seid Ihr bereit?": (0, 0, 1),
    "Das gehört Euch": (0, 0, 1),
    "Geben Sie Ihr Kennwort ein.": (0, 1, 1),
    # they, she and her; and what merely begins alike
    "Sie sind da. Sie gehen.": (0, 0, 0),
    "Ist sie bereit, ihr Pferd?": (0, 0, 0),
    "Dir: ein Verzeichnis, die Dusche, einduellieren": (1, 0, 0),
    "Dusche und Siegel": (0, 0, 0),
    "": (0, 0, 0),
}


@pytest.mark.parametrize(("line", "expected"), KINDS.items())
def test_a_line(line: str, expected: tuple[int, int, int]) -> None:
    assert forms([line]) == tuple(100 * one for one in expected)


@given(st.lists(st.sampled_from(list(KINDS)), min_size=1))
def test_shares_are_means_over_the_lines(lines: list[str]) -> None:
    each = [forms([line]) for line in lines]
    mean = Forms(*(sum(column) / len(lines) for column in zip(*each, strict=True)))
    assert forms(lines) == pytest.approx(mean)


def test_nothing_has_no_form() -> None:
    assert forms([]) == (0, 0, 0)
    assert changed([], []) == 0


def test_lines_that_differ() -> None:
    assert changed(["a", "b", "c", "d"], ["a", "x", "c", "d"]) == 25


def test_files_are_compared_with_the_first(tmp_path: Path) -> None:
    first, second = tmp_path / "ui.de", tmp_path / "office.de"
    first.write_text("Prüfe dein Netz.\nOk\n", encoding="utf-8")
    second.write_text("Prüfen Sie Ihr Netz.\nOk\n", encoding="utf-8")
    found = CliRunner().invoke(address, [str(first), str(second)])
    assert found.exit_code == 0
    _, one, other = found.output.splitlines()
    assert one.split()[1:] == ["2", "50.0", "0.0", "0.0", "0.0"]
    assert other.split()[1:] == ["2", "0.0", "50.0", "50.0", "50.0"]


def test_files_of_other_texts_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a\n", encoding="utf-8")
    (tmp_path / "b").write_text("a\nb\n", encoding="utf-8")
    found = CliRunner().invoke(address, [str(tmp_path / "a"), str(tmp_path / "b")])
    assert found.exit_code == 3
    assert "b: 2 lines, and" in found.output
    assert "lines     du" not in found.output
