from __future__ import annotations

import pytest

from dragoman.core.errors import MissingExtraError
from dragoman.evaluation import tokenizers
from dragoman.evaluation.metrics import EvaluationConfig, check_installed, score_corpus


@pytest.mark.parametrize(
    ("scripts", "first"),
    [
        ({"Latin": 1.0}, None),
        ({"Cyrillic": 0.9, "Latin": 0.1}, None),
        ({}, None),
        ({"Latin": 0.9, "Han": 0.1}, None),  # a name or a term
        ({"Han": 1.0}, "zh"),
        ({"Han": 0.5, "Hiragana": 0.4, "Latin": 0.1}, "ja-mecab"),
        ({"Hangul": 0.6, "Latin": 0.4}, "ko-mecab"),
        ({"Thai": 1.0}, "char"),
    ],
)
def test_what_suits_a_script(
    scripts: dict[str, float], first: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tokenizers.suitable_tokenizers(scripts)
    assert next(iter(found), None) == first
    monkeypatch.setattr(tokenizers, "is_installed", lambda _: True)
    assert tokenizers.best_tokenizer(scripts) == (first or "13a")
    monkeypatch.setattr(tokenizers, "is_installed", lambda one: one in {"char", "13a"})
    assert tokenizers.best_tokenizer(scripts) == ("char" if first else "13a")


def test_the_usual_tokenizer_is_blind_without_spaces() -> None:
    """Why it matters: nine of ten characters right, and BLEU says next to nothing."""
    said, meant = "今天天气非常好我们去公园", "今天天气非常好我们去学校"
    values = {
        name: score_corpus([said], [[meant]], EvaluationConfig(bleu_tokenize=name))[0].value
        for name in ("13a", "zh")
    }
    assert values["13a"] < 1
    assert values["zh"] > 50


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_what_is_not_installed_is_told(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = {"ja": "MeCab", "ko": "mecab_ko"}[language]
    monkeypatch.setitem(__import__("sys").modules, module, None)  # importing it fails
    monkeypatch.delitem(
        __import__("sys").modules, f"sacrebleu.tokenizers.tokenizer_{language}_mecab", False
    )
    config = EvaluationConfig(bleu_tokenize=f"{language}-mecab")
    with pytest.raises(MissingExtraError, match=rf"pip install 'sacrebleu\[{language}\]'"):
        check_installed(config)
    check_installed(config.model_copy(update={"metrics": ("chrf", "ter")}))
    tokenizers.is_installed.cache_clear()
    assert not tokenizers.is_installed(config.bleu_tokenize)
    assert tokenizers.is_installed("char")
    tokenizers.is_installed.cache_clear()
