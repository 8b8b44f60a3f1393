"""Pairs from string catalogues of Xcode."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.core.errors import DataError
from dragoman.text.formats import FORMATS

FORM = FORMATS["xcstrings"]


def unit(text: str, state: str = "translated") -> dict[str, object]:
    return {"stringUnit": {"state": state, "value": text}}


def catalogue(path: Path, strings: object) -> Path:
    path.write_text(json.dumps({"sourceLanguage": "en", "strings": strings}), encoding="utf-8")
    return path


def test_pairs(tmp_path: Path) -> None:
    def plural(one: str, other: str) -> dict[str, object]:
        return {"variations": {"plural": {"one": unit(one), "other": unit(other)}}}

    path = catalogue(
        tmp_path / "a.xcstrings",
        {
            "Open": {"localizations": {"de": unit("Öffnen"), "fr": unit("Ouvrir")}},
            "k": {"localizations": {"en": unit("Close", "new"), "de": unit("Zu", "needs_review")}},
            "n": {"localizations": {"de": unit("", "new")}},
            "x": {"shouldTranslate": False, "localizations": {"de": unit("y")}},
            "old": {"extractionState": "stale", "localizations": {"de": unit("alt")}},
            "files": {
                "localizations": {"en": plural("a file", "%d files"), "de": plural("1", "%d")}
            },
            "z": 3,
        },
    )
    plurals = [("%d files", "%d"), ("a file", "1")]
    assert [pair[:2] for pair in FORM.read([path], ("en", "de"))] == [("Open", "Öffnen"), *plurals]
    assert [pair[:2] for pair in FORM.with_unreviewed().read([path], ("en", "de"))] == [
        ("Open", "Öffnen"),
        ("Close", "Zu"),
        *plurals,
    ]
    assert [pair[:2] for pair in FORM.read([path], ("fr", "de"))] == [("Ouvrir", "Öffnen")]
    assert FORM.offered_sides(path) == ["en", "de", "fr"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"sourceLanguage": 1,\n}', "not JSON.* line 2"),
        ("[1]", "no string catalogue"),
        ("[" * 100_000, "levels"),
        ('{"sourceLanguage": "en", "strings": {}}', "languages there: en"),
    ],
)
def test_damaged_catalogues(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "a.xcstrings"
    path.write_text(content)
    with pytest.raises(DataError, match=rf"a.xcstrings: .*{problem}"):
        list(FORM.read([path], ("en", "de")))
