"""General text in files of the same form as the in-domain text, or of another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import CommandLine, one_error
from tiny_model import save_tiny_model

from dragoman.recipe import read_experiment
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.examples import Direction


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


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize(
    ("files", "general", "language"),
    [
        (["ui.en", "ui.fr"], ["general.en", "general.fr"], "fr"),
        (["ui.en", "ui.fr"], ["general.en", "general.de"], "de"),
        (["ui.tsv"], ["general.tsv"], "fr"),
        (["ui.en", "ui.fr"], ["general.source", "general.target"], "fr"),
    ],
)
def test_general_text_is_in_the_direction_that_it_says_or_that_of_the_files(
    dragoman: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: list[str],
    general: list[str],
    language: str,
) -> None:
    """Not in the first of the model's, English into German."""
    monkeypatch.chdir(tmp_path)
    directions = tuple(
        Direction(source_language="en", target_language=one, tags=(f"<2{one}>",))
        for one in ("de", "fr")
    )
    save_tiny_model(Path("two"), tags=("<2de>", "<2fr>"), directions=directions)
    for names, count, word in ((files, 1, "a"), (general, 300, "b")):
        write("tsv" if len(names) == 1 else "plain", names, count, word)
    for name in Path().glob("*.tsv"):
        name.write_text(name.read_text("utf-8").replace("en\tde", "en\tfr", 1), encoding="utf-8")
    command = ["adapt", "two", *files, "--run", "run", "--vocabulary", "keep", "--any-language"]
    command += [argument for name in general for argument in ("--general", name)]
    if "general.source" in general:
        command += ["--format", "plain"]
    assert "repeat the command" in one_error(dragoman(*command), 130)
    config = read_experiment(Path("run/config.yaml"))
    watched = config.dev_sets()["dev_general"]
    assert (watched.target_language, watched.tags) == (language, (f"<2{language}>",))


def test_general_text_in_a_direction_that_the_model_lacks_is_refused(
    dragoman: CommandLine, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for names, count in ((["ui.en", "ui.de"], 1), (["general.en", "general.fr"], 300)):
        write("plain", names, count, "a")
    command = ["adapt", trained, "ui.en", "ui.de", "--run", "run"]
    command += ["--general", "general.en", "--general", "general.fr"]
    assert "en-fr, and " in one_error(dragoman(*command), 2)


@pytest.mark.usefixtures("stopped")
def test_general_text_in_another_language_than_it_says_is_told(
    dragoman: CommandLine, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write("plain", ["ui.en", "ui.de"], 1, "a")
    rows = [
        (f"The house number {n} is old", f"La maison numéro {n} est vieille") for n in range(300)
    ]
    for name, side in zip(("general.en", "general.de"), zip(*rows, strict=True), strict=True):
        Path(name).write_text("\n".join(side) + "\n", encoding="utf-8")
    command = ["adapt", trained, "ui.en", "ui.de", "--run", "run", "--vocabulary", "keep"]
    outcome = dragoman(*command, "--general", "general.en", "--general", "general.de")
    assert "repeat the command" in one_error(outcome, 130)
    assert "of the target lines seem to be in another language than de" in outcome.err
