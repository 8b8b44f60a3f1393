"""Documents of office programs, made by hand, and what is in them."""

from __future__ import annotations

import asyncio
import io
import re
import zipfile
from collections.abc import Callable, Mapping

from echo_service import EchoService

from dragoman.documents.file_translation import translate_file
from dragoman.translation.service.interface import TextRequest, TranslationService
from dragoman.translation.service.translated_text import (
    Link,
    Rendering,
    TranslatedSentence,
    TranslatedText,
)

W = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:v="urn:schemas-microsoft-com:vml"'
)
P = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)
X = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_ODF = "urn:oasis:names:tc:opendocument:xmlns"
O = (  # noqa: E741
    f'xmlns:office="{_ODF}:office:1.0" xmlns:text="{_ODF}:text:1.0" xmlns:style="{_ODF}:style:1.0" '
    f'xmlns:draw="{_ODF}:drawing:1.0" xmlns:svg="{_ODF}:svg-compatible:1.0" '
    f'xmlns:table="{_ODF}:table:1.0" xmlns:presentation="{_ODF}:presentation:1.0" '
    f'xmlns:fo="{_ODF}:xsl-fo-compatible:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:loext="urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0"'
)
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n'
_TYPES = "application/vnd.openxmlformats-officedocument"
_SLIDES = "presentationml"
_SHEETS = "spreadsheetml"
ODT_TYPE = "application/vnd.oasis.opendocument.text"


def zipped(parts: Mapping[str, str | bytes], *, stored: tuple[str, ...] = ()) -> bytes:
    """A zip file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts.items():
            info = zipfile.ZipInfo(name, (2001, 2, 3, 4, 5, 6))
            info.compress_type = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            info.external_attr = 0o600 << 16
            info.extra = b"\xfe\xca\0\0"  # as Java's
            archive.writestr(info, content)
    return buffer.getvalue()


def part(content: bytes, name: str) -> str:
    """A part of a zip file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.read(name).decode()


def open_xml(types: Mapping[str, str], parts: Mapping[str, str | bytes]) -> bytes:
    """A package of Office Open XML.

    Args:
        types: of parts, without what all begin and end with.
        parts: all of them.
    """
    overrides = "".join(
        f'<Override PartName="/{name}" ContentType="{_TYPES}.{kind}+xml"/>'
        for name, kind in types.items()
    )
    listed = (
        f'{HEAD}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        f'<Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>'
    )
    return zipped({"[Content_Types].xml": listed, **parts})


def docx(body: str, **others: str) -> bytes:
    """A document of Word; others are parts such as ``footnotes``, whose content is given."""
    types = {"word/document.xml": "wordprocessingml.document.main"}
    types |= {f"word/{name}.xml": f"wordprocessingml.{name}" for name in others}
    parts: dict[str, str | bytes] = {
        "word/document.xml": f"{HEAD}<w:document {W}><w:body>{body}</w:body></w:document>",
        "word/media/image1.png": b"\x89PNG" + bytes(50),
    }
    parts |= {
        f"word/{name}.xml": f"<w:{name} {W}>{text}</w:{name}>" for name, text in others.items()
    }
    return open_xml(types, parts)


def odt(body: str, styles: str = "", *, kind: str = "text", **others: str | bytes) -> bytes:
    """A document of OpenDocument.

    Args:
        body: of its text.
        styles: automatic ones.
        kind: ``text``, ``presentation`` or ``spreadsheet``.
        others: more parts, by name.
    """
    content = (
        f"{HEAD}<office:document-content {O}><office:automatic-styles>{styles}"
        f"</office:automatic-styles><office:body><office:{kind}>{body}</office:{kind}></office:body>"
        "</office:document-content>"
    )
    manifest = f'<manifest:manifest xmlns:manifest="{_ODF}:manifest:1.0"/>'
    parts = {
        "mimetype": ODT_TYPE.replace("text", kind),
        "content.xml": content,
        "META-INF/manifest.xml": manifest,
        **others,
    }
    return zipped(parts, stored=("mimetype",))


def pptx(*content: str, **others: str) -> bytes:
    """A presentation of one slide with one paragraph; others are more parts, by their type."""
    slide = f"<p:sld {P}><a:p>{''.join(content)}</a:p></p:sld>"
    types = {
        "ppt/presentation.xml": f"{_SLIDES}.presentation.main",
        "slide1.xml": f"{_SLIDES}.slide",
    }
    types |= {f"{name}.xml": f"{_SLIDES}.{name}" for name in others}
    parts: dict[str, str | bytes] = {"ppt/presentation.xml": "<p/>", "slide1.xml": slide}
    parts |= {f"{name}.xml": f"<p:x {P}>{text}</p:x>" for name, text in others.items()}
    return open_xml(types, parts)


