"""Lines with inline tags, through models that have learned them and others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import regex
from tiny_model import save_tiny_model

from dragoman.saved.model import read_config
from dragoman.text.inline_tags import InlineTags, structure, symbols_in, without_tags
from dragoman.text.markup_spans import SymbolisedText
from dragoman.translation.translator import Translator

KNOWN = InlineTags(pairs=2, points=2)
LINES = ["a<t1> b c</t1> d", "<x2> e<t2> d<t1> c</t1></t2> <x1>", "a b", "<t1></t1>"]


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("learned") / "model", inline_tags=KNOWN)


@pytest.mark.parametrize(
    "options",
    [
        {"beam": 1},
        {"beam": 3, "nbest": 2},
        {"sampling": {}, "nbest": 2},
        {"maximum_length": 2},
        {"glossary": {"b c": "e e"}},
    ],
)
def test_translations_have_the_tags_of_their_lines(learned: Path, options: dict[str, Any]) -> None:
    translator = Translator.load(learned, device="cpu")
    assert translator.inline_tags == KNOWN
    for line, found in zip(LINES, translator.translate_nbest(LINES, **options), strict=True):
        assert found
        for one in found:
            assert structure(symbols_in(one.text)) == structure(symbols_in(line))


def test_terms_across_tags_are_found_and_written(learned: Path) -> None:
    translator = Translator.load(learned, device="cpu")
    for line in ("a<t1> b</t1> c", "b<x1> c"):
        (found,) = translator.translate_nbest([line], glossary={"b c": "e d"})
        assert "e d" in without_tags(found[0].text)
        assert structure(symbols_in(found[0].text)) == structure(symbols_in(line))


def test_lines_without_tags_are_translated_as_by_a_model_that_knows_none(
    learned: Path, tmp_path: Path
) -> None:
    other = save_tiny_model(tmp_path / "other", tags=tuple(KNOWN.symbols()))
    plain, unaware = ["a b c", "e d"], Translator.load(other, device="cpu")
    assert unaware.inline_tags is None
    assert Translator.load(learned, device="cpu").translate(plain) == unaware.translate(plain)
    assert not any(map(symbols_in, unaware.translate(LINES)))
    together = Translator.load(learned, other, device="cpu")
    assert together.inline_tags is None


@pytest.fixture(scope="module")
def of_markup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that reads placeholders and tags of lines as symbols."""
    path = tmp_path_factory.mktemp("of-markup") / "model"
    return save_tiny_model(path, inline_tags=KNOWN, markup=("html", "placeholders"))


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 3, "nbest": 2}, {"sampling": {}}])
def test_markup_of_lines_is_symbols_to_the_models(of_markup: Path, options: dict[str, Any]) -> None:
    translator = Translator.load(of_markup, device="cpu")
    (raw,) = translator.translate_nbest(["a<t1> b</t1> <x1> c"], **options)
    (found,) = translator.translate_nbest(["a <b>b</b> {d} c"], **options)
    for one, symbols in zip(found, raw, strict=True):
        assert sorted(regex.findall(r"<b>|</b>|\{d\}", one.text)) == ["</b>", "<b>", "{d}"]
        assert one.pieces == symbols.pieces
        assert one.missing == one.invented == ()


def test_what_a_short_output_lacks_is_missing(
    of_markup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SymbolisedText, "lost", lambda self, translation: ("{d}",))
    (found,) = Translator.load(of_markup, device="cpu").translate_nbest(["a {d} b"])
    assert found[0].missing == ("{d}",)


@pytest.mark.parametrize(
    ("line", "options", "protect"),
    [
        ("{a} {b} {c}", {}, None),  # more than there are symbols
        ("a {d} b", {}, []),
        ("a {d} b", {"prefix": "a"}, None),
    ],
)
def test_lines_that_are_read_as_they_are(
    of_markup: Path, line: str, options: dict[str, Any], protect: list[str] | None
) -> None:
    translator = Translator.load(of_markup, device="cpu", terms={"protect": protect})
    ((found, *_),) = translator.translate_nbest([line], **options)
    assert not any(map(symbols_in, found.pieces))


def test_a_model_says_in_its_files_which_tags_it_knows(learned: Path, tmp_path: Path) -> None:
    assert read_config(learned / "config.yaml").inline_tags == KNOWN
    run = tmp_path / "config.yaml"
    part = "{source: a, target: b, transforms: [{kind: markup_tags, inline_tags: {pairs: 3}}]}"
    run.write_text(f"model: {{family: transformer}}\ndata: {{train: [{part}]}}\n", "utf-8")
    assert read_config(run).inline_tags == InlineTags(pairs=3)
    assert read_config(run).markup == ("rst",)
