"""The model that is adapted is found, with its text, whatever names it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from command_line import CommandLine, one_error
from tiny_model import save_tiny_model

from dragoman.core.errors import ConfigError
from dragoman.recipe import read_experiment
from dragoman.techniques.adaptation.parent import ParentModel
from dragoman.text.examples import Direction
from dragoman.text.tags import language_tag
from dragoman.training.checkpoint import checkpoints, newest_checkpoints


@pytest.mark.usefixtures("stopped")
def test_a_checkpoint_is_in_a_run(dragoman: CommandLine, trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "general")
    (tmp_path / "ui.tsv").write_text("en\tde\nBA\tqq\n", encoding="utf-8")
    before = checkpoints(tmp_path / "general")
    outcome = dragoman("adapt", before[0], tmp_path / "ui.tsv")
    assert "repeat the command" in one_error(outcome, 130)
    assert sorted((tmp_path / "general" / "checkpoints").iterdir()) == sorted(before)
    config = read_experiment(tmp_path / "general-ui" / "config.yaml")
    assert config.training.start_from is not None
    assert config.training.start_from.model == str(before[0])
    assert [part.task for part in config.data.train] == ["translation", "replay"]


def test_a_run_that_was_moved_with_its_text_still_has_it(trained: Path, tmp_path: Path) -> None:
    """As an adapted run, whose recipe names its own copies where they were."""
    moved = tmp_path / "moved"
    shutil.copytree(trained, moved)
    values = yaml.safe_load((moved / "config.yaml").read_text(encoding="utf-8"))
    copy = {"source": "source", "target": "target", "format": None}
    gone = [{**copy, "path": str(tmp_path / "before" / "text" / f"{n}.jsonl")} for n in "abc"]
    gone[1]["path"] = str(tmp_path / "before" / "elsewhere" / "b.jsonl")
    values["data"]["train"], values["data"]["dev"] = gone, gone[0]
    (moved / "config.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    (moved / "text").mkdir()
    for name in "ab":
        text = '{"source": "one", "target": "eins"}\n'
        (moved / "text" / f"{name}.jsonl").write_text(text, encoding="utf-8")
    own = str(moved / "text" / "a.jsonl")
    (checkpoint,) = newest_checkpoints(moved, 1)
    for path in (moved, moved / "model", checkpoint):
        parent = ParentModel.open(path)
        assert [part.path for part in parent.general_parts()] == [own]
        assert [part.path for part in parent.general_dev_sets().values()] == [own]


@pytest.mark.usefixtures("stopped")
def test_what_the_model_learned_by_is_kept(
    dragoman: CommandLine, trained: Path, tmp_path: Path
) -> None:
    run = tmp_path / "general"
    shutil.copytree(trained, run)
    values = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    values["training"]["label_smoothing"] = 0.03
    values["vocabulary"]["sampling"] = 0.07
    (run / "config.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    for name, line in (("kept", "BA\tqq"), ("extended", "BA\tсвет")):
        (tmp_path / f"{name}.tsv").write_text(f"en\tde\n{line}\n", encoding="utf-8")
        assert "repeat" in one_error(dragoman("adapt", run, tmp_path / f"{name}.tsv"), 130)
        config = read_experiment(tmp_path / f"general-{name}" / "config.yaml")
        assert config.training.label_smoothing == 0.03
        assert config.vocabulary.sampling == 0.07


def test_a_language_that_a_model_of_many_lacks_is_named_with_those_near_it(tmp_path: Path) -> None:
    codes = ("eng_Latn", "deu_Latn")
    model = save_tiny_model(
        tmp_path / "many",
        tags=tuple(map(language_tag, codes)),
        directions=tuple(
            Direction(source_language="source", target_language=code, tags=(language_tag(code),))
            for code in codes
        ),
    )
    parent = ParentModel.open(model)
    parent = replace(parent, config=parent.config.model_copy(update={"names_source": True}))
    assert parent.direction_for(("en", "de"), "ui.tsv").name == "eng_Latn-deu_Latn"
    with pytest.raises(ConfigError) as error:
        parent.direction_for(("fr", "gsw"), "ui.tsv")
    said = "has no language fr and no language gsw (near it: deu_Latn); its languages are eng_Latn"
    assert said in str(error.value)
