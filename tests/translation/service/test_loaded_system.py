from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from planted_calibration import plant_calibration
from tiny_model import TINY_LM, save_tiny_model

from dragoman.core.errors import ConfigError
from dragoman.documents.content import translate_contents
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.model import build_model, save_model
from dragoman.saved.saved_config import SavedConfig
from dragoman.saved.system import TranslationSystem
from dragoman.text.context import ContextConfig
from dragoman.text.examples import Direction
from dragoman.text.inline_tags import InlineTags, PlacedTag
from dragoman.text.terms.glossary import Glossary
from dragoman.text.vocabularies import Vocabularies
from dragoman.text.vocabularies.listed_vocabulary import SPECIAL, ListedVocabulary, PieceList
from dragoman.text.vocabularies.splitting import SubwordNmt
from dragoman.translation.engines.automatic import AutomaticEngine
from dragoman.translation.service.interface import Pairing, RefusedError, TextRequest
from dragoman.translation.service.loaded_system import LoadedSystem
from dragoman.translation.service.model_service import ModelService, ServiceOptions
from dragoman.translation.service.translated_text import TranslatedText
from dragoman.translation.translator import Translator

TAGS = ("<2en>", "<2fr>", "<2de>", "<ui>", "<from-de>")


def direction(source: str, target: str, *tags: str) -> Direction:
    return Direction(source_language=source, target_language=target, tags=tags)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    many = (
        direction("de", "en", "<from-de>", "<2en>"),
        direction("fr", "en", "<2en>"),
        direction("en", "de", "<2de>"),
        direction("en", "en", "<2en>"),
    )
    save_tiny_model(folder / "many", seed=3, tags=TAGS, directions=many)
    save_tiny_model(folder / "unnamed", seed=5)
    save_tiny_model(folder / "lm", seed=6, config=TINY_LM)
    return folder


def system(path: Path, **values: Any) -> TranslationSystem:
    return TranslationSystem(models=(path,), device="cpu", **values)


def answers(described: TranslationSystem, *requests: TextRequest) -> list[TranslatedText]:
    async def main() -> list[TranslatedText]:
        async with await ModelService.open(
            [described], ServiceOptions(reload_seconds=0)
        ) as service:
            return await service.translate(requests)

    return asyncio.run(main())


def test_a_model_of_many_languages_serves_all_its_pairs(folder: Path) -> None:
    loaded = LoadedSystem.load(system(folder / "many"))
    assert sorted(loaded.pairs) == [("de", "en"), ("en", "de"), ("fr", "en")]
    # What only one of the directions into a language had is put in front as well.
    assert loaded.tags(Pairing("de", "en")) == ("<from-de>", "<2en>")
    assert loaded.tags(Pairing("fr", "en")) == ("<2en>",)
    assert loaded.tags(Pairing("en", "de"), ("<ui>",)) == ("<2de>", "<ui>")
    # Those of other directions are not for whoever asks, nor are those of languages.
    assert loaded.styles(Pairing("en", "de")) == ["<ui>"]
    with pytest.raises(ConfigError, match=r"no tag <xy>; tags there: <ui>$"):
        loaded.tags(Pairing("en", "de"), ("<xy>",))


def test_a_style_is_one_of_the_directions_that_were_trained_with_it(tmp_path: Path) -> None:
    directions = (
        direction("en", "de", "<formal>", "<2de>"),
        direction("en", "de", "<informal>", "<2de>"),
        direction("en", "fr", "<2fr>"),
        direction("fr", "de", "<2de>"),
    )
    tags = ("<2de>", "<2fr>", "<formal>", "<informal>", "<drawn>")
    loaded = LoadedSystem.load(
        system(save_tiny_model(tmp_path / "polite", tags=tags, directions=directions))
    )
    # No part is recorded with the tag that a transform adds, so that any may have it.
    assert loaded.styles(Pairing("en", "de")) == ["<drawn>", "<formal>", "<informal>"]
    assert loaded.styles(Pairing("en", "fr")) == ["<drawn>"]
    assert loaded.styles(Pairing("fr", "de")) == ["<drawn>"]


def test_translations_are_those_of_the_translator(folder: Path) -> None:
    translator = Translator.load(folder / "many", device="cpu", target_language="de")
    lines = ["a b c d e", "e d c", "b a"]
    requests = [TextRequest(line, "de", "en", nbest=2) for line in lines]
    found = answers(system(folder / "many"), *requests, TextRequest("a b", "en", "fr"))
    wanted = translator.translate_nbest(lines, nbest=2)
    for one, translations in zip(found[:3], wanted, strict=True):
        (sentence,) = one.sentences
        assert sentence.renderings[0].text == translations[0].text
        assert sentence.renderings[0].score == pytest.approx(translations[0].score, abs=1e-4)


