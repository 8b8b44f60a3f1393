"""Text in one language among translations: copied on either side, or with a source cut off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import experiment
from worlds import ALONE

from dragoman.core.config import to_yaml
from dragoman.core.errors import ConfigError
from dragoman.experiment import Experiment
from dragoman.recipe import ExperimentConfig, read_experiment
from dragoman.saved.model import build_model
from dragoman.saved.weights import WEIGHTS_FILE, read_tensors
from dragoman.text import synthetic
from dragoman.training.objectives import CrossEntropy
from dragoman.training.objectives.source_cut_off import SourceCutOff
from dragoman.training.tasks import Objective

CUT_OFF = {"kind": "dummy_source", "cut_off": True}
ZERO = {"kind": "dummy_source", "cut_off": "zero"}
COPY: dict[str, Any] = {"kind": "copy"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Translations, and 40 lines of either language alone."""
    folder = tmp_path_factory.mktemp("corpus")
    synthetic.write(folder, 80, dev=3, test=3)
    rows = (folder / "train.tsv").read_text(encoding="utf-8").splitlines()[41:]
    for language, column in (("en", 2), ("de", 3)):
        lines = [row.split("\t")[column] for row in rows]
        (folder / f"mono.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def configured(corpus: Path, *parts: dict[str, Any], **training: Any) -> ExperimentConfig:
    values = experiment()
    values["data"]["train"] = list(parts)
    values["evaluation"] = {"metrics": []}
    values["training"] |= {"max_steps": 3, "validation_steps": 3, **training}
    path = corpus / "experiment.yaml"
    path.write_text(to_yaml(values), encoding="utf-8")
    return read_experiment(path)


PAIRS = {"path": "train.tsv", "source": "en", "target": "de"}


def alone(language: str, *transforms: dict[str, Any]) -> dict[str, Any]:
    return {
        "target": f"mono.{language}",
        "target_language": language,
        "transforms": list(transforms),
    }


def learned(corpus: Path, run: Path, *parts: dict[str, Any]) -> tuple[set[str], set[str]]:
    """Names of the weights that training changed, and of the others."""
    trained = Experiment.create(configured(corpus, *parts), run)
    prepared = trained.prepare()
    torch.manual_seed(trained.config.seed)
    fresh = build_model(trained.config.model, prepared.vocabularies).state_dict()
    trained.train(prepared, ALONE, lambda step: [])
    weights = read_tensors(run / "model" / WEIGHTS_FILE)
    same = {name for name, tensor in weights.items() if torch.equal(tensor, fresh[name])}
    return weights.keys() - same, same


@pytest.mark.parametrize("cut_off", [CUT_OFF, ZERO], ids=["frozen", "zero"])
def test_a_run_on_cut_off_text_leaves_what_reads_the_source(
    cut_off: dict[str, Any], corpus: Path, tmp_path: Path
) -> None:
    changed, same = learned(corpus, tmp_path / "alone", alone("de", cut_off))
    assert {name for name in same if not name.startswith("encoder.")} == {
        f"decoder.0.cross_attention.{part}.weight" for part in ("query", "key", "value", "output")
    }
    assert not any(name.startswith("encoder.") for name in changed)
    changed, same = learned(corpus, tmp_path / "mixed", PAIRS, alone("de", cut_off))
    assert not same


def test_the_objective_is_wrapped_only_where_text_is_cut_off(corpus: Path, tmp_path: Path) -> None:
    plain: dict[str, Any] = {"kind": "dummy_source"}
    cases: list[tuple[dict[str, Any], Objective]] = [
        (plain, CrossEntropy(0.1)),
        (CUT_OFF, SourceCutOff(CrossEntropy(0.1), frozenset({1}))),
        (ZERO, SourceCutOff(CrossEntropy(0.1), frozenset({1}), zero=True)),
    ]
    for number, (transform, expected) in enumerate(cases):
        config = configured(corpus, PAIRS, alone("de", transform))
        found = Experiment.create(config, tmp_path / str(number))
        (task,) = found.tasks(found.prepare(), ALONE)
        assert task.objective == expected


def test_parts_may_be_cut_off_in_both_ways(corpus: Path, tmp_path: Path) -> None:
    config = configured(corpus, PAIRS, alone("de", ZERO), alone("de", CUT_OFF))
    found = Experiment.create(config, tmp_path)
    (task,) = found.tasks(found.prepare(), ALONE)
    frozen = SourceCutOff(CrossEntropy(0.1), frozenset({2}))
    assert task.objective == SourceCutOff(frozen, frozenset({1}), zero=True)


def test_cut_off_text_needs_gradients_that_are_sent_after_all_passes(corpus: Path) -> None:
    configured(corpus, PAIRS, alone("de", {"kind": "dummy_source"}), send_gradients="during")
    with pytest.raises(ConfigError, match=r"data.train.1: dummy_source with cut_off .* to after"):
        configured(corpus, PAIRS, alone("de", CUT_OFF), send_gradients="during")


def test_text_is_copied_on_either_side_by_one_line_each(corpus: Path, tmp_path: Path) -> None:
    """A copy of the source's language needs a tag: the same sources are translated."""
    copies = alone("de", COPY), alone("en", COPY, {"kind": "tag"})
    trained = Experiment.create(configured(corpus, PAIRS, *copies), tmp_path / "run")
    prepared = trained.prepare()
    parts = prepared.store.parts
    assert [(one.source_language, one.target_language, one.tags) for one in parts] == [
        ("en", "de", ()),
        ("de", "de", ()),
        ("en", "en", ("<2en>",)),
    ]
    source, target = prepared.vocabularies.source, prepared.vocabularies.target
    for part in parts[1:]:
        for row in range(part.start, part.start + 3):
            read = source.decode(prepared.store.source(row).tolist())
            written = target.decode(prepared.store.target(row).tolist())
            assert read.removeprefix("<2en>").strip() == written
    with pytest.raises(ConfigError, match=r"en is translated into de and en, and nothing shows"):
        configured(corpus, PAIRS, alone("en", COPY))
    with pytest.raises(ConfigError, match=r"text to copy is named as target, with its target_lang"):
        configured(corpus, PAIRS, {"source": "mono.en", "transforms": [COPY]})
