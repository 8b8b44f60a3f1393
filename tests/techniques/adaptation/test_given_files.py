"""General text in files of the same form as the in-domain text, or of another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import CommandLine, one_error

from dragoman.recipe import read_experiment
from dragoman.text.corpus import read_pairs


def write(form: str, names: list[str], count: int, word: str) -> None:
    """Different pairs with ``word`` in both sides."""
    rows = [(f"{word} A {n}", f"{word} B {n}") for n in range(count)]
    sides = ["\n".join(side) for side in zip(*rows, strict=True)]
    if form == "jsonl":
        sides = [json.dumps({"en": en, "de": de}) for en, de in rows]
    elif form == "tsv":
        sides = ["\n".join(map("\t".join, [("en", "de"), *rows]))]
    for name, text in zip(names, sides, strict=True):
        Path(name).write_text(f"{text}\n", encoding="utf-8")


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize(
    ("told", "files", "general"),
    [
        ("tsv", ["ui.txt"], ["general.txt"]),
        ("tsv", ["ui.txt"], ["general.en", "general.de"]),
        ("jsonl", ["ui.txt"], ["general.tsv"]),
        ("plain", ["ui.po", "ui.tmx"], ["general.po", "general.tmx"]),
        ("plain", ["ui.en", "ui.de"], ["general.tsv"]),
    ],
)
def test_the_format_that_is_told_is_that_of_general_text_where_no_suffix_says_another(
    dragoman: CommandLine,
    trained: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    told: str,
    files: list[str],
    general: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write(told, files, 1, "ui")
    write("plain" if len(general) == 2 else "tsv", general, 300, "general")
    command = ["adapt", trained, *files, "--format", told, "--run", "run", "--any-language"]
    command += [argument for name in general for argument in ("--general", name)]
    outcome = dragoman(*command, "--source", "en", "--target", "de")
    assert "repeat the command" in one_error(outcome, 130)
    config = read_experiment(Path("run/config.yaml"))
    assert len(list(read_pairs(config.dev_sets()["dev_general"]))) == 200
