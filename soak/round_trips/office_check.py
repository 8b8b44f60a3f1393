"""An office document compared with its translation by other means than those that wrote it.

Words are told by capital letters, or by their letters in reverse, as the pseudo-translators of the
tests write them.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

Element = ElementTree.Element

_WORD = re.compile(r"[^\W_]+")
_PROGRAMS = re.compile(r"[<>{}%\[\]@/\\]|\w\.\w")
"""What marks words that may be copied, so that their letters do not tell what became of them."""
_OF_WORDS = frozenset(["r", "rPr", "t", "span", "s"])
_LEFT_OUT_NAMES = (
    "lang lastRenderedPageBreak noBreakHyphen noProof proofErr soft-page-break softHyphen"
)
_LEFT_OUT = frozenset(_LEFT_OUT_NAMES.split())
_NOTED_NAMES = "altLang dirty err hint lang noProof smtClean smtId"
_NOTED = frozenset(_NOTED_NAMES.split())
_UNREAD = frozenset(["del", "moveFrom", "note-citation", "ruby-text", "rt", "instrText"])
_ON = ("1", "true", "on")


class _Piece(NamedTuple):
    text: str
    look: str


def differences(before: bytes, after: bytes, *, is_reversed: bool) -> Iterator[str]:
    """What is not as it should be in the translation of a document.

    Args:
        before: the document.
        after: its translation.
        is_reversed: whether letters and words are in reverse, and not in capitals.
    """
    with (
        zipfile.ZipFile(io.BytesIO(before)) as old,
        zipfile.ZipFile(io.BytesIO(after)) as new,
    ):
        if old.namelist() != new.namelist():
            yield "other parts"
            return
        for name in old.namelist():
            ours, theirs = old.read(name), new.read(name)
            if ours != theirs:
                for found in _of_part(ours, theirs, is_reversed):
                    yield f"{name}: {found}"


def _of_part(before: bytes, after: bytes, is_reversed: bool) -> Iterator[str]:
    try:
        old, new = ElementTree.fromstring(before), ElementTree.fromstring(after)
    except ElementTree.ParseError as error:
        yield f"not well-formed: {error}"
        return
    ours, theirs = _others(old), _others(new)
    if ours != theirs:
        yield f"lost {dict(ours - theirs)}, new {dict(theirs - ours)}"
    plain = _plain_styles(old)
    paragraphs = [list(_texts(root, plain)) for root in (old, new)]
    if len(paragraphs[0]) != len(paragraphs[1]):
        yield f"{len(paragraphs[0])} paragraphs became {len(paragraphs[1])}"
        return
    for one, other in zip(*paragraphs, strict=True):
        yield from _of_paragraph(one, other, is_reversed)


def _of_paragraph(before: list[_Piece], after: list[_Piece], is_reversed: bool) -> Iterator[str]:
    ours, theirs = (_folded("".join(one.text for one in all_)) for all_ in (before, after))
    if is_reversed and _PROGRAMS.search(ours):
        return
    if is_reversed:
        same = Counter("".join(ours.split())) == Counter("".join(theirs.split()))
    else:
        same = " ".join(ours.split()) == " ".join(theirs.split())
    if not same:
        yield f"text {ours[:80]!r} became {theirs[:80]!r}"
        return
    lost, new = _looks(before), _looks(after)
    if is_reversed:
        lost = Counter({(word[::-1], look): count for (word, look), count in lost.items()})
    divided = {word for word, look in lost if not look}
    changed = {word for word, look in lost - new if look} - divided
    changed &= {word for word, _ in new - lost}
    if changed:
        yield f"formats of {sorted(changed)[:3]} in {ours[:80]!r}"


def _looks(pieces: list[_Piece]) -> Counter[tuple[str, str]]:
    """How often each word has each format; an empty one for words in several."""
    text = "".join(one.text for one in pieces)
    looks = [f"look {one.look}" for one in pieces for _ in one.text]
    found: Counter[tuple[str, str]] = Counter()
    for word in _WORD.finditer(text):
        own = set(looks[word.start() : word.end()])
        found[_folded(word[0]), own.pop() if len(own) == 1 else ""] += 1
    return found


def _folded(text: str) -> str:
    text = text.replace("\u00ad", "")
    return "".join(one.upper() if len(one.upper()) == 1 else one for one in text)


def _local(name: object) -> str:
    return name.rpartition("}")[2] if isinstance(name, str) else ""


def _is_paragraph(element: Element) -> bool:
    return _local(element.tag) in ("p", "h") and bool(
        re.search(r"wordprocessingml|drawingml.*main|xmlns:text:", str(element.tag))
    )


def _paragraphs(root: Element) -> Iterator[Element]:
    return (one for one in root.iter() if _is_paragraph(one))


def _texts(root: Element, plain: set[str]) -> Iterator[list[_Piece]]:
    """The text of each paragraph, an initial with the paragraph that it begins."""
    initial: list[_Piece] = []
    for paragraph in _paragraphs(root):
        pieces = initial + list(_pieces(paragraph, "", plain))
        frames = (one for one in paragraph.iter() if _local(one.tag) == "framePr")
        if any("dropCap" in map(_local, one.attrib) for one in frames):
            initial = [_Piece(one.text, "") for one in pieces]
        else:
            initial = []
            yield pieces
    if initial:
        yield initial


def _pieces(element: Element, look: str, plain: set[str]) -> Iterator[_Piece]:
    """The text of a paragraph, without that of paragraphs within it."""
    is_odf = ":text:" in str(element.tag)
    if is_odf and element.text:
        yield _Piece(element.text, look)
    for child in element:
        name = _local(child.tag)
        if name == "r":
            formats = [one for one in child if _local(one.tag) == "rPr"]
            yield from _pieces(child, "".join(map(_look, formats)), plain)
        elif name == "t" and ":text:" not in str(child.tag):
            yield _Piece("".join(child.itertext()), look)
        elif name in ("tab", "br", "cr", "line-break", "s"):
            yield _Piece(" ", look)
        elif name == "noBreakHyphen":
            yield _Piece("-", look)
        elif name == "span":
            style = next((v for k, v in child.attrib.items() if _local(k) == "style-name"), "")
            yield from _pieces(child, look if style in plain else f"{look}/{style}", plain)
        elif not _is_paragraph(child) and name not in _UNREAD | {"rPr", "pPr"}:
            yield from _pieces(child, look, plain)
        if is_odf and child.tail:
            yield _Piece(child.tail, look)


def _look(element: Element) -> str:
    """A format as text, the same for those that look the same."""
    name = _local(element.tag)
    if name in _LEFT_OUT:
        return ""
    seen = {_local(key): value for key, value in element.attrib.items()}
    if name == "rPrChange":
        seen = {}
    if seen.get("val") in _ON:
        del seen["val"]
    noted = {key for key in seen if key in _NOTED or key.startswith("rsid")}
    shown = sorted((key, value) for key, value in seen.items() if key not in noted)
    inner = "".join(sorted(map(_look, element)))
    return "" if name == "rPr" and not shown and not inner else f"<{name} {shown}>{inner}</>"


def _plain_styles(root: Element) -> set[str]:
    """Styles of LibreOffice that only say when words were written, or in which language."""
    found = set()
    for style in root.iter():
        if _local(style.tag) == "style" and len(style) == 1:
            names = {_local(key) for key in style[0].attrib}
            seen = {
                name
                for name in names
                if not re.fullmatch(r".*(rsid|language|country|script).*", name)
            }
            own = {_local(key): value for key, value in style.attrib.items()}
            if not seen and own.get("family") == "text" and "parent-style-name" not in own:
                found.add(own.get("name", ""))
    return found


def _others(root: Element) -> Counter[str]:
    """The elements that are no words, and no formats of words, with the names of attributes."""
    found: Counter[str] = Counter()
    waiting = [(root, False)]
    while waiting:
        element, in_properties = waiting.pop()
        name = _local(element.tag)
        if name == "rPr" and not in_properties:
            continue
        if name not in _OF_WORDS and name not in _LEFT_OUT:
            keys = sorted(key for key in map(_local, element.attrib) if not key.startswith("rsid"))
            found[f"{name} {' '.join(keys)}".strip()] += 1
        waiting += [(child, in_properties or name == "pPr") for child in element]
    return found
