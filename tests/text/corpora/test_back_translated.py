"""How text is asked to be translated back, and what must be taught for that."""

from __future__ import annotations

from typing import Any

from dragoman.text.corpora.back_translated import asking_tags, back_translation_problems
from dragoman.text.corpora.corpus_part import CorpusPart

BACK: list[dict[str, Any]] = [{"kind": "back_translation"}, {"kind": "tag"}]


def part(other: str, language: str, **values: Any) -> CorpusPart:
    """Text in one language alone; unless told, it is translated back from the other."""
    choices = {"source_language": other, "target_language": language, "transforms": BACK}
    return CorpusPart.model_validate({"target": f"{language}.txt", **choices, **values})


def pairs(source: str, target: str, *tags: str) -> CorpusPart:
    return part(source, target, source=f"{source}.txt", transforms=[{"kind": "tag"}], tags=tags)


def problems(*train: CorpusPart, dev: CorpusPart | None = None) -> list[str]:
    parts = {f"data.train.{number}": one for number, one in enumerate(train)}
    return list(back_translation_problems(parts, {} if dev is None else {"data.dev": dev}))


def test_a_translation_is_asked_for_as_it_is_taught() -> None:
    english, german = part("de", "en"), part("en", "de")
    assert asking_tags(english, [english, german]) == ("<2de>",)
    assert asking_tags(german, [english, german]) == ("<2en>",)
    assert asking_tags(english, [english, pairs("en", "de", "<ui>")]) == ("<ui>", "<2de>")
    assert asking_tags(english, [english]) is None


def test_of_several_ways_to_ask_the_most_similar_is_taken() -> None:
    ui = part("de", "en", tags=["<ui>"])
    train = [pairs("en", "de", "<news>"), pairs("en", "de", "<ui>"), pairs("fr", "de", "<ui>")]
    assert asking_tags(ui, train) == ("<ui>", "<2de>")
    assert asking_tags(part("de", "en"), train) == ("<news>", "<2de>")


def test_a_set_may_ask_for_what_was_never_taught() -> None:
    """Zero-shot; but nothing is to be learned from it."""
    copied = [{"kind": "copy"}, {"kind": "tag"}]
    copies = part("de", "de", transforms=copied), part("en", "en", transforms=copied)
    assert asking_tags(part("de", "en"), copies) == ("<2de>",)
    assert not problems(*copies, dev=part("de", "en"))
    (found,) = problems(*copies, part("de", "en"))
    assert found.startswith("data.train.2: back_translation translates from en into de, which no")


def test_what_the_model_could_not_tell_apart_is_a_problem() -> None:
    alone: list[dict[str, Any]] = [{"kind": "back_translation"}]
    assert not problems(part("de", "en"), part("en", "de"))
    untold = problems(part("de", "en", transforms=alone), part("en", "de", transforms=alone))
    assert len(untold) == 2
    assert untold[0].startswith("data.train.0: nothing shows the model whether de or en is wanted")
    (same,) = problems(part("en", "en"))
    assert "source_language and target_language are both en" in same
    (lonely,) = problems(pairs("de", "en"), dev=part("fr", "en"))
    assert lonely.startswith("data.dev: back_translation translates from en into fr")
