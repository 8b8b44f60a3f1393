"""A text document compared with its translation by parsers that did not write it.

Each function gives the parts of a document that no translation may change: tags and their
attributes, code, addresses, keys, times, sources.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from html.parser import HTMLParser
from pathlib import PurePath
from xml.etree import ElementTree

import polib
from markdown_it import MarkdownIt
from markdown_it.token import Token

Parts = Iterator[Hashable]

_OF_PEOPLE = (
    "abbr alt aria-description aria-label aria-placeholder aria-roledescription aria-valuetext "
    "content label lang placeholder prompt standby summary title value"
)
_READ_BY_PEOPLE = frozenset(_OF_PEOPLE.split())
"""Attributes with text, and the language of a page."""
_TIME = re.compile(r"^.*-->.*$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"%\(\w+\)[a-z]|%(?:\d\$)?[sd]|\{\w*\}")
_TARGET = re.compile(r"<target\b[^>]*?(?:/>|>.*?</target>)", re.DOTALL)
_SAYS = re.compile(r"(?:source-language|srcLang|target-language|trgLang)=[\"']([\w-]+)")
_EMPHASIS = re.compile(r"</?(em|strong)>")
_SHOWN = 5  # differences of a document


class _Page(HTMLParser):
    """Tags, comments, and the content of elements that are not translated."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[Hashable] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        kept = [(name, value) for name, value in attrs if name not in _READ_BY_PEOPLE]
        self.parts.append((tag, *kept))

    def handle_endtag(self, tag: str) -> None:
        self.parts.append(f"/{tag}")

    def handle_comment(self, data: str) -> None:
        self.parts.append(("comment", data))


def _html(text: str) -> Parts:
    page = _Page()
    page.feed(text)
    page.close()
    yield from page.parts


def _markdown(text: str) -> Parts:
    """Blocks in order, code, addresses and tags."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    body = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)  # of front matter, words change
    for number, token in enumerate(parser.parse(body)):
        if token.type == "inline":
            yield from _inline(token.children or [])
        elif token.type != "html_block":
            code = token.content if token.type in {"fence", "code_block"} else ""
            yield number, token.type, token.tag, code
        else:
            yield from _html(token.content)


def _inline(tokens: list[Token]) -> Parts:
    """Code, tags, addresses and emphasis, which may become the tag of the same meaning."""
    for token in tokens:
        if found := _EMPHASIS.fullmatch(token.content if token.type == "html_inline" else ""):
            yield from ["emphasis", found[1]] if found[0][1] != "/" else []
        elif token.type in {"em_open", "strong_open"}:
            yield from ["emphasis", token.tag]
        elif token.type in {"code_inline", "html_inline"}:
            yield token.type, token.content
        elif token.type in {"link_open", "image"}:
            yield token.type, str(token.attrs.get("href", token.attrs.get("src")))


def _json(text: str) -> Parts:
    def walk(value: object, path: tuple[str, ...]) -> Parts:
        if isinstance(value, dict):
            for key, one in value.items():
                yield from walk(one, (*path, "en" if not path and key == "de" else key))
        elif isinstance(value, list):
            for number, one in enumerate(value):
                yield from walk(one, (*path, str(number)))
        else:
            yield path, None if isinstance(value, str) else value

    yield from walk(json.loads(text), ())


def _po(text: str) -> Parts:
    """Entries with the placeholders of the last form of their translation, or else their source."""
    for entry in polib.pofile(text):
        kept = (entry.msgctxt, entry.msgid, entry.msgid_plural, entry.obsolete, entry.comment)
        forms = [one for _, one in sorted(entry.msgstr_plural.items())] or [entry.msgstr]
        last = forms[-1] or entry.msgid_plural or entry.msgid
        yield *kept, tuple(sorted(_PLACEHOLDER.findall(last)))


def _xliff(text: str) -> Parts:
    """All but targets: sources with their codes, notes, attributes of units."""

    def walk(element: ElementTree.Element) -> Parts:
        name = element.tag.rpartition("}")[2]
        if name in {"target", "alt-trans"}:
            return
        kept = {k: v for k, v in element.attrib.items() if k not in {"target-language", "state"}}
        is_text = name in {"source", "note", "seg-source"}
        whole = "".join(element.itertext()) if is_text else ""
        yield name, *sorted(kept.items() - {("trgLang", "de")}), whole
        for child in element:
            yield from walk(child)

    yield from walk(ElementTree.fromstring(text))


def _subtitles(text: str) -> Parts:
    yield from _TIME.findall(text.replace("\r", ""))


def _lines(text: str) -> Parts:
    """How many texts each line has."""
    yield from enumerate(line.count("\t") for line in text.split("\n"))


_PARTS: dict[str, Callable[[str], Parts]] = {
    ".html": _html,
    ".htm": _html,
    ".md": _markdown,
    ".markdown": _markdown,
    ".json": _json,
    ".arb": _json,
    ".po": _po,
    ".pot": _po,
    ".xlf": _xliff,
    ".xliff": _xliff,
    ".srt": _subtitles,
    ".vtt": _subtitles,
    ".txt": _lines,
}


def untranslated(name: str, content: bytes) -> tuple[bytes, str, str]:
    """A document without the translations that it has, and the languages that it says.

    Args:
        name: of the document; only its suffix counts.
        content: the document.

    Returns:
        Its content, and source and target language, English and German unless it says others.
    """
    suffix = PurePath(name).suffix.lower()
    source, target = "en", "de"
    if suffix in {".po", ".pot"}:
        try:
            catalogue = polib.pofile(content.decode("utf-8-sig"))
        except (ValueError, OSError):
            return content, source, target
        for entry in catalogue:
            entry.msgstr = ""
            entry.msgstr_plural = dict.fromkeys(entry.msgstr_plural, "")
            entry.flags = [one for one in entry.flags if one != "fuzzy"]
        content = str(catalogue).encode()
        target = catalogue.metadata.get("Language") or target
    elif suffix in {".xlf", ".xliff"}:
        text = content.decode("utf-8", "replace")
        said = _SAYS.findall(text)
        source, target = (*said[:2], *("en", "de")[len(said) :])[:2]
        content = _TARGET.sub("", text).encode()
    return content, source, target


BILINGUAL = frozenset([".po", ".pot", ".xlf", ".xliff", ".tmx"])
"""Formats whose translations stand beside their sources."""


def lost_parts(name: str, before: bytes, after: bytes) -> Iterator[str]:
    """What a translation lacks or has in addition, at most a few of each.

    Args:
        name: of the document; only its suffix counts.
        before: the document.
        after: its translation.
    """
    read = _PARTS.get(PurePath(name).suffix.lower())
    if read is None:
        return
    try:
        old = Counter(read(before.decode("utf-8-sig")))
    except (ValueError, OSError, ElementTree.ParseError):
        return  # another encoding, or what this parser cannot read
    new = Counter(read(after.decode("utf-8-sig")))
    for said, left in (("lost", old - new), ("added", new - old)):
        yield from (f"{said}: {part!r:.120}" for part in list(left)[:_SHOWN])
