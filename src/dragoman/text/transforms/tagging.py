"""Tags in front of the source: a target language, a domain, a style."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import ClassVar, Literal

from dragoman.text.examples import Direction, Example, Tags
from dragoman.text.tags import language_tag
from dragoman.text.transforms.interface import SharedTransform


def reversed_tags(tags: tuple[str, ...], direction: Direction) -> tuple[str, ...]:
    """The tags of a part whose sides are exchanged, with the tag of its target language changed."""
    changed = {language_tag(direction.target_language): language_tag(direction.source_language)}
    return tuple(changed.get(tag, tag) for tag in tags)


class TagConfig(SharedTransform):
    """Puts tags in front of the source (Johnson et al. 2017, section 3)."""

    kind: Literal["tag"] = "tag"
    """Tags in front."""
    tags: Tags = ()
    """Tags such as `[<ui>]`; by default, the tag of the target language, such as `<2de>`."""

    uses_target: ClassVar[bool] = False  # the target language is not read from the text

    def symbols(self, direction: Direction) -> Iterator[str]:
        """The tags that it puts in front."""
        yield from self.tags or (language_tag(direction.target_language),)

    def redirected(self, direction: Direction) -> Direction:
        """The direction with the tags, unless only a share gets them."""
        if self.is_random:
            return direction
        tags = (*direction.tags, *self.symbols(direction))
        return direction.model_copy(update={"tags": tags})

    def for_sets(self) -> TagConfig:
        """The same tags, in front of every source."""
        return self.model_copy(update={"share": 1.0})

    def reversed(self, direction: Direction) -> TagConfig:
        """The same tags, except that the tag of the target language names the source language."""
        return self.model_copy(update={"tags": reversed_tags(self.tags, direction)})

    def __call__(self, example: Example, rng: Random) -> Example:
        """The example with more tags."""
        if not self.draws(rng):
            return example
        added = self.tags or (language_tag(example.target_language),)
        return example._replace(tags=(*example.tags, *added))
