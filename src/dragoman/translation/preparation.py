"""From lines of text to ids, with a reason for each line that cannot be translated."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from dragoman.core.errors import ConfigError
from dragoman.core.wording import shown
from dragoman.search import SearchConfig
from dragoman.search.tree_grammar import SMALLEST, TreeSymbols
from dragoman.text.context import ContextConfig, ContextFitter, ContextReader
from dragoman.text.language_codes import is_language_tag, meant
from dragoman.text.tags import LANGUAGE_TAG, tagged
from dragoman.text.vocabularies.saved_vocabularies import Vocabularies
from dragoman.text.vocabularies.vocabulary import UNK, UNKNOWN_SURFACE, Vocabulary, is_empty
from dragoman.translation.line_stream import EncodedLines, Line
from dragoman.translation.outputs import Translation
from dragoman.translation.terms import lacking

log = logging.getLogger(__name__)


def check_prefix(reads_source: bool, context: ContextConfig | None = None) -> None:
    """Check that these models accept a prefix of their outputs.

    Raises:
        ConfigError: a language model, or a model that translates the context first.
    """
    if context is not None and context.target:
        raise ConfigError(
            "prefix: this model translates the context before each sentence (data.context.target), "
            "so no prefix can be given; leave it out"
        )
    if not reads_source:
        raise ConfigError(
            "prefix: a language model continues each line; put the prefix there instead"
        )


def with_tags(tags: Sequence[str], texts: list[str]) -> list[str]:
    """Put tags in front of sources; empty sources stay empty."""
    if not tags:
        return texts
    return [text if is_empty(text) else tagged(tags, text) for text in texts]


def as_read(
    tags: Sequence[str], texts: list[str], annotate: Callable[[str], str] | None
) -> list[str]:
    """Sources as the models read them: with tags in front, and terms annotated."""
    return with_tags(tags, texts if annotate is None else [annotate(text) for text in texts])


class LanguageReminder:
    """Warns, once, about a line that names none of several target languages.

    Args:
        telling: the tags that name each target language; if empty, there are no warnings.
        vocabulary: of the sources.
    """

    def __init__(self, telling: Sequence[Sequence[str]], vocabulary: Vocabulary) -> None:
        self._telling = telling
        self._ids = [frozenset(vocabulary.encode(" ".join(tags))) for tags in telling]

    def __call__(self, number: int, source: Sequence[int]) -> None:
        """Check the ids of line ``number``, counted from 0."""
        if not self._ids:
            return
        there = set(source)
        if any(ids <= there for ids in self._ids):
            return
        self._ids = []  # once is enough
        log.warning(
            "line %d: nothing says which language is wanted, and the model knows %d; name one with "
            "--to or target_language, or put its tags in front, such as %s",
            number + 1,
            len(self._telling),
            " ".join(self._telling[0]),
        )


class Preparation:
    """Encodes lines and decides which of them to translate.

    Args:
        vocabularies: of the models.
        config: limits the length of lines.
        positions: maximum that the models can read; None: unlimited.
        reads_source: False for a language model, which continues the lines.
        tags: put in front of each line; an empty line stays empty.
        reminder: checks each line that is to be translated.
        annotate: changes each line before it is encoded, for example annotates its terms.
        context: included in the lines already; if it is too long, its farthest part is left out.

    Raises:
        ConfigError: outputs must be trees, and the models write none.
    """

    def __init__(
        self,
        vocabularies: Vocabularies,
        config: SearchConfig,
        positions: int | None,
        reads_source: bool,
        tags: Sequence[str] = (),
        *,
        reminder: LanguageReminder | None = None,
        annotate: Callable[[str], str] | None = None,
        context: ContextConfig | None = None,
    ) -> None:
        self._vocabularies, self._config = vocabularies, config
        self._annotate = annotate
        self._remind = reminder
        self._positions, self._reads_source = positions, reads_source
        self._tags = tags
        # Ids of a line that is empty after the vocabulary's own normalisation.
        self._empty = vocabularies.source.encode(" ".join(tags))
        self._fitter = context_fitter(context, vocabularies, config, positions)
        self._symbols = TreeSymbols.of(vocabularies) if config.grammar == "trees" else None

    def __call__(self, lines: list[Line]) -> EncodedLines:
        """Encode some lines."""
        texts = as_read(self._tags, [line.text for line in lines], self._annotate)
        ids = self._vocabularies.source.encode_batch(texts)
        if (fitter := self._fitter) is not None:
            none: list[list[int]] = [[] for _ in texts]
            ids, _ = fitter(texts, [""] * len(texts), ids, none)
        translations = [[_nothing(line)] for line in lines]
        prefixes = self._prefixes(ids, lines)
        wanted = []
        for place, (line, source) in enumerate(zip(lines, ids, strict=True)):
            if self._reads_source and (not source or source == self._empty):
                continue  # an empty line stays empty, even with a prefix
            reason = self._refusal(source, line, [] if prefixes is None else prefixes[place])
            if reason is None:
                wanted.append(place)
                if self._remind is not None:
                    self._remind(line.number, source)
            else:
                translations[place] = [_refused(f"line {line.number + 1}: {reason}")]
        return EncodedLines(lines, ids, prefixes, translations, wanted)

    def _prefixes(self, ids: list[list[int]], lines: list[Line]) -> list[list[int]] | None:
        """Ids at the beginning of outputs; a language model continues the lines themselves."""
        if not self._reads_source:
            return ids
        if not any(line.prefix for line in lines):
            return None
        # Usually all lines share one prefix.
        encode = self._vocabularies.target.encode
        encoded = {prefix: encode(prefix) for prefix in {line.prefix for line in lines}}
        return [encoded[line.prefix] for line in lines]

    def _refusal(self, source: list[int], line: Line, prefix: list[int]) -> str | None:
        """Why a line cannot be translated."""
        if reason := self._config.refusal(len(source), self._positions):
            return reason
        if self._symbols is not None and (reason := self._no_tree(self._symbols, source, line)):
            return reason
        if not self._reads_source:
            return None  # a language model's prefix is the line itself
        if reason := unknown_language(line.text, self._vocabularies.source):
            return reason
        if reason := self._config.refusal(len(prefix), self._positions):
            return f"prefix: {reason}"
        return unwritable(line.prefix, prefix, self._vocabularies.target)

    def _no_tree(self, symbols: TreeSymbols, source: list[int], line: Line) -> str | None:
        """Why no output for a line can be a tree; None if an output can."""
        if line.prefix:
            return "prefix: search.grammar decides how a tree begins; leave one of them out"
        limit = self._config.longest(len(source))
        if self._positions is not None:  # the begin symbol takes one of them
            limit = min(limit, self._positions - 1)
        words = int(symbols.count_words(torch.tensor([source])))
        if words + SMALLEST <= limit:
            return None
        return (
            f"a tree over {words} words has at least {words + SMALLEST} symbols, and outputs have "
            f"at most {limit}; split the line, or raise search.extra_length, maximum_length or "
            "model.max_positions"
        )


def context_fitter(
    context: ContextConfig | None,
    vocabularies: Vocabularies,
    config: SearchConfig,
    positions: int | None,
) -> ContextFitter | None:
    """The function, if any, that shortens context as in training and to the models' positions."""
    if context is None:
        return None
    limit = config.max_source_pieces
    return ContextFitter(
        context, vocabularies, limit if positions is None else min(limit, positions - 1)
    )


