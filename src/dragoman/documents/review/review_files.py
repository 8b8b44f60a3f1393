"""Translations of documents as XLIFF 1.2, for review in tools of translators, and the way back.

A unit is a text of the document with its translation.  Markup within is an inline element: ``g``
around words, ``x`` in the place of all other.  The document itself is in the file, too, so that the
reviewed translation needs nothing else.
"""

from __future__ import annotations

import base64
import html
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import Self

from pydantic import Base64Bytes, BaseModel, ConfigDict

from dragoman.core.errors import DataError
from dragoman.core.version import __version__
from dragoman.core.wording import shown
from dragoman.documents.document_format import EMPTY, FileLanguages
from dragoman.documents.file_translation import (
    Draft,
    Flaw,
    TranslatedFile,
    Untranslated,
    read_again,
)
from dragoman.documents.filetypes import document_format
from dragoman.documents.marks.mark_placement import unchanged
from dragoman.documents.marks.markup_tokens import xml_tokens
from dragoman.documents.review.coded_text import CodedText, check_codes, parts_of, written_text
from dragoman.documents.written_check import CHANGED, checked
from dragoman.documents.xml import XmlElement, read_xml_file
from dragoman.text.formats.xliff import BY_MACHINE, UNREVIEWED

_SURE = 0.5
"""Confidence below which a translation is marked for review."""
_FORM = "x-dragoman-document"
"""The type of the part of a file that has the document."""
_MOST_BYTES = 2**30
"""Of a document in a file, with its translations, unpacked."""


def review_file(name: str, content: bytes, file: TranslatedFile, languages: FileLanguages) -> bytes:
    """A translated document for review.

    Args:
        name: of the document, with its suffix.
        content: the document.
        file: its translation.
        languages: with which it was translated.
    """
    form = document_format(name)
    document = form.read(content, languages)
    units, targets = [], []
    for number, (text, draft) in enumerate(zip(document.texts, file.drafts, strict=True), 1):
        coded = CodedText(text)
        target = "" if draft.answer is None else coded.target(draft.answer)
        target = "" if draft.reason else target
        targets.append(target)
        notes = list(_notes(draft, file.flaws))
        units.append(_unit(number, coded.source, target, notes, is_sure=_is_sure(draft, notes)))
    kept = _KeptDocument(
        name=PurePosixPath(name.replace("\\", "/")).name,
        source=languages.source,
        target=languages.target,
        content=base64.b64encode(content),
        written=[draft.written for draft in file.drafts],
        left=[at for at, draft in enumerate(file.drafts) if draft.reason],
        targets=targets,
    )
    source = languages.source or document.source_language or file.source
    return _FILE.format(
        name=html.escape(kept.name),
        source=html.escape((source or "und").replace("_", "-")),
        target=html.escape(languages.target.replace("_", "-")),
        kind=html.escape(f"x-{form.suffixes[0].removeprefix('.')}"),
        form=_FORM,
        packed=kept.packed(),
        version=html.escape(__version__),
        units="".join(units),
    ).encode()


_FILE = """\
<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
  <file original="{name}" source-language="{source}" target-language="{target}" \
datatype="{kind}" tool-id="dragoman">
    <header>
      <skl><internal-file form="{form}">{packed}</internal-file></skl>
      <tool tool-id="dragoman" tool-name="Dragoman" tool-version="{version}"/>
    </header>
    <body>
{units}    </body>
  </file>
</xliff>
"""


def _unit(number: int, source: str, target: str, notes: Sequence[str], *, is_sure: bool) -> str:
    state = "translated" if is_sure else UNREVIEWED
    lines = [f"<source>{source}</source>"]
    if target:
        lines.append(f'<target state="{state}" state-qualifier="{BY_MACHINE}">{target}</target>')
    lines += [f'<note from="Dragoman">{written_text(note)}</note>' for note in notes]
    inner = "".join(f"        {line}\n" for line in lines)
    return f'      <trans-unit id="{number}" xml:space="preserve">\n{inner}      </trans-unit>\n'


def _confidence(draft: Draft) -> float | None:
    """Of the least certain sentence; None: the model has none."""
    sentences = draft.answer.sentences if draft.answer else ()
    known = [one.renderings[0].confidence for one in sentences]
    return min((one for one in known if one is not None), default=None)


def _is_sure(draft: Draft, notes: Sequence[str]) -> bool:
    return not notes and (_confidence(draft) or 1.0) >= _SURE


