"""Whether translations have the tags of their references, at the same words."""

from __future__ import annotations

import pytest

from dragoman.evaluation.metrics import EvaluationConfig, score_corpus
from dragoman.evaluation.tag_metrics import same_places, same_structure

REFERENCE = "la <b>maison <i>rouge</i></b> de {name}<br> ici"


@pytest.mark.parametrize(
    ("translation", "structure", "places"),
    [
        (REFERENCE, 1, 3),
        ("<b>cette <i>rouge</i></b> <br> chose", 1, 1),
        ("la <b>maison</b> <i>rouge</i> de<br> ici", 0, 2),
        ("la <b>maison <i>rouge</b></i> de<br> ici", 0, 0),
        ("la <b>maison <i>rouge</i> de {name}<br> ici", 0, 2),
        ("la <b>maison <i>rouge</i></b> de {name}<br> ici<br>", 0, 3),
        ("la maison rouge de {name} ici", 0, 0),
        ("</b>", 0, 0),
    ],
)
def test_structure_and_places(translation: str, structure: int, places: int) -> None:
    assert same_structure(REFERENCE, translation) == (structure, 1)
    assert same_places(REFERENCE, translation) == (places, 3)


def test_lines_without_tags_must_have_none() -> None:
    assert same_structure("a < b", "a < b") == (1, 1)
    assert same_structure("a", "<b>a</b>") == (0, 1)
    assert same_places("a", "<b>a</b>") == (0, 0)


def test_symbols_of_inline_tags_are_tags() -> None:
    config = EvaluationConfig(metrics=("tag_structure", "tag_placement"))
    references = ["la<t1> maison</t1> <x1>", "un"]
    structure, placement = score_corpus(
        ["une<t1> maison</t1> de <x1> là", "un <x1>"], [references], config
    )
    assert (structure.value, placement.value) == (50, 50)
