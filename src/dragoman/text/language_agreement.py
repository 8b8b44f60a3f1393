"""Whether the languages and tags of training text, dev sets and test sets agree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.language_codes import meant, typeset
from dragoman.text.tags import is_tag, language_tag, missing_tags

_UNNAMED = {language_tag(name) for name in ("source", "target")}


@dataclass(frozen=True)
class LanguageAgreement:
    """The corpus parts that a model learns from and is scored on, with their languages."""

    train: Mapping[str, CorpusPart]
    """Training text, by configuration key."""
    sets: Mapping[str, CorpusPart]
    """Dev and test sets, by configuration key."""
    known: Collection[str]
    """Tags that the vocabulary will have."""
    reads_source: bool
    """Whether the model reads a source."""
    taught_before: bool
    """Whether another model's vocabulary is used, which may have further tags and languages."""
    general: Mapping[str, CorpusPart] = field(default_factory=dict)
    """Text that is only measured, by configuration key."""
    unwritten: Collection[str] = ()
    """Keys of the training text that the model learns to read but not to write."""

    @property
    def _written(self) -> list[CorpusPart]:
        """The training text whose targets the model learns to write."""
        return [part for key, part in self.train.items() if key not in self.unwritten]

    def problems(self) -> Iterator[str]:
        """Tags not in training, sets that change between epochs, and ambiguous targets."""
        for name, part in {**self.train, **self.sets, **self.general}.items():
            yield from _languages_without_tag(name, part)
        if misspelt := list(self._languages_spelled_differently()):
            yield from misspelt  # the other problems would follow from it
            return
        for name, part in self.general.items():
            yield from self._unknown_tags(name, part)
        ambiguous = list(self._targets_without_tag()) if self.reads_source else []
        for name, part in self.sets.items():
            yield from self._unfit_set(name, part)
            settled = set(self.known).issuperset(part.symbols()) and all(
                one.is_for_sets for one in part.transforms
            )
            if settled and not ambiguous:
                yield from self._target_not_told(name, part)
        yield from ambiguous

    def _languages_spelled_differently(self) -> Iterator[str]:
        """Languages under two names, such as de and DE, which would count as two languages."""
        first: dict[str, tuple[str, str]] = {}
        for key, part in {**self.train, **self.sets, **self.general}.items():
            for side in ("source_language", "target_language"):
                name = getattr(part, side)
                where, known = first.setdefault(typeset(name), (f"{key}.{side}", name))
                if name != known:
                    yield f"{key}.{side} is {name}, but {where} is {known}; write one of them alike"

    def _unfit_set(self, name: str, part: CorpusPart) -> Iterator[str]:
        if unfit := [one.kind for one in part.transforms if not one.is_for_sets]:
            yield (
                f"{name}: {unfit[0]} draws in each epoch, but a set that "
                "scores are compared on must not change; remove it"
            )
        yield from self._unknown_tags(name, part)

    def _unknown_tags(self, name: str, part: CorpusPart) -> Iterator[str]:
        lacking = missing_tags(filter(_may_be_known, part.symbols()), self.known)
        if lacking and not self.taught_before:
            there = sorted(self.known)
            yield (
                f"{name}: no part of data.train has the tag {', '.join(lacking)}; tags there: "
                f"{', '.join(there) or 'none'}{meant(lacking[0], there)}"
            )

    def _target_not_told(self, name: str, part: CorpusPart) -> Iterator[str]:
        """A set in a language that its tags do not select, if there are several."""
        train = self._written
        languages = dict.fromkeys(one.direction.target_language for one in train)
        target = part.direction.target_language
        if len(languages) == 1 or not self.reads_source:
            return
        if target not in languages:
            if not self.taught_before:  # the other model may have learnt it
                yield (
                    f"{name}: target_language is {target}, and the languages of data.train are "
                    f"{', '.join(languages)}; choose one of them"
                )
        elif not asks_for_its_target(part, train):
            wanted = wanted_tags(part, train)
            yield (
                f"{name}: nothing shows the model that {target} is wanted; sources of such text in "
                f"data.train have {' or '.join(wanted) or 'no tag'}; do the same here"
                f"{', with tags or transforms: [{kind: tag}]' if wanted else ''}"
            )

    def _targets_without_tag(self) -> Iterator[str]:
        targets: dict[tuple[str, tuple[str, ...]], set[str]] = {}
        for part in self._written:
            one = part.direction
            told = targets.setdefault((one.source_language, one.tags), set())
            told.add(one.target_language)
        for (source, _), languages in targets.items():
            if len(languages) > 1:
                yield (
                    f"data.train: {source} is translated into {' and '.join(sorted(languages))}, "
                    "and nothing shows the model which is wanted; add transforms: [{kind: tag}] "
                    "to these parts"
                )


def _languages_without_tag(name: str, part: CorpusPart) -> Iterator[str]:
    """A target language that the tag in front of a source cannot name."""
    symbols = set(part.symbols())
    if symbols & _UNNAMED:
        yield f"{name}: the tag of the target language needs its name; set target_language"
    elif not all(map(is_tag, symbols)):
        yield (
            f"{name}: target_language becomes a tag here, which {part.target_language!r} "
            "cannot; write it like de-AT, without spaces, < and >"
        )


def _may_be_known(tag: str) -> bool:
    """Whether a part could have taught ``tag``; any other tag is reported separately."""
    return is_tag(tag) and tag not in _UNNAMED


def asks_for_its_target(one: CorpusPart, train: Sequence[CorpusPart]) -> bool:
    """Whether a model trained on ``train`` can infer the target language of ``one``.

    A tag that occurs only in text of this language suffices. Otherwise the parts of ``train`` with
    the same source language decide: those whose distinctive tags ``one`` has, with the most such
    tags.
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
