"""Lines in capitals: translated in their usual case, and put in capitals again."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path

import pytest
import torch
from tiny_model import TINY_LM

from dragoman.core.errors import ConfigError
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.model import build_model, save_model
from dragoman.saved.saved_config import SavedConfig
from dragoman.text.capitals import in_capitals
from dragoman.text.context import ContextConfig
from dragoman.text.examples import Direction
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.glossary_files import Term
from dragoman.text.terms.terminology import ProtectedKind, Terminology
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.translation.call_options import LineOptions
from dragoman.translation.capital_lines import CapitalLines
from dragoman.translation.line_stream import numbered
from dragoman.translation.service.linking import word_links
from dragoman.translation.translator import Translator

torch.set_num_threads(1)

TEXT = [
    f"{first} the {second} of {code}"
    for first in ("change", "open", "delete", "Merkel")
    for second in ("password", "door", "USB", "file")
    for code in ("{name}", "%(key)r", "<b>it</b>", "2048")
]
PLAIN = ["change the password", "open the USB door of {name}", "delete file", "Merkel", "USB", ""]
USUAL_CASE = dict(
    zip(
        [
            "CHANGE THE PASSWORD",
            "OPEN THE USB DOOR OF {name}",
            "DELETE FILE",
            "MERKEL",
            "<b>DELETE</b> THE FILE OF HTTP://A.ORG/B",
        ],
        [*PLAIN[:4], "<b>delete</b> the file of HTTP://A.ORG/B"],
        strict=True,
    )
)
"""Lines in capitals, and what a model of this text reads."""


@cache
def vocabularies(tags: tuple[str, ...] = ()) -> Vocabularies:
    config = VocabularyConfig(size=130, byte_fallback=False, tags=tags)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ :/."
    pairs = [(one, one) for one in [*TEXT, letters]]
    return train_vocabularies(pairs * 2, config, seed=1)


def save(
    directory: Path,
    *,
    seed: int = 1,
    directions: tuple[Direction, ...] = (),
    tags: tuple[str, ...] = (),
    context: ContextConfig | None = None,
) -> Path:
    """An untrained model, which writes any pieces of this text."""
    model = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2)
    tags = (*tags, *(() if context is None else (context.separator,)))
    config = SavedConfig(
        model=model, directions=directions, search={"extra_length": 8}, context=context
    )
    torch.manual_seed(seed)
    made = build_model(config.model, vocabularies(tags))
    weights = {name: 3 * tensor.detach() for name, tensor in made.named_parameters()}
    save_model(directory, config, vocabularies(tags), weights)
    return directory


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("capitals"))


@pytest.fixture(scope="module")
def translator(model: Path) -> Translator:
    return Translator.load(model)


def lines_read(translator: Translator, lines: list[str], terms: Terminology) -> list[str]:
    capitals = CapitalLines(terms, translator.vocabularies.source, context=translator.context)
    return [capitals.read(line).text for line in numbered(lines, "", None)]


@pytest.mark.parametrize("protect", [(), ("placeholders", "tags", "urls", "numbers")])
def test_the_model_reads_words_in_the_case_it_knows(
    translator: Translator, protect: tuple[ProtectedKind, ...]
) -> None:
    """What only programs read keeps its case, whether it is protected or not."""
    terms = Terminology(protect=protect)
    assert lines_read(translator, [*USUAL_CASE], terms) == [*USUAL_CASE.values()]
    same = [*PLAIN, "A", "USB", "USB {name}", "Change the PASSWORD"]
    assert lines_read(translator, same, terms) == same


@pytest.mark.parametrize(
    "options", [{}, {"nbest": 3}, {"sampling": {"seed": 3}}, {"mbr": {"samples": 5}}]
)
def test_translations_are_those_of_the_usual_case_in_capitals(
    translator: Translator, options: LineOptions
) -> None:
    """Scores, pieces and reports stay those of the hypotheses."""
    found = translator.translate_nbest([*USUAL_CASE], **options)
    expected = translator.translate_nbest([*USUAL_CASE.values()], **options)
    assert any(
        one.text != other.text for (one, *_), (other, *_) in zip(found, expected, strict=True)
    )
    for ours, theirs in zip(found, expected, strict=True):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert (one.score, one.pieces, one.missing, one.invented, one.token_scores) == (
                (other.score, other.pieces, other.missing, other.invented, other.token_scores)
            )
            kept = Terminology(protect=("placeholders", "tags", "urls")).protected(other.text)
            assert one.text == in_capitals(other.text, kept)


def test_other_lines_and_keep_change_nothing(translator: Translator) -> None:
    kept: LineOptions = {"capitals": "keep"}
    assert translator.translate_nbest(PLAIN) == translator.translate_nbest(PLAIN, **kept)
    shouted = [*USUAL_CASE]
    assert translator.translate(shouted) != translator.translate(shouted, **kept)
    with pytest.raises(ConfigError, match="capitals"):
        translator.translate(shouted, capitals="shout")  # type: ignore[arg-type]


def test_a_line_with_a_prefix_stays(translator: Translator) -> None:
    line = "CHANGE THE PASSWORD"
    one, other = (
        translator.translate([line], prefix="the", capitals=each) for each in ("lower", "keep")
    )
    assert one == other and one[0].startswith("the")


def test_copied_terms_keep_their_case(
    translator: Translator, caplog: pytest.LogCaptureFixture
) -> None:
    """A glossary's term that is not translated, and one that is written in capitals."""
    caplog.set_level(logging.WARNING)
    (found,) = translator.translate(["OPEN THE DOOR"], glossary={"door": "iDoor"})
    assert "IDOOR" in found and not caplog.messages, "the term's translation, in capitals"
    named = [Term("DOOR", ("DOOR",), do_not_translate=True), Term("USB", ("UWU",))]
    terms = Terminology([Glossary(named)])
    assert lines_read(translator, ["OPEN DOOR", "DELETE USB"], terms) == [
        "open DOOR",
        "delete USB",
    ]


