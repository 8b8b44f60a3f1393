"""Strings of Android apps: ``res/values/strings.xml``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from dragoman.core.errors import DataError
from dragoman.text.character_encoding import with_pairs
from dragoman.text.string_files.keyed_string import Key, KeyedString
from dragoman.text.xml_parts import local

# White space of ASCII alone, as aapt2 collapses it: a no-break space is a sign like any other.
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))|([ \t\n\r\f\v]+)|\"", re.DOTALL)
_SIGNS = {"n": "\n", "t": "\t"}
_REFERENCE = re.compile(r"\s*[@?][\w+.:-]*[\w:]/?[\w.]*\s*|\s*@(?:null|empty)\s*")
_LONGEST_REFERENCE = 500
_PLACEHOLDER = "g"  # of XLIFF: its content is a placeholder


def android_entries(content: bytes) -> list[KeyedString]:
    """The strings, arrays of strings and plurals of a file of resources, in order.

    Tags stay in a string, and placeholders of XLIFF (``<xliff:g>``) become their content.
    References to other resources, and what is not to be translated, are left out.

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
    if local(root) != "resources":
        raise DataError(f"the file begins with <{local(root):.80}>, and not with <resources>")
    try:
        return [one for child in root for one in _entries(child)]
    except UnicodeDecodeError as error:
        raise DataError("a string has half of a surrogate pair; correct it") from error


def shown_string(raw: str, *, keeps_space: bool = False) -> str:
    """A string as an app shows it, from text without the escapes of XML.

    Args:
        keeps_space: whether it is in quotation marks, which keep white space.

    Raises:
        UnicodeDecodeError: half of a surrogate pair.
    """

    def plain(found: re.Match[str]) -> str:
        code, sign, space = found.groups()
        if code:
            return chr(int(code, 16))
        if space:
            return str(space) if keeps_space else " "
        return _SIGNS.get(sign, sign) if sign else ""

    return with_pairs(_ESCAPE.sub(plain, raw)) if "\\u" in raw else _ESCAPE.sub(plain, raw)


def is_reference(raw: str) -> bool:
    """Whether a string only refers to another resource, as ``@string/app_name``."""
    return len(raw) <= _LONGEST_REFERENCE and _REFERENCE.fullmatch(raw) is not None


def _entries(element: Element) -> Iterator[KeyedString]:
    if element.get("translatable") == "false":
        return
    kind, name = local(element), element.get("name", "")
    if kind == "string" or (kind == "item" and element.get("type") == "string"):
        yield from _entry((name,), element)
    elif kind == "string-array":
        for at, item in enumerate(_items(element)):
            yield from _entry((name, str(at)), item)
    elif kind == "plurals":
        for item in _items(element):
            yield from _entry((name, item.get("quantity", "")), item)


def _items(element: Element) -> list[Element]:
    return [one for one in element if local(one) == "item"]


def _entry(key: Key, element: Element) -> Iterator[KeyedString]:
    raw = _content(element)
    if is_reference(raw):
        return
    inner = raw.strip()
    is_quoted = len(inner) > 1 and inner[0] == inner[-1] == '"' and not inner.endswith('\\"')
    yield KeyedString(key, shown_string(inner, keeps_space=is_quoted))


def _content(element: Element) -> str:
    """The text of an element, with the tags in it."""
    parts: list[str] = [element.text or ""]
    inside = [(iter(element), "", "")]
    while inside:  # no recursion, which fails if nesting is deep
        children, end, tail = inside[-1]
        child = next(children, None)
        if child is None:
            inside.pop()
            parts.append(end + tail)
            continue
        name = local(child)
        is_shown = name != _PLACEHOLDER
        attributes = "".join(f' {key}="{value}"' for key, value in child.attrib.items())
        parts.append(f"<{name}{attributes}>" * is_shown + (child.text or ""))
        inside.append((iter(child), f"</{name}>" * is_shown, child.tail or ""))
    return "".join(parts)
