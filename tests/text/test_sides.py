from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.text.sides import language_of_file, looks_like_a_language


@pytest.mark.parametrize(
    ("name", "language"),
    [("train.en", "en"), ("a/val.zh-Hans.xz", "zh-Hans"), ("train", None), ("text.gz", None)],
)
def test_suffixes(name: str, language: str | None) -> None:
    assert language_of_file(Path(name)) == language


@pytest.mark.parametrize("name", ["en", "pt-BR", "zh_Hans", "nds", "KO"])
def test_languages(name: str) -> None:
    assert looks_like_a_language(name)


@pytest.mark.parametrize("name", ["kind", "", "origin", "source text", "x", "domain_1"])
def test_no_languages(name: str) -> None:
    assert not looks_like_a_language(name)
