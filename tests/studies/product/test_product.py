"""Catalogues out of packages, and how many translations keep their strings."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from dragoman.core.errors import DataError, StorageError
from studies.product import catalogues
from studies.product.__main__ import product
from studies.product.strings import figures_of


def package(site: Path, name: str, folder: str, pairs: int) -> None:
    """An installed package with a German catalogue."""
    file = site / folder / "locale/de/LC_MESSAGES/django.po"
    file.parent.mkdir(parents=True)
    entries = (
        f'msgid "{folder} number{n} of house{n % 7}"\nmsgstr "{folder} Nummer{n} von Haus{n % 7}"\n'
        for n in range(pairs)
    )
    file.write_text('msgid ""\nmsgstr "Language: de\\n"\n\n' + "\n".join(entries), "utf-8")
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "RECORD").write_text(f"{file.relative_to(site)},sha256=x,1\n{folder}/a.py,,\n", "utf-8")


def installed(packages: tuple[str, ...], folder: Path) -> None:
    for number, name in enumerate(packages):
        package(folder, name.partition("=")[0].replace("-", "_"), f"folder{number}", 90)


def test_pairs_are_divided_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogues, "install", installed)
    output = tmp_path / "text"
    packages = ["--package", "b-two==1.0", "--package", "a-one==1.0"]
    outcome = CliRunner().invoke(product, ["get", str(output), *packages])
    assert outcome.exit_code == 0, outcome.output
    found = {
        name: (output / f"{name}.tsv").read_text("utf-8").splitlines() for name in catalogues.SETS
    }
    assert all(lines[0] == "en\tde" for lines in found.values())
    sizes = {name: len(lines) - 1 for name, lines in found.items()}
    assert sum(sizes.values()) == 180
    assert min(sizes["dev"], sizes["test"]) >= 20
    sources = [line.split("\t")[0] for lines in found.values() for line in lines[1:]]
    assert len({*sources}) == 180, "no set repeats a sentence of another"
    assert found["train"][1].startswith("folder0"), "in the order of the packages"


def test_a_language_that_nobody_has_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogues, "install", installed)
    with pytest.raises(DataError, match="no package has catalogues of xx"):
        catalogues.get_catalogues(["a-one"], "en", "xx", tmp_path / "text")
    assert not (tmp_path / "text").exists()


def test_what_pip_cannot_get_is_said(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"pip cannot get \./none: .*; repeat the command"):
        catalogues.install(["./none"], tmp_path)


def test_lines_with_what_their_source_has() -> None:
    found = figures_of(
        [
            ("Delete {name}", "{name} löschen"),
            ("Delete {name}", "{nam} löschen"),
            ("8 characters", "1 Zeichen"),
            ("<b>Save</b>", "<b>Sichern</b>"),
            ("Save", "Sichern %s"),
            ("Save", "Sichern"),
        ]
    )
    assert (found.lines, found.with_strings, found.right, found.invented) == (6, 4, 2, 1)
    assert found.share == 50


def test_files_are_compared_line_by_line(tmp_path: Path) -> None:
    names = source, good, short = [tmp_path / name for name in ("source", "good", "short")]
    for file, lines in zip(names, ("a %s\nb\n", "A %s\nB\n", "A %s\n"), strict=True):
        file.write_text(lines, "utf-8")
    outcome = CliRunner().invoke(product, ["strings", str(source), str(good)])
    assert outcome.exit_code == 0
    assert outcome.output.splitlines()[1].split()[1:] == ["2", "1", "100.0", "0"]
    outcome = CliRunner().invoke(product, ["strings", str(source), str(short)])
    assert outcome.exit_code
    assert "1 lines, and" in outcome.output
