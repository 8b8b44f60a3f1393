"""Documents: every format, translated by a service without a model; and texts with markup."""

from __future__ import annotations

import asyncio
import io
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from office_files import ReversingService, docx, epub, odt, pptx, run, xlsx

from dragoman.core.errors import DragomanError
from dragoman.documents.content import translate_contents
from dragoman.documents.file_translation import translate_file
from dragoman.translation.service.interface import RefusedError, TextRequest
from soak.fuzzing.bombs import (
    as_files,
    json_bombs,
    long_lines,
    nested,
    within,
    xml_bombs,
    yaml_bombs,
)
from soak.fuzzing.target import Hostile, Target, seed, texts, tokens

_MARKS = "{name} %(count)d %s https://a.example/x?y=1 a.b@c.example :ref:`x`"
_XML_TOKENS = tokens("< > <!-- --> <![CDATA[ ]]> <?xml <!DOCTYPE &amp; &#x0; &#55296; &lt; /> </")

_REFUSALS = (DragomanError, RefusedError)


class _Kind(NamedTuple):
    """A format of documents, and what is known of it."""

    seeds: list[Hostile]
    bombs: Iterable[Hostile]
    words: str = ""


def _zipped(name: str, content: bytes, part: str, tag: str) -> list[Hostile]:
    """Bombs in a part of a zip file, and zip files that are bombs."""
    found = []
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        good = {info.filename: archive.read(info) for info in archive.infolist()}
    deep = nested(f"<{tag}>", "a", f"</{tag}>", 20_000)
    wide = f"<{tag}/>".encode() * 20_000
    for text in (deep, wide):
        found.append({**good, part: good[part].replace(b"MIDDLE", text)})
    for text in within("", "", 30_000):
        escaped = text.replace(b"&", b"&amp;").replace(b"<", b"&lt;")
        found.append({**good, part: good[part].replace(b"MIDDLE", escaped)})
    found += [{**good, part: bomb} for bomb in xml_bombs()]
    found.append({**good, part: b"a" * (200 * 2**20)})
    found.append({**good, **{f"{number}.xml": b"" for number in range(12_000)}})
    return [Hostile(name, _zip(parts)) for parts in found]


