"""What is protected by default: kept as in the source, and never invented."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_model import TINY_LM, save_tiny_model

from dragoman.core.errors import ConfigError
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.model import build_model, save_model
from dragoman.saved.saved_config import SavedConfig
from dragoman.text.normalization import normalize
from dragoman.text.terms.line_demands import USUAL, LineDemands
from dragoman.text.terms.terminology import Terminology
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.translation.call_options import LineOptions
from dragoman.translation.translator import Translator

torch.set_num_threads(1)

WORDS = ["open", "the", "door", "of", "50 %", "or", "a < b", "twelve", "7"]
CODES = ["{name}", "{n}", "%s", "%(key)r", "<b>", "</b>", "&amp;", "$HOME", "2048"]
TEXT = [*(f"{word} {code} 13945680" for word in WORDS for code in CODES)]
TERMS = Terminology(protect=USUAL)
PLAIN = ["open the door", "the door of the door", "or", "", "door open open"]


@cache
def vocabularies() -> Vocabularies:
    config = VocabularyConfig(size=90, character_coverage=1.0)
    return train_vocabularies([(one, one) for one in TEXT] * 2, config, seed=1)


def untrained(directory: Path, seed: int) -> Path:
    """A model that writes any pieces, signs among them."""
    model = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2)
    config = SavedConfig(model=model, search={"extra_length": 12, "degenerate": "keep"})
    torch.manual_seed(seed)
    made = build_model(config.model, vocabularies())
    weights = {name: 3 * tensor.detach() for name, tensor in made.named_parameters()}
    save_model(directory, config, vocabularies(), weights)
    return directory


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("protection")
    return [untrained(folder / str(seed), seed) for seed in range(3)]


def demands(line: str) -> LineDemands:
    return LineDemands(TERMS.constraints(line), normalize(line), TERMS.protects)


@pytest.fixture(scope="module")
def translators(models: list[Path]) -> list[tuple[Translator, Translator]]:
    """Each model with and without protection."""
    return [(Translator.load(one), Translator.load(one, terms={"protect": []})) for one in models]


def test_the_models_lose_and_invent_without_protection(
    translators: list[tuple[Translator, Translator]],
) -> None:
    """Or the other tests would show nothing."""
    found = [one for _, plain in translators for one in plain.translate_nbest(TEXT[:20])]
    pairs = list(zip(TEXT[:20] * len(translators), found, strict=True))
    assert all(best.missing is None is best.invented for _, (best, *_) in pairs)
    assert sum(bool(demands(line).missing(best.text)) for line, (best, *_) in pairs) > 30
    assert any(demands(line).invented(best.text) for line, (best, *_) in pairs)


@settings(max_examples=12)
@given(
    number=st.integers(0, 2),
    lines=st.lists(
        st.lists(st.sampled_from(WORDS + CODES), min_size=1, max_size=4).map(" ".join),
        min_size=1,
        max_size=2,
    ),
)
def test_everything_is_there_and_nothing_else(
    translators: list[tuple[Translator, Translator]], number: int, lines: list[str]
) -> None:
    found = translators[number][0].translate_nbest(lines)
    for line, (best, *_) in zip(lines, found, strict=True):
        wanted = demands(line)
        assert best.missing == tuple(one.name for one in wanted.missing(best.text))
        assert best.invented == wanted.invented(best.text)
        assert not best.missing, (line, best.text)
        assert not best.invented, (line, best.text)


def test_lines_with_nothing_to_protect_are_translated_bit_for_bit(
    translators: list[tuple[Translator, Translator]],
) -> None:
    compared = 0
    for protected, plain in translators:
        pairs = zip(
            PLAIN, protected.translate_nbest(PLAIN), plain.translate_nbest(PLAIN), strict=True
        )
        for line, (found,), (before,) in pairs:
            if demands(line).invented(before.text):
                assert found.text != before.text and not found.invented
                continue
            compared += 1
            assert (found.text, found.score, found.token_scores) == (
                before.text,
                before.score,
                before.token_scores,
            )
            assert not found.missing and not found.invented
    assert compared > 4


def test_neighbours_change_nothing(translators: list[tuple[Translator, Translator]]) -> None:
    protected, _ = translators[0]
    alone = [protected.translate([line])[0] for line in TEXT[:8]]
    assert protected.translate(TEXT[:8]) == alone


def test_every_hypothesis_is_protected(translators: list[tuple[Translator, Translator]]) -> None:
    (found,) = translators[1][0].translate_nbest(["open {name} <b>"], nbest=3)
    assert found and not any(one.missing or one.invented for one in found)


def test_samples_are_only_looked_at(translators: list[tuple[Translator, Translator]]) -> None:
    protected, plain = translators[0]
    options: LineOptions = {"sampling": {"seed": 1}}
    drawn = protected.translate_nbest(TEXT[:9], **options)
    assert [one.text for (one, *_) in drawn] == plain.translate(TEXT[:9], **options)
    assert any(one.missing for (one, *_) in drawn)


def test_protection_that_somebody_asked_for_is_never_dropped(models: list[Path]) -> None:
    asked = Translator.load(models[0], terms={"protect": ["tags"]})
    with pytest.raises(ConfigError, match="searched for, not drawn"):
        asked.translate(["a"], sampling={})


def test_a_language_model_protects_nothing(tmp_path: Path) -> None:
    model = Translator.load(save_tiny_model(tmp_path / "lm", config=TINY_LM))
    (best, *_) = model.translate_nbest(["a"])[0]
    assert best.missing is None is best.invented


def test_a_beginning_may_have_anything(translators: list[tuple[Translator, Translator]]) -> None:
    (best, *_) = translators[0][0].translate_nbest(["open the door"], prefix="{n}")[0]
    assert best.text.startswith("{n}")
    assert not best.invented and "{n}" not in best.text.removeprefix("{n}")


def test_what_cannot_be_is_told(models: list[Path], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        (best, *_) = Translator.load(models[0]).translate_nbest(["open {zzz}"])[0]
    assert best.missing == ("{zzz}",)
    assert "line 1: the translation lacks '{zzz}' (the target vocabulary lacks" in caplog.text


def test_ctranslate2_has_the_same_protection(models: list[Path]) -> None:
    pytest.importorskip("ctranslate2")
    lines = [*TEXT[:12], *PLAIN]
    with Translator.load(models[2], engine="ctranslate2", workers=1) as translator:
        found = translator.translate_nbest(lines)
    assert not any(best.missing or best.invented for (best, *_) in found)
    with Translator.load(models[2], search={"early_end": "quick"}) as own:
        assert own.translate(lines) == [best.text for (best, *_) in found]


COPIED = [
    "2048",
    "{name} %s",
    "<b>{n}</b> 2048",
    "v1.2.3",
    "SHA-256",
    "🎉 …",
    "50 %",
    "http://a.org/b",
]


@pytest.mark.parametrize(
    "options", [{}, {"nbest": 3}, {"sampling": {"seed": 1}}, {"mbr": {"samples": 4}}]
)
def test_lines_with_nothing_to_translate_are_copied_without_a_search(
    models: list[Path], options: LineOptions
) -> None:
    for model in models:
        translator = Translator.load(model)
        for line, found in zip(COPIED, translator.translate_nbest(COPIED, **options), strict=True):
            (best,) = found
            assert best.text == line and best.ended and not best.faults
            assert best.score == (100 if "mbr" in options else 0)
            assert (best.pieces, best.missing, best.invented) == ([], (), ())
            assert best.confidence is None
        asked = ["open", "SHA", ":ref:`a <b>`"]
        assert all(one.pieces for (one, *_) in translator.translate_nbest(asked))


def test_what_is_unprotected_or_begun_or_a_term_is_translated(models: list[Path]) -> None:
    plain = Translator.load(models[0], terms={"protect": []})
    assert all(one.pieces for (one, *_) in plain.translate_nbest(COPIED[:5]))
    translator = Translator.load(models[0])
    ((begun, *_),) = translator.translate_nbest(["2048"], prefix="the")
    assert begun.text.startswith("the")
    ((term, *_),) = translator.translate_nbest(["🎉 2048"], glossary={"🎉": "door"})
    assert "door" in term.text


def test_symbols_alone_are_translated(tmp_path: Path) -> None:
    """As a model that writes texts of a kind is asked for them by the symbol of the kind."""
    model = save_tiny_model(tmp_path / "model", tags=("<fruit>",))
    ((found, *_),) = Translator.load(model, device="cpu").translate_nbest(["<fruit>"])
    assert found.token_scores  # there was a search


def test_copies_stay_in_their_places(models: list[Path]) -> None:
    lines = ["open", "2048", "the door", "", "{name}"]
    translator = Translator.load(models[0])
    for size in (1, 4096):
        found = translator.translate(lines, buffer_lines=size)
        assert found[1::3] == ["2048", "{name}"] and found[3] == ""
        assert [found[0], found[2]] == translator.translate(["open", "the door"])


def test_several_glossaries_hold_and_the_first_decides(models: list[Path], tmp_path: Path) -> None:
    one, other = tmp_path / "one.tsv", tmp_path / "other, more.tsv"
    one.write_text("door\topen\n", encoding="utf-8")
    other.write_text("door\ttwelve\nof\t7\n", encoding="utf-8")
    translator = Translator.load(models[0], terms={"glossary": [one, other]})
    assert [one.name for one in translator.glossaries] == [str(one), str(other)]
    ((found, *_),) = translator.translate_nbest(["the door of"])
    assert found.missing == () and "open" in found.text and "7" in found.text
    for single in (one, str(one), [one]):
        assert len(Translator.load(models[0], terms={"glossary": single}).glossaries) == 1
    assert not Translator.load(models[0], terms={"glossary": None}).glossaries
