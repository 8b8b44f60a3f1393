from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from command_line import STEPS, CommandLine, experiment, one_error, write_experiment
from tiny_model import save_tiny_adapter, save_tiny_model

from dragoman.core.config import parse
from dragoman.core.errors import SavedError
from dragoman.core.locks import lock
from dragoman.models import TransformerConfig
from dragoman.run.finish_record import read_finish
from dragoman.run.run_directory import MARKER
from dragoman.run.scores_file import read_scores
from dragoman.saved.weights import WEIGHTS_FILE, read_tensors
from dragoman.text.examples import Direction
from dragoman.training.checkpoint import checkpoints, read_progress
from dragoman.training.distributed import World
from dragoman.translation.translator import Translator
from dragoman.workflows.progress import TrainingProgress


def test_a_run_has_everything(trained: Path) -> None:
    assert (trained / "model" / WEIGHTS_FILE).is_file()
    assert (trained / "config.yaml").is_file()
    scores = json.loads((trained / "scores.json").read_text(encoding="utf-8"))
    assert {"bleu", "chrf", "perplexity"} <= scores["news"].keys()
    out = (trained / "out.txt").read_text(encoding="utf-8")
    assert "news" in out
    assert scores["news"]["chrf"]["signature"] in out
    assert str(trained / "report.html") in out
    err = (trained / "err.txt").read_text(encoding="utf-8")
    assert "300 pairs read" in err
    assert f"step {STEPS}: " in err


def test_the_default_run_is_named_after_the_configuration(
    config: Path, dragoman: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert dragoman("prepare", config).code == 0
    assert (tmp_path / "runs" / "tiny" / "data" / "store.json").is_file()


def test_training_twice_is_refused_and_loses_nothing(
    trained: Path, config: Path, dragoman: CommandLine
) -> None:
    before = checkpoints(trained)
    line = one_error(dragoman("train", config, "--run", trained), 2)
    assert f"dragoman resume {trained}" in line
    assert checkpoints(trained) == before


def test_files_of_somebody_else_are_not_touched(
    config: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "thesis.tex").write_text("precious", encoding="utf-8")
    (tmp_path / "config.yaml").write_text("server: {}", encoding="utf-8")
    for command in ("prepare", "train"):
        line = one_error(dragoman(command, config, "--run", tmp_path), 2)
        assert f"{tmp_path}: holds config.yaml and is not a run" in line
    found = {path.name: path.read_text("utf-8") for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {"thesis.tex": "precious", "config.yaml": "server: {}"}


def test_files_put_into_the_model_are_told_before_training(
    config: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    assert dragoman("prepare", config, "--run", tmp_path).code == 0
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "thesis.tex").touch()
    line = one_error(dragoman("train", config, "--run", tmp_path), 6)
    assert "model: holds thesis.tex, which Dragoman did not put there" in line
    assert not checkpoints(tmp_path)


def test_commands_that_are_told_can_be_pasted(
    config: Path, tmp_path: Path, dragoman: CommandLine
) -> None:
    """With the settings that the text was prepared with, and with quotation marks if need be."""
    run = tmp_path / "my run"
    settings = ["seed=3", "training.schedule={decay: linear, warmup_steps: 2}"]
    given = [word for one in settings for word in ("--set", one)]
    told = dragoman("prepare", config, "--run", run, *given).out.rpartition("train with: ")[2]
    assert shlex.split(told) == ["dragoman", "train", str(config), "--run", str(run), *given]
    trained = dragoman(*shlex.split(told)[1:])
    assert trained.code == 0, trained.err
    assert yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))["seed"] == 3
    assert f"Use it: dragoman translate '{run}' < input.txt" in trained.out
    again = one_error(dragoman(*shlex.split(told)[1:]), 2)
    assert f"dragoman resume '{run}'" in again
    ended = dragoman("resume", run)
    assert f"dragoman resume '{run}' --set training.max_steps=..." in ended.err


