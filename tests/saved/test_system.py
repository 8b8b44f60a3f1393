from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.saved.system import TranslationSystem, read_system, write_system
from dragoman.search import EnsembleKind

WHOLE: dict[str, Any] = {
    "models": ["models/a", "../b"],
    "weights": [0.7, 0.3],
    "ensemble": "log-linear",
    "language_model": {"path": "lm", "weight": 0.5},
    "target_language": "de",
    "tags": ["<ui>"],
    "prefix": "Das \u2028",
    "search": {"beam": 7, "sampling": None},
    "source_language": "fr",
    "pivot": {
        "language": "en",
        "models": ["models/c"],
        "language_model": {"path": "../lm-en"},
        "tags": [],
        "nbest": 7,
    },
    "precision": "bfloat16",
    "device": "cpu",
    "workers": 3,
}


def described(**values: Any) -> TranslationSystem:
    return parse(TranslationSystem, {"models": ["a"], **values}, "here")


def test_a_description_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "system.yaml"
    inside = {
        "models": [str(tmp_path / "models/a"), str(tmp_path.parent / "b")],
        "language_model": {"path": str(tmp_path / "lm"), "weight": 0.5},
        "pivot": {"language": "en", "models": [str(tmp_path / "models/c")], "search": {"beam": 2}},
        "terms": {
            "glossary": str(tmp_path / "terms.tsv"),
            "keep": [str(tmp_path / "names.txt")],
            "keep_patterns": ["a/b"],
            "protect": ["tags"],
        },
    }
    system = described(**{**WHOLE, **inside})
    write_system(path, system)
    assert read_system(path) == system
    assert "- models/a\n" in path.read_text(encoding="utf-8")
    assert "  - models/c\n" in path.read_text(encoding="utf-8")
    text = path.read_text(encoding="utf-8")
    assert "  glossary:\n  - terms.tsv\n" in text
    assert "  - names.txt\n" in text
    moved = tmp_path / "elsewhere" / "system.yaml"
    moved.parent.mkdir()
    path.rename(moved)
    assert read_system(moved).models == (moved.parent / "models/a", tmp_path.parent / "b")


def test_a_calibration_moves_with_its_description(tmp_path: Path) -> None:
    path = tmp_path / "system.yaml"
    system = described(models=[str(tmp_path / "a")], confidence=str(tmp_path / "both.json"))
    write_system(path, system)
    assert "confidence: both.json\n" in path.read_text(encoding="utf-8")
    assert read_system(path) == system
    own = described(models=[str(tmp_path / "a")], confidence=True)
    write_system(path, own)
    assert read_system(path) == own
    assert own.confidence is True


@pytest.mark.parametrize("place", ["far", "near"])
def test_a_link_that_is_written_to_can_be_read_back(place: str, tmp_path: Path) -> None:
    link, old = tmp_path / "near" / "system.yaml", tmp_path / "far" / "system.yaml"
    link.parent.mkdir()
    link.symlink_to(old)
    system = described(models=[str(tmp_path / place / "a")])
    write_system(link, system)
    assert read_system(link) == system
    assert not old.exists()


def test_paths_in_a_file_are_relative_to_it(tmp_path: Path) -> None:
    path = tmp_path / "system.yaml"
    path.write_text(json.dumps(WHOLE), encoding="utf-8")  # JSON is YAML
    system = read_system(path)
    assert [p.resolve() for p in system.directories()] == [
        tmp_path / "models/c",
        tmp_path.parent / "lm-en",
        tmp_path / "models/a",
        tmp_path.parent / "b",
        tmp_path / "lm",
    ]


def test_all_files_that_it_names_are_known() -> None:
    terms = {"glossary": "terms.tsv", "keep": ["names.txt", "more.txt"]}
    system = described(**{**WHOLE, "terms": terms, "shortlist": True})
    assert sorted(map(str, system.paths())) == [
        *("../b", "../lm-en", "lm", "models/a", "models/c", "more.txt", "names.txt", "terms.tsv"),
    ]


