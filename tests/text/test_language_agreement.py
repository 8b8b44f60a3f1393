"""Whether training text and the sets that models are scored on agree about languages and tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.language_agreement import LanguageAgreement, asks_for_its_target, wanted_tags


def part(direction: str, *tags: str, **more: Any) -> CorpusPart:
    source, target = direction.split("-", 1)
    languages = {"source_language": source, "target_language": target}
    return CorpusPart(source="a", target="b", **languages, tags=tags, **more)


def problems(
    train: Sequence[CorpusPart],
    dev: CorpusPart,
    *,
    reads_source: bool = True,
    taught_before: bool = False,
) -> list[str]:
    named = {f"data.train.{number}": one for number, one in enumerate(train)}
    known = {tag for one in train for tag in one.symbols()}
    agreement = LanguageAgreement(named, {"data.dev": dev}, known, reads_source, taught_before)
    return list(agreement.problems())


TAGGED = (part("en-de", "<2de>"), part("en-fr", "<2fr>"))
DRAWS = part("en-de", "<2de>", transforms=[{"kind": "noise"}])


@pytest.mark.parametrize(
    ("train", "dev", "beginning"),
    [
        ([part("en-de")], part("en-de"), None),
        (TAGGED, part("en-de", "<2de>"), None),
        (TAGGED, part("de-fr", "<2fr>"), None),  # a direction that was never trained
        ([part("en-de")], part("en-DE"), "data.dev.target_language is DE, but data.train.0"),
        ([part("en-de"), part("en-fr")], part("en-de"), "data.train: en is translated into de and"),
        (TAGGED, part("en-de"), "data.dev: nothing shows the model that de is wanted; sources"),
        (TAGGED, part("en-de", "<2ed>"), "data.dev: no part of data.train has the tag <2ed>; tags"),
        (TAGGED, part("en-cs", "<2fr>"), "data.dev: target_language is cs, and the languages"),
        (TAGGED, DRAWS, "data.dev: noise draws in each epoch"),
        ([part("en-target", transforms=[{"kind": "tag"}])], part("en-target"),
         "data.train.0: the tag of the target language needs its name"),
        ([part("en-a b", transforms=[{"kind": "tag"}])], part("en-a b"),
         "data.train.0: target_language becomes a tag here, which 'a b' cannot"),
    ],
)  # fmt: skip
def test_what_does_not_agree(
    train: Sequence[CorpusPart], dev: CorpusPart, beginning: str | None
) -> None:
    found = problems(train, dev)
    assert len(found) == (beginning is not None), found
    assert beginning is None or found[0].startswith(beginning)


def test_the_nearest_tag_is_suggested() -> None:
    train = [part("en-de", "<dialogue>"), part("en-de", "<office>")]
    assert problems(train, part("en-de", "<dialog>"))[0].endswith("did you mean '<dialogue>'?")


def test_another_model_may_have_learnt_more() -> None:
    """Its vocabulary is used, and may have tags and languages that this text has not."""
    for dev in (part("en-cs", "<2cs>"), part("en-cs", "<2fr>")):
        assert problems(TAGGED, dev)
        assert not problems(TAGGED, dev, taught_before=True)


def test_a_language_model_is_asked_for_no_language() -> None:
    train = [part("de-de"), part("fr-fr")]
    assert not problems(train, part("de-de"), reads_source=False)
    assert problems([part("en-de"), part("en-fr")], part("en-de"))


ONE_MARKED = (part("en-de"), part("en-fr", "<2fr>"))
DOMAIN = (part("en-de", "<2de>"), part("en-fr", "<2fr>"), part("en-fr", "<ui>", "<2fr>"))
TWO_WAYS = (part("en-de"), part("de-en"))
MARKED_WAYS = (part("en-de", "<2de>"), part("de-en", "<2en>"))
DOMAIN_WAYS = (part("en-de", "<ui>"), part("de-en", "<ui>"))
TOGETHER = (part("en-de", "<a>"), part("en-fr", "<a>", "<b>"), part("en-cs", "<b>"))
SHARE = (part("en-de", transforms=[{"kind": "tag", "share": 0.5}]), part("en-fr", "<2fr>"))


@pytest.mark.parametrize(
    ("train", "one", "told"),
    [
        (TAGGED, part("en-de", "<2de>"), True),
        (TAGGED, part("en-de"), False),
        (TAGGED, part("en-de", "<2fr>"), False),
        (TAGGED, part("it-de", "<2de>"), True),
        (TAGGED, part("it-de"), False),
        (ONE_MARKED, part("en-de"), True),
        (ONE_MARKED, part("en-fr"), False),
        (ONE_MARKED, part("en-de", "<2fr>"), False),
        (DOMAIN, part("en-de", "<ui>", "<2de>"), True),
        (DOMAIN, part("en-de", "<ui>"), False),
        (TWO_WAYS, part("en-de"), True),
        (TWO_WAYS, part("de-en"), True),
        (TWO_WAYS, part("source-de"), True),
        (MARKED_WAYS, part("en-de"), False),
        (DOMAIN_WAYS, part("en-de"), True),
        (TOGETHER, part("en-de", "<a>"), True),
        (TOGETHER, part("en-fr", "<a>", "<b>"), True),
        (TOGETHER, part("en-fr", "<b>"), False),
        (SHARE, part("en-de"), True),
        (SHARE, part("en-de", "<2de>"), True),
        (SHARE, part("en-fr"), False),
    ],
)
def test_tags_tell_the_target(train: tuple[CorpusPart, ...], one: CorpusPart, told: bool) -> None:
    assert asks_for_its_target(one, train) == told


def test_training_text_tells_its_own_target() -> None:
    for train in (TAGGED, ONE_MARKED, DOMAIN, TWO_WAYS, MARKED_WAYS, DOMAIN_WAYS, TOGETHER, SHARE):
        assert all(asks_for_its_target(one, train) for one in train)


def test_what_would_tell_it() -> None:
    assert wanted_tags(part("en-fr"), DOMAIN) == ["<2fr>", "<ui> <2fr>"]
    assert wanted_tags(part("it-de"), TAGGED) == ["<2de>"]
    assert wanted_tags(part("en-de", "<2fr>"), ONE_MARKED) == []