def xlsx(*strings: str, sheet: str = "", **others: str) -> bytes:
    """A workbook.

    Args:
        strings: the content of its shared strings, in XML.
        sheet: content of its sheet.
        others: more parts of SpreadsheetML, by their type.
    """
    types = {
        "xl/workbook.xml": f"{_SHEETS}.sheet.main",
        "xl/sharedStrings.xml": f"{_SHEETS}.sharedStrings",
        "xl/sheet1.xml": f"{_SHEETS}.worksheet",
    }
    types |= {f"xl/{name}.xml": f"{_SHEETS}.{name}" for name in others}
    shared = "".join(f"<si>{one}</si>" for one in strings)
    parts: dict[str, str | bytes] = {
        "xl/workbook.xml": f'{HEAD}<workbook {X}><calcPr calcId="1"/></workbook>',
        "xl/sharedStrings.xml": f"{HEAD}<sst {X}>{shared}</sst>",
        "xl/sheet1.xml": f"{HEAD}<worksheet {X}>{sheet}</worksheet>",
    }
    parts |= {f"xl/{name}.xml": f"<x {X}>{text}</x>" for name, text in others.items()}
    return open_xml(types, parts)


def epub(body: str, *, title: str = "A book", **others: str | bytes) -> bytes:
    """A book of one page.

    Args:
        body: of its page.
        title: of the book.
        others: more parts, by name.
    """
    page = (
        f'{HEAD}<!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml" lang="en" '
        f'xml:lang="en"><head><title/><script src="a.js"/></head><body>{body}</body></html>'
    )
    contents = (
        '<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://a/b.dtd"><ncx xml:lang="en">'
        f"<docTitle><text>{title}</text></docTitle><docAuthor><text>Ann Other</text></docAuthor>"
        "<navMap><navPoint><navLabel><text>One</text></navLabel></navPoint></navMap></ncx>"
    )
    listed = (
        '<package xml:lang="en"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title><dc:creator>Ann Other</dc:creator><dc:language>en"
        '</dc:language></metadata><manifest><item href="my%20page.xhtml" '
        'media-type="application/xhtml+xml"/><item href="../toc.ncx" '
        'media-type="application/x-dtbncx+xml"/><item href="lost.xhtml" '
        'media-type="application/xhtml+xml"/></manifest></package>'
    )
    container = (
        '<container><rootfiles><rootfile full-path="OPS/a.opf" '
        'media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    parts: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": container,
        "OPS/a.opf": listed,
        "toc.ncx": contents,
        "OPS/my page.xhtml": page,
        "OPS/a.png": b"\x89PNG",
        **others,
    }
    return zipped(parts, stored=("mimetype",))


def xlsm(*strings: str) -> bytes:
    """A workbook with macros, given the content of its shared strings."""
    with zipfile.ZipFile(io.BytesIO(xlsx(*strings))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    types = parts["[Content_Types].xml"].replace(
        f"{_TYPES}.{_SHEETS}.sheet.main".encode(),
        b"application/vnd.ms-excel.sheet.macroEnabled.main",
    )
    return zipped({**parts, "[Content_Types].xml": types, "xl/vbaProject.bin": b"\xd0macro"})


def translated(
    name: str, content: bytes, service: TranslationService | None = None, source: str = "en"
) -> bytes:
    """A file, translated by the echo service unless another one is given."""
    request = TextRequest("", "de", source)
    found = asyncio.run(translate_file(service or EchoService(), name, content, request))
    return found.content


def run(words: str, properties: str = "", *, tag: str = "w") -> str:
    """A run of words, in XML."""
    look = f"<{tag}:rPr>{properties}</{tag}:rPr>" if properties else ""
    space = ' xml:space="preserve"' if tag == "w" and words != words.strip() else ""
    return f"<{tag}:r>{look}<{tag}:t{space}>{words}</{tag}:t></{tag}:r>"


def body_of(content: bytes, name: str = "word/document.xml") -> str:
    """What is in the body of a document."""
    text = part(content, name)
    for tag in ("w:body", "body", "office:text", "office:presentation", "office:spreadsheet"):
        if f"<{tag}>" in text:
            return text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
    return text


class ReversingService(EchoService):
    """Answers "one two." with ".TWO ONE", and knows which words belong together.

    Args:
        reverses: whether words are reversed; otherwise they are the same as they were.
        keeps: tells of texts whose words stay as they were in any case.
    """

    def __init__(
        self, *, reverses: bool = True, keeps: Callable[[str], bool] = lambda text: False
    ) -> None:
        super().__init__()
        self._reverses, self._keeps = reverses, keeps

    def _translated(self, request: TextRequest) -> TranslatedText:
        words = [(found[0], found.start()) for found in re.finditer(r"\S+", request.text)]
        links, parts, place = [], [], 0
        reverses = self._reverses and not self._keeps(request.text)
        if reverses:
            for word, start in reversed(words):
                links.append(Link(start, start + len(word), place, place + len(word)))
                parts.append("".join(reversed(word)))
                place += len(word) + 1
        text = " ".join(parts) if reverses else request.text
        rendering = Rendering(text, links=tuple(links) if request.links else ())
        sentence = TranslatedSentence(request.text, 0, (rendering,), 0)
        return TranslatedText(text, "en", "de", None, (sentence,))


class CapitalService(ReversingService):
    """Answers "one two." with "ONE TWO.", and knows which words belong together."""

    def _translated(self, request: TextRequest) -> TranslatedText:
        words = [found.span() for found in re.finditer(r"\S+", request.text)]
        links = tuple(Link(*word, *word) for word in words) if request.links else ()
        text = "".join(_capital(letter) for letter in request.text)
        sentence = TranslatedSentence(request.text, 0, (Rendering(text, links=links),), 0)
        return TranslatedText(text, "en", "de", None, (sentence,))


def _capital(letter: str) -> str:
    return letter.upper() if len(letter.upper()) == 1 else letter
