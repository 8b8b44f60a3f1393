"""Small inputs that ask for much time or memory, if they are read carelessly.

A reader that is quadratic in 60,000 characters takes far longer than its bound.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator

from soak.fuzzing.target import Hostile

LENGTH = 60_000
"""Characters of a bomb that looks for time that grows faster than its input."""
_DEPTH = 100_000

_WRITTEN = r"""
< > & &a <a <! <!-- <![CDATA[ <? </ &# { {{ } {a} {a,plural, % %( %(a %1$ ${
( (( ) [ [[ ] ![ [a]( ]( [^ [a]: ](< * ** _ __a_ ` `` ~~~ # - 1. | |- \ \\ \u " \" ' '' \'
: :: :a :a:` @ @a/ a@a. a. a@ http:// http://a www. / // /* */ ; = a A 1 ß İ 语 0-0 , (S -LRB-
WEBVTT msgid !! ... (a
"""
SIGNS: tuple[str, ...] = (
    *_WRITTEN.split(),
    *("\n", "\r", "\t", " ", "  \n", "\n\n", " \t", "\u00a0", "\u0301", "\u202e", "\ufeff", "\0"),
    *(
        "\u2028",
        "a ",
        "a\u0301",
        "\U0001f468\u200d",
        "<a b='",
        "<a b=",
        "{a, plural, other {",
        "*a ",
    ),
    *("` `", "```\n", "# ", "- ", "> ", "| a ", "|\n|-|\n", "---\n", "&a *a ", "? ", "!a ", "- - "),
    *("a: ", "<<: ", "&a [", 'msgid "a"\n', "1\t", ", ", "00:00:01,000 --> ", "(a b)", "(S "),
    "1\n00:00:01,000 --> 00:00:02,000\n",
)
"""What is repeated; readers treat each of them specially somewhere."""


def repeated(length: int = LENGTH) -> Iterator[str]:
    """Each sign many times, alone and where the end differs from all before."""
    for sign in SIGNS:
        whole = sign * (length // len(sign))
        yield whole
        yield f"a{whole}!a"


def within(before: str, after: str, length: int = LENGTH) -> Iterator[bytes]:
    """Each sign many times, inside what the format wants around a text."""
    for text in repeated(length):
        yield f"{before}{text}{after}".encode()


def nested(opening: str, middle: str, closing: str, depth: int = _DEPTH) -> bytes:
    """Something in itself in itself, closed and well-formed."""
    return f"{opening * depth}{middle}{closing * depth}".encode()


def json_bombs() -> Iterator[bytes]:
    """Deep and wide JSON, and numbers without end."""
    yield nested("[", "", "]")
    yield b"[" * LENGTH
    yield nested('{"a":', "1", "}")
    yield b'{"a":' * (LENGTH // 5)
    yield b"9" * LENGTH
    yield b'{"a": ' + b"9" * LENGTH + b"}"
    yield b'{"a": 1e' + b"9" * LENGTH + b"}"
    yield b'"' + b"\\u0000" * (LENGTH // 6) + b'"'
    yield b"{" + b",".join(b'"%d":1' % number for number in range(LENGTH // 10)) + b"}"
    yield b"[" + b"null," * (LENGTH // 5) + b"null]"


def xml_bombs() -> Iterator[bytes]:
    """Entities that multiply or name files, deep nesting, wide tags."""
    levels = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9))
    yield f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a0 "ha">{levels}]><x>&a9;</x>'.encode()
    yield (b'<!DOCTYPE x [<!ENTITY a "' + b"h" * 50_000 + b'">]><x>' + b"&a;" * 20_000 + b"</x>")
    yield b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>'
    yield b'<!DOCTYPE x SYSTEM "http://localhost:1/x.dtd"><x/>'
    yield nested("<a>", "b", "</a>")
    yield b"<a>" * LENGTH
    yield b"<a>" + b"<b/>" * (LENGTH // 4) + b"</a>"
    names = b" ".join(b'a%d=""' % number for number in range(LENGTH // 10))
    yield b"<a " + names + b"/>"
    yield b"<" + b"a" * LENGTH + b"/>"
    yield b'<a xmlns:b="c">' + b"<b:d>" * 1000 + b"</b:d>" * 1000 + b"</a>"


def yaml_bombs() -> Iterator[bytes]:
    """Aliases that multiply, deep nesting, keys without end."""
    levels = "\n".join(f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]" for n in range(9))
    yield f"a0: &a0 [ha, ha]\n{levels}\n".encode()
    yield b"a: &a [*a]\n"
    yield b"a: &a {b: *a}\n<<: *a\n"
    yield b"[" * LENGTH
    yield nested("[", "", "]", 40)
    yield nested("{a: ", "1", "}", 20_000)
    yield b"- " * 20_000
    yield b"".join(b" " * number + b"a:\n" for number in range(400))
    yield b"\n".join(b"a%d: 1" % number for number in range(LENGTH // 10))
    yield b"a: " + b"1:" * 20_000 + b"1\n"
    yield b"a: " + b"9" * LENGTH + b"\n"
    yield b"a: |\n" + b" b\n" * (LENGTH // 3)
    yield b'a: "' + b"\\x41" * (LENGTH // 4) + b'"\n'
    yield b"%YAML 1.1\n---\n!!python/object/apply:os.system [false]\n"
    yield b"a: !!int " + b"1:" * 30_000 + b"1\n"
    yield b"a: !!binary " + b"A" * LENGTH + b"\n"
    yield b"? " * 20_000


def long_lines() -> Iterator[bytes]:
    """One line without end, and lines without content."""
    yield b"a" * (8 * LENGTH)
    yield b"a b " * (2 * LENGTH)
    yield b"\n" * LENGTH
    yield b"a\n" * LENGTH
    yield b"a\tb\n" * LENGTH
    yield b"\t" * LENGTH
    yield "\u0301".encode() * LENGTH


def packed(contents: Iterable[bytes] = ()) -> Iterator[bytes]:
    """Files of gzip that unpack to a thousand times their size, and to themselves again."""
    yield gzip.compress(b"a" * (16 * 2**20), mtime=0)
    yield gzip.compress(b"a b\n" * (2 * 2**20), mtime=0)
    yield gzip.compress(gzip.compress(b"a" * 2**20, mtime=0), mtime=0)
    yield gzip.compress(b"a\n", mtime=0) * 2000
    for content in contents:
        yield gzip.compress(content, mtime=0)


def as_files(name: str, *kinds: Iterable[bytes]) -> list[Hostile]:
    """Bombs as inputs of one name."""
    return [Hostile(name, content) for kind in kinds for content in kind]