def _zip(parts: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


_DOCX = docx(
    f"<w:p><w:pPr/>{run('Hello ')}{run('you', '<w:b/>')}<w:hyperlink r:id='x'>{run(_MARKS)}"
    "</w:hyperlink></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>MIDDLE</w:t></w:r><w:r><w:tab/><w:br/>"
    "</w:r></w:p></w:tc></w:tr></w:tbl>",
    footnotes=f"<w:footnote><w:p>{run('Note')}</w:p></w:footnote>",
)
_ODT = odt(
    "<text:h>Head</text:h><text:p>Hello <text:span text:style-name='B'>you</text:span><text:s "
    f"text:c='3'/>{_MARKS}<text:line-break/></text:p><text:list><text:list-item><text:p>MIDDLE"
    "</text:p></text:list-item></text:list>",
    "<style:style style:name='B'><style:text-properties fo:font-weight='bold'/></style:style>",
)
_ODP = odt(
    "<presentation:footer-decl>Foot</presentation:footer-decl><draw:page><draw:frame><svg:title>a"
    "</svg:title><draw:text-box><text:p>MIDDLE</text:p></draw:text-box></draw:frame></draw:page>",
    kind="presentation",
)
_ODS = odt(
    '<table:table-cell office:value-type="string" office:string-value="one"><text:p>one</text:p>'
    "</table:table-cell><table:table-cell table:formula='of:=IF([.A1]=&quot;one&quot;;1;2)' "
    "office:value-type='float'><office:annotation><text:p>Note</text:p></office:annotation>"
    "<text:p>one</text:p></table:table-cell><table:table-cell><text:p>MIDDLE</text:p>"
    "</table:table-cell>",
    kind="spreadsheet",
)
_EPUB = epub(
    f"<h1>One</h1><p>Hello <b>you</b>&#160;and&nbsp;<i id='x'/>{_MARKS}<br/></p><p>MIDDLE</p>"
)
_PPTX = pptx(run("Hello ", tag="a"), run("MIDDLE", "<a:b/>", tag="a"))
_XLSX = xlsx(
    "<t>MIDDLE</t>",
    f"<r><t>Hello </t></r><r><rPr><b/></rPr><t>you</t></r><r><t>\n{_MARKS}</t></r>",
    "<t>Price</t><rPh sb='0' eb='1'><t>x</t></rPh>",
    sheet='<c t="inlineStr"><is><t>one\ntwo</t></is></c><c t="str"><f>IF(A1="one",T[Sum],2)</f></c>'
    '<dataValidation type="list"><formula1>"Yes,No"</formula1></dataValidation>',
    table='<tableColumn name="Price"/><tableColumn name="Sum"/>',
    comments="<text><t>Note</t></text>",
)

_XLIFF = (
    '<xliff version="1.2"><file source-language="en"><body><trans-unit id="1"><source>',
    "</source></trans-unit></body></file></xliff>",
)
_TMX = (
    '<tmx><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>',
    "</seg></tuv></tu></body></tmx>",
)
_ANDROID = '<resources><string name="a">', "</string></resources>"
_RESX = '<root><data name="a"><value>', "</value></data></root>"
_QT = "<TS><message><source>", "</source></message></TS>"
_CDATA = '<resources><string name="a"><![CDATA[', "]]></string></resources>"
_CUE = "00:00:01,000 --> 00:00:02,000\n"
_PO = 'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "'


def _zip_kind(name: str, content: bytes, part: str, tag: str) -> _Kind:
    return _Kind([Hostile(name, content)], _zipped(name, content, part, tag))


def _kind(*names: str, words: str = "", bombs: Iterable[Iterable[bytes]] = ()) -> _Kind:
    """A format with files among the seeds; bombs have the name of the first one."""
    return _Kind([seed(name) for name in names], as_files(names[0], *bombs), words)


_KINDS: Mapping[str, Callable[[], _Kind]] = {
    "txt": lambda: _Kind(
        texts("a.txt", f"Hello you.\n\nThe {_MARKS} end.\n"), as_files("a.txt", within("", ""))
    ),
    "html": lambda: _kind(
        "page.html",
        words="<p> </p> <b> <script> <!-- <a x=' &nbsp; <br/> <td>",
        bombs=(within("<p>", "</p>"), within("", "")),
    ),
    "markdown": lambda: _kind(
        "page.md",
        words="* ** _ ` ``` [ ]( ![ | > # - 1. ~~ <b> \\ [^a] ---\n",
        bombs=(within("# a\n\n", "\n"), within("", "")),
    ),
    "rst": lambda: _kind(
        "page.rst",
        words="* ** `` ` `_ `__ <a> | |_ [1]_ a_ :a: .. :: - 1. (a) ==== ---- >>> \\ \t + \n\n",
        bombs=(within("a\n=\n\n", "\n"), within("- ", "")),
    ),
    "asciidoc": lambda: _kind(
        "page.adoc",
        words="== . * ** - :: ;; [a] ---- ==== |=== + // {a} << >> link:a[b] `a` *b* _c_ \\ :a:\n",
        bombs=(within("= a\n\n", "\n"), within("", "")),
    ),
    "srt": lambda: _kind(
        "film.srt",
        words="--> <i> {\\an8} 00:00:01,000",
        bombs=(within(f"1\n{_CUE}", "\n"), within("", "")),
    ),
    "vtt": lambda: _kind(
        "film.vtt",
        words="--> <v <c.a> NOTE STYLE REGION",
        bombs=(within(f"WEBVTT\n\n{_CUE}", "\n"), within("WEBVTT", "")),
    ),
    "ass": lambda: _kind(
        "film.ass",
        words="[Events] Format: Dialogue: , {\\i1} {\\i0} {\\p1} \\N \\h { }",
        bombs=(within("[Events]\nDialogue: 0,0,0,D,,0,0,0,,", "\n"), within("[Events]", "")),
    ),
    "po-file": lambda: _kind(
        "catalogue.po",
        words='msgid msgstr msgstr[9] msgid_plural "" #, nplurals=999999; plural=(n==1)',
        bombs=(within(_PO, '"\nmsgstr ""\n'), within("", "")),
    ),
    "xliff": lambda: _kind(
        "version-1.xlf",
        "version-2.xlf",
        words="<g> <x/> <bpt> <ept> <mrk> <pc> <sc/> <ec/>",
        bombs=(
            xml_bombs(),
            within(*_XLIFF),
            [nested("<g id='1'>", "a", "</g>", 190).join(map(str.encode, _XLIFF))],
            [(b"<x id='1'/>a" * 10_000).join(map(str.encode, _XLIFF))],
        ),
    ),
    "tmx-file": lambda: _kind(
        "memory.tmx",
        words="<tu> <tuv> <seg> <ph/> <hi> <bpt>",
        bombs=(xml_bombs(), [(b"<ph/>a" * 10_000).join(map(str.encode, _TMX))]),
    ),
    "json-file": lambda: _kind(
        "texts.json",
        "texts.arb",
        "messages.json",
        words='{ } " : {{ {n,plural,other{ # $A$ @ \\u \\ud800',
        bombs=(json_bombs(), long_lines(), within('{"a": "', '"}')),
    ),
    "yaml-file": lambda: _kind(
        "texts.yml",
        words="- : ? & * ! | > ' \" # % @ { } [ ] --- ... << !!str |+ >2",
        bombs=(yaml_bombs(), within("en:\n  a: ", "\n"), within('en:\n  a: "', '"\n')),
    ),
    "android": lambda: _kind(
        "strings.xml",
        words="\\' \\n \\u0020 <string> <item> %1$s <![CDATA[ @string/",
        bombs=(xml_bombs(), within(*_ANDROID), within(*_CDATA)),
    ),
    "apple-strings": lambda: _kind(
        "texts.strings",
        words='" = ; /* */ // \\U00e9 %@ \\',
        bombs=(within('"a" = "', '";\n'), within("", "")),
    ),
    "stringsdict": lambda: _kind(
        "texts.stringsdict", words="<key> <dict> <string> %#@x@", bombs=(xml_bombs(),)
    ),
    "xcstrings-file": lambda: _kind(
        "texts.xcstrings",
        words='{ } " : "stringUnit" "variations" "plural" "value" "state" "new" %lld %#@n@',
        bombs=(json_bombs(), within('{"sourceLanguage": "en", "strings": {"', '": {}}}')),
    ),
    "resx": lambda: _kind(
        "texts.resx",
        words="<data> <value> </value> <comment> {0} &lt;b&gt; <![CDATA[ name='a'",
        bombs=(xml_bombs(), within(*_RESX)),
    ),
    "qt-file": lambda: _kind(
        "texts.ts",
        words="<message> <source> <translation/> <numerusform> numerus='yes' %n %1 &amp;F",
        bombs=(xml_bombs(), within(*_QT)),
    ),
    "csv-file": lambda: _kind(
        "texts.csv",
        words='" "" , ; en de {n} %s',
        bombs=(within("en;de\n", ";\n"), [b"en;de\n" + b"a;\n" * 20_000]),
    ),
    "properties": lambda: _kind(
        "texts.properties",
        words="= : # ! \\u00e9 \\ \\\n {0} '' '{'",
        bombs=(within("a = ", "\n"), within("", "")),
    ),
    "fluent": lambda: _kind(
        "texts.ftl",
        words="= { } -> * [one] [other] $n -brand . # \n NUMBER( ) \" 'x'",
        bombs=(within("a = ", "\n"), [b"a = " + b"{" * 20_000, b"a = b\n" * 5_000]),
    ),
    "docx": lambda: _zip_kind("a.docx", _DOCX, "word/document.xml", "w:r"),
    "odt": lambda: _zip_kind("a.odt", _ODT, "content.xml", "text:span"),
    "odp": lambda: _zip_kind("a.odp", _ODP, "content.xml", "text:span"),
    "ods": lambda: _zip_kind("a.ods", _ODS, "content.xml", "table:table-cell"),
    "epub": lambda: _zip_kind("a.epub", _EPUB, "OPS/my page.xhtml", "b"),
    "pptx": lambda: _zip_kind("a.pptx", _PPTX, "slide1.xml", "a:r"),
    "xlsx": lambda: _zip_kind("a.xlsx", _XLSX, "xl/sharedStrings.xml", "r"),
}
"""Made when they are attacked: bombs are large."""


def _translate(hostile: Hostile) -> None:
    """Translate a file with links between words, which moves what is marked."""
    request = TextRequest("", "de", "en")
    service = ReversingService()
    done = asyncio.run(
        translate_file(
            service, hostile.name, hostile.content, request, untranslatable=lambda *_: None
        )
    )
    assert isinstance(done.content, bytes)


def _translate_markup(kind: str) -> Callable[[Hostile], None]:
    """Translate a text of a request with its markup."""

    def call(hostile: Hostile) -> None:
        text = hostile.content.decode("utf-8", "replace")
        request = TextRequest(text, "de", "en")
        asyncio.run(translate_contents(ReversingService(), [request], kind))  # type: ignore[arg-type]

    return call


def _made(name: str) -> Callable[[Path], Target]:
    def made(folder: Path) -> Target:
        kind = _KINDS[name]()
        words = (*tokens(kind.words), *tokens(_MARKS), *_XML_TOKENS)
        return Target(
            name,
            _translate,
            kind.seeds,
            refusals=_REFUSALS,
            tokens=words,
            bombs=list(kind.bombs),
            coverage_guided=True,
        )

    return made


def _markup(name: str, example: str) -> Callable[[Path], Target]:
    def made(folder: Path) -> Target:
        return Target(
            f"text-of-{name}",
            _translate_markup(name),
            [seed(example), *texts(name, "plain text", "<p>a <b>b</b> &amp; <i/>c</p>")],
            refusals=_REFUSALS,
            tokens=_XML_TOKENS,
            bombs=as_files(name, xml_bombs(), within("<p>", "</p>"), within("", "")),
            coverage_guided=True,
        )

    return made


TARGETS: Mapping[str, Callable[[Path], Target]] = {
    **{name: _made(name) for name in _KINDS},
    "text-of-html": _markup("html", "page.html"),
    "text-of-xml": _markup("xml", "memory.tmx"),
}
"""Of this module."""
