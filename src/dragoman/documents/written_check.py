"""A written document is read again, and compared with the document that it translates.

Each format writes with care, but only its own parser can tell whether that was enough.  A text
whose translation changes more than words stays as it is (decision 092).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from dragoman.core.errors import DataError
from dragoman.documents.document_format import OpenDocument
from dragoman.documents.marks.marked_document import OutlineBlock

CHANGED = "its translation would change tags, placeholders or blocks of the document"
"""Why a text stays as it is."""

_MOST_PROBES = 100
"""How often a document is written and read again where its blocks do not say which texts break it.
After that, all texts stay as they are that may be among these."""
_MOST_ROUNDS = 5


class CheckedFile(NamedTuple):
    """A document as it is written."""

    content: bytes
    left: list[int]
    """Indices of the texts that stay as they are."""


def checked(
    document: OpenDocument,
    translations: Sequence[str],
    read: Callable[[bytes], OpenDocument],
    left: Collection[int] = (),
) -> CheckedFile:
    """A document with its texts replaced, but for those whose translations would change its blocks.

    ``read`` reads a document of the same format.  Texts with the indices in ``left`` stay as they
    are in any case.
    """
    return _Check(document, translations, read).carried_out(left)


class _Finding(NamedTuple):
    """How a written document differs from its source."""

    content: bytes
    differs: bool
    suspects: Sequence[int] = ()
    """The texts that may be the reason."""
    is_certain: bool = False
    """Whether all of them are."""


class _Check:
    def __init__(
        self,
        document: OpenDocument,
        translations: Sequence[str],
        read: Callable[[bytes], OpenDocument],
    ) -> None:
        self._document, self._translations, self._read = document, translations, read
        self._blocks = document.outline
        self._everything = frozenset(range(len(translations)))
        self._probes = _MOST_PROBES

    def carried_out(self, given: Collection[int]) -> CheckedFile:
        left = set(given)
        for _ in range(_MOST_ROUNDS):
            found = self._finding(left)
            if not found.differs:
                return CheckedFile(found.content, sorted(left))
            suspects = [suspect for suspect in found.suspects if suspect not in left]
            guilty = set(suspects if found.is_certain else self._guilty(suspects, left))
            left.update(guilty or self._guilty(sorted(self._everything - left), left))
        everything = self._everything
        content = self._document.partly_written(self._translations, everything)
        return CheckedFile(content, sorted(everything))

    def _finding(self, left: Collection[int]) -> _Finding:
        """The document, in which some texts stay as they are."""
        content = self._document.partly_written(self._translations, left)
        try:
            blocks = self._read(content).outline
        except DataError:
            return _Finding(content, True)
        if len(blocks) == len(self._blocks):
            pairs = zip(self._blocks, blocks, strict=True)
            changed = [one for one, other in pairs if not one.is_kept_in(other)]
            return _Finding(content, bool(changed), _texts(changed), is_certain=True)
        begin = _agreeing(self._blocks, blocks)
        end = _agreeing(self._blocks[:begin:-1], blocks[:begin:-1])
        # Of a block that was divided, a part may be as the whole was.
        around = self._blocks[max(0, begin - 1) : len(self._blocks) - end + 1]
        return _Finding(content, True, _texts(around))

    def _guilty(self, suspects: Sequence[int], left: Collection[int]) -> set[int]:
        """Those of some texts whose translations change the document even without the others'."""
        guilty: set[int] = set()
        waiting = [suspects]
        while waiting:
            some = waiting.pop()
            if not some:
                continue
            if self._probes <= 0:
                guilty.update(some)
                continue
            self._probes -= 1
            if not self._finding(self._everything.difference(some).union(left)).differs:
                continue
            if len(some) == 1:
                guilty.update(some)
            else:
                middle = len(some) // 2
                waiting += [some[middle:], some[:middle]]
        return guilty


def _texts(blocks: Iterable[OutlineBlock]) -> list[int]:
    return sorted({index for block in blocks for index in block.texts})


def _agreeing(blocks: Sequence[OutlineBlock], others: Sequence[OutlineBlock]) -> int:
    """How many blocks agree, up to the first that does not."""
    pairs = zip(blocks, others, strict=False)
    number = min(len(blocks), len(others))
    return next((at for at, (one, other) in enumerate(pairs) if not one.is_kept_in(other)), number)
