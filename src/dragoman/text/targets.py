"""The target language that the tags of a source select, judged by the training text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from dragoman.text.corpora.corpus_part import CorpusPart


def asks_for_its_target(one: CorpusPart, train: Sequence[CorpusPart]) -> bool:
    """Whether a model trained on ``train`` can infer the target language of ``one``.

    A tag that occurs only in text of this language suffices. Otherwise the parts of ``train`` with
    the same source language decide: those whose distinctive tags ``one`` has, with the most such
    tags.

    Args:
        one: a dev or test set whose target language is one of those in ``train``.
        train: the training text; all parts have their languages.
    """
    own, target = set(one.direction.tags), _target(one)
    telling = _telling_tags(train)
    if own & telling[target]:
        return True
    near = _of_the_same_source(one, train)
    same = {_target(part) for part in near if _tags(part) <= own <= _possible_tags(part)}
    if same == {target}:
        return True
    told = [(_tags(part) & telling[_target(part)], _target(part)) for part in near]
    fitting = [(len(tags), language) for tags, language in told if tags <= own]
    most = max((count for count, _ in fitting), default=0)
    return {language for count, language in fitting if count == most} == {target}


def wanted_tags(one: CorpusPart, train: Sequence[CorpusPart]) -> list[str]:
    """Tags in front of sources in ``train`` with the target language of ``one``.

    Empty if any of these sources have no tags.
    """
    parts = [part for part in train if _target(part) == _target(one)]
    near = _of_the_same_source(one, parts) or parts
    found = dict.fromkeys(" ".join(part.direction.tags) for part in near)
    return [] if "" in found else list(found)


def _of_the_same_source(one: CorpusPart, train: Sequence[CorpusPart]) -> list[CorpusPart]:
    """Parts with the same source language; without any, those not from the target language."""
    language = one.direction.source_language
    same = [part for part in train if part.direction.source_language == language]
    return same or [part for part in train if part.direction.source_language != _target(one)]


def _telling_tags(train: Sequence[CorpusPart]) -> Mapping[str, set[str]]:
    """For each target language, the tags that occur in no other."""
    found: dict[str, set[str]] = defaultdict(set)
    for part in train:
        found[_target(part)] |= _possible_tags(part)
    return {
        target: tags.difference(*(others for other, others in found.items() if other != target))
        for target, tags in found.items()
    }


def _target(part: CorpusPart) -> str:
    return part.direction.target_language


def _tags(part: CorpusPart) -> set[str]:
    """Tags that are in front of all sources of a part."""
    return set(part.direction.tags)


def _possible_tags(part: CorpusPart) -> set[str]:
    """Tags that are in front of all or some sources of a part."""
    return {*part.direction.tags, *part.symbols()}
