"""The command shortlist, and translating with what it builds, as a user does."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from command_line import CommandLine, one_error
from tiny_model import TINY_LM, save_tiny_model

from dragoman import load
from dragoman.saved.system import read_system

LINES = ["a b c d e", "e d c", "b a", "", "c c b"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shortlist")
    save_tiny_model(folder / "model", seed=8, beam=2)
    for name, lines in (("train.en", LINES * 9), ("train.de", LINES * 9), ("in.en", LINES)):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_a_run_is_listed_and_translates(
    trained: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(trained, tmp_path / "run"))
    built = dragoman("shortlist", run, "--likeliest", 5, "--frequent", 3, "--pairs", 200)
    assert built.code == 0, built.err
    assert built.out.startswith("200 pairs: ")
    again = dragoman(
        "shortlist", run, "--pairs", 9, "--output", run / "model/shortlist.safetensors"
    )
    assert again.code == 0, again.err
    assert dragoman("shortlist", run, "--pairs", 200).code == 0
    for name in ("config.yaml", "data/source.ids"):
        refused = dragoman("shortlist", run, "--pairs", 9, "--output", run / name)
        assert "this is an input" in one_error(refused, 2)
    assert f"Written: {run / 'model' / 'shortlist.safetensors'}\n" in built.out
    given = b"der kleine Hund\n\neins zwei\n"
    found = dragoman("translate", run, "--shortlist", stdin=given)
    assert found.code == 0, found.err
    assert found.out.count("\n") == 3
    named = dragoman(
        "translate", run, "--shortlist-file", run / "model" / "shortlist.safetensors", stdin=given
    )
    assert named.out == found.out


def test_a_model_is_listed_from_files(folder: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    files = folder / "train.en", folder / "train.de"
    output = tmp_path / "new" / "small.safetensors"
    built = dragoman(
        *("shortlist", folder / "model", *files, "--likeliest", 1, "--frequent", 0),
        *("--output", output, "--json"),
    )
    assert built.code == 0, built.err
    values = json.loads(built.out)
    assert values["pairs"] == 36  # an empty line has no pieces
    assert values["output"] == str(output)
    with load(folder / "model", device="cpu", shortlist=output) as translator:
        few = translator.translate_nbest(LINES, beam=2)
    # Text that its own source does not have is out of reach.
    for line, (best, *_) in zip(LINES, few, strict=True):
        assert {*best.text} <= {*line, " "}

    complete = dragoman(
        *("shortlist", folder / "model", *files, "--likeliest", 999, "--frequent", 999),
        *("--output", tmp_path / "complete"),
    )
    assert complete.code == 0, complete.err
    whole = tmp_path / "whole"
    text = (folder / "in.en").read_bytes()
    plain = dragoman("translate", folder / "model", "--scores", stdin=text)
    listed = dragoman(
        *("translate", folder / "model", "--shortlist-file", tmp_path / "complete", "--scores"),
        *("--write-system", whole),
        stdin=text,
    )
    assert listed.code == 0, listed.err
    assert listed.out == plain.out
    assert read_system(whole).shortlist == tmp_path / "complete"
    again = dragoman("translate", "--system", whole, "--scores", stdin=text)
    assert again.out == plain.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["translate", "model", "--shortlist"], 2, "no shortlist; build one with"),
        (["translate", "model", "--shortlist-file", "in.en"], 4, "in.en: truncated or damaged"),
        (
            ["translate", "model", "--shortlist", "--engine", "ctranslate2"],
            2,
            "engine ctranslate2 reads no shortlist; remove it",
        ),
        (["shortlist", "model"], 2, "not a run, so its training text is not known; name the text"),
        (["shortlist", "model", "--format", "tsv"], 2, "--format is of FILES"),
        (["shortlist", "nothing"], 4, "nothing: no such model or run"),
        (["shortlist", "model", "train.en", "nothing.de"], 3, "nothing.de: no such file"),
        (["shortlist", "model", "in.en", "train.de"], 3, "in.en has 5 lines and"),
        (["shortlist", "model", "empty.en", "empty.de"], 3, "nothing to learn from"),
        (["shortlist", "model", "train.en", "train.de", "--output", "model"], 2, "a directory"),
        (["shortlist", "model", "in.en", "in.en", "--output", "in.en"], 2, "in.en"),
        (
            ["shortlist", "model", "train.en", "train.de", "--output", "lm/model.safetensors"],
            2,
            "model.safetensors: this file is no shortlist, and would be lost",
        ),
        (
            ["shortlist", "model", "train.en", "train.de", "--output", "empty.en"],
            2,
            "empty.en: this file is no shortlist",
        ),
        (
            ["shortlist", "model", "train.en", "train.de", "--output", "model/model.safetensors"],
            2,
            "model.safetensors: this is an input, which would be overwritten",
        ),
        (["shortlist", "lm", "train.en", "train.de"], 2, "not a translation model"),
    ],
)
def test_what_cannot_be_done(
    folder: Path,
    dragoman: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(folder)
    if not Path("lm").exists():
        save_tiny_model(Path("lm"), config=TINY_LM)
        Path("empty.en").write_text("\n\n", encoding="utf-8")
        Path("empty.de").write_text("\n\n", encoding="utf-8")
    outcome = dragoman(*arguments, stdin=b"a\n")
    assert outcome.code == code, outcome.err
    assert message in one_error(outcome, code)
    assert not Path("model/shortlist.safetensors").exists()
