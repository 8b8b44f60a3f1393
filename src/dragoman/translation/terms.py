"""Lines with the terms required in their translations, and warnings about missing terms."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from dragoman.core.arguments import check_list, check_text
from dragoman.core.errors import ConfigError, DataError, UsageError
from dragoman.core.wording import shown
from dragoman.search import SearchConfig
from dragoman.text.context import ContextConfig
from dragoman.text.inline_tags import InlineTags, without_tags
from dragoman.text.normalization import normalize
from dragoman.text.tags import TAG
from dragoman.text.terms.copied_text import is_copied
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.line_demands import LineDemands
from dragoman.text.terms.term_annotation import TermAnnotator
from dragoman.text.terms.terminology import LexicalConstraint, Terminology, blanked
from dragoman.text.vocabularies import Vocabulary
from dragoman.translation.engines.engine import TorchEngine
from dragoman.translation.engines.term_search import PhraseSpeller
from dragoman.translation.line_stream import Line, TranslatedLine

log = logging.getLogger(__name__)

GivenGlossary = Glossary | Mapping[str, str | Sequence[str]] | Path | str
"""A glossary, the translations of each term, or a file."""
_ENOUGH_LINES = 20
"""Lines after which a glossary that matches none of them is probably the wrong one."""
_TITLED = re.compile(r":[\w.+-]+:`[^`]+<")
"""A role of reStructuredText with words of its own."""
_text_in_parts: ContextVar[UseOfTerms | None] = ContextVar("text_in_parts", default=None)
"""The text whose parts are translated by separate calls; None: each call is a text by itself."""


class TermDemands:
    """Determines the requirements for the translation of each line, and warns if they are not met.

    Args:
        terms: of the translations.
        source: vocabulary of the lines; its tags in front of a line do not belong to the text.
        speller: of the translations.
        context: of the lines, behind which the sentence itself comes.
        inline_tags: that lines may have, whose symbols are not text.
        keeps_tags: whether tags of the vocabulary are text where they are not in front of a line,
            rather than instructions that no output may contain.
    """

    def __init__(
        self,
        terms: Terminology,
        source: Vocabulary,
        speller: PhraseSpeller,
        context: ContextConfig | None = None,
        inline_tags: InlineTags | None = None,
        *,
        keeps_tags: bool = True,
    ) -> None:
        self._keeps_tags = keeps_tags
        self._terms, self._speller, self._inline_tags = terms, speller, inline_tags
        self._separator = None if context is None else context.separator
        self._tags = frozenset(source.pieces(source.tags))
        self._lines = self._found = 0

    def demand(self, line: Line) -> Line:
        """Add to a line the requirements for its translation.

        Raises:
            DataError: its terms contradict one another.
        """
        try:
            text = line.text
            if self._separator is not None:  # terms of the context are not translated here
                text = text.rpartition(self._separator)[2]
            marked = text
            if self._inline_tags is not None:
                text = without_tags(text)
            has_symbols = text != marked
            if not self._keeps_tags:
                text = TAG.sub(lambda tag: " " if tag[0] in self._tags else tag[0], text)
            demanded = self._terms.constraints(text, self._tags)
            plain = blanked(normalize(text), self._tags)
        except DataError as error:
            raise DataError(f"line {line.number + 1}: {error}") from error
        self._lines, self._found = self._lines + 1, self._found + len(demanded)
        phrases = tuple(map(self._speller.as_decoded, demanded))
        whole = f"{plain} {normalize(line.prefix)}" if line.prefix else plain
        # Symbols of inline tags are not in the text, and would be lost.
        copied = not line.prefix and not has_symbols and self._is_copied(plain, phrases)
        return replace(line, demands=LineDemands(phrases, whole, self._terms.protects, copied))

    def _is_copied(self, text: str, phrases: Sequence[LexicalConstraint]) -> bool:
        """Whether a text has only what is copied, some of which is protected by default."""
        if not self._terms.protects or not all(one.copied for one in phrases):
            return False
        return bool(text.strip()) and is_copied(text) and not _TITLED.search(text)

    def check(self, translated: TranslatedLine) -> None:
        """Warn about a translation that lacks required terms, or invents strings of programs."""
        line, (best, *_) = translated
        if best.refused is not None:
            return
        said = []
        if best.missing:
            phrases = () if line.demands is None else line.demands.phrases
            said.append(f"lacks {', '.join(self._reason(name, phrases) for name in best.missing)}")
        if best.invented:
            said.append(f"invents {', '.join(map(shown, best.invented))}")
        if said:
            log.warning("line %d: the translation %s", line.number + 1, " and ".join(said))

    def conclude(self) -> None:
        """Count the terms of all lines."""
        if any(one.terms for one in self._terms.glossaries):
            UseOfTerms.note(self._lines, self._found)

    def _reason(self, name: str, constraints: Sequence[LexicalConstraint]) -> str:
        """A list of the missing terms, with the reason if the vocabulary causes it."""
        constraint = next(one for one in constraints if one.name == name)
        if self._speller.phrase(constraint):
            return shown(name)
        return f"{shown(name)} (the target vocabulary lacks some of its characters)"


class CountedAnnotation:
    """Annotates the terms of lines, and counts them."""

    def __init__(self, annotate: TermAnnotator) -> None:
        self._annotate = annotate
        self._lines = self._terms = 0

    def __call__(self, line: str) -> str:
        """The line with its terms annotated."""
        text, terms = self._annotate.counted(line)
        self._lines, self._terms = self._lines + 1, self._terms + terms
        return text

    def conclude(self) -> None:
        """Count the terms of all lines."""
        UseOfTerms.note(self._lines, self._terms)


class UseOfTerms:
    """Counts the terms of a glossary that occur in a text, to warn if a longer text has none.

    A call is a text by itself, unless it is made in a block of :meth:`counts`.
    """

    def __init__(self) -> None:
        self._lines = self._terms = 0

    @contextmanager
    def counts(self) -> Iterator[None]:
        """Treat the calls in the block as parts of one text, without separate warnings."""
        before = _text_in_parts.set(self)
        try:
            yield
        finally:
            _text_in_parts.reset(before)

    def warn(self) -> None:
        """Warn if enough lines contained no term."""
        if self._lines >= _ENOUGH_LINES and not self._terms:
            log.warning(
                "none of the %d lines has a term of the glossary; is it for another text, or are "
                "its sides swapped?",
                self._lines,
            )

    @staticmethod
    def note(lines: int, terms: int) -> None:
        """Count the lines of a call, and the terms in them."""
        whole = _text_in_parts.get()
        text = UseOfTerms() if whole is None else whole
        text._lines, text._terms = text._lines + lines, text._terms + terms
        if whole is None:
            text.warn()


def read_glossary(given: GivenGlossary, languages: tuple[str, str] | None = None) -> Glossary:
    """Read a glossary from any form that callers may pass.

    A file of TBX needs the source and target language.

    Raises:
        DataError: a file cannot be read, or terms contradict each other.
        UsageError: another type, or contents that are not strings.
    """
    if isinstance(given, Glossary):
        return given
    if isinstance(given, Mapping):
        terms = [check_text(term, "glossary: each term") for term in given]
        return Glossary.of({term: _translations(term, given[term]) for term in terms})
    if isinstance(given, (str, Path)):
        return Glossary.read(given, languages)
    raise UsageError(f"glossary: expected a glossary, its file or a mapping, found {shown(given)}")


def _translations(term: str, found: str | Sequence[str]) -> tuple[str, ...]:
    """The translations of a term, of which callers may give one or several."""
    name = f"glossary: {shown(term)}"
    each = [found] if isinstance(found, str) else check_list(found, name, "translations")
    return tuple(check_text(one, name) for one in each)


class Judgement(NamedTuple):
    """What a translation lacks, and what it invents; None if that was not looked for."""

    missing: tuple[str, ...] | None
    invented: tuple[str, ...] | None


def judged(
    demands: LineDemands | None, text: str, *, inline_tags: InlineTags | None = None
) -> Judgement:
    """Check a translation.

    If the models have learned ``inline_tags``, their symbols in the translation are not text.
    """
    if demands is None:
        return Judgement(None, None)
    if inline_tags is not None:
        text = without_tags(text)
    lacking = tuple(one.name for one in demands.missing(text))
    return Judgement(lacking, demands.invented(text) if demands.codes else None)


def are_demanded(
    terms: Terminology, speller: PhraseSpeller, config: SearchConfig, engine: TorchEngine
) -> bool:
    """Whether a search demands terms: those that are usual are not, where it cannot.

    Raises:
        ConfigError: it cannot demand terms that somebody asked for.
        DataError: a term does not fit into an output.
    """
    if not terms or (terms.by_default and config.grammar != "any"):
        return False
    if not terms.by_default:
        check_terms(terms, speller, config, engine)
    return True


def check_terms(
    terms: Terminology, speller: PhraseSpeller, config: SearchConfig, engine: TorchEngine
) -> None:
    """Check that a search can use terms.

    Raises:
        ConfigError: the model is a language model, or outputs are sampled, or are trees.
        DataError: a term does not fit into an output.
    """
    if not engine.models[0].reads_source:
        raise ConfigError("glossary: a language model has no source to find terms in")
    if config.sampling is not None or config.mbr is not None:
        raise ConfigError(
            "glossary: terms are searched for, not drawn; leave out the sampling (of mbr, too) or "
            "the terms"
        )
    if config.grammar != "any":
        raise ConfigError(
            f"glossary: with search.grammar {config.grammar}, outputs have no text that terms or "
            "what is copied could be in; leave out the terms"
        )
    positions = engine.scorer.position_limit
    # The begin symbol takes one of the positions.
    limits = [config.maximum_length, None if positions is None else positions - 1]
    limit = min((one for one in limits if one is not None), default=None)
    if limit is not None:
        check_lengths(terms, speller, limit)


def check_lengths(terms: Terminology, speller: PhraseSpeller, limit: int) -> None:
    """Check that every term of the glossaries fits into an output of ``limit`` pieces by itself.

    Raises:
        DataError: a term does not fit.
    """
    for glossary in terms.glossaries:
        if speller.is_known_to_fit(glossary.terms, limit):
            continue
        for term in glossary.terms:
            spellings = speller.phrase(LexicalConstraint(term.spellings()))
            pieces = min((len(one.ids) for one in spellings), default=0)
            if pieces > limit:
                raise DataError(
                    f"{glossary.place(term)}: {shown(term.targets[0])} has {pieces} pieces, and a "
                    f"translation at most {limit}; shorten it, or raise search.maximum_length"
                )
        speller.note_fit(glossary.terms, limit)
