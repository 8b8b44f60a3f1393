"""Runs on documents: what is stored, scored and translated is read alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import experiment
from worlds import ALONE

from dragoman.core.config import parse, to_yaml
from dragoman.core.errors import ConfigError
from dragoman.data.origin import clean_text_settings
from dragoman.evaluation.metrics import score_corpus
from dragoman.experiment import Experiment
from dragoman.recipe import ExperimentConfig, read_experiment
from dragoman.run.scores_file import read_scores
from dragoman.text import synthetic
from dragoman.text.corpora.cleaning import CleaningConfig
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.translation.outputs import total
from dragoman.translation.translator import Translator


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    synthetic.write(folder, 60, dev=5, test=7)
    return folder


def values(**context: Any) -> dict[str, Any]:
    found = experiment()
    found["data"] |= {"context": context, "processes": 1}
    found["vocabulary"] = {"size": 120}
    found["training"] |= {"max_steps": 3, "validation_steps": 3}
    found["search"]["allow_tags"] = True
    return found


def read(corpus: Path, **context: Any) -> ExperimentConfig:
    path = corpus / "experiment.yaml"
    path.write_text(to_yaml(values(**context)), encoding="utf-8")
    return read_experiment(path)


@pytest.mark.parametrize("target", [False, True])
def test_a_run_scores_what_translation_gives(corpus: Path, tmp_path: Path, target: bool) -> None:
    """Scores of the test are those of its lines, translated in order, against single targets."""
    config = read(corpus, target=target, max_pieces=14)  # too few for some
    run = Experiment.create(config, tmp_path / "run")
    run.train(run.prepare(), ALONE, lambda step: [])
    pairs = list(read_pairs(CorpusPart(path=str(corpus / "test.tsv"), source="en", target="de")))
    with Translator.load(tmp_path / "run", device="cpu") as translator:
        hypotheses = translator.translate([pair.source for pair in pairs])
        scored = translator.score([pair.source for pair in pairs], [pair.target for pair in pairs])
        # Sources with context say nothing of how long the translation of one without is.
        assert (translator.search.length_ratio is None) is not target
    assert not (target and any("<sep>" in text for text in hypotheses))
    part = config.test_sets()["news"]
    references = [pair.target for pair in pairs]
    scores = score_corpus(hypotheses, [references], config.evaluation_of(part))
    found = read_scores(tmp_path / "run")["news"]
    log_probability, tokens = total(scored)
    assert found["loss"] == pytest.approx(-log_probability / tokens, abs=1e-5)
    for metric, score in zip(config.evaluation.metrics, scores, strict=True):
        assert found[metric]["value"] == pytest.approx(score.value)


def test_data_without_context_is_described_as_before() -> None:
    """Stores and vocabularies of earlier runs stay valid."""
    part = CorpusPart(path="a.tsv", source="en", target="de")
    paged = part.model_copy(update={"documents": "page"})
    plain, unread = (
        clean_text_settings([one], CleaningConfig(), frozenset()) for one in (part, paged)
    )
    assert plain == unread
    assert plain["parts"] == [{"source": "en", "target": "de", "weight": 1.0, "format": "tsv"}]


@pytest.mark.parametrize(
    ("section", "key", "value", "message"),
    [
        ("search", "allow_tags", False, "data.context.target: .*search.allow_tags: true"),
        ("data", "context", {"separator": "sep"}, "a tag looks like"),
        ("data", "context", {"sentences": 0}, "sentences"),
    ],
)
def test_settings_that_contradict_context(
    section: str, key: str, value: object, message: str
) -> None:
    given = values(target=True)
    given[section][key] = value
    with pytest.raises(ConfigError, match=message):
        parse(ExperimentConfig, given, "test")


def test_a_part_has_the_context_of_the_run() -> None:
    given = values(sentences=2)
    config = parse(ExperimentConfig, given, "test")
    assert [part.context for part in config.train_parts()] == [config.data.context]
    assert "<sep>" in config.full_vocabulary().tags
    given["data"]["train"][0]["context"] = {"sentences": 3}
    with pytest.raises(ConfigError, match=r"data\.train\.0\.context: all text has the same"):
        parse(ExperimentConfig, given, "test")


def test_a_vocabulary_without_the_separator_is_refused(corpus: Path, tmp_path: Path) -> None:
    alone = read(corpus)
    config = alone.model_copy(update={"data": alone.data.model_copy(update={"context": None})})
    Experiment.create(config, tmp_path / "alone").prepare()
    taken = values(sentences=1) | {"vocabulary": {"of": str(tmp_path / "alone")}}
    (corpus / "taken.yaml").write_text(to_yaml(taken), encoding="utf-8")
    with pytest.raises(ConfigError, match="has no tag <sep>"):
        Experiment.create(read_experiment(corpus / "taken.yaml"), tmp_path / "taken").prepare()
