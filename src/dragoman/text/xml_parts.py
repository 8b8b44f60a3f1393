"""Reads XML of any length part by part, such as translation memories and term collections."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError
from xml.parsers.expat import errors as expat_errors

from defusedxml.common import DefusedXmlException, DTDForbidden
from defusedxml.ElementTree import iterparse

from dragoman.core.errors import DataError
from dragoman.text.lines import open_bytes

_NO_ELEMENTS = expat_errors.codes[expat_errors.XML_ERROR_NO_ELEMENTS]
# A longer part is not an entry, and is refused without being held in memory.
_LONGEST_PART = 2**24  # bytes


def each_part(
    path: Path,
    names: Collection[str],
    *,
    starts: Collection[str] = (),
    allows_doctype: bool = True,
) -> Iterator[Element]:
    """The named elements, in constant memory: each is freed when the next is requested.

    Args:
        names: of the elements, without namespaces.
        starts: names of elements that are returned when they begin, with their attributes only.

    Raises:
        DataError: the file is missing or damaged, not well-formed, declares entities, has too much
            text between two of the elements, or has a document type that is not allowed.
    """
    with open_bytes(path) as stream:
        bounded, body = _Bounded(stream, path), None
        try:
            events = iterparse(bounded, events=("start", "end"), forbid_dtd=not allows_doctype)
            for event, element in events:
                name = local(element)
                if event == "start" and name in starts:
                    yield element
                elif event == "start" and name == "body":
                    body = element
                elif event == "end" and name in names:
                    bounded.begin()
                    yield element
                    element.clear()
                    if body is not None:
                        body.clear()
        except ParseError as error:
            ended = error.code == _NO_ELEMENTS
            reason = "the file is empty or ends too early" if ended else str(error)
            raise DataError(
                f"{path}:{error.position[0]}: not XML ({reason}); export it again"
            ) from error
        except DTDForbidden as error:
            raise DataError(
                f"{path}: has a document type, which is not read for safety; export it without"
            ) from error
        except DefusedXmlException as error:
            raise DataError(
                f"{path}: declares XML entities, which are not read for safety; "
                "export it without a document type"
            ) from error
        except (LookupError, ValueError) as error:
            raise DataError(
                f"{path}: declares an encoding that is not read ({error!s:.80}); export it as UTF-8"
            ) from error


def local(element: Element) -> str:
    """The name of an element without its namespace."""
    return str(element.tag).rpartition("}")[2]


def text_within(
    element: Element,
    instead: Callable[[Element], str | None],
    around: Callable[[Element], str] = lambda _: "",
) -> str:
    """The text of an element.

    Args:
        element: may be nested to any depth.
        instead: the replacement of an element within it, or None for its text.
        around: text to put before and after the text of an element.
    """
    found = [element.text or ""]
    inside = [(iter(element), "")]  # no recursion, which fails if nesting is deep
    while inside:
        parts, tail = inside[-1]
        part = next(parts, None)
        if part is None:
            inside.pop()
            found.append(tail)
        elif (text := instead(part)) is not None:
            found += [text, part.tail or ""]
        else:
            edge = around(part)
            inside.append((iter(part), edge + (part.tail or "")))
            found.append(edge + (part.text or ""))
    return "".join(found)


class _Bounded:
    """A stream that raises an error if a part is too long."""

    def __init__(self, stream: BinaryIO, path: Path) -> None:
        self._stream, self._path, self._length = stream, path, 0

    def begin(self) -> None:
        """Begins another part."""
        self._length = 0

    def read(self, size: int = -1) -> bytes:
        """The next bytes, like those of any stream."""
        found = self._stream.read(size)
        self._length += len(found)
        if self._length > _LONGEST_PART:
            raise DataError(
                f"{self._path}: over {_LONGEST_PART:,} bytes without the end of an entry; is it "
                "another kind of XML?"
            )
        return found
