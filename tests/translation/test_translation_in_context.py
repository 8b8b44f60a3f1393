"""Models that read a line with those before it: which ids they get, and what is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from tiny_model import save_tiny_adapter
from torch import Tensor

from dragoman.core.config import parse, to_yaml
from dragoman.core.errors import ConfigError
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.model import build_model, load_model, read_config, save_model
from dragoman.saved.saved_config import SavedConfig
from dragoman.saved.system import TranslationSystem
from dragoman.search import Hypothesis, Scorer, SearchConfig
from dragoman.text.context import ContextConfig
from dragoman.text.terms.glossary import Glossary
from dragoman.text.vocabularies import EOS, Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.translation.batching import RequestBatcher
from dragoman.translation.domains import DomainRouter
from dragoman.translation.engines.engine import Engine, SearchedBatch, SourceBatch
from dragoman.translation.outputs import Scored
from dragoman.translation.routing import Router
from dragoman.translation.synthesis import GivenLine, translate_corpus
from dragoman.translation.translator import Translator

LINES = ["a b c d e", "e d c", "b a"] * 9
CONFIG = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2)


@pytest.fixture(scope="module")
def vocabularies() -> Vocabularies:
    config = VocabularyConfig(size=16, tags=("<sep>", "<x>"))
    return train_vocabularies(zip(LINES, LINES, strict=True), config, seed=1)


class Repeating(Engine):
    """Translates a line into itself, and remembers what it read."""

    has_token_scores = False

    def __init__(self, vocabularies: Vocabularies) -> None:
        self._vocabularies = vocabularies
        self.read: dict[int, str] = {}

    def search(
        self, batches: Iterable[SourceBatch], config: SearchConfig
    ) -> Iterator[SearchedBatch]:
        for batch in batches:
            for number, ids in zip(batch.numbers, batch.sources, strict=True):
                self.read[number] = self._vocabularies.source.decode(ids)
            found = [[Hypothesis(list(ids), 0.0, 0.0, ended=True)] for ids in batch.sources]
            yield SearchedBatch(batch, found)

    def close(self) -> None:
        pass


def translator(
    vocabularies: Vocabularies, context: ContextConfig, **search: int
) -> tuple[Translator, Repeating]:
    engine = Repeating(vocabularies)
    model = build_model(CONFIG, vocabularies)
    settings = SearchConfig(**search)
    return Translator([model], vocabularies, settings, engine, context=context), engine


@pytest.mark.parametrize("buffer_lines", [1, 2, 100])
def test_each_line_is_read_with_the_one_before_it(
    vocabularies: Vocabularies, buffer_lines: int
) -> None:
    translating, engine = translator(vocabularies, ContextConfig(), buffer_lines=buffer_lines)
    found = translating.translate(["a b", "c", "", "d", "x <sep> e".replace("x", "b")])
    assert engine.read == {0: "<sep> a b", 1: "a b <sep> c", 3: "<sep> d", 4: "b <sep> e"}
    assert found[1:3] == ["a b <sep> c", ""]  # the source side alone has context


def test_what_follows_the_last_separator_is_kept(vocabularies: Vocabularies) -> None:
    translating, engine = translator(vocabularies, ContextConfig(sentences=2, target=True))
    assert translating.translate(["a b", "c", "d e"]) == ["a b", "c", "d e"]
    assert engine.read[2] == "a b <sep> c <sep> d e"
    (one,) = translating.translate_nbest(["a", "b"])[1]
    assert "<sep>" not in one.pieces


def test_terms_of_the_context_are_not_demanded(vocabularies: Vocabularies) -> None:
    """A request may be served in parts, so its lines bring their own context."""
    translating, _ = translator(vocabularies, ContextConfig())
    lines, glossary = ["a b", "c", "a <sep> c d"], Glossary.of({"a": "e", "d": "d d"})

    async def served() -> list[tuple[str, ...] | None]:
        async with RequestBatcher(translating) as batcher:
            found = await batcher.translate_nbest(lines, glossary=glossary)
            return [best.missing for best, *_ in found]

    assert asyncio.run(served()) == [("e",), (), ("d d",)]
    found = translating.translate_nbest(lines, glossary=glossary)
    assert [best.missing for best, *_ in found] == [("e",), (), ("d d",)]


class Saying(Scorer):
    """Finds some ids likely, one after another, and all others possible."""

    position_limit = None

    def __init__(self, ids: list[int], vocabulary: int) -> None:
        logits = torch.zeros((len(ids) + 1, vocabulary))
        logits[torch.arange(len(ids) + 1), [*ids, EOS]] = 4.0
        self._table = logits.log_softmax(1)

    def encode(self, source: Tensor, source_mask: Tensor) -> Tensor:
        return source[:, :1]

    def start(self, memory: Tensor, beam: int = 1) -> Tensor:
        return memory.new_zeros((len(memory) * beam, 1))

    def step(self, target: Tensor, memory: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return self._table[state], (state + 1).clamp(max=len(self._table) - 1)

    def attention(self, target: Tensor, memory: Tensor) -> Tensor:
        raise AssertionError("no coverage here")


@pytest.mark.parametrize("said", ["d <sep> b", "b <sep> b"])
def test_a_term_in_the_context_of_a_translation_does_not_count(
    vocabularies: Vocabularies, said: str
) -> None:
    target = vocabularies.target
    scorer = Saying(target.encode(said), len(target))
    settings = SearchConfig(allow_tags=True, length_penalty=0)
    model, context = build_model(CONFIG, vocabularies), ContextConfig(target=True)
    translating = Translator([model], vocabularies, settings, scorer=scorer, context=context)
    assert translating.translate(["a <sep> a"]) == ["b"]
    ((best,),) = translating.translate_nbest(["a <sep> a"], glossary={"a": "d"})
    assert (best.text, best.missing) == ("d", ())


def test_long_context_is_left_out_rather_than_refused(vocabularies: Vocabularies) -> None:
    config = ContextConfig(sentences=2)
    translating, engine = translator(vocabularies, config, max_source_pieces=6)
    translating.translate(["a b e", "c d", "e"])
    assert engine.read == {0: "<sep> a b e", 1: "<sep> c d", 2: "c d <sep> e"}
    (refused,) = translating.translate_nbest(["a b c d e a b"])
    assert refused[0].refused is not None


def test_scores_are_of_the_line_in_its_context(vocabularies: Vocabularies) -> None:
    torch.manual_seed(1)
    model = build_model(CONFIG, vocabularies)
    alone = Translator([model], vocabularies)
    inside = Translator([model], vocabularies, context=ContextConfig(target=True))
    found = inside.score(["a", "b c"], ["d", "e"])
    joined = alone.score(["<sep> a", "a <sep> b c"], ["<sep> d", "d <sep> e"])
    assert [one.tokens for one in found] == [one.tokens for one in joined]
    for one, other in zip(found, joined, strict=True):
        assert one.log_probability == pytest.approx(other.log_probability, abs=1e-4)


def test_scores_of_pairs_by_themselves_are_of_texts_without_a_line_before(
    vocabularies: Vocabularies,
) -> None:
    torch.manual_seed(1)
    model = build_model(CONFIG, vocabularies)
    inside = Translator([model], vocabularies, context=ContextConfig(target=True))
    found = inside.score_fit(["a", "b c"], ["d", "e"])
    for scored, one, other in zip(found, ("a", "b c"), ("d", "e"), strict=True):
        (alone,) = inside.score([one], [other])
        assert isinstance(scored, Scored) and scored.tokens == alone.tokens
        assert scored.log_probability == pytest.approx(alone.log_probability, abs=1e-4)


def test_no_prefix_where_the_context_is_translated(vocabularies: Vocabularies) -> None:
    translating, _ = translator(vocabularies, ContextConfig(target=True))
    with pytest.raises(ConfigError, match="translates the context before each sentence"):
        translating.translate(["a"], prefix="b")


def test_requests_are_documents_of_their_own(vocabularies: Vocabularies) -> None:
    translating, _ = translator(vocabularies, ContextConfig())

    async def serve() -> list[list[str]]:
        batcher = RequestBatcher(translating)
        try:
            calls = [batcher.translate(lines) for lines in (["a", "b"], ["c", "d"])]
            return list(await asyncio.gather(*calls))
        finally:
            await batcher.close()

    assert asyncio.run(serve()) == [["<sep> a", "a <sep> b"], ["<sep> c", "c <sep> d"]]


def save(path: Path, vocabularies: Vocabularies, context: ContextConfig | None) -> Path:
    torch.manual_seed(1)
    model = build_model(CONFIG, vocabularies)
    weights = {name: one.detach() for name, one in model.named_parameters()}
    config = SavedConfig(model=CONFIG, context=context, search={"extra_length": 3})
    save_model(path, config, vocabularies, weights)
    return path


def test_a_model_knows_its_context(tmp_path: Path, vocabularies: Vocabularies) -> None:
    config = ContextConfig(sentences=3)
    path = save(tmp_path / "model", vocabularies, config)
    assert load_model(path).config.context == config
    with Translator.load(path, device="cpu") as loaded:
        assert loaded.context == config
        assert loaded.in_context(["a", "b"]) == ["<sep> a", "a <sep> b"]


def test_a_run_knows_its_context(tmp_path: Path) -> None:
    values = {"data": {"context": {"sentences": 2}}, "model": CONFIG.model_dump()}
    (tmp_path / "config.yaml").write_text(to_yaml(values))
    assert read_config(tmp_path / "config.yaml").context == ContextConfig(sentences=2)


def test_lines_that_are_sorted_have_no_context(
    tmp_path: Path, vocabularies: Vocabularies, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each group of each buffer would be a document."""
    known = SimpleNamespace(labels=["fr"])
    monkeypatch.setattr("dragoman.translation.routing._labeller", lambda *_: known)
    reading = save(tmp_path / "reading", vocabularies, ContextConfig())
    alone = save(tmp_path / "alone", vocabularies, None)
    adapter = save_tiny_adapter(tmp_path / "x.safetensors", reading)
    with pytest.raises(ConfigError, match=r"reading: it reads context, .* one adapter for all"):
        DomainRouter.load(reading, device="cpu", adapters={"x": str(adapter)})
    for usual, french in ((alone, reading), (reading, alone)):
        system = parse(
            TranslationSystem,
            {
                "models": [str(usual)],
                "device": "cpu",
                "source_language": "auto",
                "routes": {"fr": {"models": [str(french)]}},
            },
            "test",
        )
        with pytest.raises(ConfigError, match=r"reading: it reads context, .* source language for"):
            Router.of(system)


def test_systems_that_have_no_place_for_context(tmp_path: Path, vocabularies: Vocabularies) -> None:
    reading = save(tmp_path / "reading", vocabularies, ContextConfig())
    alone = save(tmp_path / "alone", vocabularies, None)
    with pytest.raises(ConfigError, match=r"same data\.context"):
        Translator.load(reading, alone, device="cpu")
    with pytest.raises(ConfigError, match="reads context"):
        translate_corpus(
            TranslationSystem(models=(reading,), device="cpu"),
            [GivenLine("a", 1)],
            tmp_path / "corpus",
            known="source",
        )
