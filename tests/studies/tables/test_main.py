"""The command ``python -m studies.tables``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from small_table import InThisProcess, change

from dragoman.core.errors import MissingExtraError
from studies.tables import running
from studies.tables.__main__ import tables


class TestCommand:
    @pytest.fixture(autouse=True)
    def in_this_process(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(running, "CommandRunner", InThisProcess)

    def test_a_failure_is_the_exit_code_at_the_end(self, copied: tuple[Path, Path]) -> None:
        folder, output = copied
        found = CliRunner().invoke(tables, [str(folder / "table.yaml"), "--output", str(output)])
        assert found.exit_code == 1
        assert "# Numbers" in found.stdout
        assert "1 failed, the rest went on: broken: " in found.stderr

    def test_rows_can_be_chosen_and_listed(self, copied: tuple[Path, Path]) -> None:
        folder, output = copied
        given = [str(folder / "table.yaml"), "--output", str(output)]
        listed = CliRunner().invoke(tables, [*given, "--list"])
        assert listed.output.splitlines() == [
            "broken-row  Broken: needs broken, the translation of news, the translation of dev",
            "single      One: done",
            "averaged    Mean: done",
            "known       Elsewhere: published figures",
        ]
        chosen = CliRunner().invoke(tables, [*given, "--only", "single", "--minutes", "5"])
        assert chosen.exit_code == 0, chosen.output
        unknown = CliRunner().invoke(tables, [*given, "--only", "second"])
        assert unknown.exit_code == 2
        assert "--only second: no such row; rows are broken-row, single" in unknown.output

    def test_a_tokeniser_of_one_test_that_is_missing_is_told_before_anything_is_made(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "mecab_ko", None)
        name = "sacrebleu.tokenizers.tokenizer_ko_mecab"
        monkeypatch.delitem(sys.modules, name, raising=False)
        shutil.copytree(folder, tmp_path / "table")
        change(tmp_path / "table", tests__dev__bleu_tokenize="ko-mecab")
        output = tmp_path / "out"
        file = tmp_path / "table/table.yaml"
        found = CliRunner().invoke(tables, [str(file), "--output", str(output)])
        assert found.exit_code == MissingExtraError.exit_code, found.output
        assert not output.exists()
