"""From a description to a translator: the same in this process and in workers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from agreement import assert_same_translations
from tiny_model import LINES, TINY_LM, save_tiny_model
from torch import Tensor

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError, SavedError
from dragoman.saved.system import TranslationSystem
from dragoman.search import ModelScorer, SamplingConfig, Scorer, SearchConfig
from dragoman.text.vocabularies import EOS
from dragoman.translation.translator import Translator

SOURCES = ["a b c", "d e", "b"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models, a language model with their vocabulary, one with another, and tags."""
    folder = tmp_path_factory.mktemp("models")
    save_tiny_model(folder / "one")
    save_tiny_model(folder / "two", seed=2)
    save_tiny_model(folder / "lm", seed=3, config=TINY_LM)
    save_tiny_model(folder / "many", tags=("<2de>", "<ui>"))
    save_tiny_model(folder / "foreign", ["v w x y z", "z y x", "w v"] * 9, config=TINY_LM)
    return folder


def load(folder: Path, *names: str, **options: Any) -> Translator:
    return Translator.load(*(folder / name for name in names), device="cpu", **options)


def scores(translator: Translator) -> list[float]:
    return [line.log_probability for line in translator.score(SOURCES, ["e d", "a", "c c"])]


def test_weights_count_as_they_are_given(folder: Path) -> None:
    one, two = (load(folder, name) for name in ("one", "two"))
    heavy = load(folder, "one", "two", weights=[1e9, 1.0])
    assert scores(heavy) == pytest.approx(scores(one), rel=1e-4)
    assert scores(load(folder, "one", "two", weights=[1.0, 1e9])) == pytest.approx(
        scores(two), rel=1e-4
    )
    skewed = load(folder, "one", "two", weights=[3, 1])
    assert scores(skewed) == pytest.approx(scores(load(folder, "one", "one", "one", "two")), 1e-4)
    logs = load(folder, "one", "two", ensemble="log-linear")
    assert scores(logs) != pytest.approx(scores(load(folder, "one", "two")), rel=1e-4)


def test_a_language_model_adds_its_log_probabilities(folder: Path) -> None:
    own = scores(load(folder, "one"))
    fused = load(folder, "one", language_model={"path": folder / "lm", "weight": 0.5})
    opinion = load(folder, "lm").score(None, ["e d", "a", "c c"])
    expected = [a + 0.5 * b.log_probability for a, b in zip(own, opinion, strict=True)]
    assert scores(fused) == pytest.approx(expected, rel=1e-4)
    for best, *_ in fused.translate_nbest(SOURCES):
        assert not math.isinf(best.score)
    off = load(folder, "one", language_model={"path": folder / "lm", "weight": 0})
    assert scores(off) == own


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (["one"], {"language_model": {"path": "two"}}, "two is a model that reads a source"),
        (["lm"], {"language_model": {"path": "lm"}}, "lm is a language model itself"),
        (["one"], {"language_model": {"path": "foreign"}}, "not the target vocabulary of"),
        (["one"], {"language_model": {"path": "nowhere"}}, "nowhere: no such model"),
        (["one", "lm"], {}, "cannot form an ensemble"),
        (["lm"], {"prefix": "a"}, "a language model continues each line"),
        (["one"], {"prefix": "a \u2603"}, "the target vocabulary lacks the characters shown"),
        (["one"], {"search": {"baem": 3}}, "search options: unknown key 'baem'"),
        (["one"], {"models": ["two"]}, "one by one"),
    ],
)
def test_what_does_not_go_together_is_told(
    names: list[str], options: dict[str, Any], message: str, folder: Path
) -> None:
    if fused := options.get("language_model"):
        options = {**options, "language_model": {"path": folder / fused["path"]}}
    with pytest.raises((ConfigError, SavedError), match=message):
        load(folder, *names, **options)


def test_settings_of_a_system_lie_over_those_of_the_model(folder: Path) -> None:
    translator = load(folder, "one", search={"nbest": 6, "length_penalty": 1.0})
    expected = SearchConfig(beam=6, nbest=6, length_penalty=1.0, extra_length=3)
    assert translator.search == expected
    assert len(translator.translate_nbest(["a b"])[0]) == 6


