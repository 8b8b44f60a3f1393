"""Which tags ask a model for a language."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from tiny_model import save_tiny_model

from dragoman.core.errors import ConfigError, SavedError
from dragoman.models import ModelConfig
from dragoman.models.families.transformer import TransformerConfig
from dragoman.models.families.transformer_lm import TransformerLMConfig
from dragoman.saved.directions import (
    called_there,
    check_same_languages,
    check_source,
    language_pairs,
    only_languages,
    tags_between,
    tags_for,
    telling_tags,
    usage,
)
from dragoman.saved.model import load_model
from dragoman.saved.saved_config import SavedConfig
from dragoman.text.examples import Direction
from dragoman.text.vocabularies import Vocabulary, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

TAGS = ("<2de>", "<2fr>", "<ui>", "<talk>", "<null>")


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return train_vocabularies(
        [("a b c", "c b a")] * 9, VocabularyConfig(size=13, tags=TAGS), seed=1
    )[0]


def saved(*directions: str, model: ModelConfig | None = None) -> SavedConfig:
    """A model of directions such as ``en-de <2de> <ui>``."""
    found = []
    for one in directions:
        name, *tags = one.split()
        source, target = name.split("-")
        found.append(Direction(source_language=source, target_language=target, tags=tuple(tags)))
    return SavedConfig(
        source_language="en",
        target_language="de",
        directions=tuple(found),
        model=model or TransformerConfig(),
    )


@pytest.mark.parametrize(
    ("directions", "language", "tags", "expected"),
    [
        (["en-de <2de>", "en-fr <2fr>"], "fr", (), ["<2fr>"]),
        (["en-de <2de>", "en-fr <2fr>"], None, ("<2de>",), ["<2de>"]),
        # domains: what all parts of a language have in common, in the order of training
        (["en-de <ui> <2de>", "en-de <talk> <2de>", "en-fr <2fr>"], "de", (), ["<2de>"]),
        (["en-de <ui> <2de>", "en-de <2de>"], "de", ("<ui>",), ["<ui>", "<2de>"]),
        (["en-de <2de>", "en-fr <2fr>"], "de", ("<ui>",), ["<2de>", "<ui>"]),
        # text without a source does not count
        (["en-de <2de>", "en-de <null> <2de>", "en-fr <2fr>"], "de", (), ["<2de>"]),
        # one language needs no tag
        (["en-de", "fr-de"], "de", (), []),
        (["en-de"], "de", ("<ui>",), ["<ui>"]),
        # a share of the sources was tagged
        (["en-de", "en-fr <2fr>"], "de", (), ["<2de>"]),
        (["en-de <ui>", "en-fr <ui> <2fr>"], "de", (), ["<ui>", "<2de>"]),
        # text copied from its own side does not count
        (["en-de <ui> <2de>", "en-fr <ui> <2fr>", "de-de <ui>"], "de", (), ["<ui>", "<2de>"]),
        (["en-de <2de>", "de-de"], "de", (), ["<2de>"]),
        (["en-de", "fr-fr <2fr>"], "de", (), []),
        # unless nothing else was in that language
        (["en-de <2de>", "fr-fr <2fr>"], "fr", (), ["<2fr>"]),
        # a language is told by the tags that others had beyond its own
        (["en-ko", "en-de <2de>"], "ko", (), []),
        (["en-ko <ui>", "en-de <ui> <2de>"], "ko", (), ["<ui>"]),
        (["en-ko", "en-ko <ui>", "en-de <2de>"], "ko", ("<ui>",), ["<ui>"]),
        # models of before
        ([], "fr", (), ["<2fr>"]),
    ],
)
def test_tags(
    vocabulary: Vocabulary,
    directions: list[str],
    language: str | None,
    tags: tuple[str, ...],
    expected: list[str],
) -> None:
    assert list(tags_for(saved(*directions), vocabulary, language, tags)) == expected


@pytest.mark.parametrize(
    ("directions", "language", "tags", "problem"),
    [
        (
            ["en-de <2de>", "en-ko <2ko>"],
            "es",
            (),
            r"into es; languages there: de, ko; tags: <2de>",
        ),
        (["en-de", "en-ko"], "ko", (), r"into ko among other languages, and no tag asks for it"),
        # a tag of other languages, too, asks for none
        (["en-ko <ui>", "en-de <ui>"], "ko", (), r"among other languages, and no tag"),
        (
            ["en-ko <ui> <talk>", "en-ko <ui>", "en-de <ui>"],
            *("ko", (), r"among other languages, and no tag"),
        ),
        # tags that contradict the language
        (
            ["en-de <2de>", "en-fr <2fr>"],
            *("fr", ("<2de>",), r"<2de> asks for de, .* language is fr; leave one of them out"),
        ),
        (["en-de <2de>"], "de", ("<x>",), r"no tag <x>; tags there: <2de>, <2fr>, <ui>"),
        ([], "ko", (), r"does not translate into ko; languages there: de;"),
        # nearly right
        (["en-de <2de>", "en-fr <2fr>"], "DE", (), r"into DE; .*; did you mean 'de'\?$"),
        (["en-de <2de>"], "de", ("ui",), r"no tag ui; .*; did you mean '<ui>'\?$"),
        (["en-de <2de>"], "de", ("<takl>",), r"no tag <takl>; .*; did you mean '<talk>'\?$"),
    ],
)
def test_what_a_model_cannot_do(
    vocabulary: Vocabulary,
    directions: list[str],
    language: str,
    tags: tuple[str, ...],
    problem: str,
) -> None:
    with pytest.raises(ConfigError, match=problem):
        tags_for(saved(*directions), vocabulary, language, tags)


def test_a_language_model_has_no_source_for_tags(vocabulary: Vocabulary) -> None:
    with pytest.raises(ConfigError, match="a language model reads no source"):
        tags_for(saved(model=TransformerLMConfig()), vocabulary, "de")


def test_a_model_of_one_language_of_before_needs_no_tag() -> None:
    plain = train_vocabularies([("a b c", "c b a")] * 9, VocabularyConfig(size=8), seed=1)[0]
    assert tags_for(saved(), plain, "de") == ()


@pytest.mark.parametrize(
    ("directions", "language", "known"),
    [
        (["en-de", "fr-de"], "fr", True),
        (["en-de", "fr-de"], "de", False),
        (["en-de", "de-de <ui>"], "de", False),  # copied text
        (["en-de", "de-en", "de-de"], "de", True),
        ([], "en", True),  # models of before
        ([], "fr", False),
        (["source-target"], "fr", True),  # nobody said
    ],
)
def test_languages_to_translate_from(directions: list[str], language: str, known: bool) -> None:
    if known:
        check_source(saved(*directions), language)
        return
    there = ", ".join(name.split()[0] for name in directions) or "en-de"
    with pytest.raises(ConfigError, match=f"translate from {language}; directions there: {there}$"):
        check_source(saved(*directions), language)


def test_a_language_to_translate_from_that_is_nearly_right() -> None:
    with pytest.raises(ConfigError, match=r"from EN; .* en-de; did you mean 'en'\?$"):
        check_source(saved("en-de"), "EN")


def test_a_language_model_translates_from_no_language() -> None:
    with pytest.raises(ConfigError, match="translates from no language"):
        check_source(saved(model=TransformerLMConfig()), "en")


@pytest.mark.parametrize(
    ("directions", "expected"),
    [
        (["en-de <2de>", "en-fr <2fr>", "de-fr <2fr>"], [("<2de>",), ("<2fr>",)]),
        (["en-de <ui> <2de>", "en-fr <2fr>"], [("<ui>", "<2de>"), ("<2fr>",)]),
        # one language, one that needs no tag, and one that no tag asks for
        (["en-de <2de>", "fr-de <2de>"], []),
        (["en-de", "fr-fr <2fr>"], []),
        (["en-de <2de>", "fr-en"], []),
        (["en-ko <ui>", "en-es <ui>"], []),
    ],
)
def test_tags_that_tell_languages_apart(
    vocabulary: Vocabulary, directions: list[str], expected: list[tuple[str, ...]]
) -> None:
    assert telling_tags(saved(*directions), vocabulary) == expected


def test_a_language_model_is_told_nothing(vocabulary: Vocabulary) -> None:
    both = saved("de-de <2de>", "fr-fr <2fr>", model=TransformerLMConfig())
    assert telling_tags(both, vocabulary) == []


@pytest.mark.parametrize(
    ("directions", "expected"),
    [
        (["en-de <2de>", "en-fr <2fr>"], "dragoman translate runs/many --to de < input.txt"),
        (["en-de", "fr-de", "fr-fr"], "dragoman translate runs/many < input.txt"),
        ([], "dragoman translate runs/many < input.txt"),
    ],
)
def test_how_a_model_is_used(directions: list[str], expected: str) -> None:
    assert usage("runs/many", saved(*directions)) == expected


def test_how_a_language_model_is_used() -> None:
    found = usage("lm", saved("de-de", model=TransformerLMConfig()))
    assert found == "dragoman score lm text.txt"


def test_how_a_parser_is_used() -> None:
    parser = saved("en-en").model_copy(update={"search": {"grammar": "trees"}})
    found = usage("runs/parser", parser)
    assert found == "dragoman parse runs/parser < input.txt"


@pytest.mark.parametrize(
    ("directions", "pair", "tags", "expected"),
    [
        # what all parts of one direction had is put in front as well, in the order of training
        (["en-de <ui> <2de>", "fr-de <talk> <2de>", "en-fr <2fr>"], "en-de", (), ["<ui>", "<2de>"]),
        (["en-de <ui> <2de>", "en-de <2de>", "en-fr <2fr>"], "en-de", (), ["<2de>"]),
        (["en-de <2de>", "en-fr <2fr>"], "en-fr", ("<ui>",), ["<2fr>", "<ui>"]),
        (["en-de <ui> <2de>", "en-fr <2fr>"], "en-de", ("<talk>",), ["<ui>", "<2de>", "<talk>"]),
        # a direction that was never trained has the tags of its target language
        (["en-de <2de>", "en-fr <2fr>"], "fr-de", (), ["<2de>"]),
    ],
)
def test_tags_of_one_direction(
    directions: list[str],
    pair: str,
    tags: tuple[str, ...],
    expected: list[str],
    vocabulary: Vocabulary,
) -> None:
    source, target = pair.split("-")
    found = tags_between(saved(*directions), vocabulary, source, target, tags)
    assert list(found) == expected


def test_the_languages_that_a_model_translates_between() -> None:
    several = saved("en-de <2de>", "en-de <ui> <2de>", "de-de", "en-fr <2fr>")
    assert language_pairs(several) == [("en", "de"), ("en", "fr")]
    assert language_pairs(saved()) == [("en", "de")]  # of before


@pytest.mark.parametrize(
    ("directions", "is_refused"),
    [
        (["en-de"], False),
        (["en_GB-de"], False),
        (["en-fr", "cs-de"], False),  # from English into German without having seen it
        (["source-target"], False),
        (["de-en"], True),
        (["en-fr"], True),
        (["fr-de", "cs-de"], True),
    ],
)
def test_models_that_translate_together_have_languages_in_common(
    directions: list[str], is_refused: bool, tmp_path: Path
) -> None:
    def model(name: str, pairs: list[str]) -> Path:
        return save_tiny_model(tmp_path / name, directions=saved(*pairs).directions)

    first, other = (
        load_model(model("a", ["en-de"]), "cpu"),
        load_model(model("b", directions), "cpu"),
    )
    told = pytest.raises(SavedError, match=f"b: translates {', '.join(directions)}, and .*a en-de")
    with told if is_refused else nullcontext():
        check_same_languages(first, other)


@pytest.mark.parametrize(
    ("directions", "source", "target", "expected"),
    [
        (["en-de"], None, None, ("en", "de")),
        (["en-de", "en-fr"], None, None, None),
        (["en-de", "en-fr"], None, "fr", ("en", "fr")),
        (["en-de", "de-en"], None, "en", ("de", "en")),
        (["en-de", "de-en"], "en", None, ("en", "de")),
        (["en-de", "ko-de"], None, "de", None),
        (["en-de", "de-fr"], "en", "fr", ("en", "fr")),  # never trained on
        (["source-de"], None, None, None),
        (["source-de"], "en", None, ("en", "de")),
        ([], None, None, ("en", "de")),  # an older Dragoman wrote it
    ],
)
def test_languages_that_can_be_no_others(
    directions: list[str],
    source: str | None,
    target: str | None,
    expected: tuple[str, str] | None,
) -> None:
    config = saved(*directions)
    assert only_languages(config, config, source, target) == expected


def test_languages_through_another_are_those_of_the_ends() -> None:
    first, last = saved("ko-en", "ja-en"), saved("en-de")
    assert only_languages(first, last, "ja", None) == ("ja", "de")
    assert only_languages(first, last, None, None) is None


@pytest.mark.parametrize(
    ("directions", "language", "called"),
    [
        (["eng_Latn-kor_Hang"], "ko", "kor_Hang"),
        (["en-pt_BR"], "pt", "pt_BR"),
        (["en-de"], "deu", "de"),
        (["en-zho_Hans", "en-zho_Hant"], "zh", "zh"),  # which of the two is not said
        (["en-de"], "fr", "fr"),
        (["source-target"], "de", "de"),
        (["en-de"], "source", "source"),
    ],
)
def test_a_language_that_a_model_spells_otherwise(
    directions: list[str], language: str, called: str
) -> None:
    assert called_there(saved(*directions), language) == called
