"""Files of texts: every format of pairs, corpora, alignments, terms, dictionaries, trees."""

from __future__ import annotations

import gzip
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from dragoman.core.linear_trees import read_either
from dragoman.core.zstandard import zstd
from dragoman.text.corpora.corpus import evaluation_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import format_named, format_of
from dragoman.text.lines import read_lines
from dragoman.text.pharaoh import read_gold_alignments
from dragoman.text.terms.bilingual_dictionary import read_dictionary
from dragoman.text.terms.glossary import Glossary
from dragoman.text.word_vectors import each_vector, read_vectors
from soak.fuzzing.bombs import as_files, json_bombs, long_lines, nested, packed, within, xml_bombs
from soak.fuzzing.target import Hostile, Target, from_file, seed, texts, tokens

_XML_TOKENS = tokens(
    '< > <!-- --> <![CDATA[ ]]> <?xml <!DOCTYPE &amp; &#x0; &#55296; /> </ encoding="utf-16"'
)


def _exhaust(items: Iterable[object]) -> None:
    deque(items, maxlen=0)


def _format(suffix: str, sides: tuple[str, str], path: Path) -> None:
    """Read a file of a format as it is read when all options are used."""
    form = format_of(Path(f"x{suffix}"))
    form.offered_sides(path)
    form.languages(path)
    pairs = list(form.read([path], sides))
    if form.aligns(sides):
        _exhaust(map(form.links, pairs))


def _test_set(name: str, path: Path) -> None:
    """Read a file of a format of test sets, as both sides if each has a file."""
    form = format_named(name)
    form.languages(path)
    _exhaust(form.read([path] if form.one_file else [path, path], ("", "")))


def _target(
    name: str,
    read: Callable[[Path], object],
    seeds: Sequence[Hostile],
    bombs: Sequence[Hostile],
    words: Sequence[bytes] = (),
) -> Callable[[Path], Target]:
    def made(folder: Path) -> Target:
        return Target(
            name, from_file(read, folder), seeds, tokens=words, bombs=bombs, coverage_guided=True
        )

    return made


def _corpus(path: Path) -> None:
    """A plain file as both sides of a dev set with filters and a context."""
    part = CorpusPart.model_validate(
        {
            "source": str(path),
            "target": str(path),
            "context": {"sentences": 2},
            "transforms": [{"kind": "filter", "max_words": 50}],
        }
    )
    _exhaust(evaluation_pairs(part))


def _trees(path: Path) -> None:
    """All views of each tree, and the trees that brackets make."""
    _format(".trees", ("words", "brackets"), path)
    for pair in format_of(Path("x.trees")).read([path], ("trees", "tagged")):
        if pair.target:
            read_either(pair.target)
            read_either(pair.source)


def _glossary(path: Path) -> None:
    glossary = Glossary.read(path, ("en", "de"))
    glossary.missing("The house of Home Assistant is a house.", "Das Haus.")


def _vectors(path: Path) -> None:
    read_vectors(path)
    _exhaust(each_vector(path))


def _dictd(path: Path) -> None:
    """An index whose articles are beside it."""
    articles = b"00-database-short\n  a\nhouse /haUs/ <n>\nHaus <n>, Heim\n"
    (path.parent / "x.dict").write_bytes(articles)
    read_dictionary(path)


def _in(name: str, part: bytes, bomb: bytes) -> bytes:
    """A seed with something much larger in place of a part."""
    content = seed(name).content
    assert part in content
    return content.replace(part, bomb, 1)


_LINES = "Hello you.\nA second line, 語 and é\n\nThe last\n"