def context_reader(context: ContextConfig, vocabulary: Vocabulary) -> ContextReader:
    """The reader that gives lines their context, behind the tags of a vocabulary."""
    return ContextReader(context, vocabulary.pieces(vocabulary.tags))


def reading_context(context: ContextConfig, vocabulary: Vocabulary) -> Callable[[Line], Line]:
    """A function that gives each line of a text its context, if called with them in order."""
    reader = context_reader(context, vocabulary)

    def in_context(line: Line) -> Line:
        return replace(line, text=reader(line.number, line.text)[0])

    return in_context


def texts_in_context(
    texts: Sequence[str], context: ContextConfig | None, vocabulary: Vocabulary
) -> list[str]:
    """The lines of one text, each with its context, if ``context`` is given."""
    if context is None:
        return list(texts)
    reader = context_reader(context, vocabulary)
    return [reader(number, text)[0] for number, text in enumerate(texts)]


def unknown_language(text: str, vocabulary: Vocabulary) -> str | None:
    """Why a line cannot name its language by a tag in front; None if it can, or names none.

    Any other ``<...>`` that the vocabulary lacks is text, such as markup.
    """
    if not text.lstrip().startswith("<"):
        return None  # nearly every line
    known = vocabulary.pieces(vocabulary.tags)
    for tag in text.split():
        found = LANGUAGE_TAG.fullmatch(tag)
        if tag in known:
            continue
        has_some = any(map(LANGUAGE_TAG.fullmatch, known))
        if found is None or not (has_some or is_language_tag(found[1])):
            return None
        there = ", ".join(known) or "none"
        return f"the model has no tag {tag}; tags there: {there}{meant(tag, known)}"
    return None


def unwritable(text: str, ids: list[int], vocabulary: Vocabulary) -> str | None:
    """Why no output can begin with a text, given with its ids; None if an output can."""
    if UNK not in ids:
        return None
    return (
        f"prefix {shown(text)}: the target vocabulary lacks the characters shown as "
        f"{UNKNOWN_SURFACE} in {shown(vocabulary.decode(ids))}; leave them out"
    )


def _nothing(line: Line) -> Translation:
    """The translation of an empty line, which lacks all its required terms."""
    return Translation("", 0.0, 0.0, [], ended=True, missing=lacking(line.constraints, "") or None)


def _refused(reason: str) -> Translation:
    """A placeholder for the translation, which no filter by score can mistake for a good one."""
    never = float("-inf")
    return Translation("", never, never, [], ended=False, refused=reason)
