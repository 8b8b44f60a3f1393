"""Invisible characters, and the contexts in which a script needs them.

They are the characters that Unicode calls Default_Ignorable_Code_Point (Unicode 16,
DerivedCoreProperties), without the fillers of Hangul, which are letters.  Joiners, variation
selectors and tags are needed in some scripts and in emoji (UAX #31, section 2.3; UTS #51).  A
zero-width space is needed if a script writes no other space between words.  All others only affect
layout: soft hyphens, direction marks (UAX #9), byte order marks, invisible operators of formulas.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable
from itertools import takewhile

import regex

_CLASS = (
    "\u00ad\u034f\u061c\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
UNSEEN = re.compile(f"[{_CLASS}]")
_BREAK = re.compile(r"<wbr\s*/?>|<w:softHyphen\s*/>|(?:x-)?(?:wbr|soft-?hyphen|shy)", re.IGNORECASE)
_RUN = re.compile(f"[{_CLASS}]+")
# Annotated text, such as ruby: only the text is kept.
_ANNOTATED = re.compile("\ufff9([^\ufff9-\ufffb]*)\ufffa[^\ufff9-\ufffb]*\ufffb")

_JOINER = "\u200d"
_FLAG, _TAG_END = "\U0001f3f4", "\U000e007f"


def _any_of(scripts: str) -> regex.Pattern[str]:
    """Letters and marks of some scripts."""
    names = "".join(rf"\p{{Script_Extensions={name}}}" for name in scripts.split())
    return regex.compile(rf"(?V1)[[{names}]&&[\p{{L}}\p{{M}}]]")


_JOINING = _any_of(
    "Arabic Syriac Mandaic Nko Mongolian Phags_Pa Manichaean Hanifi_Rohingya Sogdian Adlam"
)
_INDIC = _any_of(
    "Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Myanmar "
    "Khmer Balinese Javanese Sundanese Tai_Tham Cham Meetei_Mayek Grantha Kaithi Chakma Newa "
    "Tirhuta Sharada Lepcha Limbu Saurashtra Syloti_Nagri"
)
_WITHOUT_SPACES = _any_of("Khmer Lao Thai Myanmar Tai_Tham Tai_Le New_Tai_Lue Javanese Balinese")
_MONGOLIAN = _any_of("Mongolian Phags_Pa")
_HAN = _any_of("Han")
_VARYING = regex.compile(
    r"[\p{S}\p{Emoji}\p{Script=Han}\p{Script=Myanmar}\p{Script=Phags_Pa}\p{Script=Manichaean}]"
)
_PICTURE = regex.compile(r"\p{Extended_Pictographic}")
_PICTURE_END = regex.compile(r"[\p{Extended_Pictographic}\p{Emoji_Modifier}]")
_KEYCAP = "\u20e3"
_VIRAMA = 9  # canonical combining class


def is_unseen(shown: str) -> bool:
    """Whether a code stands for invisible text only, such as ``&shy;`` or ``<wbr/>``."""
    shown = html.unescape(shown)
    return bool(shown) and (_BREAK.fullmatch(shown) is not None or not UNSEEN.sub("", shown))


def without_unseen(text: str) -> str:
    """A text without invisible characters, except those that the script needs."""
    if not UNSEEN.search(text):
        return text
    if "\ufff9" in text:
        text = _ANNOTATED.sub(r"\1", text)
    parts: list[str] = []
    end = 0
    base = ""  # the last character that is seen
    for run in _RUN.finditer(text):
        parts.append(text[end : run.start()])
        base = parts[-1][-1:] or base
        end = run.end()
        parts.append(_needed(run[0], base, text[end : end + 1]))
    return "".join([*parts, text[end:]])


def _needed(run: str, base: str, following: str) -> str:
    """The invisible characters that the script needs in a run between two visible characters."""
    kept = ""
    if not base:
        return kept
    if base == _FLAG and (tags := _tags(run)):
        return tags
    for character in run:
        if _is_needed(character, base, kept, following):
            kept += character
    return kept


def _tags(run: str) -> str:
    """The tags of a flag, such as that of Scotland, up to the closing tag."""
    tags = "".join(takewhile(lambda one: "\U000e0020" <= one < _TAG_END, run))
    return tags + _TAG_END if tags and run[len(tags) :].startswith(_TAG_END) else ""


def _is_needed(character: str, base: str, kept: str, following: str) -> bool:
    """Whether a character is needed after a visible character and the characters kept after it."""
    if character == _JOINER and _PICTURE_END.match(base) and _PICTURE.match(following):
        return kept in ("", "\ufe0f")
    if kept:
        return False
    return any(kind.match(character) and needed(base, following) for kind, needed in _NEEDED)


def _varies(base: str, following: str) -> bool:
    is_key = not base.isascii() or following == _KEYCAP
    return is_key and _VARYING.match(base) is not None


def _needs_non_joiner(base: str, following: str) -> bool:
    # Words of other scripts also get endings, such as "PDF" in Persian.
    is_ending = _JOINING.match(following) and not base.isspace()
    return bool(is_ending or (_INDIC.match(base) and _INDIC.match(following)))


def _needs_joiner(base: str, following: str) -> bool:
    if _JOINING.match(base) or _JOINING.match(following):
        return True
    is_last = unicodedata.combining(base) == _VIRAMA
    return _INDIC.match(base) is not None and (is_last or _INDIC.match(following) is not None)


def _between(script: regex.Pattern[str]) -> Callable[[str, str], bool]:
    return lambda base, following: bool(script.match(base) and script.match(following))


def _behind(script: regex.Pattern[str]) -> Callable[[str, str], bool]:
    return lambda base, _: script.match(base) is not None


_NEEDED: tuple[tuple[re.Pattern[str], Callable[[str, str], bool]], ...] = (
    (re.compile("[\ufe00-\ufe0f]"), _varies),
    (re.compile("[\U000e0100-\U000e01ef]"), _behind(_HAN)),
    (re.compile("\u180e"), _between(_MONGOLIAN)),
    (re.compile("[\u180b-\u180d\u180f]"), _behind(_MONGOLIAN)),
    (re.compile("\u200b"), _between(_WITHOUT_SPACES)),
    (re.compile("\u200c"), _needs_non_joiner),
    (re.compile(_JOINER), _needs_joiner),
)
"""Characters, and whether they are needed between two visible characters."""


_MARKS = "\u061c\u200e\u200f"
_OPENING = dict.fromkeys("\u202a\u202b\u202d\u202e", "\u202c") | dict.fromkeys(
    "\u2066\u2067\u2068", "\u2069"
)
_PAIRED = re.compile("[\u202a-\u202e\u2066-\u2069]")
DIRECTION = re.compile(f"[{_MARKS}\u202a-\u202e\u2066-\u2069]")
"""Direction marks, embeddings and isolates."""
_LEAD = re.compile(rf"[\s{_MARKS}\u202a-\u202e\u2066-\u2069]*")
_MARKED = re.compile(rf"[\s{_MARKS}]*")


def bare(text: str) -> tuple[int, int]:
    """Start and end of a text without white space and direction marks at its ends.

    Marks of embeddings and isolates are cut off only if they are balanced and the rest has none,
    so that a translation between these ends has both or neither.
    """
    if not DIRECTION.search(text):
        start = len(text) - len(text.lstrip())
        return start, start + len(text.strip())
    start, stop = _within(text, _LEAD)
    paired = "".join(_PAIRED.findall(text[:start] + text[stop:]))
    if paired and (_PAIRED.search(text, start, stop) or not _is_balanced(paired)):
        start, stop = _within(text, _MARKED)
    return start, stop


def with_direction(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """A part of a text with the direction marks around it, if each of them has its partner.

    Programs put isolates around inserted text, as in ``\\u2068{name}\\u2069``.
    """
    start, stop = first, last = span
    while first and DIRECTION.match(text[first - 1]):
        first -= 1
    while last < len(text) and DIRECTION.match(text[last]):
        last += 1
    around = "".join(_PAIRED.findall(text[first:start] + text[stop:last]))
    if _is_balanced(around):
        return first, last
    if first < start and text[stop : stop + 1] == _OPENING.get(text[start - 1]):
        return start - 1, stop + 1
    return span


def _within(text: str, edge: re.Pattern[str]) -> tuple[int, int]:
    lead, tail = edge.match(text), edge.match(text[::-1])
    start, behind = (0 if found is None else found.end() for found in (lead, tail))
    return start, max(start, len(text) - behind)


def _is_balanced(paired: str) -> bool:
    opened: list[str] = []
    for mark in paired:
        if mark in _OPENING:
            opened.append(_OPENING[mark])
        elif not opened or opened.pop() != mark:
            return False
    return not opened
