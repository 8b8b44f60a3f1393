"""Two models, or one, that translate in opposite directions; everything else is one clear error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filter_models import FORWARD, REVERSE
from tiny_model import save_tiny_model

from dragoman.core.errors import ConfigError
from dragoman.techniques.corpus_filtering.both_directions import scoring_models
from dragoman.techniques.corpus_filtering.pair_scorer import PairScorer
from dragoman.text.examples import Direction
from dragoman.text.formats import Pair

EN_FR = Direction(source_language="en", target_language="fr", tags=("<2fr>",))
FR_EN = Direction(source_language="fr", target_language="en", tags=("<2en>",))
EN_DE = Direction(source_language="en", target_language="de", tags=("<2de>",))
DE_EN = Direction(source_language="de", target_language="en", tags=("<2en>",))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    return {
        "en-de": save_tiny_model(folder / "en-de", directions=(FORWARD,)),
        "de-en": save_tiny_model(folder / "de-en", directions=(REVERSE,), seed=2),
        "both": save_tiny_model(
            folder / "both", directions=(EN_DE, DE_EN), tags=("<2de>", "<2en>")
        ),
        "many": save_tiny_model(
            folder / "many",
            directions=(EN_DE, DE_EN, EN_FR, FR_EN),
            tags=("<2de>", "<2en>", "<2fr>"),
        ),
        "unnamed": save_tiny_model(folder / "unnamed"),
        "unnamed-2": save_tiny_model(folder / "unnamed-2", seed=2),
    }


def languages(models: dict[str, Path], *names: str, **options: Any) -> tuple[str | None, ...]:
    first, *second = [models[name] for name in names]
    found = scoring_models([first], second, **options)
    assert (found.forward.source_language, found.forward.target_language) == (
        found.reverse.target_language,
        found.reverse.source_language,
    )
    return found.forward.source_language, found.forward.target_language


def test_models_say_what_they_translate(models: dict[str, Path]) -> None:
    assert languages(models, "en-de", "de-en") == ("en", "de")
    assert languages(models, "en-de", "many") == ("en", "de")
    assert languages(models, "unnamed", "unnamed-2") == (None, None)


def test_one_model_of_both_directions(models: dict[str, Path]) -> None:
    assert languages(models, "many", languages=("en", "fr")) == ("en", "fr")
    assert languages(models, "many", languages=("fr", None)) == ("fr", "en")
    assert languages(models, "many", sides=("fr", "en")) == ("fr", "en")
    assert languages(models, "both", sides=("de", "en")) == ("de", "en")


def test_languages_that_models_do_not_name_can_be_identified(models: dict[str, Path]) -> None:
    """As the error says that asks for their names; such a model has one target, and no tag."""
    unnamed, other = models["unnamed"], models["unnamed-2"]
    named = scoring_models([unnamed], [other], languages=("en", "de"), identify=True)
    assert named.languages == ("en", "de")
    plain = scoring_models([unnamed], [other])
    rows = [
        scorer.score([Pair("a b", "b c", 1)]).rows
        for scorer in (PairScorer(plain), PairScorer(replace(named, languages=None)))
    ]
    assert rows[0] == rows[1]


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (("en-de", "en-de"), {}, "translates only en-de"),
        (("en-de",), {}, r"translates only en-de; .* --reverse"),
        (("de-en",), {"languages": ("de", "en")}, "does not translate from en.*--reverse"),
        (("en-de", "de-en"), {"languages": ("en", "fr")}, "de-en: .*not translate from fr"),
        (("many",), {}, "several directions .*--from en --to de"),
        (("unnamed",), {}, "one model of one direction cannot score both"),
        (("unnamed", "unnamed"), {}, "one model of one direction cannot score both"),
        (("unnamed",), {"languages": ("en", "de")}, "one model of one direction cannot score"),
        (("unnamed", "unnamed-2"), {"identify": True}, "--from and --to"),
        (("en-de", "de-en"), {"sides": ("de", "en")}, "the pairs are de-en.* for en-de"),
        (("en-de", "de-en"), {"domain": Path("lm")}, "name both, or neither"),
    ],
)
def test_what_does_not_fit(
    models: dict[str, Path], names: tuple[str, ...], options: dict[str, Any], message: str
) -> None:
    first, *second = [models[name] for name in names]
    with pytest.raises(ConfigError, match=message):
        scoring_models([first], second, **options)


def test_models_of_different_languages(models: dict[str, Path], tmp_path: Path) -> None:
    french = save_tiny_model(tmp_path / "fr-en", directions=(FR_EN,), tags=("<2en>",))
    with pytest.raises(ConfigError, match=r"translates fr-en, and .* en-de"):
        scoring_models([models["en-de"]], [french])
