"""Messages of ICU among the inline codes of XLIFF, as Angular writes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from typing_extensions import override

from dragoman.documents.marks.marked_document import find_elements
from dragoman.documents.marks.marked_text import escaped
from dragoman.documents.marks.markup_tokens import MarkupToken
from dragoman.documents.strings.icu_messages import has_choice, read_message
from dragoman.documents.strings.inline_codes import section_text
from dragoman.documents.strings.string_values import StringValue
from dragoman.text.formats.xliff import CODES

_SIGNS = "{}#'|<>"
"""Signs that a message would read as its own within the attributes or the content of a code."""
_MASKS = "".join(chr(0xF8F0 + number) for number in range(len(_SIGNS)))
_END = "\uf8ff/>"
"""The end of a code that has content: the message has it as one tag."""
_MASK, _UNMASK = str.maketrans(_SIGNS, _MASKS), str.maketrans(_MASKS, _SIGNS)


class CodedMessage(StringValue):
    """A message of ICU with inline codes, none of which is a part of its syntax.

    Args:
        tokens: of it.
        language: what it is translated into.
    """

    def __init__(self, tokens: Sequence[MarkupToken], language: str) -> None:
        self.source = "".join(one.raw for one in tokens)
        self._message = read_message("".join(_masked(tokens)), language, is_markup=True)
        self.texts = self._message.texts

    @override
    def joined(self, translations: Sequence[str]) -> str:
        joined = self._message.joined(translations)
        if joined == self._message.source:
            return self.source
        return joined.replace(_END, ">").translate(_UNMASK)


def is_coded_message(tokens: Sequence[MarkupToken]) -> bool:
    """Whether the text beside codes looks like a message with branches."""
    raw = "".join(one.raw for one in tokens)
    if not has_choice(raw) or any(sign in raw for sign in (*_MASKS, _END[0])):
        return False
    return has_choice("".join(one if _is_text(one) else "<x/>" for one in _masked(tokens)))


def _is_text(masked: str) -> bool:
    return not masked.startswith("<")


def _masked(tokens: Sequence[MarkupToken]) -> Iterator[str]:
    """Text, with each code as one tag without signs of a message; sections of CDATA are text."""
    ends = find_elements(tokens).ends
    index = 0
    while index < len(tokens):
        token, end = tokens[index], index
        if token.kind == "open" and token.name.rpartition(":")[2] in CODES:
            end = ends.get(index, index)
        raw = "".join(one.raw for one in tokens[index : end + 1])
        section = section_text(token)
        if section is not None:
            yield escaped(section)
        elif token.kind == "text":
            yield raw
        elif end > index:
            yield f"<{raw[1:-1].translate(_MASK)}{_END}"
        else:
            yield f"<{raw[1:-1].translate(_MASK)}>"
        index = end + 1
