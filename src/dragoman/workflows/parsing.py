"""Sentences to trees, by a model that writes trees as sequences of symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.core.constituency import Tree, TreeError, escaped
from dragoman.core.errors import ConfigError
from dragoman.core.linear_trees import tree_of
from dragoman.search.tree_grammar import TreeSymbols
from dragoman.text.penn_tokenizer import penn_words
from dragoman.text.tags import SPACE_SIGN
from dragoman.text.vocabularies import Vocabulary
from dragoman.translation.outputs import Translation
from dragoman.translation.translator import Translator


@dataclass(frozen=True)
class Parse:
    """A model's tree of a sentence."""

    tree: Tree
    score: float
    """Log-probability divided by the length penalty."""
    log_probability: float

    def to_json(self) -> dict[str, Any]:
        """The parse as plain values."""
        return {
            "tree": str(self.tree),
            "score": self.score,
            "log_probability": self.log_probability,
        }


@dataclass(frozen=True)
class ParsedLine:
    """The trees of a line, best first; none of an empty or refused line."""

    number: int
    words: list[str]
    parses: list[Parse]
    refused: str | None = None
    """The reason why it has no tree, with the number of the line."""

    def to_json(self) -> dict[str, Any]:
        """The line as plain values."""
        nothing = {"tree": None, "score": None, "log_probability": None}
        best = self.parses[0].to_json() if self.parses else nothing
        others = [parse.to_json() for parse in self.parses[1:]]
        return {
            "line": self.number,
            "words": self.words,
            **best,
            "refused": self.refused,
            "alternatives": others,
        }


def check_parser(translator: Translator, where: Path) -> None:
    """Check that a model writes trees."""
    try:
        if not translator.reads_source:
            raise ConfigError("a language model reads no sentence")
        TreeSymbols.of(translator.vocabularies)
    except ConfigError as error:
        raise ConfigError(f"{where}: no parser: {error}") from error


def parse_lines(
    translator: Translator,
    lines: Iterable[str],
    *,
    tokenize: bool = False,
    progress: Callable[[int], object] | None = None,
    buffer_lines: int | None = None,
) -> Iterator[ParsedLine]:
    """Parse sentences, one per line, in order and in bounded memory.

    Args:
        lines: sentences of words separated by spaces, as in the Penn Treebank; brackets in them
            are escaped.
        tokenize: whether ``lines`` are ordinary text, to be split into such words.
        buffer_lines: lines to read ahead; by default as in the search settings.
    """

    def separated(line: str) -> str:
        words = penn_words(line) if tokenize else [escaped(word) for word in line.split()]
        return " ".join(words)

    vocabulary = translator.vocabularies.source
    for line, translations in translator.stream_lines(
        map(separated, lines), progress=progress, buffer_lines=buffer_lines
    ):
        words = _as_read(line.given.split(), vocabulary)
        yield _parsed(line.number + 1, words, translations)


def _as_read(words: list[str], vocabulary: Vocabulary) -> list[str]:
    """The words as the model counts them: normalisation may drop an invisible word."""
    read = vocabulary.normalized(" ".join(words)).split(SPACE_SIGN)[1:]
    return words if len(read) == len(words) else read


def _parsed(number: int, words: list[str], translations: list[Translation]) -> ParsedLine:
    if (refused := translations[0].refused) is not None or not words:
        return ParsedLine(number, words, [], refused)
    parses = []
    for translation in translations:
        try:
            tree = tree_of(translation.text.split(), words)
        except TreeError as error:  # if scores are not numbers, as after an overflow, or too deep
            refused = f"line {number}: the model wrote no tree: {error}"
            continue
        parses.append(Parse(tree, translation.score, translation.log_probability))
    return ParsedLine(number, words, parses, None if parses else refused)
