"""A small document of each format."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_SLIDE = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
)
_CELLS = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_OPEN = "urn:oasis:names:tc:opendocument:xmlns"
_TYPES = "application/vnd.openxmlformats-officedocument"

_TEXTS: Mapping[str, str] = {
    "a.txt": "Three hundred euros.\n\nOn Monday, May first. Two hours later.\n",
    "a.html": (
        '<!doctype html><html lang="en"><head><title>One hundred</title></head><body><h1>Seven '
        '<em>hundred</em> euros</h1><p title="two days">On <a href="x">Monday</a>, <b>May '
        "first</b>.<br>Two hours.</p><code>one</code><script>one hundred</script></body></html>\n"
    ),
    "a.md": (
        "# One hundred euros\n\nOn **Monday**, *May* first: `code`, [two days](http://x.y).\n\n"
        "- three hours\n- four hours\n\n| one | two |\n|---|---|\n| three | four |\n\n"
        "```\none hundred\n```\n"
    ),
    "a.mdx": 'import X from "x"\n\n# One hundred\n\n<X title="one">Three *hundred* euros</X>\n',
    "a.adoc": "== One hundred euros\n\n* On *Monday*, _May_ first: `code`\n\nA:: two days\n",
    "a.srt": "1\n00:00:01,000 --> 00:00:02,000\nOne hundred\n<i>euros</i>\n\n2\n00:00:03,000 --> "
    "00:00:04,000\n- Two hours.\n- Three hours.\n",
    "a.vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>One hundred euros\n\nNOTE one\n",
    "a.ass": (
        "[Events]\nDialogue: 0,0:00:01.00,0:00:02.00,D,,0,0,0,,One {\\i1}hundred{\\i0}\\Neuros\n"
    ),
    "a.po": (
        'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: de\\n"\n'
        '"Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n\n#: a.c:1\nmsgid "Three hundred euros"\n'
        'msgstr ""\n\n#, c-format\nmsgid "%d hour"\nmsgid_plural "%d hours"\nmsgstr[0] ""\n'
        'msgstr[1] ""\n\nmsgid "done"\nmsgstr "fertig"\n'
    ),
    "a.xlf": (
        f'{_XML}<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file '
        'original="a" source-language="en" target-language="de" datatype="plaintext"><body>'
        '<trans-unit id="1"><source>One <g id="1">hundred</g> euros</source></trans-unit>'
        "</body></file></xliff>\n"
    ),
    "b.xliff": (
        f'{_XML}<xliff version="2.0" srcLang="en" trgLang="de" '
        'xmlns="urn:oasis:names:tc:xliff:document:2.0"><file id="f"><unit id="1"><segment>'
        '<source>One <pc id="1">hundred</pc> euros</source></segment></unit></file></xliff>\n'
    ),
    "a.tmx": (
        f'{_XML}<tmx version="1.4"><header creationtool="x" creationtoolversion="1" '
        'segtype="sentence" o-tmf="x" adminlang="en" srclang="en" datatype="plaintext"/><body>'
        '<tu><tuv xml:lang="en"><seg>One hundred euros</seg></tuv></tu></body></tmx>\n'
    ),
    "a.json": '{"a": "One hundred euros", "b": {"c": ["Two hours", 3]}, "d": "{n} days"}\n',
    "a.arb": '{"@@locale": "en", "hours": "{n, plural, one {one hour} other {{n} hours}}"}\n',
    "a.yml": 'en:\n  a: One hundred euros\n  b: "Two %{what} hours"  # one\n',
    "a.xml": (
        f'{_XML}<resources><string name="a">One <b>hundred</b> euros</string><plurals name="b">'
        '<item quantity="one">%d hour</item><item quantity="other">%d hours</item></plurals>'
        '<string-array name="c"><item>Monday</item></string-array></resources>\n'
    ),
    "a.strings": '/* one */\n"a" = "One hundred euros";\n"b" = "Two %@ hours";\n',
    "a.xcstrings": '{"sourceLanguage": "en", "strings": {"One hundred euros": {}}}\n',
    "a.resx": '<root><data name="a"><value>One hundred {0} euros</value></data></root>\n',
    "a.ftl": "a = One hundred { $n } euros\n",
    "a.ts": "<TS><message><source>One hundred %1 euros</source></message></TS>\n",
    "a.properties": "# one\na = One hundred euros\nb : Two {0} hours, it''s \\\n    three\n",
    "a.stringsdict": (
        f'{_XML}<plist version="1.0"><dict><key>h</key><dict><key>NSStringLocalizedFormatKey</key>'
        "<string>%#@n@</string><key>n</key><dict><key>NSStringFormatSpecTypeKey</key><string>"
        "NSStringPluralRuleType</string><key>NSStringFormatValueTypeKey</key><string>d</string>"
        "<key>one</key><string>%d hour</string><key>other</key><string>%d hours</string></dict>"
        "</dict></dict></plist>\n"
    ),
    "broken.json": '{"a": "One hundred',
    "broken.docx": "PK none",
    "unknown.xyz": "One hundred euros\n",
}


def contents() -> dict[str, str | bytes]:
    """The content of each file by its name.  The last three texts are files to be refused."""
    return {
        **_TEXTS,
        "a.docx": _docx(),
        **_open(),
        "a.pptx": _pptx(),
        "a.xlsx": _xlsx(),
        "a.epub": _epub(),
    }


def unzipped(content: bytes) -> str:
    """All parts of a zip file, one after another."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        return "".join(f"== {name}\n{archive.read(name).decode()}\n" for name in names)