def test_a_tag_in_a_text_is_text(folder: Path) -> None:
    loaded = LoadedSystem.load(system(folder / "many"))
    assert loaded.line("<2fr> a <ui> <b>", ("<2de>",)) == "<2de> < 2fr> a < ui> <b>"
    assert answers(system(folder / "many"), TextRequest("<2xx> a", "de", "en"))[0].text is not None


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("unnamed", {}, "does not say what its source language is; name it by source_language"),
        ("unnamed", {"source_language": "en"}, "what its target language is"),
        ("lm", {}, "a language model"),
        ("many", {"target_language": "fr"}, "no direction of the model is into fr; it has "),
        ("many", {"adapters": {"ui": "x"}}, "adapters: a server chooses"),
    ],
)
def test_what_cannot_be_served_is_told(
    folder: Path, name: str, values: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        LoadedSystem.load(system(folder / name, **values))


def test_a_system_names_languages_or_chooses_among_them(folder: Path) -> None:
    named = system(folder / "unnamed", source_language="en", target_language="pt-BR")
    assert list(LoadedSystem.load(named).pairs) == [("en", "pt-BR")]
    assert answers(named, TextRequest("a b", "PT", "EN-US"))[0].target == "pt-BR"
    chosen = LoadedSystem.load(system(folder / "many", target_language="de"))
    assert list(chosen.pairs) == [("en", "de")]
    assert chosen.translator.tags == ()
    assert chosen.tags(Pairing("en", "de")) == ("<2de>",)


def test_tags_are_in_the_order_of_training_whatever_the_system_names(folder: Path) -> None:
    directions = (direction("en", "de", "<ui>", "<2de>"),)
    path = save_tiny_model(folder / "styled", tags=("<2de>", "<ui>"), directions=directions)
    for values in ({}, {"target_language": "de"}, {"tags": ("<2de>",)}):
        loaded = LoadedSystem.load(system(path, **values))
        read = loaded.line("a b", loaded.tags(Pairing("en", "de"), ("<ui>",)))
        assert read == "<ui> <2de> a b"
        with Translator.of(loaded.system) as alone:  # it adds none of its own
            assert loaded.translator.translate([read]) == alone.tagged(()).translate([read])


def test_a_system_with_a_pivot_of_its_own(folder: Path) -> None:
    described = system(folder / "many", target_language="de", pivot={"language": "en"})
    loaded = LoadedSystem.load(described)
    assert list(loaded.pairs) == [("fr", "de")]
    assert loaded.tags(Pairing("fr", "de")) == ()
    with pytest.raises(ConfigError, match="takes none"):
        loaded.tags(Pairing("fr", "de"), ("<ui>",))


def test_links_are_in_characters_of_both_texts(folder: Path) -> None:
    text = "a  b c.\nd e"
    glossary = Glossary.of({"c": "e e d", "e": "a c"})  # something to link, whatever the model says
    requests = [
        TextRequest(text, "de", "en", glossary=glossary, links=True),
        TextRequest(text, "de", "fr", glossary=glossary, links=True),  # through English
    ]
    direct, through = answers(system(folder / "many"), *requests)
    assert direct.links
    for found in (direct, through):
        for link in found.links:
            assert not text[link.source_start : link.source_end].isspace()
            assert text[link.source_start : link.source_end] in "abcde."
            assert found.text[link.target_start : link.target_end].strip()


@pytest.mark.parametrize(
    "values",
    [
        {"search": {"sampling": {}}},  # with all defaults
        {"search": {"mbr": {"samples": 4}, "sampling": {"seed": 1}}},
    ],
)
def test_what_is_to_be_copied_refuses_nothing_where_no_term_can_be_demanded(
    folder: Path, values: dict[str, Any]
) -> None:
    described = system(folder / "unnamed", source_language="en", target_language="de", **values)
    pages = [
        "<p>a <code>fooBar</code> c</p>",
        'b <i translate="no">Foo Bar</i> d',
        "a {x} http://b",
    ]

    async def main() -> list[TranslatedText]:
        async with await ModelService.open(
            [described], ServiceOptions(reload_seconds=0)
        ) as service:
            requests = [TextRequest(page, "de", "en") for page in pages]
            found = await translate_contents(service, requests, "html")
            with pytest.raises(RefusedError):  # of a client's own terms
                await service.translate([replace(requests[2], glossary=Glossary.of({"a": "b"}))])
            return found

    first, second, third = asyncio.run(main())
    assert first.text.count("<code>fooBar</code>") == 1
    assert second.text.count('<i translate="no">Foo Bar</i>') == 1
    assert "{x}" in third.text and "http://b" in third.text


def test_marks_are_kept_by_models_whose_pieces_mark_no_spaces(folder: Path) -> None:
    pieces = PieceList(pieces=(*SPECIAL, *"abcde"), tags=(), splitting=SubwordNmt())
    vocabularies = Vocabularies(*[ListedVocabulary(pieces)] * 2)
    config = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2)
    model = build_model(config, vocabularies)
    saved = SavedConfig(model=config, source_language="fr", target_language="de")
    weights = {name: one.detach() for name, one in model.named_parameters()}
    save_model(folder / "apart", saved, vocabularies, weights)
    first_leg = {"language": "de", "models": (folder / "apart",), "search": {"extra_length": 3}}
    for target, described in (
        ("de", system(folder / "apart", search={"extra_length": 3})),
        ("en", system(folder / "many", target_language="en", pivot=first_leg)),
    ):
        (found,) = answers(described, TextRequest("a {x} b http://c.d/e", target, "fr"))
        assert "{x}" in found.text and "http://c.d/e" in found.text


