"""Texts of any length in segments that a model translates separately.

White space and marks of direction between segments do not belong to them, so that joining the
translations preserves both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple

import regex
from typing_extensions import override

from dragoman.core.errors import MissingExtraError
from dragoman.core.unseen import bare
from dragoman.text.language_codes import base_language
from dragoman.text.splitters import SENTENCEX, SentenceSplitter, splitter

SplitMode = Literal["sentences", "flowing", "paragraphs", "none"]
"""Places where texts are split: at the ends of sentences and lines, of sentences only, of lines
only, or nowhere.  Line breaks that end nothing count as white space. All modes but the last also
split lines between cells, as in tables of plain text."""


class TextSpan(NamedTuple):
    """A part of a text to translate separately, without white space at either end."""

    start: int
    """First position, in characters."""
    end: int
    """Position after the last character."""


def split_text(
    text: str, language: str, mode: SplitMode = "sentences", by: str = SENTENCEX
) -> list[TextSpan]:
    """The segments of a text, in order. White space and marks of direction separate them.

    Sentences end as sentencex determines (never within braces), except after the number of a list
    item, after abbreviations unknown to it, and if only a full stop separates two words, as in
    ``java.lang.String``.  Cells end at a tab or four spaces, except within braces, tags and code.

    Args:
        language: its code. Languages unknown to sentencex follow the rules of English.
        by: name of the splitter that determines the ends of sentences.
    """
    if mode == "none":
        return list(_trimmed(text, [(0, len(text))]))
    ends = _cell_ends(text)
    if mode == "flowing":
        # As many spaces as there were characters, so that positions do not change.
        text = _LINE_END.sub(lambda end: " " * len(end[0]), text)
    else:
        ends = sorted([*ends, *(found.span() for found in _LINE_END.finditer(text))])
    lines = list(_trimmed(text, _between(text, ends)))
    if mode == "paragraphs":
        return lines
    code = base_language(language)
    chosen = splitter(by)
    return [
        TextSpan(start + one.start, start + one.end)
        for start, end in lines
        for one in _sentences(text[start:end], code, chosen)
    ]


# Line ends of str.splitlines.
_ENDS = r"\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
_LINE_END = re.compile(rf"\r\n|[{_ENDS}]")
_WIDE = re.compile(rf"\t|[^\S{_ENDS}]{{4}}")
# Text that white space does not divide, or white space between two words of a line.
_GAP = re.compile(
    rf"\{{[^{{}}{_ENDS}]*\}}|<[^\s<>][^<>{_ENDS}]*>|`[^`{_ENDS}]*`|(?<=\S)[^\S{_ENDS}]+(?=\S)"
)
_WINDOW = 2000
"""Maximum characters per call of sentencex.  Its time grows with the square of the number of
sentences, and it blocks all other threads."""
# sentencex works on UTF-8, which cannot hold halves of surrogate pairs.
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_ITEM = regex.compile(r"\W{,4}(?:\p{N}{1,3}|\p{L})[.)]")
_LAST_WORD = regex.compile(r"(?<![\p{L}\p{M}\p{N}])[\p{L}\p{M}\p{N}]{1,8}(?=\.$)")
_HAS_WORD = regex.compile(r"[\p{L}\p{N}]")

_OF_ORDINALS = "bs cs da de et fi fo hr hu is lv nb nn no sk sl sr tr"
_ORDINALS = frozenset(_OF_ORDINALS.split())
"""Languages that write "2nd" as "2."."""

_ABBREVIATIONS = {
    language: frozenset(words.split())
    for language, words in {
        "cs": "např tj tzv resp popř příp str obr č sv ul nám odst",
        "de": "nr str abb bzw evtl ggf inkl vgl hrsg jh st",
        "es": "sr sra dr ud uds pág núm",
        "fr": "m mm mme mmes mlle p pp chap éd n st",
        "pl": "np dr ul prof inż mgr tj tzw al św str nr godz",
        "ru": "г ул им см стр рис т тыс млн млрд проф акад св",
        "sk": "napr tj tzv resp str obr č sv ul nám ods",
        "uk": "м вул ім див с стор рис т тис млн млрд проф акад св",
    }.items()
}
"""Words unknown to sentencex whose full stop does not end a sentence."""


def _trimmed(text: str, spans: list[tuple[int, int]]) -> Iterator[TextSpan]:
    """Each part of a text without white space at its ends; empty parts are left out.

    Marks of direction at the ends are also left out, so that joining the translations preserves
    them.
    """
    for start, end in spans:
        first, last = bare(text[start:end])
        if first < last:
            yield TextSpan(start + first, start + last)


def _cell_ends(text: str) -> list[tuple[int, int]]:
    if not _WIDE.search(text):
        return []
    found = (gap for gap in _GAP.finditer(text) if gap[0].isspace())
    return [gap.span() for gap in found if _WIDE.search(gap[0])]


def _between(text: str, ends: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    starts, stops = [end for _, end in ends], [at for at, _ in ends]
    return list(zip([0, *starts], [*stops, len(text)], strict=True))


def _sentences(line: str, code: str, chosen: SentenceSplitter) -> list[TextSpan]:
    """The sentences of a line without white space at its ends."""
    ends = list(accumulate(map(len, chosen.split(line, code))))
    if ends[-1:] != [len(line)]:  # some text is missing at an unknown position
        ends = [len(line)]
    return list(_trimmed(line, list(pairwise([0, *ends]))))


class Sentencex(SentenceSplitter):
    """Ends of sentences by the package sentencex, without those that are none."""

    name = SENTENCEX

    @override
    def split(self, line: str, language: str) -> list[str]:
        try:
            from sentencex import segment
        except ImportError as error:
            raise MissingExtraError.of("sentencex", "sentencex") from error
        pieces = _pieces(_SURROGATE.sub("\ufffd", line), language, segment)
        sentences, start, end = [], 0, 0
        for piece, following in pairwise(pieces):
            end += len(piece)
            # The last characters suffice, and keep long sentences cheap.
            if _is_end(line[max(start, end - 50) : end], following, language):
                sentences.append(line[start:end])
                start = end
        return [*sentences, line[start:]]


def _pieces(line: str, code: str, split: Callable[[str, str], list[str]]) -> list[str]:
    """The pieces into which sentencex divides a line, window by window; joined, they are the line.

    The last sentence of a window may continue, so the next window begins with it.
    """
    pieces: list[str] = []
    start, waiting = 0, ""  # where nothing ended yet
    while start < len(line):
        window = line[start : start + _WINDOW]
        found = split(code, window)
        if sum(map(len, found)) != len(window):  # some text is missing at an unknown position
            found = [window]
        if start + len(window) < len(line):
            found.pop()
        if found:
            pieces += [waiting + found[0], *found[1:]]
            waiting = ""
            start += sum(map(len, found))
        else:
            waiting += window
            start += len(window)
    return [*pieces, waiting] if waiting else pieces


def _is_end(sentence: str, following: str, code: str) -> bool:
    """Whether an end of sentence by sentencex is right, given the text that follows."""
    spaced = sentence[-1].isspace() or following[0].isspace()
    sentence, following = sentence.rstrip(), following.lstrip()
    if not _HAS_WORD.search(sentence) or not _HAS_WORD.search(following):
        return False
    if not spaced and sentence[-1].isascii() and _continues_word(following[0]):
        return False
    word = _LAST_WORD.search(sentence)
    return not _ITEM.fullmatch(sentence) and not (
        word and _is_shortened(word[0], following[0].islower(), code)
    )


def _is_shortened(word: str, continued: bool, code: str) -> bool:
    """Whether the full stop after a word is part of it."""
    if word.isdecimal():
        return continued or (len(word) <= 2 and code in _ORDINALS)
    return (continued and len(word) == 1) or word.casefold() in _ABBREVIATIONS.get(code, ())


def _continues_word(character: str) -> bool:
    return character.isdecimal() or character.lower() != character.upper() or character in "-_/"
