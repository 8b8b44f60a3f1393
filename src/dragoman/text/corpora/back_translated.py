"""Text whose sources the model makes itself: the tags to request them, and the checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dragoman.text.corpora.corpus_part import CorpusPart

BACK_TRANSLATION_NEEDS_ONE_VOCABULARY = (
    "back_translation reads what the model writes as a source, and so needs a vocabulary that both "
    "sides share; set vocabulary.joint: true"
)


def asking_tags(part: CorpusPart, train: Sequence[CorpusPart]) -> tuple[str, ...] | None:
    """Tags in front of a target of ``part`` that request its translation as the source.

    Returns:
        Tags of training text in that direction or, failing this, of any text into that language,
        chosen to be most like the part's own; None without such text.
    """
    wanted = part.direction
    near = _translated_so(part, train) or train
    found = [
        one.direction.tags
        for one in near
        if one.direction.target_language == wanted.source_language
    ]
    return max(found, key=lambda tags: len({*tags} & {*wanted.tags}), default=None)


def _translated_so(part: CorpusPart, train: Sequence[CorpusPart]) -> list[CorpusPart]:
    wanted = part.direction.target_language, part.direction.source_language
    return [
        one
        for one in train
        if (one.direction.source_language, one.direction.target_language) == wanted
    ]


def back_translation_problems(
    train: Mapping[str, CorpusPart], sets: Mapping[str, CorpusPart]
) -> Iterator[str]:
    """Problems of sources that the model cannot make."""
    for key, part in {**train, **sets}.items():
        if part.back_translation is None:
            continue
        source, target = part.direction.source_language, part.direction.target_language
        parts = list(train.values())
        tags = asking_tags(part, parts)
        is_taught = key in sets or _translated_so(part, parts)
        if source == target:
            yield (
                f"{key}: back_translation is from one language into another, and source_language "
                f"and target_language are both {target}"
            )
        elif tags is None or not is_taught:
            yield (
                f"{key}: back_translation translates from {target} into {source}, which no part of "
                f"data.train teaches; add text in {source} with source_language: {target} and "
                "transforms: [{kind: back_translation}, {kind: tag}], or pairs"
            )
        elif set(tags) == set(part.direction.tags):
            yield (
                f"{key}: nothing shows the model whether {source} or {target} is wanted: both have "
                f"the tags {', '.join(tags) or 'none'}; add {{kind: tag}} to the transforms of both"
            )