def _notes(draft: Draft, flaws: Sequence[Flaw]) -> Iterator[str]:
    """What a reviewer should know of a translation."""
    if draft.reason:
        yield f"not translated: {draft.reason}"
        return
    confidence = _confidence(draft)
    if confidence is not None and confidence < _SURE:
        yield f"confidence {confidence:.2f}"
    sentences = {one.source for one in draft.answer.sentences} if draft.answer else set()
    for flaw in flaws:
        if flaw.text in sentences:
            if flaw.missing:
                yield f"lacks {', '.join(map(shown, flaw.missing))}"
            if flaw.invented:
                yield f"invents {', '.join(map(shown, flaw.invented))}"
            if flaw.faults:
                yield f"looks degenerate: {', '.join(flaw.faults)}"


@dataclass(frozen=True)
class ReviewedDocument:
    """A document with its translations as a reviewer has left them."""

    name: str
    """Of the document in the source language."""
    content: bytes
    texts: int
    changed: int
    """Texts that the reviewer has changed, added or removed."""
    untranslated: tuple[Untranslated, ...]


def document_name(content: bytes) -> str | None:
    """The name of the document in a file of :func:`review_file`; None: there is none.

    Raises:
        DataError: the file is damaged.
    """
    if _FORM.encode() not in content:
        return None
    return _KeptDocument.of(read_xml_file(content)[2]).name


def reviewed_document(content: bytes) -> ReviewedDocument:
    """The document of a reviewed file of :func:`review_file`.

    What nobody has changed is as in a direct translation, byte for byte.

    Raises:
        DataError: the file is damaged, or a target lacks codes of its source.
    """
    root = read_xml_file(content)[2]
    kept = _KeptDocument.of(root)
    form, languages = document_format(kept.name), FileLanguages(kept.source, kept.target)
    document = form.read(kept.content, languages)
    if not len(document.texts) == len(kept.written) == len(kept.targets):
        raise DataError("the document in the file was read otherwise; translate it again")
    if not document.texts:
        return ReviewedDocument(kept.name, kept.content, 0, 0, ())
    left, translations, changed = set(kept.left), list(kept.written), 0
    for at, element in enumerate(_targets(root, len(document.texts))):
        parts = [] if element is None else list(parts_of(element.tokens))
        before = list(parts_of(list(xml_tokens(kept.targets[at]))))
        if parts == before:
            continue
        changed += 1
        left.discard(at)
        coded = CodedText(document.texts[at])
        source = list(parts_of(list(xml_tokens(coded.source))))
        if not any(isinstance(part, str) and part.strip() for part in parts):
            left.add(at)
            continue
        check_codes(at + 1, coded, parts, (source, before))
        translations[at] = (
            unchanged(document.texts[at], document.escape)
            if parts == source
            else coded.decoded(parts, document.escape)
        )
    written = checked(document, translations, partial(read_again, form, languages), left)
    reasons = [Untranslated(*one) for one in document.refused] + [
        Untranslated(document.texts[at].text, EMPTY if at in left else CHANGED)
        for at in written.left
    ]
    return ReviewedDocument(kept.name, written.content, len(translations), changed, tuple(reasons))


class _KeptDocument(BaseModel):
    """The document in a file, with its translations before the review."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str
    source: str | None
    target: str
    content: Base64Bytes
    written: list[str]
    """The translations of its texts, with marks."""
    left: list[int]
    """Indices of texts that stay as they are."""
    targets: list[str]
    """As they were written in the units; empty: none."""

    def packed(self) -> str:
        """As it is written in a file."""
        return base64.b64encode(zlib.compress(self.model_dump_json().encode())).decode()

    @classmethod
    def of(cls, root: XmlElement) -> Self:
        """The document of a file.

        Raises:
            DataError: it has none, or a damaged one.
        """
        found = [
            one
            for one in root.walk()
            if one.local_name == "internal-file" and one.attributes.get("form") == _FORM
        ]
        if len(found) != 1:
            raise DataError(
                "the file has no document of 'dragoman translate --to-format xliff', or several; "
                "give one that it wrote, as your tool saved it"
            )
        packed = "".join("".join(token.raw for token in found[0].tokens).split())
        try:
            inflated = zlib.decompressobj()
            raw = inflated.decompress(base64.b64decode(packed, validate=True), _MOST_BYTES)
            return cls.model_validate_json(raw)
        except (ValueError, zlib.error) as error:
            raise DataError(
                "the document in the file (<internal-file>) is damaged; translate it again"
            ) from error


def _targets(root: XmlElement, number: int) -> list[XmlElement | None]:
    """The targets of all units, by their numbers."""
    units = [one for one in root.walk() if one.local_name == "trans-unit"]
    by_number = {one.attributes.get("id"): one for one in units}
    wanted = [str(at) for at in range(1, number + 1)]
    missing = [one for one in wanted if one not in by_number]
    if missing or len(units) != number:
        what = f"unit {missing[0]} is missing" if missing else f"{len(units)} units, not {number}"
        raise DataError(f"the file does not have the units of its document: {what}; restore it")
    return [by_number[one].first("target") for one in wanted]
