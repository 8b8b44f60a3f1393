"""Documents: every format, translated by a service without a model; and texts with markup."""

from __future__ import annotations

import asyncio
import io
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from office_files import ReversingService, docx, odt, pptx, run

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
from soak.fuzzing.target import Hostile, Target, texts, tokens

_MARKS = "{name} %(count)d %s https://a.example/x?y=1 a.b@c.example :ref:`x`"
_XML_TOKENS = tokens("< > <!-- --> <![CDATA[ ]]> <?xml <!DOCTYPE &amp; &#x0; &#55296; &lt; /> </")

_REFUSALS = (DragomanError, RefusedError)


class _Kind(NamedTuple):
    """A format of documents, and what is known of it."""

    seeds: list[Hostile]
    bombs: Iterable[Hostile]
    words: str = ""


def _of_texts(name: str, before: str, after: str, *seeds: str, words: str = "") -> _Kind:
    """A format whose texts have something around them, in which bombs are put."""
    bombs = [*within(before, after), *within("", "")] if before or after else within("", "")
    return _Kind(texts(name, *seeds), as_files(name, bombs), words)


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


_PAGE = (
    "<!doctype html><html><head><title>Title</title><style>a{}</style></head><body class=x>"
    f"<p>Hello <b>you <i>all</i></b>, <a href='x'>{_MARKS}</a><br>more&nbsp;text</p>"
    "<!-- c --><ul><li>One<li>Two</ul><pre>code</pre><p translate=no>Keep</p></body></html>"
)
_MARKDOWN = (
    "---\ntitle: x\n---\n# Head *a*\n\nSome **bold** and `code`, [link](http://a.b 'T') ![i](j).\n"
    "Setext\n===\n\n* one\n  * two\n\n1. x\n\n> quote\n\n```py\ncode\n```\n\n| a | b |\n|---|:-:|\n| c "
    "| d\\|e |\n\n[ref]: http://x 'y'\n\n<div>\nhtml\n</div>\n\n- [ ] task ~~no~~ <b>x</b> &amp; \\*\n"
)
_SRT = "1\n00:00:01,000 --> 00:00:02,000\n<i>Hello</i> you\nsecond line\n\n2\n00:00:03,000 --> 00:00:04,500\n- Hi\n- Ho\n"
_VTT = "WEBVTT - t\n\nNOTE n\n\nSTYLE\n::cue {}\n\nid\n00:01.000 --> 00:02.000 align:start\n<v Bob>Hello <00:01.500>you</v>\n"
_PO = (
    'msgid ""\nmsgstr ""\n"Language: pl\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
    '"Plural-Forms: nplurals=3; plural=n==1 ? 0 : n%10>=2 && n%10<=4 ? 1 : 2;\\n"\n\n#, c-format\n'
    'msgid "%s has %d"\nmsgstr ""\n\nmsgctxt "m"\nmsgid "One\\n"\n"two\\n"\nmsgstr ""\n\n#, fuzzy\n'
    'msgid "a \\"w\\"\\t"\nmsgstr "x"\n\nmsgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] ""\n'
    'msgstr[1] ""\nmsgstr[2] ""\n\n#~ msgid "gone"\n#~ msgstr ""\n'
)
_XLIFF_1 = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:'
    'document:1.2"><file original="x" source-language="en" datatype="html"><body><trans-unit id="1">'
    '<source>Hello <g id="1">big %s</g> a<x id="2"/>, <x id="3" equiv-text="{{name}}"/>.</source>'
    '</trans-unit><group><trans-unit id="7"><source>A. B.</source><seg-source><mrk mtype="seg" '
    'mid="0">A.</mrk> <mrk mtype="seg" mid="1">B <bpt id="1">&lt;b></bpt>c<ept id="1">&lt;/b></ept>.'
    "</mrk></seg-source><target/></trans-unit></group></body></file></xliff>"
)
_XLIFF_2 = (
    '<xliff version="2.0" srcLang="en" xmlns="urn:oasis:names:tc:xliff:document:2.0"><file id="f">'
    '<unit id="1"><segment id="s1"><source>Hi <pc id="1">all</pc> <ph id="2" equiv="{x}"/> <sc '
    'id="3"/>a<ec startRef="3"/></source></segment><ignorable><source> </source></ignorable>'
    "<segment state='initial'><source>Yes</source><target></target></segment></unit></file></xliff>"
)
_TMX = (
    '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>A <bpt i="1"/>b'
    '<ept i="1"/></seg></tuv></tu></body></tmx>'
)
_JSON = (
    '{\n "a b": {"c": "Hi {{name}}, you \\"x\\" \\u00e9", "n": 3, "u": "https://x.y"},\n "list": ["One", '
    'true, 1.50],\n "p": "{n, plural, =0 {none} one {# dog} other {# {g, select, a {x} other {y}}}}",'
    '\n "f_one": "{{count}} file", "f_other": "{{count}} files"}\n'
)
_ARB = '{"@@locale": "en", "@@x": "a b", "t": "Hi {u}", "@t": {"description": "d e"}}'
_CHROME = '{"t": {"message": "Hi $USER$", "placeholders": {"user": {"content": "$1"}}}}'
_YAML = (
    '# top\nen:\n  hello: Hello world   # c\n  quoted: "Say \\"hi\\" to %{name}"\n  single: \'It\'\'s '
    'me\'\n  anchor: &a Shared text\n  alias: *a\n  items:\n    one: "%{count} item"\n    other: '
    '"%{count} items"\n  flow: {one: "%{count} day", other: "%{count} days"}\n  literal: |\n    First\n'
    "    second\n\n    third\n  folded: >-\n    Folded text\n    goes on\n  more: plain text\n    over "
    "lines\n  list:\n  - January\n  - !!str February\n"
)
_ANDROID = (
    '<?xml version="1.0" encoding="utf-8"?>\n<resources xmlns:xliff="urn:oasis:names:tc:xliff:'
    'document:1.2">\n<string name="b">Don\\\'t stop\\nnow, %1$s &amp; you</string><string name="d">Hi '
    '<xliff:g id="x">%1$s</xliff:g>, <b>bold</b>!</string><string name="g"><![CDATA[<a href="%s">'
    "Don\\'t</a> x]]></string><string name=\"c\">\"  quoted it's  \"</string><string-array name='m'>"
    '<item>One</item></string-array><plurals name="n"><item quantity="one">%d file</item><item '
    'quantity="other">%d files</item></plurals></resources>\n'
)
_STRINGS = '/* C "x" = "y"; */\n"hello" = "Hello %@, \\"you\\"";\n// l\nkey.two = "Two\\nlines %1$@ \\U00e9";\n"n";\n'
_PLIST = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" '
    '"http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n<plist version="1.0"><dict><key>files</key>'
    "<dict><key>NSStringLocalizedFormatKey</key><string>%#@files@ left</string><key>files</key><dict>"
    "<key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string><key>"
    "NSStringFormatValueTypeKey</key><string>d</string><key>one</key><string>%d file &amp; x</string>"
    "<key>other</key><string>%d files</string></dict></dict></dict></plist>\n"
)
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
_PPTX = pptx(run("Hello ", tag="a"), run("MIDDLE", "<a:b/>", tag="a"))

