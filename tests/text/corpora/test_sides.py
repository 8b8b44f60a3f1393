from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.text.corpora.sides import language_of_file


@pytest.mark.parametrize(
    ("name", "language"),
    [("train.en", "en"), ("a/val.zh-Hans.xz", "zh-Hans"), ("train", None), ("text.gz", None)],
)
def test_suffixes(name: str, language: str | None) -> None:
    assert language_of_file(Path(name)) == language
