"""Word alignments from attention."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_model import LINES, TINY_LM, save_tiny_model

from dragoman.core.errors import ConfigError, DataError
from dragoman.models.families.transformer import TransformerConfig
from dragoman.text.context import ContextConfig
from dragoman.text.tokens import words_of
from dragoman.translation import aligning
from dragoman.translation.aligning import PairReader, attention_links, linked
from dragoman.translation.forced import mean_attention
from dragoman.translation.translator import Translator


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return Translator.load(save_tiny_model(tmp_path_factory.mktemp("model")))


def places(line: str) -> list[tuple[int, int]]:
    return [(word.start, word.end) for word in words_of(line)]


def test_words_that_look_at_each_other_are_linked() -> None:
    # Two source words of two pieces and one, two target words of one piece and two.
    weights = torch.tensor(
        [
            [0.1, 0.1, 0.7, 0.1],
            [0.3, 0.4, 0.2, 0.1],
            [0.1, 0.2, 0.2, 0.5],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )
    found = linked(weights, [0, 0, 1], [0, 1, 1], 2, 2)
    assert found.sure == {(1, 0), (0, 1)}
    # A word that looks at the end symbol most is linked to nothing of its own.
    weights[0] = torch.tensor([0.0, 0.1, 0.0, 0.9])
    assert (1, 0) not in linked(weights, [0, 0, 1], [0, 1, 1], 2, 2).sure
    assert linked(weights[:1, :1], [], [], 0, 0).all == frozenset()


def test_attention_is_that_which_is_shown(translator: Translator) -> None:
    lines = ["a b c d e", "e d c", "b a"]
    ids = translator.vocabularies.source.encode_batch(lines)
    found = dict(mean_attention(translator.local_engine, ids, ids[::-1], 10))
    for number, (source, target) in enumerate(zip(lines, lines[::-1], strict=True)):
        shown = translator.attention(source, target).weights
        torch.testing.assert_close(found[number], shown[0].mean(0))


def test_the_last_layer_but_one_is_read(tmp_path: Path) -> None:
    from dragoman.models.families.transformer import TransformerConfig

    config = TransformerConfig(encoder_layers=1, decoder_layers=3, d_model=8, d_ff=8, heads=2)
    translator = Translator.load(save_tiny_model(tmp_path / "deep", config=config))
    (ids,) = translator.vocabularies.source.encode_batch(["a b c"])
    ((_, found),) = mean_attention(translator.local_engine, [ids], [ids], 10)
    torch.testing.assert_close(found, translator.attention("a b c", "a b c").weights[1].mean(0))


def test_links_do_not_depend_on_the_pairs_around(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [(line, line[::-1]) for line in dict.fromkeys(LINES)] + [("a a b", "b")]
    words = [(places(one), places(other)) for one, other in pairs]
    told: list[int] = []
    whole = list(attention_links(translator, pairs, words, progress=told.append))
    assert told == [len(pairs)]
    monkeypatch.setattr(aligning, "_CHUNK_LINES", 1)
    assert list(attention_links(translator, pairs, words)) == whole
    for one, (source, target) in zip(whole, words, strict=True):
        assert all(i < len(source) and j < len(target) for i, j in one.all)


@pytest.mark.parametrize("target", [False, True])
def test_links_are_of_a_line_behind_its_context(
    target: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ContextConfig(sentences=2, target=target, max_pieces=8)
    path = save_tiny_model(tmp_path / "model", context=context, seed=2)
    translator = Translator.load(path, device="cpu")
    translator.models[0].double()  # batches differ in shape, and near ties would be decided by it
    lines = [("a b", "d"), ("c de", "e a b"), ("b", "a c")]
    words = [(places(one), places(other)) for one, other in lines]
    reader = PairReader(translator)
    seen: list[str] = []

    def watched(*given: Any, **options: Any) -> Iterator[tuple[int, torch.Tensor]]:
        seen.extend(translator.vocabularies.source.decode(ids) for ids in given[1])
        return mean_attention(*given, **options)

    monkeypatch.setattr(aligning, "mean_attention", watched)
    found = list(attention_links(translator, lines, words, read=[reader(*one) for one in lines]))

    alone = Translator(translator.models, translator.vocabularies)
    contexts = [("<sep>", "<sep>"), ("a b <sep>", "d <sep>"), ("c de <sep>", "e a b <sep>")]
    for aligned, before, line, (below, beside) in zip(found, contexts, lines, words, strict=True):
        source = f"{before[0]} {line[0]}"  # at most eight pieces: the third lacks the first line
        assert source in seen
        written = f"{before[1]} {line[1]}" if target else line[1]
        weights = alone.attention(source, written).weights[0].mean(0)
        own = [i for i, (start, end) in enumerate(below) for _ in range(end - start)]
        said = [j for j, (start, end) in enumerate(beside) for _ in range(end - start)]
        columns = [-1] * (weights.shape[1] - 1 - len(own)) + own
        rows = [-1] * (weights.shape[0] - 1 - len(said)) + said
        assert aligned == linked(weights, columns, rows, len(below), len(beside))


def test_what_cannot_be_aligned_is_an_error(translator: Translator, tmp_path: Path) -> None:
    long = "a " * 1100
    with pytest.raises(DataError, match=r"pair 2: 1100 pieces"):
        list(attention_links(translator, [("a", "a"), ("a", long.strip())], [([], [])] * 2))
    reader = Translator.load(save_tiny_model(tmp_path / "lm", config=TINY_LM))
    with pytest.raises(ConfigError, match="no attention over the source"):
        list(attention_links(reader, [("a", "b")], [([], [])]))


def test_the_layer_and_the_head_are_those_that_are_named(tmp_path: Path) -> None:
    config = TransformerConfig(encoder_layers=1, decoder_layers=3, d_model=8, d_ff=8, heads=2)
    translator = Translator.load(save_tiny_model(tmp_path / "model", config=config), device="cpu")
    expected = translator.attention("ab c d e", "d e ab c a").weights  # (3, 2, target, source)
    source = [translator.vocabularies.source.encode("ab c d e")]
    target = [translator.vocabularies.target.encode("d e ab c a")]
    for layer, head, means in (
        (None, None, expected[1].mean(0)),
        (1, None, expected[0].mean(0)),
        (3, None, expected[2].mean(0)),
        (3, 2, expected[2, 1]),
    ):
        found = mean_attention(translator.local_engine, source, target, 100, layer=layer, head=head)
        ((_, one),) = found
        torch.testing.assert_close(one, means)
