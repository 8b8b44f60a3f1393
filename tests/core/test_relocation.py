"""Paths in configurations: which keys hold one, and what they are relative to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from dragoman.core.config import Config
from dragoman.core.relocation import MODEL_PATH, ModelPath, PathMark, Relocation, TextPath
from dragoman.core.sections import key_docstrings, keys_of, members
from dragoman.recipe import ExperimentConfig


class _Model(Config):
    path: ModelPath = ""
    name: str = ""


class _Whole(Config):
    model: _Model | None = None
    models: dict[str, _Model] = {}  # noqa: RUF012 - pydantic copies it
    texts: tuple[TextPath, ...] = ()
    folder: bool | Path = False


def moved(values: Any, *names: str) -> Any:
    return Relocation({name: lambda path: f"/f/{path}" for name in names}).of(_Whole, values)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"model": {"path": "a", "name": "a"}}, {"model": {"path": "/f/a", "name": "a"}}),
        ({"models": {"x": {"path": "a"}, "y": 1}}, {"models": {"x": {"path": "/f/a"}, "y": 1}}),
        ({"texts": ["a", 7]}, {"texts": ["/f/a", 7]}),
        ({"model": "a", "models": [1], "texts": {}, "else": "a"}, None),  # what is misplaced stays
        ("a", None),
        ({"folder": "a"}, {"folder": "/f/a"}),
        ({"folder": True}, None),
    ],
)
def test_paths_anywhere_become_absolute(values: Any, expected: Any) -> None:
    assert moved(values, "model", "text", "path") == (values if expected is None else expected)


def test_paths_of_another_sort_stay() -> None:
    values = {"model": {"path": "a"}, "texts": ["b"]}
    assert moved(values, "text") == {"model": {"path": "a"}, "texts": ["/f/b"]}


def strings(kind: type[BaseModel], seen: set[type]) -> Iterator[tuple[str, bool, str]]:
    """Keys for text of a configuration and its sections: name, whether marked, description."""
    if kind in seen:
        return
    seen.add(kind)
    docstrings = key_docstrings(kind)
    for key, field in keys_of(kind).items():
        marked = any(isinstance(mark, PathMark) for mark in field.metadata)
        marked = marked or "PathMark" in repr(field.annotation)
        if "str" in repr(field.annotation):
            yield f"{kind.__name__}.{key}", marked, docstrings[key]
        for section in members(field, Config):
            yield from strings(section, seen)


def test_a_key_whose_description_speaks_of_a_file_or_model_is_a_path() -> None:
    found = list(strings(ExperimentConfig, set()))
    named = re.compile(r"(?i)^(the |a )?(file|path|model|glossary|run)\b")
    forgotten = {key for key, marked, text in found if named.search(text) and not marked}
    assert forgotten == set()
    assert {"StartConfig.model", "VocabularyConfig.of", "CorpusPart.path"} <= {
        key for key, marked, _ in found if marked
    }
    assert any(mark == MODEL_PATH for mark in keys_of(_Model)["path"].metadata)