@settings(max_examples=20)
@given(
    prefix=st.text(max_size=9),
    weights=st.none() | st.tuples(*[st.floats(1e-9, 1e9)] * 2),
    workers=st.none() | st.integers(1, 1024),
    beam=st.none() | st.integers(1, 9),
)
def test_plain_values_make_the_same_description(
    prefix: str, weights: tuple[float, ...] | None, workers: int | None, beam: int | None
) -> None:
    search = {} if beam is None else {"beam": beam}
    system = described(
        models=["a", "b"], prefix=prefix, weights=weights, workers=workers, search=search
    )
    again = json.loads(json.dumps(system.plain()))
    assert parse(TranslationSystem, again, "here") == system
    assert set(again) <= {"models", "prefix", "weights", "workers", "search"}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"models": []}, "models: .*at least 1"),
        ({"model": "a"}, "unknown key 'model'; did you mean 'models'"),
        ({"weights": [1]}, r"weights: .* is not read by one model; remove it"),
        ({"ensemble": "log-linear"}, "ensemble: log-linear is not read by one model"),
        ({"models": ["a", "b"], "weights": [1]}, "one for each of the 2 models, found 1"),
        ({"models": ["a", "b"], "confidence": True}, "an ensemble .*; name the file of one"),
        ({"confidence": True, "pivot": {"language": "en"}}, "through a pivot there are two"),
        ({"models": ["a", "b"], "weights": [1, 0]}, "weights.1: .* found 0"),
        ({"language_model": {"path": "lm", "weight": -1}}, "language_model.weight: .* found -1"),
        ({"engine": "ctranslate2", "precision": "auto"}, "precision auto needs engine pytorch"),
        ({"engine": "ctranslate2", "prefix": "a"}, "no forced prefix"),
        ({"engine": "ctranslate2", "language_model": {"path": "lm"}}, "no language model"),
        ({"engine": "ctranslate2", "device": "cuda"}, "runs on the cpu"),
        ({"terms": {"protect": ["tag"]}}, "terms.protect.0: .* found 'tag'"),
        ({"pivot": {}}, "missing key 'pivot.language'; add it"),
        ({"pivot": {"language": "en"}}, r"so name target_language \(--to\); or name the models"),
        (
            {"pivot": {"language": "en"}, "target_language": "en"},
            "pivot.language en is the target language itself; choose a third language",
        ),
        (
            {"pivot": {"language": "en"}, "target_language": "de", "source_language": "en"},
            "pivot.language en is the source language itself",
        ),
        (
            {"pivot": {"language": "en", "weights": [1]}, "target_language": "de"},
            "pivot.weights: .* is not read without models of its own",
        ),
        (
            {"pivot": {"language": "en", "models": ["a", "b"], "weights": [1]}},
            "pivot: weights: expected one for each of the 2 models, found 1",
        ),
        (
            {"pivot": {"language": "en", "models": ["a", "b"]}, "engine": "ctranslate2"},
            "pivot: engine ctranslate2 does not support ensembles",
        ),
        ({"pivot": {"language": "en", "models": ["a"], "nbest": 0}}, "pivot.nbest: .* found 0"),
    ],
)
def test_what_makes_no_sense_is_told(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"^here: .*{message}"):
        described(**values)


def test_kinds_of_an_ensemble_are_those_of_the_scorer() -> None:
    assert TranslationSystem.model_fields["ensemble"].annotation is not None
    kinds = get_args(TranslationSystem.model_fields["ensemble"].annotation)
    assert kinds == get_args(EnsembleKind)


def test_without_a_pivot_there_is_one_leg() -> None:
    system = described(target_language="de")
    assert system.legs() == [system]


def test_legs_of_one_model() -> None:
    system = described(
        source_language="de",
        target_language="fr",
        tags=["<ui>"],
        prefix="Le",
        search={"beam": 9},
        workers=2,
        language_model={"path": "lm"},
        pivot={"language": "en", "search": {"beam": 3}},
    )
    first, second = system.legs()
    expected = {"source_language": "de", "target_language": "en", "tags": ["<ui>"], "workers": 2}
    assert first == described(**expected, search={"beam": 3, "nbest": 4})
    assert second == system.model_copy(update={"source_language": "en", "pivot": None})
    assert not first.searches_like(second), "a language model of the target has its own scorer"
    alone = system.model_copy(update={"language_model": None})
    assert alone.legs()[0].searches_like(alone.legs()[1])


def test_legs_of_two_models() -> None:
    pivot = {"language": "en", "models": ["b", "c"], "weights": [1, 2], "nbest": 5}
    system = described(tags=["<ui>"], pivot=pivot)
    first, second = system.legs()
    values = {"models": ["b", "c"], "weights": [1, 2], "target_language": "en"}
    assert first == described(**values, search={"nbest": 5}), "without the tags of other models"
    assert second == described(tags=["<ui>"], source_language="en")
    tagged = described(pivot={**pivot, "tags": ["<talk>"]})
    assert tagged.legs()[0].tags == ("<talk>",)
