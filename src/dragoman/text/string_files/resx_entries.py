"""Resources of .NET: ``Resources.resx``, and ``.resw`` of Windows apps."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from dragoman.core.errors import DataError
from dragoman.text.string_files.keyed_string import KeyedString

_TYPES = frozenset(["", "System.String"])
_OF_DESIGNER = ">>"


def resx_entries(content: bytes) -> list[KeyedString]:
    """The strings of a file, in order.

    Raises:
        DataError: not well-formed XML without entities of its own, or with another root.
    """
    try:
        root = fromstring(content)
    except ParseError as error:
        raise DataError(f"line {error.position[0]}: not XML ({error})") from error
    except DefusedXmlException as error:
        raise DataError("declares XML entities, which are not read for safety") from error
    except (LookupError, ValueError) as error:
        raise DataError(f"declares an encoding that is not read ({error!s:.80})") from error
    if root.tag != "root":
        raise DataError(f"the file begins with <{root.tag:.80}>, and not with <root>")
    return [
        KeyedString((one.get("name", ""),), "".join(value.itertext()))
        for one in root.iterfind("data")
        if is_string(one.attrib)
        for value in _values(one)
    ]


def is_string(attributes: Mapping[str, str]) -> bool:
    """Whether an element ``data`` is a string of people, and no picture or note of a designer."""
    name = attributes.get("name", "")
    kind = attributes.get("type", "").partition(",")[0].strip()
    is_plain = kind in _TYPES and "mimetype" not in attributes
    return is_plain and bool(name) and not name.startswith(_OF_DESIGNER)


def _values(data: Element) -> list[Element]:
    return [one for one in data.findall("value")[:1] if not len(one)]
