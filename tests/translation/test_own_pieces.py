"""Translators that write only pieces of their target language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from agreement import assert_same_translations
from tiny_model import save_tiny_model

from dragoman.core.errors import ConfigError
from dragoman.saved.language_pieces import write_pieces
from dragoman.saved.model import PIECES_FILE
from dragoman.saved.system import TranslationSystem
from dragoman.text.examples import Direction
from dragoman.text.vocabularies import EOS, Vocabularies
from dragoman.text.vocabularies.piece_frequencies import PieceFrequencies
from dragoman.translation.opening import open_system
from dragoman.translation.translator import Translator

torch.set_num_threads(1)
SOURCES = ["a b c d e", "", "b a", "e d c c", "d"]
OWN = {"de": "abc", "fr": "cde"}
DIRECTIONS = tuple(
    Direction(source_language=source, target_language=target)
    for source, target in (("en", "de"), ("en", "fr"), ("de", "en"))
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """German has the letters a, b and c, French c, d and e; c is the rarer in German."""
    folder = tmp_path_factory.mktemp("models") / "many"
    save_tiny_model(
        folder, tags=("<2de>", "<2fr>", "<2en>"), directions=DIRECTIONS, beam=3, seed=13
    )
    known = Vocabularies.load(folder).target
    pieces = known.pieces(range(len(known)))

    def share(piece: str, language: str) -> float:
        there = piece[0] != "<" and any(letter in piece for letter in OWN[language])
        return 0.3 * there / (2 if language == "de" and "c" in piece else 1)

    shares = {
        language: np.array([share(piece, language) for piece in pieces], np.float32)
        for language in OWN
    }
    write_pieces(folder / PIECES_FILE, PieceFrequencies(shares), known)
    return folder


def letters(translator: Translator, **options: Any) -> set[str]:
    found = translator.translate_nbest(SOURCES, **options)
    return {*"".join(one.text for line in found for one in line)} - {" "}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"beam": 1},
        {"nbest": 3, "sampling": {"seed": 2}},
        {"mbr": {"samples": 3}},
        {"degenerate": "avoid", "too_long": 0.5, "length_ratio": 1.0},
    ],
)
def test_outputs_have_no_piece_of_another_language(model: Path, options: dict[str, Any]) -> None:
    beyond = set()
    for language, own in OWN.items():
        with Translator.load(
            model, device="cpu", target_language=language, own_pieces=0.4
        ) as translator:
            assert letters(translator, **options) & {*"abcde"} <= {*own}
        with Translator.load(model, device="cpu", target_language=language) as plain:
            beyond |= letters(plain, **options) & {*"abcde"} - {*own}
    assert beyond  # without it, they have


def test_the_share_decides_what_two_languages_have(model: Path) -> None:
    def german(share: float) -> set[int]:
        system = TranslationSystem(
            models=(model,), device="cpu", target_language="de", own_pieces=share
        )
        return {*open_system(system).foreign}

    known = Vocabularies.load(model).target
    c, d, e = (known.encode(letter)[-1] for letter in "cde")
    assert german(0.0) == set()
    assert german(0.4) & {c, d, e} == {d, e}
    assert german(0.6) >= {c, d, e}
    assert EOS not in german(1.0)


def test_what_a_term_demands_may_be_of_another_language(model: Path, tmp_path: Path) -> None:
    glossary = tmp_path / "terms.tsv"
    glossary.write_text("source\ttarget\na\td d\n", encoding="utf-8")
    values: dict[str, Any] = {"target_language": "de", "own_pieces": 0.4, "device": "cpu"}
    with Translator.load(model, **values, terms={"glossary": str(glossary)}) as translator:
        ((found,),) = translator.translate_nbest(["a b"], extra_length=8)
    assert "d d" in found.text
    assert found.log_probability > -60  # that of the model, not the least that search knows


def test_each_leg_of_a_pivot_keeps_to_its_own(model: Path) -> None:
    values: dict[str, Any] = {"target_language": "fr", "own_pieces": 0.4, "device": "cpu"}
    with (
        Translator.load(model, **values, pivot={"language": "de", "nbest": 1}) as through,
        Translator.load(model, device="cpu", target_language="de", own_pieces=0.4) as first,
        Translator.load(model, **values) as second,
    ):
        expected = second.translate(first.translate(SOURCES))
        assert through.translate(SOURCES) == expected


@pytest.mark.usefixtures("forked_workers")
def test_workers_keep_to_it_too(model: Path) -> None:
    values: dict[str, Any] = {"target_language": "fr", "own_pieces": 0.4, "device": "cpu"}
    with (
        Translator.load(model, **values) as alone,
        Translator.load(model, **values, workers=2) as shared,
    ):
        one, other = (list(each.translate_nbest(SOURCES)) for each in (alone, shared))
    assert_same_translations(one, other)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "own_pieces: .* writes de, en, fr; name one with --to or target_language"),
        ({"target_language": "en"}, "no training text in en .languages: de, fr."),
        ({"target_language": "de", "engine": "ctranslate2"}, "cannot keep to own_pieces"),
        ({"own_pieces": 1.5}, "own_pieces"),
    ],
)
def test_what_nothing_can_be_kept_to_is_refused(
    model: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        Translator.load(model, **{"own_pieces": 0.4, "device": "cpu", **options})