def test_prepare_then_train_with_one_that_is_done_twice(
    config: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    for command in ("prepare", "prepare", "train"):
        outcome = dragoman(command, config, "--run", run, "--set", "training.max_steps=1")
        assert outcome.code == 0, outcome.err
    shutil.rmtree(run / "checkpoints")
    for arguments in (("train", config, "--run", run), ("resume", run)):
        assert "a finished run" in dragoman(*arguments).err
    assert (run / "model" / WEIGHTS_FILE).is_file()


def test_a_model_card_that_was_changed_is_kept(
    trained: Path, dragoman: CommandLine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = Path(shutil.copytree(trained, tmp_path / "run"))
    card, before = run / "model" / "README.md", run / "model-card.before.md"
    assert dragoman("resume", run, "--set", "search.beam=2").code == 0
    assert not before.exists(), "nobody has changed it"
    changed = card.read_text(encoding="utf-8") + "\nLicence of train.tsv: CC-BY-4.0\n"
    card.write_text(changed, encoding="utf-8")
    assert dragoman("resume", run, "--set", "search.beam=3").code == 0
    assert before.read_text(encoding="utf-8") == changed
    assert f"{card} was changed by hand, and a new one replaces it; {before} has" in caplog.text
    assert "Licence of train.tsv" not in card.read_text(encoding="utf-8")


def test_two_processes_on_one_run(
    trained: Path, config: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    """Only what writes needs the run for itself."""
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    descriptor = os.open(run / MARKER, os.O_RDWR)
    assert lock(descriptor)
    for arguments in (
        ("resume", run),
        ("train", config, "--run", run),
        ("prepare", config, "--run", run),
        ("average", trained, "--output", run / "mean"),
    ):
        assert "is using this run; wait" in one_error(dragoman(*arguments), 4)
    assert dragoman("translate", run, stdin=b"seven\n").code == 0
    assert dragoman("average", run, "--output", tmp_path / "mean").code == 0
    os.close(descriptor)
    assert dragoman("average", trained, "--output", run / "mean").code == 0


def test_odd_names_of_runs(config: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    for name, said in (("x" * 300, "File name too long"), (os.fsdecode(b"\xff"), "not UTF-8")):
        assert said in one_error(dragoman("prepare", config, "--run", tmp_path / name), 2)
    long = tmp_path / ("x" * 300)
    for command in (["resume"], ["translate"], ["average", "--output", "here"]):
        assert "File name too long" in one_error(dragoman(*command, long), 2)
    line_feed = tmp_path / "two\nlines"
    assert dragoman("prepare", config, "--run", line_feed).code == 0


def test_interrupted_and_resumed(
    config: Path,
    trained: Path,
    dragoman: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = tmp_path / "run"
    tell = TrainingProgress.record

    def stop(self: TrainingProgress, record: dict[str, Any]) -> None:
        tell(self, record)
        os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingProgress, "record", stop)
        line = one_error(dragoman("train", config, "--run", run), 130)
    assert f"dragoman resume {run}" in line
    assert not (run / "model").exists()
    assert "resume" in one_error(dragoman("translate", run), 4)
    outcome = dragoman("resume", run, "--json", "--quiet")
    assert outcome.code == 0
    assert outcome.err == ""
    assert json.loads(outcome.out) == {
        "run": str(run),
        "model": str(run / "model"),
        "report": str(run / "report.html"),
        "steps": STEPS,
        "epochs": read_progress(checkpoints(run)[-1]).epoch,
        "target_tokens": read_progress(checkpoints(run)[-1]).target_tokens,
        "seconds": pytest.approx(read_progress(checkpoints(run)[-1]).seconds, abs=1e-3),
        "scores": read_scores(trained),
        **read_finish(trained),
    }
    assert {"choice", "confidence", "errors"} == read_finish(trained).keys()
    resumed, whole = (read_tensors(path / "model" / WEIGHTS_FILE) for path in (run, trained))
    assert all(torch.equal(resumed[name], whole[name]) for name in whole)


def test_a_finished_run_is_trained_on(trained: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    line = one_error(dragoman("resume", run, "--set", "seed=2", "--set", "search.beam=1"), 2)
    assert "seed cannot change in a run that has begun" in line
    again = dragoman("resume", run)
    assert again.code == 0
    assert "training ended at training.max_steps: 12" in again.err
    longer = dragoman("resume", run, "--set", "training.max_steps=14", "--set", "search.beam=1")
    assert longer.code == 0
    assert "has ended" not in longer.err
    assert json.loads((run / "scores.json").read_text())["checkpoints"][-1] == "step-000014"
    settings = yaml.safe_load((run / "config.yaml").read_text())
    assert (settings["training"]["max_steps"], settings["search"]["beam"]) == (14, 1)


def test_a_moved_run_with_moved_text_goes_on(
    trained: Path, text: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    ends = []
    for name in ("here", "elsewhere"):
        run = Path(shutil.copytree(trained, tmp_path / name))
        if name == "elsewhere":
            moved = shutil.copytree(text, tmp_path / "text")
            settings = run / "config.yaml"
            settings.write_text(settings.read_text().replace(str(text), str(moved)))
            assert str(moved) in settings.read_text()
        outcome = dragoman("resume", run, "--set", "training.max_steps=14")
        assert outcome.code == 0
        assert "other text" not in outcome.err
        ends.append(read_tensors(run / "model" / WEIGHTS_FILE))
    assert all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])


def test_settings_are_not_lost_where_processes_take_the_place_of_others(
    trained: Path, dragoman: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when one is killed, or a machine comes, before the first has read its settings."""
    run = Path(shutil.copytree(trained, tmp_path / "run"))
    world = World(0, 1, torch.device("cpu"), continues=True)
    monkeypatch.setattr(World, "join", lambda: world)
    for _ in range(2):
        assert dragoman("resume", run, "--set", "training.max_steps=14").code == 0
        assert read_progress(checkpoints(run)[-1]).step == 14


def test_resuming_nothing(dragoman: CommandLine, tmp_path: Path) -> None:
    assert "no run here" in one_error(dragoman("resume", tmp_path), 4)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("training.max_stepz=5", "max_steps"),
        ("training.max_steps=many", "training.max_steps"),
        ("training.max_steps", "KEY=VALUE"),
        ("vocabulary.size=100000", "set it to"),
    ],
)
def test_wrong_settings(
    setting: str, said: str, config: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    outcome = dragoman("train", config, "--run", tmp_path / "run", "--set", setting)
    assert said in one_error(outcome, 2)


def test_a_run_directory_below_a_file(config: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("precious", encoding="utf-8")
    assert str(file) in one_error(dragoman("train", config, "--run", file / "run"), 6)
    assert file.read_text(encoding="utf-8") == "precious"


def test_a_truncated_checkpoint(trained: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    newest, before = checkpoints(run)[-1], checkpoints(run)[-2]
    weights = newest / WEIGHTS_FILE
    weights.write_bytes(weights.read_bytes()[:-100])
    line = one_error(dragoman("resume", run), 4)
    assert str(weights) in line
    assert f"delete {newest.name} to resume from the checkpoint before it" in line
    shutil.rmtree(newest)
    assert dragoman("resume", run).code == 0
    assert checkpoints(run)[-2] == before


def test_a_checkpoint_of_another_configuration(
    trained: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    path = run / "config.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("d_ff: 32", "d_ff: 48"), "utf-8")
    assert "another configuration" in one_error(dragoman("resume", run), 4)


@pytest.mark.parametrize("damage", ["", "[", "[" * 100_000, "[5]", "5"])
def test_damaged_scores(damage: str, tmp_path: Path) -> None:
    (tmp_path / "scores.json").write_text(damage, encoding="utf-8")
    with pytest.raises(SavedError, match=r"scores\.json: missing or damaged; make it with"):
        read_scores(tmp_path)


def test_tensorboard_events(config: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    options = ("--run", tmp_path / "run", "--set", "training.max_steps=4", "--tensorboard")
    assert dragoman("train", config, *options).code == 0
    assert list((tmp_path / "run" / "tensorboard").glob("events.*"))


def test_without_the_tensorboard_extra(
    config: Path, dragoman: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    monkeypatch.delitem(
        sys.modules, "dragoman.workflows.trackers.tensorboard_tracker", raising=False
    )
    outcome = dragoman("train", config, "--run", tmp_path / "run", "--tensorboard")
    assert "-m pip install tensorboard" in one_error(outcome, 7)


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_without_the_plots_extra_there_is_a_model_but_no_report(
    package: str,
    trained: Path,
    dragoman: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    shutil.rmtree(run / "model")
    (run / "report.html").unlink()
    monkeypatch.setitem(sys.modules, package, None)
    for name in ("plots", "figures", "pages", "run_report"):
        monkeypatch.delitem(sys.modules, f"dragoman.workflows.reports.{name}", raising=False)
    assert dragoman("resume", run).code == 0
    others = {"matplotlib", "jinja2"} - {package}
    assert f"-m pip install {package} {others.pop()}" in caplog.text
    assert (run / "model").is_dir()
    assert not (run / "report.html").exists()


def test_the_average_is_the_mean_of_the_last(
    trained: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    output = tmp_path / "model"
    outcome = dragoman("average", trained, "--last", 2, "--output", output)
    assert outcome.code == 0
    last = checkpoints(trained)[-2:]
    assert all(path.name in outcome.out for path in last)
    found = read_tensors(output / WEIGHTS_FILE)
    first, second = (read_tensors(path / WEIGHTS_FILE) for path in last)
    for name, tensor in found.items():
        torch.testing.assert_close(tensor, (first[name] + second[name]) / 2)
    card = (output / "README.md").read_text(encoding="utf-8")
    assert "It is the mean of 2 checkpoints." in card
    assert "| not stated |" in card  # the licence of the run's text
    by_name = dragoman("average", *last, "--output", tmp_path / "same")
    assert by_name.code == 0
    assert dragoman("translate", output, stdin=b"seven\n").code == 0


def test_an_average_of_fewer_checkpoints_than_wanted_is_warned_about(
    trained: Path, dragoman: CommandLine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    count = len(checkpoints(trained))
    assert dragoman("average", trained, "--last", count, "--output", tmp_path / "all").code == 0
    assert not caplog.messages
    outcome = dragoman("average", trained, "--last", count + 5, "--output", tmp_path / "more")
    assert outcome.code == 0
    (warning,) = caplog.messages
    assert f"has {count} checkpoints, and {count + 5} were to be averaged" in warning
    assert "training.keep_checkpoints" in warning


def test_an_average_overwrites_nothing(
    trained: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    line = one_error(dragoman("average", trained, "--output", tmp_path), 2)
    assert "exists" in line


def test_an_average_counts_nothing_twice(
    dragoman: CommandLine, trained: Path, tmp_path: Path
) -> None:
    link, output = tmp_path / "link", tmp_path / "model"
    link.symlink_to(trained)
    for other, said in ((trained, "named twice; name"), (link, "named twice, the other time as")):
        outcome = dragoman("average", trained, other, "--output", output)
        assert said in one_error(outcome, 2)
    assert not output.exists()


def test_no_average_of_different_vocabularies(
    text: Path, trained: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    values = experiment()
    for part in (*values["data"]["train"], values["data"]["dev"], values["data"]["test"]["news"]):
        part["path"] = str(text / part["path"])
    values["vocabulary"]["kind"] = "unigram"
    values["training"]["max_steps"] = 2
    run = tmp_path / "run"
    assert dragoman("train", write_experiment(tmp_path, values), "--run", run).code == 0
    outcome = dragoman("average", trained, run, "--output", tmp_path / "model")
    assert "vocabulary" in one_error(outcome, 4)
    assert "vocabulary" in one_error(dragoman("translate", trained, run), 4)


def test_no_average_of_models_whose_weights_mean_something_else(
    dragoman: CommandLine, tmp_path: Path
) -> None:
    """Though they have the same names and shapes: of other heads, or of the way back."""

    def model(name: str, source: str = "en", target: str = "de", **values: Any) -> Path:
        directions = (Direction(source_language=source, target_language=target),)
        sizes = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 8, "d_ff": 8, "heads": 2}
        config = parse(TransformerConfig, {**sizes, **values}, name)
        return save_tiny_model(tmp_path / name, directions=directions, config=config)

    first, output = model("first"), tmp_path / "mean"
    for other, said in (
        (model("heads", heads=1), "of another configuration: heads 1, here 2"),
        (model("back", "de", "en"), "back: translates de-en, and"),
    ):
        assert said in one_error(dragoman("average", first, other, "--output", output), 4)
    refused = one_error(dragoman("translate", first, tmp_path / "back", stdin=b"a b\n"), 4)
    assert "translates de-en, and" in refused
    assert not output.exists()
    for name, source, target in (("region", "en-GB", "de"), ("nameless", "source", "target")):
        other = model(name, source, target, dropout=0.4)
        assert dragoman("average", first, other, "--output", tmp_path / f"{name}-mean").code == 0
        assert dragoman("translate", first, other, stdin=b"a b\n").code == 0


def test_no_average_of_nothing(dragoman: CommandLine, tmp_path: Path) -> None:
    outcome = dragoman("average", tmp_path, "--output", tmp_path / "model")
    assert "checkpoint" in one_error(outcome, 4)


def test_a_model_is_merged_with_its_adapter(dragoman: CommandLine, tmp_path: Path) -> None:
    model = save_tiny_model(tmp_path / "model")
    adapter = save_tiny_adapter(tmp_path / "ui.safetensors", model)
    output = tmp_path / "merged"
    arguments = ("merge", model, "--adapter", adapter, "--output", output)
    done = dragoman(*arguments, "--json")
    assert json.loads(done.out) == {"model": str(output), "of": str(model), "adapter": str(adapter)}
    lines = ["a b c", "c d"]
    expected = Translator.load(model, device="cpu", adapter=adapter).translate(lines)
    assert Translator.load(output, device="cpu").translate(lines) == expected
    assert "and an adapter." in (output / "README.md").read_text()
    assert "exists already" in one_error(dragoman(*arguments), 2)
    wrong = ("merge", output, "--adapter", adapter, "--output", tmp_path / "again")
    assert "an adapter of another model" in one_error(dragoman(*wrong), 4)
    assert not (tmp_path / "again").exists()