def _zipped(parts: Mapping[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name, (2001, 2, 3, 4, 5, 6)), content)
    return buffer.getvalue()


def _open_xml(kinds: Mapping[str, str], parts: Mapping[str, str]) -> bytes:
    """A package of Office Open XML: of parts, their kinds and contents, by name."""
    overrides = "".join(
        f'<Override PartName="/{name}" ContentType="{_TYPES}.{kind}+xml"/>'
        for name, kind in kinds.items()
    )
    types = (
        f'{_XML}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        f'<Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>'
    )
    return _zipped({"[Content_Types].xml": types, **parts})


def _docx() -> bytes:
    run = "<w:r>{}<w:t xml:space='preserve'>{}</w:t></w:r>".format
    bold = run("<w:rPr><w:b/></w:rPr>", "hundred")
    body = f"<w:p>{run('', 'Three ')}{bold}{run('', ' euros.')}</w:p><w:p>{run('', 'Monday')}</w:p>"
    content = f"<w:document {_WORD}><w:body>{body}</w:body></w:document>"
    name = "word/document.xml"
    return _open_xml({name: "wordprocessingml.document.main"}, {name: f"{_XML}{content}"})


def _pptx() -> bytes:
    run = "<a:r>{}<a:t>{}</a:t></a:r>".format
    bold = run('<a:rPr b="1"/>', "hundred")
    text = (
        f"<p:txBody><a:bodyPr/><a:p>{run('', 'Three ')}{bold}{run('', ' euros')}</a:p></p:txBody>"
    )
    tree = f"<p:cSld><p:spTree><p:sp>{text}</p:sp></p:spTree></p:cSld>"
    content = f"<p:sld {_SLIDE}>{tree}</p:sld>"
    main, name = "ppt/presentation.xml", "ppt/slides/slide1.xml"
    kinds = {main: "presentationml.presentation.main", name: "presentationml.slide"}
    return _open_xml(kinds, {main: "<p/>", name: f"{_XML}{content}"})


def _xlsx() -> bytes:
    bold = "<r><rPr><b/></rPr><t>hundred</t></r>"
    strings = (
        f"<si><t>Three hours</t></si><si><r><t xml:space='preserve'>One </t></r>{bold}</si>"
        "<si><t>one day</t></si>"
    )
    sheet = '<row><c t="s"><v>0</v></c><c t="str"><f>IF(A1="One day",1,2)</f><v>2</v></c></row>'
    main, shared, name = "xl/workbook.xml", "xl/sharedStrings.xml", "xl/worksheets/sheet1.xml"
    kinds = {main: "sheet.main", shared: "sharedStrings", name: "worksheet"}
    parts = {
        main: f'{_XML}<workbook {_CELLS}><calcPr calcId="1"/></workbook>',
        shared: f"{_XML}<sst {_CELLS}>{strings}</sst>",
        name: f"{_XML}<worksheet {_CELLS}>{sheet}</worksheet>",
    }
    return _open_xml({part: f"spreadsheetml.{kind}" for part, kind in kinds.items()}, parts)


def _open() -> dict[str, bytes]:
    """Documents of OpenDocument."""
    paragraph = "<text:p>Three <text:span>hundred</text:span> euros.</text:p>"
    cells = (
        f'<table:table-cell office:value-type="string">{paragraph}</table:table-cell>'
        '<table:table-cell table:formula="of:=1" office:value-type="string"><text:p>one</text:p>'
        "</table:table-cell>"
    )
    return {
        "a.odt": _odf("text", paragraph),
        "a.odp": _odf("presentation", f"<draw:page>{paragraph}</draw:page>"),
        "a.ods": _odf("spreadsheet", f"<table:table-row>{cells}</table:table-row>"),
    }


def _epub() -> bytes:
    page = (
        f'{_XML}<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><title/></head><body>'
        "<h1>One hundred</h1><p>Three <i>hundred</i> euros.<br/>Two&#160;hours.</p></body></html>"
    )
    return _zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfile full-path="a.opf" '
            'media-type="application/oebps-package+xml"/></container>',
            "a.opf": '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>'
            "Two days</dc:title><dc:language>en</dc:language></metadata><manifest>"
            '<item href="a.xhtml" media-type="application/xhtml+xml"/></manifest></package>',
            "a.xhtml": page,
        }
    )


def _odf(kind: str, body: str) -> bytes:
    names = ("office", "text", "table")
    spaces = " ".join(f'xmlns:{name}="{_OPEN}:{name}:1.0"' for name in names)
    content = (
        f'{_XML}<office:document-content {spaces} xmlns:draw="{_OPEN}:drawing:1.0"><office:body>'
        f"<office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    manifest = f'{_XML}<manifest:manifest xmlns:manifest="{_OPEN}:manifest:1.0"/>'
    mime = f"application/vnd.oasis.opendocument.{kind}"
    return _zipped({"mimetype": mime, "content.xml": content, "META-INF/manifest.xml": manifest})