def test_settings_of_sampling_are_merged_one_by_one(folder: Path, tmp_path: Path) -> None:
    save_tiny_model(tmp_path / "drawing", sampling={"top_k": 2, "seed": 5})
    drawing = load(tmp_path, "drawing", search={"sampling": {"seed": 7}})
    assert drawing.search.sampling == SamplingConfig(top_k=2, seed=7)
    call = drawing.configure(sampling={"temperature": 0.5, "top_k": None})
    assert call.sampling == SamplingConfig(temperature=0.5, seed=7)
    assert drawing.configure(sampling=SamplingConfig(seed=3)).sampling == SamplingConfig(seed=3)
    assert load(folder, "one").configure(sampling={"seed": 7}).sampling == SamplingConfig(seed=7)
    with pytest.raises(ConfigError, match="sampling"):
        drawing.configure(sampling=3)  # type: ignore[arg-type]


class TestTags:
    """What --to and --tag put in front of each line is part of the description."""

    @pytest.mark.parametrize(
        ("options", "front"),
        [
            ({"target_language": "de"}, "<2de> "),
            ({"tags": ["<ui>"]}, "<ui> "),
            ({"target_language": "de", "tags": ["<ui>"]}, "<2de> <ui> "),
        ],
    )
    def test_all_uses_of_a_translator_have_them(
        self, options: dict[str, Any], front: str, folder: Path
    ) -> None:
        own, plain = load(folder, "many", **options), load(folder, "many")
        lines, targets = ["a b", "c d"], ["e", "d"]
        by_hand = [front + line for line in lines]
        assert own.translate_nbest(lines) == plain.translate_nbest(by_hand)
        assert own.score(lines, targets) == plain.score(by_hand, targets)
        assert own.score(lines, targets) != plain.score(lines, targets)
        found, expected = own.attention("a b", "e"), plain.attention(by_hand[0], "e")
        assert found.source == expected.source
        assert own.translate(["", " \t"]) == ["", ""]

    @pytest.mark.usefixtures("forked_workers")
    def test_workers_get_them(self, folder: Path) -> None:
        with load(folder, "many", tags=["<ui>"], workers=1) as shared:
            found = shared.translate_nbest(["a b"])
        assert_same_translations(found, load(folder, "many").translate_nbest(["<ui> a b"]))

    @pytest.mark.parametrize(
        ("name", "options", "message"),
        [
            ("many", {"tags": ["<x>"]}, "has no tag <x>; tags there: <2de>, <ui>"),
            ("many", {"target_language": "fr"}, "does not translate into fr"),
            ("many", {"tags": "<ui>"}, "tags: "),
            ("lm", {"tags": ["<ui>"]}, "a language model reads no source"),
        ],
    )
    def test_those_that_do_not_exist_are_refused(
        self, name: str, options: dict[str, Any], message: str, folder: Path
    ) -> None:
        with pytest.raises(ConfigError, match=message):
            load(folder, name, **options)


@pytest.mark.usefixtures("forked_workers")
def test_workers_build_what_this_process_does(folder: Path) -> None:
    """All that a description can say at once: a worker has no other way to know."""
    values = {
        "models": [folder / "one", folder / "two"],
        "weights": [0.7, 0.3],
        "ensemble": "log-linear",
        "language_model": {"path": folder / "lm", "weight": 0.4},
        "prefix": "b",
        "search": {"batch_tokens": 30},
        "device": "cpu",
    }
    alone = Translator.of(parse(TranslationSystem, values, "here"))
    with Translator.of(parse(TranslationSystem, {**values, "workers": 1}, "here")) as shared:
        lines = LINES[:5]
        found = shared.translate_nbest(lines, nbest=2)
        assert_same_translations(found, alone.translate_nbest(lines, nbest=2))
        assert all(best.text.startswith("b") for best, *_ in found)
        plain = load(folder, "one").translate_nbest(lines, nbest=2, prefix="b")
        assert [best.score for best, *_ in found] != [best.score for best, *_ in plain]


class Shortening(ModelScorer):
    """What an outsider may write: the end is likelier than the model has it."""

    def step(self, target: Tensor, memory: Any, state: Any) -> tuple[Tensor, Any]:
        scores, state = super().step(target, memory, state)
        scores[..., EOS] = scores[..., EOS] / 1000
        return scores, state


def test_a_scorer_of_ones_own_is_searched(folder: Path) -> None:
    loaded = load(folder, "one")
    own: Scorer = Shortening(loaded.models[0])
    translator = Translator(loaded.models, loaded.vocabularies, loaded.search, scorer=own)
    assert translator.translate(SOURCES) == ["", "", ""] != loaded.translate(SOURCES)
    assert translator.translate(SOURCES, prefix="a") == ["a", "a", "a"]
    assert translator.score(["a"], [""])[0].log_probability > -0.1
    assert torch.is_grad_enabled()