TARGETS: Mapping[str, Callable[[Path], Target]] = {
    "lines": _target(
        "lines",
        lambda path: _exhaust(read_lines(path)),
        [
            *texts("a.txt", _LINES),
            Hostile("a.gz", gzip.compress(_LINES.encode(), mtime=0)),
            Hostile("a.zst", zstd.compress(_LINES.encode())),
        ],
        [*as_files("a.txt", long_lines()), *as_files("a.gz", packed())],
    ),
    "corpus": _target("corpus", _corpus, texts("a.txt", _LINES), as_files("a.txt", long_lines())),
    "tsv": _target(
        "tsv",
        partial(_format, ".tsv", ("a", "b")),
        texts("a.tsv", "a\tb\tc\n1\t2\t3\n\t\t\n"),
        as_files("a.tsv", long_lines(), [b"a\tb" + b"\tc" * 100_000 + b"\n1\t2\n"]),
        tokens(["\t", "\n", '"']),
    ),
    "jsonl": _target(
        "jsonl",
        partial(_format, ".jsonl", ("a", "t.b")),
        texts("a.jsonl", '{"a": "x", "t": {"b": "y"}}\n{"a": null, "t": {"b": "\\u00e9"}}\n'),
        as_files("a.jsonl", json_bombs(), long_lines(), (b'{"t":' * 900 + b"1" + b"}" * 900,)),
        tokens('{ } [ ] " : , \\ud800 "a" "t" "b" null'),
    ),
    "tmx": _target(
        "tmx",
        partial(_format, ".tmx", ("en", "de")),
        [seed("memory.tmx")],
        as_files(
            "a.tmx",
            xml_bombs(),
            [
                _in("memory.tmx", b"<hi>b</hi>", nested("<hi>", "b", "</hi>", 50_000)),
                _in("memory.tmx", b"<seg>B</seg>", b"<seg>B</seg>" * 50_000),
            ],
        ),
        (*_XML_TOKENS, *tokens("<tu> </tu> <tuv> <seg> </seg> <hi> </hi> <body> </body>")),
    ),
    "csv": _target(
        "csv",
        partial(_format, ".csv", ("en", "de")),
        [seed("texts.csv")],
        as_files("a.csv", long_lines(), [b"en,de" + b",c" * 100_000 + b"\n1,2\n"]),
        tokens(['"', '""', ",", ";", "\n", "\r"]),
    ),
    "qt": _target(
        "qt",
        partial(_format, ".ts", ("en", "de")),
        [seed("texts.ts")],
        as_files("a.ts", xml_bombs()),
        (*_XML_TOKENS, *tokens("<message> <source> <translation> <numerusform>")),
    ),
    "xcstrings": _target(
        "xcstrings",
        partial(_format, ".xcstrings", ("en", "de")),
        [seed("texts.xcstrings")],
        as_files("a.xcstrings", json_bombs(), long_lines()),
        tokens('{ } [ ] " : , "stringUnit" "variations" "localizations" "value" "en" "de" null'),
    ),
    "sgm": _target(
        "sgm",
        partial(_test_set, "sgm"),
        [seed("set.sgm")],
        as_files(
            "a.sgm",
            long_lines(),
            within('<srcset srclang="en">\n<seg id="1">', "</seg>\n</srcset>\n"),
            [
                b"<seg " * 100_000,
                b"<srcset " * 100_000,
                b"</seg>" * 100_000,
                b"<seg>" + b"&amp;" * 200_000 + b"</seg>",
                b"<seg>\n" * 100_000 + b"</seg>",
            ],
        ),
        (*_XML_TOKENS, *tokens("<seg <seg> </seg> <srcset <refset srclang= trglang= & &#x;")),
    ),
    "wmt-xml": _target(
        "wmt-xml",
        partial(_test_set, "wmt-xml"),
        [seed("set.xml")],
        as_files(
            "a.xml",
            xml_bombs(),
            [
                _in("set.xml", b"One hundred", nested("<b>", "b", "</b>", 50_000)),
                _in("set.xml", b'<seg id="1">Hundert', b'<seg id="1">x</seg>' * 50_000 + b"<seg>"),
                _in("set.xml", b"<hyp", b'<ref lang="de"><p/></ref>' * 20_000 + b"<hyp"),
            ],
        ),
        (*_XML_TOKENS, *tokens("<doc> </doc> <src> <ref> <hyp> <p> <seg> </seg> testsuite= id=")),
    ),
    "po": _target(
        "po",
        partial(_format, ".po", ("", "")),
        [seed("translated.po"), seed("forms.po")],
        as_files("a.po", long_lines(), within('msgid ""\nmsgstr ""\n\nmsgid "', '"\nmsgstr "b"\n')),
        tokens('msgid msgstr msgctxt msgid_plural msgstr[1] msgstr[ #~ #, #| #: "" " \\ \\n \\"'),
    ),
    "xliff-pairs": _target(
        "xliff-pairs",
        partial(_format, ".xlf", ("", "")),
        [seed("translated.xlf")],
        as_files(
            "a.xlf",
            xml_bombs(),
            [
                _in("translated.xlf", b'<g id="1">b</g>', nested("<g>", "b", "</g>", 50_000)),
                _in("translated.xlf", b"<target>B</target>", b"<target>B</target>" * 50_000),
            ],
        ),
        (
            *_XML_TOKENS,
            *tokens("<trans-unit> </trans-unit> <source> <target> </target> <mrk> <x/>"),
        ),
    ),
    "trees": _target(
        "trees",
        _trees,
        [seed("sentences.trees")],
        as_files(
            "a.trees",
            [nested("(S ", "(a b)", ")"), b"(" * 100_000, b"(S (a b)" * 20_000],
            within("(S (a ", "))\n"),
        ),
        tokens("( ) (S (NP -NONE- -LRB- ( ( (a)"),
    ),
    "alignments": _target(
        "alignments",
        lambda path: _exhaust(read_gold_alignments(path)),
        texts("a.align", "0-0 1-2 2p1\n\n3?3\n"),
        as_files("a.align", long_lines(), [b"0-0 " * 200_000, b"0-" + b"9" * 100_000]),
        tokens(["-", "p", "?", " ", "999999999-999999999"]),
    ),
    "glossary": _target(
        "glossary",
        _glossary,
        texts(
            "a.tsv",
            "source\ttarget\nhouse\tHaus|Hauses\nHome Assistant\t\tdo-not-translate\n"
            "IT\tEDV\tcase-sensitive\n",
        ),
        as_files(
            "a.tsv",
            long_lines(),
            within("house\t", "\n"),
            within("", "\tb\n"),
            [b"a\t" + b"b|" * 50_000 + b"c\n", b"".join(b"a%d\tb\n" % n for n in range(20_000))],
        ),
        tokens(["\t", "|", ",", "case-sensitive", "do-not-translate", "\n"]),
    ),
    "tbx": _target(
        "tbx",
        _glossary,
        [seed("terms.tbx")],
        as_files(
            "a.tbx",
            xml_bombs(),
            [
                _in("terms.tbx", b"<term>house", nested("<a>", "", "</a>", 20_000) + b"<term>x"),
                _in("terms.tbx", b"<term>house", b"<termNote/>" * 20_000 + b"<term>x"),
            ],
        ),
        (*_XML_TOKENS, *tokens("<termEntry> <langSet> <tig> <term> <termNote>")),
    ),
    "dictionary": _target(
        "dictionary",
        read_dictionary,
        texts("a.txt", "house\tHaus\nhouse\tHeim\ncat Katze\n"),
        as_files("a.txt", long_lines()),
        tokens(["\t", " ", "\n"]),
    ),
    "dictd": _target(
        "dictd",
        _dictd,
        texts("x.index", "00-database-short\tA\tW\nhouse\tW\tg\n"),
        as_files(
            "x.index",
            long_lines(),
            [b"a\t" + b"/" * 100_000 + b"\tA\n", b"a\tA\t////////\n", b"a\tA\tA\n" * 100_000],
        ),
        tokens(["\t", "A", "/", "///////", "\n"]),
    ),
    "vectors": _target(
        "vectors",
        _vectors,
        texts("a.vec", "2 3\na 1 2 3\nb -1 0.5 1e-3\n"),
        as_files(
            "a.vec",
            long_lines(),
            [
                b"999999999999 3\na 1 2 3\n",
                b"1 999999999999\na 1\n",
                b"9999999 9999999\na 1\n",
                b"1 1\na " + b"9" * 100_000 + b"\n",
            ],
        ),
        tokens(["999999999", "nan", "inf", "1e999", " ", "\n", "-0"]),
    ),
}
"""Of this module."""
