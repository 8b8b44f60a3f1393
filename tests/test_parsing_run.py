"""A parser from its trees to its scores: every part together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import call
from worlds import ALONE

from dragoman.core.config import parse, to_yaml
from dragoman.core.constituency import read_tree
from dragoman.core.errors import ConfigError
from dragoman.experiment import Experiment
from dragoman.recipe import ExperimentConfig, read_experiment
from dragoman.run.scores_file import read_scores
from dragoman.translation.outputs import Translation
from dragoman.translation.translator import Translator
from dragoman.workflows.runs import conclude_run

NOUNS, VERBS = ["dog", "cat", "fox", "hen"], ["barks", "sleeps", "runs"]
TREES = [
    f"((S (NP-SBJ (DT the) (NN {noun})) (VP (VBZ {verb}) (NP (-NONE- *))) (. .)))"
    for noun in NOUNS
    for verb in VERBS
]


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    for name, trees in (("train", TREES[:9]), ("dev", TREES[9:])):
        (tmp_path / f"{name}.trees").write_text("\n".join(trees) + "\n")

    def part(name: str) -> dict[str, str]:
        return {"path": f"{name}.trees", "source": "words", "target": "brackets"}

    values: dict[str, Any] = {
        "data": {
            "train": [part("train")],
            "dev": part("dev"),
            "cleaning": {"max_length_ratio": None, "keep_held_out": True},
            "processes": 1,
        },
        "vocabulary": {"size": 30, "joint": False, "target_kind": "word"},
        "model": {
            **{"family": "transformer", "encoder_layers": 1, "decoder_layers": 1},
            **{"d_model": 8, "d_ff": 8, "heads": 2, "embeddings": "target"},
        },
        "training": {
            **{"step_tokens": 60, "max_steps": 2, "validation_steps": 2, "checkpoint_steps": 2},
            **{"best_metric": "bracketing_f1", "precision": "float32"},
            "objective": {"kind": "guided_alignment"},
        },
        "search": {"grammar": "trees", "beam": 2, "extra_length": 12},
        "evaluation": {"metrics": ["bracketing_f1", "malformed_trees"]},
    }
    path = tmp_path / "parser.yaml"
    path.write_text(to_yaml(values), encoding="utf-8")
    return path


def test_a_parser_is_trained_scored_and_used(
    recipe: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Wrong only in the full stop, which is no word by the tags of the file.
    parsed = [[Translation("(S (NP XX XX )NP (VP XX XX )VP )S", 0.0, 0.0, [], True)]] * 3
    run = tmp_path / "run"
    experiment = Experiment.create(read_experiment(recipe), run)
    prepared = experiment.prepare()
    assert prepared.alignments is not None
    with monkeypatch.context() as patch:
        patch.setattr(Translator, "stream_nbest", lambda *_, nbest: iter(parsed))
        experiment.train(prepared, ALONE, lambda step: [])
    report = read_scores(run)["dev"]
    assert report["malformed_trees"]["value"] == 0
    assert report["bracketing_f1"]["value"] == 100
    monkeypatch.setattr("dragoman.workflows.reports.run_report.write_report", lambda *_: None)
    conclude_run(experiment)
    assert f"Use it: dragoman parse {run} < input.txt" in capsys.readouterr().out
    card = (run / "model" / "README.md").read_text(encoding="utf-8")
    assert "dragoman parse MODEL < input.txt" in card
    found = call("parse", run, stdin=b"the dog barks .\n")
    assert read_tree(found.out).words == ["the", "dog", "barks", "."]
    assert set(read_tree(found.out).tags) == {"XX"}


def test_trees_need_symbols_that_are_pieces(recipe: Path) -> None:
    for setting in ("vocabulary={joint: false, size: 30}", "vocabulary={size: 30}"):
        with pytest.raises(ConfigError, match="target_kind: word"):
            read_experiment(recipe, [setting])
    config = read_experiment(recipe, ["vocabulary={of: elsewhere}"])
    assert isinstance(config, ExperimentConfig)
    with pytest.raises(ConfigError, match="language model does not read"):
        parse(
            ExperimentConfig,
            {
                "data": {"train": [{"target": "a"}], "dev": {"target": "a"}},
                "model": {"family": "recurrent_lm"},
                "search": {"grammar": "trees"},
                "training": {"best_metric": "loss"},
                "evaluation": {"metrics": []},
            },
            "test",
        )
