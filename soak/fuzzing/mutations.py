"""Damage to good inputs; all of it is a function of a generator of random numbers."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Sequence
from random import Random

from soak.fuzzing.target import Hostile, Target

_MOST_CHANGES = 5
_LARGEST = 2**20
"""Bytes that a damaged input may have; what is larger is a bomb, and made as one."""

NASTY: tuple[bytes, ...] = (
    *(b"\0", b"\x00\x00\x00\x00", b"\xff", b"\xff\xff\xff\xff", b"\x7f", b"\x1b[2J"),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xed\xa0\x80", b"\xed\xbf\xbf"),  # marks, halves
    *(b"\xc3", b"\xc0\xaf", b"\xf4\x90\x80\x80", "\u2028\x85\x0b\x0c\u202e".encode()),
    *("\U0001f468\u200d\U0001f469\u200d\U0001f467".encode(), "e\u0301\u0301".encode()),
    *(b"\r", b"\n", b"\r\n", b"\n\r", b"\t", b" ", b"\xc2\xa0", "\u3000".encode()),
    *(b"-1", b"0", b"1e999", b"-1e999", b"NaN", b"nan", b"Infinity", b"inf", b"1_0", b"0x10"),
    *(b"2147483648", b"9223372036854775807", b"18446744073709551616", b"9" * 40, b"9" * 5000),
    *(b"null", b"None", b"true", b"~", b"{}", b"[]", b'""', b"''", b"\\ud800", b"\\u0000"),
    *(b"../../etc/passwd", b"/dev/zero", b"%s%n", b"{0.__class__}", b"${HOME}", b"&lt;", b"&#0;"),
)
"""What readers have stumbled over: control characters, halves of characters, absurd numbers."""

_VALUES: tuple[object, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**53, 2**63, -(2**63) - 1, 10**30, 1.5, -0.0, 1e308),
    *(float("nan"), float("inf"), float("-inf"), "", " ", "\0", "\ud800", "a" * 500, "../x", "/"),
    *([], {}, [[]], {"": None}, [None, 1, "a"], {"a": {"b": []}}, "1", "nan", "source", "\n"),
)


def damaged(target: Target, random: Random) -> Hostile:
    """A good input of a target with one to five things wrong."""
    if target.made is not None and random.random() < 0.5:
        return target.made(random)
    seed = random.choice(target.seeds)
    other = random.choice(target.seeds).content
    for change in random.sample(_WRAPPED, len(_WRAPPED)):
        if random.random() < 0.6:
            found = change(seed.content, target.tokens, random)
            if found is not None:
                return seed._replace(content=found)
    return seed._replace(content=changed(seed.content, target.tokens, random, other))


def changed(content: bytes, tokens: Sequence[bytes], random: Random, other: bytes = b"") -> bytes:
    """Bytes with one to five changes of any kind.

    Args:
        content: the bytes.
        tokens: of the format, for inserting.
        random: decides.
        other: good bytes of the same kind, from which parts are taken.
    """
    data = bytearray(content)
    for _ in range(random.randint(1, _MOST_CHANGES)):
        random.choice(_CHANGES)(data, (*tokens, *NASTY), other or content, random)
        if not data or len(data) > _LARGEST:
            break
    return bytes(data[:_LARGEST])


_Change = Callable[[bytearray, Sequence[bytes], bytes, Random], None]


def _place(data: bytearray, random: Random) -> int:
    return random.randint(0, len(data))


def _span(data: bytearray, random: Random) -> slice:
    start = _place(data, random)
    longest = random.choice((1, 4, 16, 64, 1024))
    return slice(start, min(len(data), start + random.randint(1, longest)))


def _cut_off(data: bytearray, tokens: Sequence[bytes], other: bytes, random: Random) -> None:
    del data[_place(data, random) :]


def _flip_bits(data: bytearray, tokens: Sequence[bytes], other: bytes, random: Random) -> None:
    for _ in range(random.choice((1, 1, 2, 8))):
        if data:
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _set_byte(data: bytearray, tokens: Sequence[bytes], other: bytes, random: Random) -> None:
    if data:
        data[random.randrange(len(data))] = random.randrange(256)


def _delete(data: bytearray, tokens: Sequence[bytes], other: bytes, random: Random) -> None:
    del data[_span(data, random)]


def _repeat(data: bytearray, tokens: Sequence[bytes], other: bytes, random: Random) -> None:
    part = bytes(data[_span(data, random)])
    times = random.choice((1, 1, 2, 10, 300))
    place = _place(data, random)
    data[place:place] = part * min(times, _LARGEST // max(1, len(part)))


def _insert(data: bytearray, tokens: Sequence[bytes], other: bytes, random: Random) -> None:
    place = _place(data, random)
    data[place:place] = random.choice(tokens) * random.choice((1, 1, 1, 2, 50))


def _overwrite(data: bytearray, tokens: Sequence[bytes], other: bytes, random: Random) -> None:
    data[_span(data, random)] = random.choice(tokens)


def _take_over(data: bytearray, tokens: Sequence[bytes], other: bytes, random: Random) -> None:
    source = bytearray(other)
    place = _place(data, random)
    data[place:place] = source[_span(source, random)]


def _swap_lines(data: bytearray, tokens: Sequence[bytes], other: bytes, random: Random) -> None:
    lines = bytes(data).splitlines(keepends=True)
    random.shuffle(lines)
    data[:] = b"".join(lines)


def _other_newlines(data: bytearray, tokens: Sequence[bytes], other: bytes, random: Random) -> None:
    ends = (b"\n", b"\r\n", b"\r", b"\n\n", b"\xe2\x80\xa8", b"\0")
    data[:] = b"".join(line + random.choice(ends) for line in bytes(data).splitlines())


def _huge_number(data: bytearray, tokens: Sequence[bytes], other: bytes, random: Random) -> None:
    """Overwrite four or eight bytes, which may be a length, with an absurd one."""
    width = random.choice((2, 4, 8))
    if len(data) >= width:
        start = random.randrange(len(data) - width + 1)
        number = random.choice((0, 1, 2 ** (8 * width) - 1, 2 ** (8 * width - 1), 2 ** (4 * width)))
        data[start : start + width] = number.to_bytes(width, random.choice(("little", "big")))


_CHANGES: tuple[_Change, ...] = (
    *(_cut_off, _flip_bits, _set_byte, _delete, _repeat, _insert, _overwrite, _take_over),
    *(_swap_lines, _other_newlines, _huge_number),
)


def _in_json(content: bytes, tokens: Sequence[bytes], random: Random) -> bytes | None:
    """JSON in which values and keys were replaced: what passes the first look of a reader."""
    if content[:1] not in (b"{", b"[") or len(content) > _LARGEST:
        return None
    try:
        values = json.loads(content)
    except ValueError:
        return None
    for _ in range(random.randint(1, 3)):
        values = with_other_value(values, random)
    return json.dumps(values).encode("utf-8", "surrogatepass")


def with_other_value(values: object, random: Random) -> object:
    """Nested lists and dictionaries with one value or key replaced, removed or added."""
    if not isinstance(values, (dict, list)) or not values or random.random() < 0.15:
        return random.choice(_VALUES)
    if isinstance(values, list):
        place = random.randrange(len(values))
        if random.random() < 0.2:
            return [*values[:place], *values[place + random.randint(0, 1) :], *values[place:]]
        inner = with_other_value(values[place], random)
        return [*values[:place], inner, *values[place + 1 :]]
    key = random.choice(list(values))
    match random.randrange(6):
        case 0:
            return {one: value for one, value in values.items() if one != key}
        case 1:
            return {**values, random.choice(("", "extra", f"{key}_", "\0")): random.choice(_VALUES)}
        case _:
            return {**values, key: with_other_value(values[key], random)}


def _in_zip(content: bytes, tokens: Sequence[bytes], random: Random) -> bytes | None:
    """A whole zip file in which one part was damaged, or has another name."""
    if content[:4] != b"PK\x03\x04":
        return None
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(written, "w") as new:
        infos = archive.infolist()
        chosen = random.choice(infos)
        for info in infos:
            part = archive.read(info)
            if info is chosen:
                if random.random() < 0.1:
                    names = ("", "../x", "/x", "a\\b", f"{info.filename}/", infos[0].filename)
                    info.filename = random.choice(names)
                else:
                    part = _in_json(part, tokens, random) or changed(part, tokens, random)
            plain = zipfile.ZipInfo(info.filename, info.date_time)
            plain.compress_type = info.compress_type
            new.writestr(plain, part)
    return written.getvalue()


def _in_gzip(content: bytes, tokens: Sequence[bytes], random: Random) -> bytes | None:
    """A whole gzip file whose content was damaged."""
    if content[:2] != b"\x1f\x8b":
        return None
    try:
        return gzip.compress(changed(gzip.decompress(content), tokens, random), 1, mtime=0)
    except (OSError, EOFError, zlib.error):
        return None


_WRAPPED = [_in_json, _in_zip, _in_gzip]
