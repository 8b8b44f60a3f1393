"""Scores of a model do not depend on how many processes share the sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from command_fixtures import web  # noqa: F401 - a fixture
from corpora_web import Web
from listed_pieces import listed
from registered_sets import Register, register  # noqa: F401
from worlds import ALONE, together

from dragoman import validation
from dragoman.core.errors import ConfigError, DataError, WorkerError
from dragoman.evaluation import metrics
from dragoman.evaluation.metrics import EvaluationConfig
from dragoman.models import RecurrentLMConfig, TransformerConfig
from dragoman.models.interface import TranslationModel
from dragoman.run.monolingual_validation import ObjectiveValidation
from dragoman.saved.model import build_model
from dragoman.search import SearchConfig
from dragoman.text import synthetic
from dragoman.text.context import ContextConfig
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.listed_vocabulary import ListedVocabulary
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.training.distributed import World
from dragoman.training.objectives.masked_lm import MaskedLMConfig
from dragoman.translation.outputs import Translation
from dragoman.translation.translator import Translator
from dragoman.validation import Validation, figures

SENTENCES = 8
SEARCH = SearchConfig(beam=2, extra_length=5)  # an untrained model writes as much as it may


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> CorpusPart:
    folder = tmp_path_factory.mktemp("corpus")
    synthetic.write(folder, 200, dev=SENTENCES, test=1)
    return CorpusPart(path=str(folder / "dev.tsv"), source="en", target="de")


@pytest.fixture(scope="module")
def vocabularies(part: CorpusPart) -> Vocabularies:
    return train_vocabularies(read_pairs(part), VocabularyConfig(size=80), seed=1)


@pytest.fixture(scope="module")
def model(vocabularies: Vocabularies) -> TranslationModel:
    torch.manual_seed(3)
    sizes: dict[str, Any] = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 16, "d_ff": 16}
    model = build_model(TransformerConfig(**sizes, heads=2), vocabularies)
    # In float64, as batches differ in shape: an untrained model in float32 may be near a tie.
    return model.double().eval()  # by all threads


def make(part: CorpusPart, vocabularies: Vocabularies, world: World, **values: Any) -> Validation:
    evaluation = EvaluationConfig.model_validate({"metrics": ["bleu", "chrf"], **values})
    return Validation(part, vocabularies, SEARCH, evaluation, world)


def writing(texts: list[str]) -> Callable[..., Iterator[list[Translation]]]:
    """A search that finds these translations."""
    return lambda *_, nbest: ([Translation(text, 0.0, 0.0, [], True)] for text in texts)


def test_references_that_a_metric_cannot_read_are_refused_before_training(
    part: CorpusPart, vocabularies: Vocabularies, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError, match="bracketing_f1: references: line 1 is no tree"):
        make(part, vocabularies, ALONE, metrics=["bleu", "bracketing_f1"])
    monkeypatch.setenv("SACREBLEU_SEED", "many")
    make(part, vocabularies, ALONE)  # nothing is drawn
    with pytest.raises(ConfigError, match="SACREBLEU_SEED"):
        make(part, vocabularies, ALONE, confidence_samples=10)


def test_a_test_set_by_name_is_scored_against_all_its_references(
    web: Web,  # noqa: F811
    register: Register,  # noqa: F811
    vocabularies: Vocabularies,
    model: TranslationModel,
) -> None:
    register(web)
    validation = make(CorpusPart(sacrebleu="small/en-de"), vocabularies, ALONE)
    assert "nrefs:2" in validation.report(model)["bleu"]["signature"]


@pytest.mark.parametrize("size", [2, 3, SENTENCES + 2])
def test_sharing_changes_nothing(
    size: int,
    part: CorpusPart,
    vocabularies: Vocabularies,
    model: TranslationModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone = make(part, vocabularies, ALONE)
    translations = Translator([model], vocabularies, SEARCH).translate(alone.sources or [])
    assert len(set(translations)) > SENTENCES // 2, "lines that change places would show"
    seen: list[list[str]] = []
    score_corpus = metrics.score_corpus

    def noted(hypotheses: list[str], *rest: Any) -> Any:
        seen.append(hypotheses)
        return score_corpus(hypotheses, *rest)

    monkeypatch.setattr(validation, "score_corpus", noted)
    expected = alone.report(model)
    for one in together(size, lambda world: make(part, vocabularies, world).report(model)):
        report = one.result()
        assert report["loss"] == pytest.approx(expected["loss"], rel=1e-5)
        assert report["bleu"] == expected["bleu"]
        assert report["chrf"] == expected["chrf"]
    assert seen == [translations] * (1 + size)


def test_each_takes_its_share(
    part: CorpusPart,
    vocabularies: Vocabularies,
    model: TranslationModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts: list[int] = []
    score = Translator.score

    def noted(self: Translator, sources: Any, targets: Any) -> Any:
        counts.append(len(targets))
        return score(self, sources, targets)

    monkeypatch.setattr(Translator, "score", noted)
    for one in together(3, lambda world: make(part, vocabularies, world).report(model)):
        one.result()
    assert sorted(counts) == [2, 3, 3]


def test_a_language_model_is_shared_too(part: CorpusPart, vocabularies: Vocabularies) -> None:
    model = build_model(RecurrentLMConfig(layers=1, d_model=8), vocabularies).eval()
    targets = CorpusPart(path=part.path, target="de")
    expected = make(targets, vocabularies, ALONE, metrics=[]).report(model)
    for one in together(
        2, lambda world: make(targets, vocabularies, world, metrics=[]).report(model)
    ):
        assert figures(one.result()) == pytest.approx(figures(expected), rel=1e-5)


def test_a_share_that_fails_ends_all(
    part: CorpusPart, vocabularies: Vocabularies, model: TranslationModel
) -> None:
    def report(world: World) -> Any:
        one = make(part, vocabularies, world)
        if world.rank == 1 and one.sources is not None:
            one.sources = ["one " * 5000] * SENTENCES
        return one.report(model)

    first, second = together(2, report)
    assert isinstance(second.exception(), DataError)
    assert isinstance(first.exception(), WorkerError)


def test_the_rate_of_output_in_the_wrong_language(
    part: CorpusPart,
    vocabularies: Vocabularies,
    model: TranslationModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("py3langid", exc_type=ImportError)
    english = ["The old dog is looking at the cat in the garden."] * (SENTENCES - 2)
    german = ["Der alte Hund sieht die Katze im Garten."] * 2
    monkeypatch.setattr(Translator, "stream_nbest", writing(english + german))
    metrics = {"metrics": ["wrong_language"], "candidate_languages": ["en", "de"]}
    for language, rate in (("en", 25.0), ("de", 75.0)):
        validation = make(part, vocabularies, ALONE, language=language, **metrics)
        assert figures(validation.report(model))["wrong_language"] == rate


def test_what_a_source_is_owed_is_neither_its_tags_nor_its_context(
    tmp_path: Path,
    vocabularies: Vocabularies,
    model: TranslationModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "a.tsv").write_text("en\tde\n{n} of 5 euros\t{n} von 5 Euro\nday\tTag\n")
    (tmp_path / "terms.tsv").write_text("euros\tEuro\n")
    values = {"path": str(tmp_path / "a.tsv"), "source": "en", "target": "de", "tags": ("<ui>",)}
    part = CorpusPart(**values, context=ContextConfig(separator="<sep>"))
    monkeypatch.setattr(Translator, "stream_nbest", writing(["{n} von 5 Euro", "Tag"]))
    metrics = ["terms", "placeholders", "numbers"]
    options = {"metrics": metrics, "glossary": str(tmp_path / "terms.tsv")}
    validation = make(part, vocabularies, ALONE, **options)
    assert validation.sources == ["<ui> <sep> {n} of 5 euros", "<ui> {n} of 5 euros <sep> day"]
    found = figures(validation.report(model))
    assert {name: found[name] for name in metrics} == dict.fromkeys(metrics, 100.0)


@pytest.mark.parametrize("known", [0, 1])
def test_masked_text_with_nothing_to_predict_is_refused_before_training(
    known: int, tmp_path: Path
) -> None:
    """Unknown pieces and tags are never hidden; a single other piece is enough."""
    content = listed("<mask>", "ein", "Haus").content.model_copy(update={"tags": ("<mask>",)})
    pieces = ListedVocabulary(content)
    lines = ["zwei <mask>", "ein Haus" if known else "zwei"]
    path = tmp_path / "dev.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    part = CorpusPart(source=str(path), target=str(path))
    sizes: dict[str, Any] = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 8, "d_ff": 8}
    config = TransformerConfig(**sizes, heads=2)
    vocabularies = Vocabularies(pieces, pieces)
    dev = ObjectiveValidation(
        *(part, vocabularies, SearchConfig(), EvaluationConfig(metrics=()), ALONE),
        objective=MaskedLMConfig(),
        model=config,
    )
    model = build_model(config, vocabularies)
    if known:
        dev.check_lengths(model)
        assert dev(model)["loss"] > 0
    else:
        with pytest.raises(DataError, match=r"dev.txt.*: nothing to predict: .*; give it text"):
            dev.check_lengths(model)


@pytest.mark.parametrize(("most", "lines"), [(100, [*range(SENTENCES)]), (3, [0, 2, 5])])
def test_a_sample_is_scored_with_another_search(
    most: int,
    lines: list[int],
    part: CorpusPart,
    vocabularies: Vocabularies,
    model: TranslationModel,
) -> None:
    alone = make(part, vocabularies, ALONE)
    assert alone.sources is not None
    sources = [alone.sources[line] for line in lines]
    translator = Translator([model], vocabularies, SEARCH)
    found = translator.translate(sources, maximum_length=2)
    assert found != translator.translate(sources), "they are cut"
    references = [alone.references[line] for line in lines]
    expected = metrics.score_corpus(found, [references], EvaluationConfig())
    figures_by_name = alone.sample_scores(model, most, maximum_length=2)
    assert figures_by_name == {"bleu": expected[0].value, "chrf": expected[1].value}

    def shared(world: World) -> dict[str, float]:
        return make(part, vocabularies, world).sample_scores(model, most, maximum_length=2)

    assert all(one.result() == figures_by_name for one in together(2, shared))
