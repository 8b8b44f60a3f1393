"""Translators whose outputs are restricted by a shortlist."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from agreement import assert_same_translations
from tiny_model import LINES, TINY_LM, save_tiny_model

from dragoman.core.errors import ConfigError, DragomanError, SavedError
from dragoman.saved.shortlist import write_shortlist
from dragoman.saved.system import TranslationSystem
from dragoman.techniques.shortlist_building import build_shortlist, count_links
from dragoman.text.inline_tags import InlineTags
from dragoman.text.vocabularies import UNK, Vocabularies
from dragoman.translation.confidence import conditions_of
from dragoman.translation.opening import open_system
from dragoman.translation.translator import Translator

torch.set_num_threads(1)
SOURCES = ["a b c d e", "", "b a", "e d c c", "d"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models with shortlists of only what their sources have."""
    folder = tmp_path_factory.mktemp("models")
    for name, values in (("one", {"seed": 8}), ("two", {"seed": 9}), ("lm", {"config": TINY_LM})):
        save_tiny_model(folder / name, **values, beam=3)
    listed(folder / "one")
    listed(folder / "two")
    return folder


def listed(model: Path, likeliest: int = 1) -> None:
    vocabularies = Vocabularies.load(model)
    source, target = (side.encode_batch(LINES) for side in vocabularies)
    pairs = zip(source, target, strict=True)
    write_shortlist(
        model / "shortlist.safetensors",
        build_shortlist(
            vocabularies,
            count_links(vocabularies, pairs, text="LINES"),
            likeliest=likeliest,
            frequent=0,
            text="LINES",
        ),
    )


def letters(text: str) -> set[str]:
    return {*text} - {" "}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"beam": 1},
        {"nbest": 2, "sampling": {"seed": 2}},
        {"mbr": {"samples": 3}},
        {"degenerate": "avoid", "too_long": 0.5, "length_ratio": 1.0},
    ],
)
def test_outputs_have_only_listed_pieces(folder: Path, options: dict[str, Any]) -> None:
    with (
        Translator.load(folder / "one", device="cpu") as plain,
        Translator.load(folder / "one", device="cpu", shortlist=True) as listing,
    ):
        free = plain.translate_nbest(SOURCES, **options)
        found = listing.translate_nbest(SOURCES, **options)
        for source, one in zip(SOURCES, found, strict=True):
            assert all(letters(each.text) <= letters(source) for each in one)
        # The models of this test would say something else.
        assert any(
            not letters(each.text) <= letters(source)
            for source, one in zip(SOURCES, free, strict=True)
            for each in one
        )
        alone = [
            listing.translate_nbest([line], numbers=[n], **options)[0]
            for n, line in enumerate(SOURCES)
        ]
    assert_same_translations(alone, found)  # neighbours make no difference


def test_a_prefix_may_have_any_pieces(folder: Path) -> None:
    with Translator.load(folder / "one", device="cpu", shortlist=True) as listing:
        found = listing.translate(["b a", "d"], prefix=["e c", ""])
    assert found[0].startswith("e c")
    assert letters(found[0].removeprefix("e c")) <= letters("baec")
    assert letters(found[1]) <= {"d"}


def test_terms_come_in_a_second_search_of_all_pieces(folder: Path) -> None:
    with Translator.load(folder / "one", device="cpu", shortlist=True) as listing:
        assert "e" in listing.translate(["b a"], glossary={"b": "e"})[0]


@pytest.mark.parametrize(
    "values",
    [
        {"models": ["one", "two"]},
        {"models": ["one", "two"], "ensemble": "log-linear"},
        {"models": ["one"], "language_model": {"path": "lm", "weight": 0.3}},
        {"models": ["one"], "workers": 1},
    ],
)
@pytest.mark.usefixtures("forked_workers")
def test_ensembles_fusion_and_workers(folder: Path, values: dict[str, Any]) -> None:
    given = {**values, "models": [folder / name for name in values["models"]], "device": "cpu"}
    if "language_model" in given:
        given["language_model"] = {**given["language_model"], "path": folder / "lm"}
    with Translator.of(TranslationSystem(**given, shortlist=True)) as listing:
        found = listing.translate(SOURCES)
    for source, text in zip(SOURCES, found, strict=True):
        assert letters(text) <= letters(source)


def test_a_calibration_is_of_one_shortlist_wherever_it_is(folder: Path, tmp_path: Path) -> None:
    model = shutil.copytree(folder / "one", tmp_path / "model")

    def of(shortlist: bool | Path) -> object:
        system = TranslationSystem(models=(model,), device="cpu", shortlist=shortlist)
        return conditions_of(open_system(system))

    beside = of(True)
    assert beside != of(False)
    shutil.copy(model / "shortlist.safetensors", tmp_path / "s.safetensors")
    assert of(tmp_path / "s.safetensors") == beside
    listed(model, likeliest=2)
    assert of(True) != beside


def test_what_goes_with_no_shortlist(folder: Path, tmp_path: Path) -> None:
    file = folder / "one" / "shortlist.safetensors"
    with pytest.raises(ConfigError, match="a language model reads no source"):
        Translator.load(folder / "lm", shortlist=file)
    other = save_tiny_model(tmp_path / "other", ["a b c d z"] * 9)
    with pytest.raises(SavedError, match="for other vocabularies"):
        Translator.load(other, shortlist=file)
    tagging = save_tiny_model(tmp_path / "tagging", inline_tags=InlineTags(pairs=1, points=1))
    with pytest.raises(ConfigError, match="write the inline tags of their source"):
        Translator.load(tagging, shortlist=file)
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"engine": "ctranslate2"}, "ctranslate2 reads no shortlist"),
        ({"pivot": {"language": "en", "models": [folder / "two"]}}, "each leg has its own"),
    )
    for values, message in wrong:
        with pytest.raises(ConfigError, match=message):
            Translator.load(folder / "one", shortlist=file, **values)
    with (
        Translator.load(folder / "one", device="cpu", shortlist=True) as listing,
        pytest.raises(DragomanError, match="trees"),
    ):
        listing.translate(["a"], grammar="trees")


def test_copies_symbols_and_frequent_pieces_are_always_there(folder: Path) -> None:
    vocabularies = Vocabularies.load(folder / "one")
    pairs = [([5, 6], [7, 8]), ([6], [8])] * 5
    links = count_links(vocabularies, pairs, text="LINES")
    found = build_shortlist(vocabularies, links, likeliest=1, frequent=1, text="LINES")
    assert {0, UNK, 2, 3, 8} == {*found.always.tolist()}
    assert {*found.table.of(6).tolist()} == {8, 6}
    assert {*found.table.of(9).tolist()} == {9}
    assert found.origin.pairs == 10
