"""Documents of which some parts are replaced, and all others stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from typing_extensions import override

from dragoman.documents.document_format import EMPTY, EncodedDocument, OpenDocument
from dragoman.documents.edited_text import edited
from dragoman.documents.marks.marked_text import MarkedText
from dragoman.documents.strings.string_values import KeptValue, StringValue
from dragoman.text.character_encoding import CharacterEncoding
from dragoman.text.string_files.keyed_string import Key


@dataclass(frozen=True)
class Slot:
    """A part of a file that is written from translations."""

    start: int
    """In characters of the file."""
    stop: int
    """After its last character; equal to the start for an insertion."""
    values: Sequence[StringValue]
    """The values to translate."""
    write: Callable[[Sequence[str]], str]
    """How the translated values are written there."""
    current: str | None = None
    """The value that the file has.  The slot stays as it is if the translation equals it."""
    group: int | None = None
    """Slots of one group are written together, or not at all if the translation of one is refused.
    Other slots with values are each by themselves."""
    keys: Sequence[Key] = ()
    """The keys of the values, by which their translations are found in another file."""


def replacement(
    start: int,
    stop: int,
    value: StringValue,
    write: Callable[[str], str],
    current: str | None = None,
    *,
    key: Key | None = None,
) -> Slot:
    """The slot of one value, instead of the source of this value or another ``current`` one."""
    current = value.source if current is None else current
    keys = [] if key is None else [key]
    return Slot(start, stop, [value], lambda found: write(found[0]), current, keys=keys)


def fixed(start: int, stop: int, raw: str, group: int | None = None) -> Slot:
    """A slot for something that is changed with the texts, such as the language of the file."""
    return Slot(start, stop, (), lambda found: raw, group=group)


class SplicedDocument(EncodedDocument):
    """A text with slots, none of which is within another.

    A value that its translation does not change is not written again, so that it keeps the way in
    which it was written.
    """

    def __init__(
        self,
        text: str,
        encoding: CharacterEncoding,
        slots: Sequence[Slot],
        *,
        source_language: str | None = None,
        is_markup: bool = False,
    ) -> None:
        super().__init__(encoding, is_markup=is_markup)
        self._text = text
        self._slots = sorted(slots, key=lambda one: (one.start, one.stop))
        self._texts = [
            text for slot in self._slots for value in slot.values for text in value.texts
        ]
        self.source_language = source_language
        self._left: Collection[int] = ()

    @property
    @override
    def texts(self) -> Sequence[MarkedText]:
        return self._texts

    @override
    def keep_translations(self, other: OpenDocument) -> bool:
        if not isinstance(other, SplicedDocument):
            return False
        known = {
            slot.keys[0]: slot.current
            for slot in other._slots
            if len(slot.keys) == 1 and slot.current and slot.current.strip()
        }
        self._slots = [
            replace(
                slot,
                values=[
                    KeptValue(known[key]) if key in known else value
                    for key, value in zip(slot.keys, slot.values, strict=True)
                ],
            )
            if slot.keys
            else slot
            for slot in self._slots
        ]
        self._texts = [
            text for slot in self._slots for value in slot.values for text in value.texts
        ]
        return any(slot.keys for slot in self._slots)

    @override
    def partly_written(self, translations: Sequence[str], left: Collection[int]) -> bytes:
        # Slots of texts that stay as they are are not written, so that a target stays empty.
        self._left = left
        try:
            return self.written(translations)
        finally:
            self._left = ()

    @override
    def joined(self, translations: Sequence[str]) -> str:
        waiting = iter(enumerate(translations))
        filled: list[tuple[Slot, list[str]]] = []
        self.refused = []
        left: set[int] = set()  # groups
        for slot in self._slots:
            numbered = [[next(waiting) for _ in one.texts] for one in slot.values]
            given = [[text for _, text in mine] for mine in numbered]
            is_left = any(at in self._left for mine in numbered for at, _ in mine)
            found = [one.joined(mine) for one, mine in zip(slot.values, given, strict=True)]
            refused = [
                (value.source, reason)
                for value, mine, one in zip(slot.values, given, found, strict=True)
                if (reason := _refusal(value, mine, one)) is not None
            ]
            self.refused += refused
            if not refused and not is_left:
                filled.append((slot, found))
            elif slot.group is not None:
                left.add(slot.group)
        return edited(
            self._text,
            (
                (slot.start, slot.stop, slot.write(found))
                for slot, found in filled
                if slot.group not in left and found != [slot.current]
            ),
        )


def _refusal(value: StringValue, translations: Sequence[str], joined: str) -> str | None:
    """The reason why a translated string stays as it is, or None if it does not stay."""
    if not all(translation.strip() for translation in translations):
        return EMPTY
    if value.is_refused(translations, joined):
        return "its translation would not have the same placeholders and tags"
    return None


def space_before(text: str, place: int) -> str:
    """The white space in front of a place of a text, such as the indentation of an element."""
    start = place
    while start and text[start - 1].isspace():
        start -= 1
    return text[start:place]
