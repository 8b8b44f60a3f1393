"""Which target language tags ask for."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.targets import asks_for_its_target, wanted_tags


def part(direction: str, *tags: str, **more: Any) -> CorpusPart:
    source, target = direction.split("-")
    languages = {"source_language": source, "target_language": target}
    return CorpusPart(source="a", target="b", **languages, tags=tags, **more)


TAGGED = (part("en-de", "<2de>"), part("en-fr", "<2fr>"))
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
