"""How far stages are, and what is noticed of what commands are made with."""

from __future__ import annotations

import shutil
from pathlib import Path

import yaml
from command_line import experiment, write_experiment
from small_table import TABLE, change
from tiny_model import save_tiny_model

from dragoman.core.files import write_json
from studies.tables.plan import read_table
from studies.tables.workplace import STAGES, State, Workplace

COPY = "copy {here}/words.tsv {broken}"


def place_of(folder: Path, output: Path) -> Workplace:
    file = folder / "table.yaml"
    return Workplace(read_table(file), file, output)


def with_command(folder: Path, command: str) -> None:
    """A table in a new folder, whose only row is of a command."""
    section = {
        "title": "All",
        "tests": ["news"],
        "rows": {"row": {"label": "A", "translate": "{broken}"}},
    }
    values = {**TABLE, "stages": {"broken": {"command": command}}, "sections": [section]}
    (folder / "table.yaml").write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")


def begun(folder: Path) -> Workplace:
    """The command of that table has begun."""
    place = place_of(folder, folder / "out")
    place.begin("broken")
    place.places["broken"].mkdir(parents=True, exist_ok=True)
    return place


def test_a_run_is_done_when_its_model_is_there(copied: tuple[Path, Path]) -> None:
    """It is written after the scores, and translates."""
    folder, output = copied
    model = output / "one/model/model.safetensors"
    place = place_of(folder, output)
    assert place.state("one") is State.DONE
    model.rename(output / "elsewhere")
    assert place.state("one") is State.TO_DO
    assert place.missing_end("one") == model
    change(folder, stages__mean__done="round-1/forward/scores.json")
    place, forward = place_of(folder, output), output / "mean/round-1/forward"
    (output / "one").rename(output / "other")
    forward.parent.mkdir()
    (output / "other").rename(forward)
    assert place.missing_end("mean") == forward / "model/model.safetensors"
    shutil.rmtree(forward / "checkpoints")
    assert place.missing_end("mean") is None, "scores are all that was kept of the run"


def test_a_command_may_go_by_scores_that_its_recipe_does_not_name(tmp_path: Path) -> None:
    values, found = experiment(), {}
    for command in ("prepare", "distill", "adapt"):
        with_command(tmp_path, f"{command} {{here}}/tiny.yaml --run {{broken}}")
        write_experiment(tmp_path, values)
        place = begun(tmp_path)
        settings = {"bleu_tokenize": "char", "chrf_word_order": 2, "metrics": ["ter"]}
        write_experiment(tmp_path, {**values, "evaluation": settings})
        found[command] = list(place.differences("broken"))
    assert found == {
        "prepare": [],
        "distill": ["evaluation.bleu_tokenize", "evaluation.chrf_word_order"],
        "adapt": ["evaluation.chrf_word_order"],
    }


def test_files_that_a_command_names_are_compared(tmp_path: Path) -> None:
    with_command(tmp_path, COPY)
    words = tmp_path / "words.tsv"
    words.write_text("one\teins\n", encoding="utf-8")
    place = begun(tmp_path)
    assert list(place.differences("broken")) == []
    words.write_text("one\tein\n", encoding="utf-8")
    assert list(place.differences("broken")) == ["{here}/words.tsv, which it reads"]
    older = {
        name: value for name, value in place.record(STAGES, "broken").items() if name != "files"
    }
    write_json(place.record_file(STAGES, "broken"), older)
    assert list(place.differences("broken")) == [], "older releases recorded none"


def test_files_that_are_gone_are_taken_for_the_same(tmp_path: Path) -> None:
    with_command(tmp_path, COPY)
    (tmp_path / "words.tsv").write_text("one\teins\n", encoding="utf-8")
    place = begun(tmp_path)
    (tmp_path / "words.tsv").unlink()
    assert list(place.differences("broken")) == []


def test_a_command_is_made_with_the_model_that_its_recipe_names(tmp_path: Path) -> None:
    values = experiment()
    values["training"]["start_from"] = str(save_tiny_model(tmp_path / "parent"))
    del values["vocabulary"]
    write_experiment(tmp_path, values)
    with_command(tmp_path, "distill {here}/tiny.yaml --teacher q --run {broken}")
    place = begun(tmp_path)
    assert list(place.differences("broken")) == []
    save_tiny_model(tmp_path / "parent", seed=2)
    assert list(place.differences("broken")) == ["training.start_from.digest"]
