"""A model that exists is adapted to a text by what ``dragoman init --from`` writes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml
from command_line import CommandLine, one_error
from tiny_model import save_tiny_model

from dragoman.models.families.transformer import TransformerConfig
from dragoman.recipe import read_experiment
from dragoman.saved.model import read_config
from dragoman.text.examples import Direction
from dragoman.text.tags import language_tag
from dragoman.workflows.init import measure

CODES = ("eng_Latn", "deu_Latn", "kor_Hang")
FEW_STEPS = ("training.max_steps=2", "training.validation_steps=2", "training.checkpoint_steps=2")


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """A moment of steps is enough where the speed does not matter."""
    monkeypatch.setattr(measure, "_SECONDS", 0.01)


@pytest.fixture
def many(text: Path, tmp_path: Path) -> Path:
    """A text in five languages without dev and test sets."""
    return Path(shutil.copy(text / "train.tsv", tmp_path / "many.tsv"))


@pytest.fixture
def public(tmp_path: Path) -> Path:
    """An untrained model as NLLB is imported: of many languages, and told both."""
    tags = tuple(map(language_tag, CODES))
    model = save_tiny_model(
        tmp_path / "public",
        tags=tags,
        directions=tuple(
            Direction(source_language="source", target_language=code, tags=(tag,))
            for code, tag in zip(CODES, tags, strict=True)
        ),
        config=TransformerConfig(
            encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2, norm="pre",
            language_tags="decoder_second", first_position=2,
        ),
    )  # fmt: skip
    path = model / "config.yaml"
    values = {**yaml.safe_load(path.read_text(encoding="utf-8")), "names_source": True}
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return model


@pytest.mark.parametrize("method", ["full", "lora"])
def test_from_a_public_model_to_an_adapted_one(
    method: str, many: Path, public: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    config, run = tmp_path / "mine" / "my.yaml", tmp_path / "run"
    sides = ("--source", "en", "--target", "de", "--from", public, "--output", config)
    outcome = dragoman("init", many, *sides, "--method", method, "--minutes", 1)
    assert outcome.code == 0, outcome.err
    assert f"{public}, which translates eng_Latn into deu_Latn" in outcome.out
    assert f"dragoman doctor {config}\n  dragoman train {config}" in outcome.out
    experiment = read_experiment(config)
    assert experiment.training.start_from is not None
    assert experiment.training.start_from.model == str(public)
    assert (experiment.training.adapter is not None) == (method == "lora")
    assert experiment.model == read_config(public / "config.yaml").model
    sets = [experiment.data.train[0], experiment.data.dev_sets["dev"], experiment.data.test["test"]]
    for part in map(experiment.resolved, sets):
        assert part.direction.name == "eng_Latn-deu_Latn"
        assert part.tags == ("<2deu_Latn>", "<2eng_Latn>")

    examined = dragoman("doctor", config)
    assert examined.code == 0, examined.out
    assert (", of which" in examined.out) == (method == "lora")
    if method == "full":
        return  # as any other start from a model
    settings = [one for setting in FEW_STEPS for one in ("--set", setting)]
    outcome = dragoman("train", config, "--run", run, *settings)
    assert outcome.code == 0, outcome.err
    assert (run / "adapter.safetensors").is_file()
    assert dragoman("translate", run, stdin=b"a b c\n").code == 0


def test_what_learns_is_chosen_and_told(
    many: Path, public: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    config = tmp_path / "my.yaml"
    sides = ("--source", "de", "--target", "en", "--from", public, "--output", config)
    found = json.loads(dragoman("init", many, *sides, "--json").out)
    assert (found["from"], found["method"]) == (str(public), "full")
    assert "target tokens of text suffice" in found["why"]
    written = " ".join(line.strip(" #") for line in config.read_text("utf-8").splitlines())
    assert f"all weights learn: {found['why']}" in written
    assert found["parameters"] == found["learned_parameters"]
    trial = found["learning_rate_trial"]
    assert len(trial["losses"]) == 3
    assert str(trial["chosen"]) in trial["losses"]
    assert min(trial["losses"].values()) < trial["before"]
    assert read_experiment(config).training.schedule.peak_learning_rate == trial["chosen"]
    assert f"the best of 3 on the dev set: a loss of {trial['before']:.2f} nats" in written
    new = found["from_nothing"]
    assert new["model"] == "tiny" and new["seconds"] > 0
    assert "2 + 2 layers of 128 would take" in written
    assert f"for {new['epochs']:.1f}; its vocabulary is kept" in written
    again = one_error(dragoman("init", many, *sides), 2)
    assert "exists already" in again


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--target", "es", "--from", "{public}"),
            "has no language es; its languages are eng_Latn, deu_Latn, kor_Hang",
        ),
        (("--target", "ko", "--from", "{public}/none"), "no such model or run"),
        (("--target", "ko", "--method", "lora"), "--method says how to adapt"),
        (
            ("--target", "ko", "--from", "hf:org/nllb@main"),
            "dragoman import hf:org/nllb@main --languages en,ko --text FILE --output models/nllb",
        ),
    ],
)
def test_an_error_is_one_line_and_leaves_nothing(
    options: tuple[str, ...],
    said: str,
    many: Path,
    public: Path,
    dragoman: CommandLine,
    tmp_path: Path,
) -> None:
    before = sorted(tmp_path.iterdir())
    given = [option.format(public=public) for option in options]
    outcome = dragoman("init", many, "--source", "en", *given, "--output", tmp_path / "my.yaml")
    assert outcome.code in {2, 4}, outcome.err
    assert said in outcome.err
    assert sorted(tmp_path.iterdir()) == before
