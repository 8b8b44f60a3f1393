"""Terms of a glossary: annotation in sources, and selection of pairs by them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from dragoman.core.relocation import TextPath
from dragoman.text.examples import Direction, Example
from dragoman.text.lines import file_stamp
from dragoman.text.normalization import normalize
from dragoman.text.terms.glossary import Glossary, Match, unmet
from dragoman.text.terms.glossary_files import is_tbx
from dragoman.text.terms.term_annotation import AnnotationMethod, annotated, annotation_tags
from dragoman.text.transforms.interface import FileTransform, SharedTransform, TransformConfig


class _GlossaryTransform(FileTransform):
    """A transform that reads a glossary."""

    file_setting: ClassVar[str] = "glossary"
    glossary: TextPath
    """Glossary, as for `dragoman translate --glossary`."""

    @property
    @override
    def reads_languages(self) -> bool:
        return is_tbx(Path(self.glossary))


class AnnotateTermsConfig(_GlossaryTransform, SharedTransform):
    """Annotates terms in the source with their translations, which a model learns to use.

    Dinu et al. 2019 (arXiv:1906.01105), section 2. Terms are annotated only where the target has
    one of their translations.
    """

    kind: Literal["terms"] = "terms"
    """Terms annotated with their translations."""
    method: AnnotationMethod = "append"
    """Write translations after the terms, or replace the terms by them."""
    share: float = Field(0.1, gt=0, le=1)
    """Share of the examples that it changes; below 1, different ones in each epoch."""
    term_share: float = Field(1.0, gt=0, le=1)
    """Share of an example's terms that are annotated; below 1, different ones in each epoch. Lower
    it if the glossary has most words of a sentence, so that training sources look like those in
    use."""

    @property
    def is_random(self) -> bool:
        """True if one of the shares is below 1."""
        return super().is_random or self.term_share < 1

    def symbols(self, direction: Direction) -> Iterator[str]:
        """The tags around terms."""
        yield from annotation_tags(self.method)

    def __call__(self, example: Example, rng: Random) -> Example:
        """The example with its terms annotated."""
        if not self.draws(rng):
            return example
        matches = matches_in_both(example, self.glossary)
        if self.term_share < 1:
            matches = [match for match in matches if rng.random() < self.term_share]
        return example._replace(source=annotated(example.source, matches, self.method))


class WithTermsConfig(_GlossaryTransform):
    """Keeps an example only if its source has terms and its target has the translation of each.

    For test sets: what their references say agrees with the glossary.
    """

    kind: Literal["with_terms"] = "with_terms"
    """Pairs whose sides agree with a glossary."""

    can_drop: ClassVar[bool] = True  # examples without terms are dropped

    def __call__(self, example: Example, rng: Random) -> Example | None:
        """The example, or None if it has no term or lacks a translation."""
        glossary = _read(self.glossary, example)
        if not glossary.matches(example.source):
            return None
        return None if glossary.missing(example.source, example.target) else example


def term_annotation(transforms: Iterable[TransformConfig]) -> AnnotationMethod | None:
    """The method by which these transforms annotate terms; None if none annotates them."""
    return next((one.method for one in transforms if isinstance(one, AnnotateTermsConfig)), None)


def matches_in_both(example: Example, glossary: str) -> list[Match]:
    """The terms of a source with a translation in the target, each occurrence counted once.

    Their places are those in the normalised source.
    """
    matches = _read(glossary, example).matches(example.source)
    target = normalize(example.target)
    lacking = set(unmet([match.term.spellings() for match in matches], target))
    return [match for place, match in enumerate(matches) if place not in lacking]


def _read(path: str, example: Example) -> Glossary:
    languages = example.source_language, example.target_language
    return _glossary(path, languages, file_stamp(path))


@lru_cache(maxsize=16)
def _glossary(path: str, languages: tuple[str, str], _: tuple[int, int] | None) -> Glossary:
    return Glossary.read(path, languages)