_KINDS: Mapping[str, _Kind] = {
    "txt": _of_texts("a.txt", "", "", f"Hello you.\n\nThe {_MARKS} end.\n"),
    "html": _of_texts("a.html", "<p>", "</p>", _PAGE, words="<p> </p> <b> <script> <!-- <a x=' &nbsp; <br/> <td>"),
    "markdown": _of_texts("a.md", "# a\n\n", "\n", _MARKDOWN, words="* ** _ ` ``` [ ]( ![ | > # - 1. ~~ <b> \\ [^a] ---\n"),
    "srt": _of_texts("a.srt", "1\n00:00:01,000 --> 00:00:02,000\n", "\n", _SRT, words="--> <i> {\\an8} 00:00:01,000"),
    "vtt": _of_texts("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n", "\n", _VTT, words="--> <v <c.a> NOTE STYLE REGION"),
    "po-file": _of_texts("a.po", f'{_PO}\nmsgid "', '"\nmsgstr ""\n', _PO, words='msgid msgstr msgstr[9] msgid_plural "" #, nplurals=999999; plural=(n==1)'),
    "xliff": _Kind(texts("a.xlf", _XLIFF_1, _XLIFF_2), as_files("a.xlf", xml_bombs(), within(
        '<xliff version="1.2"><file source-language="en"><body><trans-unit id="1"><source>', "</source></trans-unit></body></file></xliff>"),
        [_XLIFF_1.replace("Hello ", "<g id='1'>" * 190 + "a" + "</g>" * 190).encode(), _XLIFF_1.replace("Hello ", "<x id='1'/>a" * 10_000).encode()])),
    "tmx-file": _Kind(texts("a.tmx", _TMX), as_files("a.tmx", xml_bombs(), [_TMX.replace("A ", "<ph/>a" * 10_000).encode()])),
    "json-file": _Kind([*texts("a.json", _JSON), *texts("a.arb", _ARB), *texts("messages.json", _CHROME)],
        as_files("a.json", json_bombs(), long_lines(), (within('{"a": "', '"}'))), '{ } " : {{ {n,plural,other{ # $A$ @ \\u \\ud800'),
    "yaml-file": _Kind(texts("a.yml", _YAML), as_files("a.yml", yaml_bombs(), within("en:\n  a: ", "\n"), within('en:\n  a: "', '"\n')), "- : ? & * ! | > ' \" # % @ { } [ ] --- ... << !!str |+ >2"),
    "android": _Kind(texts("strings.xml", _ANDROID), as_files("strings.xml", xml_bombs(), within('<resources><string name="a">', "</string></resources>"), within('<resources><string name="a"><![CDATA[', "]]></string></resources>")), "\\' \\n \\u0020 <string> <item> %1$s <![CDATA[ @string/"),
    "apple-strings": _of_texts("a.strings", '"a" = "', '";\n', _STRINGS, words='" = ; /* */ // \\U00e9 %@ \\'),
    "stringsdict": _Kind(texts("a.stringsdict", _PLIST), as_files("a.stringsdict", xml_bombs()), "<key> <dict> <string> %#@x@"),
    "docx": _Kind([Hostile("a.docx", _DOCX)], _zipped("a.docx", _DOCX, "word/document.xml", "w:r")),
    "odt": _Kind([Hostile("a.odt", _ODT)], _zipped("a.odt", _ODT, "content.xml", "text:span")),
    "pptx": _Kind([Hostile("a.pptx", _PPTX)], _zipped("a.pptx", _PPTX, "slide1.xml", "a:r")),
}  # fmt: skip


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
        kind = _KINDS[name]
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


def _markup(name: str, seed: str) -> Callable[[Path], Target]:
    def made(folder: Path) -> Target:
        before, after = ("<p>", "</p>")
        return Target(
            f"text-of-{name}",
            _translate_markup(name),
            texts(name, seed, "plain text", "<p>a <b>b</b> &amp; <i/>c</p>"),
            refusals=_REFUSALS,
            tokens=_XML_TOKENS,
            bombs=as_files(name, xml_bombs(), within(before, after), within("", "")),
            coverage_guided=True,
        )

    return made


TARGETS: Mapping[str, Callable[[Path], Target]] = {
    **{name: _made(name) for name in _KINDS},
    "text-of-html": _markup("html", _PAGE),
    "text-of-xml": _markup("xml", _TMX),
}
"""Of this module."""
