from __future__ import annotations

import pytest

from dragoman.text.language_codes import is_language_tag, meant, spelling


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


def test_spellings_of_one_language() -> None:
    assert len({spelling(name) for name in ("zh-Hans", "zh_Hans", "ZH-HANS", "zh_hans")}) == 1
    assert spelling("de") != spelling("de-AT")


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("DE", "de"),
        ("zh_hans", "zh-Hans"),
        ("zh", "zh-Hans"),
        ("de-AT", "de"),
        ("2de", "<2de>"),
        ("<2DE>", "<2de>"),
        ("<2zh>", "<2zh-Hans>"),
        ("ui", "<ui>"),
        ("<offise>", "<office>"),
    ],
)
def test_what_was_meant(name: str, known: str) -> None:
    there = [f"<2{one}>" for one in ("fr", "de", "zh-Hans")] if "2" in name else ["fr", "de"]
    assert meant(name, [*there, known, "<ui>"]) == f"; did you mean {known!r}?"


@pytest.mark.parametrize("name", ["xx", "ko", "fi", "<2dk>", "<p>", "<>", ""])
def test_nothing_was_meant(name: str) -> None:
    assert not meant(name, ["fr", "de", "<2de>", "<ui>"])
