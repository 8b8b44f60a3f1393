from __future__ import annotations

import pytest

from dragoman.text.language_codes import is_language_tag


@pytest.mark.parametrize(
    "name",
    ["en", "pt-BR", "zh_Hans", "nds", "KO", "deu_Latn", "zh-Hant-TW", "es-419", "en_XX"],
)
def test_languages(name: str) -> None:
    assert is_language_tag(name)


@pytest.mark.parametrize(
    "name",
    ["", "x", "kind", "origin", "source text", "domain_1", "src", "tgt", "url", "en-", "-en", "xx",
     "is_valid", "de-DE-DE", "en\n", "zh-Hans-Hans", "es-41"],
)  # fmt: skip
def test_no_languages(name: str) -> None:
    assert not is_language_tag(name)