def test_the_line_in_front_keeps_its_case_and_the_sentence_loses_it(tmp_path: Path) -> None:
    context = ContextConfig()
    translator = Translator.load(save(tmp_path, context=context))
    line = f"OPEN THE DOOR {context.separator} DELETE THE FILE"
    assert lines_read(translator, [line], Terminology()) == [
        f"OPEN THE DOOR {context.separator} delete the file"
    ]


def test_capitals_follow_the_target_language(tmp_path: Path) -> None:
    tags = ("<2tr>", "<2de>")
    directions = tuple(
        Direction(source_language="en", target_language=one, tags=(f"<2{one}>",))
        for one in ("tr", "de")
    )
    path = save(tmp_path, tags=tags, directions=directions)
    line = "OPEN THE DOOR DELETE THE FILE"
    for language, sign in (("tr", "İ"), ("de", "I")):
        named = Translator.load(path, target_language=language)
        tagged = named.tagged(())
        plain = named.translate([line.lower()])[0]
        expected = in_capitals(plain, language=language)
        assert named.translate([line]) == [expected]
        assert tagged.translate([f"<2{language}> {line}"]) == [expected]
        assert sign in expected or "i" not in plain


def test_a_pivot_language_has_its_usual_case(tmp_path: Path) -> None:
    def leg(seed: int, source: str, target: str) -> Path:
        directions = (Direction(source_language=source, target_language=target),)
        return save(tmp_path / source, seed=seed, directions=directions)

    first, last = leg(1, "en", "fr"), leg(2, "fr", "de")
    translator = Translator.load(last, pivot={"language": "fr", "models": [str(first)]})
    for line, usual in USUAL_CASE.items():
        ((ours, *_),) = translator.translate_nbest([line])
        ((theirs, *_),) = translator.translate_nbest([usual])
        assert ours.pivot == theirs.pivot and ours.text.casefold() == theirs.text.casefold()


def test_a_language_model_continues_capitals(tmp_path: Path) -> None:
    from tiny_model import save_tiny_model

    lines = ["a b c d e", "E D C", "b a"] * 9
    translator = Translator.load(save_tiny_model(tmp_path, lines, config=TINY_LM))
    assert translator.translate(["E D"])[0].startswith("E D")


def test_words_of_lines_in_capitals_are_linked_as_in_their_usual_case(
    translator: Translator,
) -> None:
    """So that markup in documents finds the same place."""
    (shouted,) = word_links(
        translator, ["OPEN THE PASSWORD"], [("OPEN THE PASSWORD", "DELETE THE USB FILE")]
    )
    (usual,) = word_links(
        translator, ["open the password"], [("open the password", "delete the USB file")]
    )
    assert shouted == usual and shouted
