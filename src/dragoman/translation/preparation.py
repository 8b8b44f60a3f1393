"""From lines of text to ids, with a reason for each line that cannot be translated."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from dragoman.core.errors import ConfigError
from dragoman.core.wording import shown
from dragoman.search import SearchConfig
from dragoman.search.tree_grammar import SMALLEST, TreeSymbols
from dragoman.text.context import ContextConfig, ContextFitter, ContextReader
from dragoman.text.inline_tags import InlineTags
from dragoman.text.language_codes import is_language_tag, meant
from dragoman.text.markup_spans import MarkupStyle
from dragoman.text.tags import LANGUAGE_TAG, tagged
from dragoman.text.vocabularies import UNK, Vocabularies, Vocabulary, is_empty
from dragoman.text.vocabularies.vocabulary import UNKNOWN_SURFACE
from dragoman.translation.line_stream import EncodedLines, Line
from dragoman.translation.outputs import Translation
from dragoman.translation.terms import judged

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


@dataclass(frozen=True)
class LineFormat:
    """How models read and write lines."""

    vocabularies: Vocabularies
    reads_source: bool = True
    """False for a language model, which continues lines."""
    positions: int | None = None
    """Maximum positions of a source or target, including the end symbol; None: unlimited."""
    tags: tuple[str, ...] = ()
    """Tags in front of each source."""
    annotate: Callable[[str], str] | None = None
    """Changes each source before it is encoded, for example annotates its terms."""
    context: ContextConfig | None = None
    """The preceding lines that the models read with each line."""
    inline_tags: InlineTags | None = None
    """Maximum inline tags in a line; None if the models have learned none."""
    markup: tuple[MarkupStyle, ...] = ()
    """Markup of lines that the models read as inline tags."""
    reminder: LanguageReminder | None = None
    """Warns about lines that name no target language."""

    def with_tags(self, texts: list[str]) -> list[str]:
        """Put tags in front of sources; empty sources stay empty."""
        if not self.tags:
            return texts
        return [text if is_empty(text) else tagged(self.tags, text) for text in texts]

    def as_read(self, texts: list[str]) -> list[str]:
        """Sources as the models read them: with tags in front, and terms annotated."""
        return self.with_tags(texts if self.annotate is None else [*map(self.annotate, texts)])

    def fitter(self, config: SearchConfig) -> ContextFitter | None:
        """The function, if any, that shortens context as in training and to the positions."""
        if self.context is None:
            return None
        limit = config.max_source_pieces
        if self.positions is not None:
            limit = min(limit, self.positions - 1)
        return ContextFitter(self.context, self.vocabularies, limit)

    def reader(self) -> ContextReader | None:
        """The reader, if any, that gives the lines of a text their context, behind tags."""
        if self.context is None:
            return None
        source = self.vocabularies.source
        return ContextReader(self.context, source.pieces(source.tags))

    def in_context(self, texts: Sequence[str]) -> list[str]:
        """The lines of one text, each with its context, if the models read any."""
        if (reader := self.reader()) is None:
            return list(texts)
        return [reader(number, text)[0] for number, text in enumerate(texts)]

    def lines_in_context(self, lines: Iterator[Line]) -> Iterator[Line]:
        """The lines of a text, as they come, each with its context, if the models read any."""
        if (reader := self.reader()) is None:
            return lines
        return (replace(line, text=reader(line.number, line.text)[0]) for line in lines)


class Preparation:
    """Encodes lines, which have their context already, and decides which of them to translate.

    If context is too long, its farthest part is left out.

    Raises:
        ConfigError: outputs must be trees, and the models write none.
    """

    def __init__(self, line_format: LineFormat, config: SearchConfig) -> None:
        self._format, self._config = line_format, config
        self._vocabularies = vocabularies = line_format.vocabularies
        # Ids of a line that is empty after the vocabulary's own normalisation.
        self._empty = vocabularies.source.encode(" ".join(line_format.tags))
        self._fitter = line_format.fitter(config)
        self._symbols = TreeSymbols.of(vocabularies) if config.grammar == "trees" else None

    def __call__(self, lines: list[Line]) -> EncodedLines:
        """Encode some lines."""
        texts = self._format.as_read([line.text for line in lines])
        ids = self._vocabularies.source.encode_batch(texts)
        if (fitter := self._fitter) is not None:
            none: list[list[int]] = [[] for _ in texts]
            ids, _ = fitter(texts, [""] * len(texts), ids, none)
        translations = [[_nothing(line)] for line in lines]
        prefixes = self._prefixes(ids, lines)
        wanted = []
        for place, (line, source) in enumerate(zip(lines, ids, strict=True)):
            if self._format.reads_source and (not source or source == self._empty):
                continue  # an empty line stays empty, even with a prefix
            if line.demands is not None and line.demands.is_copied:
                text = line.demands.text.strip()
                translations[place] = [replace(_unsearched(text, ()), invented=())]
                continue
            reason = self._refusal(source, line, [] if prefixes is None else prefixes[place])
            if reason is None:
                wanted.append(place)
                if (remind := self._format.reminder) is not None:
                    remind(line.number, source)
            else:
                translations[place] = [_refused(f"line {line.number + 1}: {reason}")]
        return EncodedLines(lines, ids, prefixes, translations, wanted)

    def _prefixes(self, ids: list[list[int]], lines: list[Line]) -> list[list[int]] | None:
        """Ids at the beginning of outputs; a language model continues the lines themselves."""
        if not self._format.reads_source:
            return ids
        if not any(line.prefix for line in lines):
            return None
        # Usually all lines share one prefix.
        encode = self._vocabularies.target.encode
        encoded = {prefix: encode(prefix) for prefix in {line.prefix for line in lines}}
        return [encoded[line.prefix] for line in lines]

    def _refusal(self, source: list[int], line: Line, prefix: list[int]) -> str | None:
        """Why a line cannot be translated."""
        if reason := self._config.refusal(len(source), self._format.positions):
            return reason
        if self._symbols is not None and (reason := self._no_tree(self._symbols, source, line)):
            return reason
        if not self._format.reads_source:
            return None  # a language model's prefix is the line itself
        if reason := unknown_language(line.text, self._vocabularies.source):
            return reason
        if reason := self._config.refusal(len(prefix), self._format.positions):
            return f"prefix: {reason}"
        return unwritable(line.prefix, prefix, self._vocabularies.target)

    def _no_tree(self, symbols: TreeSymbols, source: list[int], line: Line) -> str | None:
        """Why no output for a line can be a tree; None if an output can."""
        if line.prefix:
            return "prefix: search.grammar decides how a tree begins; leave one of them out"
        limit = self._config.longest(len(source))
        if self._format.positions is not None:  # the begin symbol takes one of them
            limit = min(limit, self._format.positions - 1)
        words = int(symbols.count_words(torch.tensor([source])))
        if words + SMALLEST <= limit:
            return None
        return (
            f"a tree over {words} words has at least {words + SMALLEST} symbols, and outputs have "
            f"at most {limit}; split the line, or raise search.extra_length, maximum_length or "
            "model.max_positions"
        )


def unknown_language(text: str, vocabulary: Vocabulary) -> str | None:
    """Why a line cannot name its language by a tag in front; None if it can, or names none.

    Any other ``<...>`` that the vocabulary lacks is text, such as markup.
    """
    if not text.lstrip().startswith("<"):
        return None  # nearly every line
    known = vocabulary.pieces(vocabulary.tags)
    for tag in text.split():
        if tag in known:
            continue
        named = LANGUAGE_TAG.fullmatch(tag)
        has_some = any(map(LANGUAGE_TAG.fullmatch, known))
        if named is None or not (has_some or is_language_tag(named[1])):
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
    return _unsearched("", judged(line.demands, "").missing or None)


def _unsearched(text: str, missing: tuple[str, ...] | None) -> Translation:
    """A translation without pieces, which is certain."""
    return Translation(text, 0.0, 0.0, [], ended=True, missing=missing)


def _refused(reason: str) -> Translation:
    """A placeholder for the translation, which no filter by score can mistake for a good one."""
    never = float("-inf")
    return Translation("", never, never, [], ended=False, refused=reason)