def test_inline_tags_do_not_pass_through_a_pivot(folder: Path) -> None:
    """The first of its models may not know them."""
    into = save_tiny_model(folder / "into", directions=(direction("de", "en"),))
    tags, onward = InlineTags(pairs=2, points=2), (direction("en", "fr"),)
    from_there = save_tiny_model(folder / "from-there", inline_tags=tags, directions=onward)
    mark = [PlacedTag(2, 3, "pair", 1)]
    assert LoadedSystem.load(system(from_there)).marked_line("a b", mark, ()) is not None
    own = system(from_there, pivot={"language": "en", "models": (into,)})
    assert LoadedSystem.load(own).marked_line("a b", mark, ()) is None


def test_a_glossary_is_used_and_one_that_cannot_be_is_refused(folder: Path) -> None:
    glossary = Glossary.of({"c": "e e d"})
    (found,) = answers(system(folder / "many"), TextRequest("a b c", "de", "en", glossary=glossary))
    assert "e e d" in found.text
    with pytest.raises(RefusedError) as raised:
        answers(
            system(folder / "many", search={"maximum_length": 2}),
            TextRequest("a b c", "de", "en", glossary=Glossary.of({"c": "e d e d e d"})),
        )
    assert raised.value.kind == "invalid"


def test_context_is_read_by_models_that_know_it(folder: Path) -> None:
    from dragoman.saved import model as saved

    path = save_tiny_model(folder / "context", tags=("<sep>",), directions=(direction("en", "de"),))
    text = (path / saved.CONFIG_FILE).read_text(encoding="utf-8")
    text = text.replace("context: null", "context: {sentences: 2}")
    (path / saved.CONFIG_FILE).write_text(text, encoding="utf-8")
    loaded = LoadedSystem.load(system(path))
    assert loaded.translator.context == ContextConfig(sentences=2)
    assert loaded.line("d", (), ("a", "b", "c <sep> e")) == "b <sep> c < sep> e <sep> d"
    assert loaded.line("d", ()) == "<sep> d"
    with_context = TextRequest("d e", "de", "en", context="a b\nc d")
    with_terms = replace(with_context, glossary=Glossary.of({"x": "y"}))
    translator = Translator.load(path, device="cpu")
    for found in answers(system(path), with_context, with_terms):
        assert found.text == translator.translate(["a b <sep> c d <sep> d e"])[0]


def test_confidence_is_given_where_a_model_is_calibrated(folder: Path) -> None:
    path = save_tiny_model(folder / "calibrated", seed=7, directions=(direction("en", "de"),))
    lines = ["a b c d e", "e d c", "b a"]
    requests = [TextRequest(line, "de", "en", nbest=2) for line in lines]

    def shown() -> list[list[float | None]]:
        found = answers(system(path), *requests)
        return [[one.confidence for one in text.sentences[0].renderings] for text in found]

    assert shown() == [[None, None]] * 3
    plant_calibration(path)
    with Translator.of(system(path, confidence=True)) as translator:
        wanted = translator.translate_nbest(lines, nbest=2)
    for one, expected in zip(shown(), wanted, strict=True):
        assert one == pytest.approx([other.confidence for other in expected], abs=1e-4)
    # Of a system of two models, that calibration says nothing.
    both = TranslationSystem(models=(path, path), device="cpu")
    (found,) = answers(both, requests[0])
    assert found.sentences[0].renderings[0].confidence is None


def test_a_system_is_ready_for_its_first_request(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    translate = Translator.translate_nbest

    def noted(self: Translator, lines: list[str], **options: Any) -> Any:
        asked.append(lines)
        return translate(self, lines, **options)

    prepared: list[object] = []
    monkeypatch.setattr(Translator, "translate_nbest", noted)
    monkeypatch.setattr(AutomaticEngine, "prepare", lambda _, config: prepared.append(config))
    loaded = LoadedSystem.load(system(folder / "many"))
    loaded.translator.close()
    assert prepared == [loaded.translator.search]
    assert asked == [["<from-de> <2en> a"]]
