"""Lines: what ends one, what is not text, and which archives are whole."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import DataError
from dragoman.core.zstandard import zstd
from dragoman.text.lines import decode_lines, language_of_file, read_lines, stream_lines

COMPRESS = {
    "": lambda content: content,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstd.compress,
}
suffixes = pytest.mark.parametrize("suffix", COMPRESS)

# every character but the line feed, and no byte order mark, which means something at the start
line_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\ufeff"))


def write(folder: Path, content: bytes, suffix: str = "") -> Path:
    path = folder / f"text{suffix}"
    path.write_bytes(COMPRESS[suffix](content))
    return path


def fails(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        list(read_lines(path))
    text = str(caught.value)
    assert str(path) in text
    assert "\n" not in text
    return text


@suffixes
@given(lines=st.lists(line_texts, min_size=1), end=st.sampled_from(["\n", "\r\n"]))
def test_lines_come_back_whatever_is_in_them(
    lines: list[str], end: str, suffix: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = write(tmp_path_factory.getbasetemp(), "".join(x + end for x in lines).encode(), suffix)
    assert list(read_lines(path)) == lines


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    line = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\rh"
    assert list(read_lines(write(tmp_path, f"{line}\nnext".encode()))) == [line, "next"]


def test_a_byte_order_mark_is_dropped_at_the_start_only(tmp_path: Path) -> None:
    assert list(read_lines(write(tmp_path, "\ufeffa\n\ufeffb\n".encode()))) == ["a", "\ufeffb"]


def test_the_last_line_needs_no_end(tmp_path: Path) -> None:
    assert list(read_lines(write(tmp_path, b"a\n\nb"))) == ["a", "", "b"]


@suffixes
def test_a_line_of_100_000_characters_is_read(tmp_path: Path, suffix: str) -> None:
    line = "가" * 100_000
    assert list(read_lines(write(tmp_path, line.encode(), suffix))) == [line]


@suffixes
def test_an_empty_file_is_an_error(tmp_path: Path, suffix: str) -> None:
    assert "the file is empty" in fails(write(tmp_path, b"", suffix))


def test_an_empty_stream_is_none() -> None:
    assert list(decode_lines(io.BytesIO(b""), "stdin")) == []


@suffixes
def test_bytes_that_are_not_utf8_are_placed(tmp_path: Path, suffix: str) -> None:
    text = fails(write(tmp_path, b"good\nSch\xf6n\n", suffix))
    assert ":2: not UTF-8 at byte 4 of the line (0xF6)" in text
    assert "iconv -f ISO-8859-1 -t UTF-8" in text


def test_utf16_is_recognised(tmp_path: Path) -> None:
    assert "iconv -f UTF-16 -t UTF-8" in fails(write(tmp_path, "Hallo\n".encode("utf-16")))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_recognised_though_it_is_utf8(
    tmp_path: Path, encoding: str
) -> None:
    content = "Hello\nyou\n".encode(encoding)
    content.decode("utf-8")
    text = fails(write(tmp_path, content))
    assert f"iconv -f {encoding.upper().replace('16-', '16')} -t UTF-8" in text
    assert "iconv -f UTF-16LE" in fails(write(tmp_path, "Hi\nJahr, Jähr".encode("utf-16-le")))


def test_single_nuls_are_ordinary_characters(tmp_path: Path) -> None:
    text = "a\0b\0\nc\0d\0e\0f\0\n"
    assert list(read_lines(write(tmp_path, text.encode()))) == text.split("\n")[:-1]


def test_surrogates_and_overlong_forms_are_not_utf8(tmp_path: Path) -> None:
    for wrong in (b"\xed\xa0\x80", b"\xc0\xaf", b"\xf5\x80\x80\x80", b"\xe2\x82"):
        assert ":1: not UTF-8 at byte 2" in fails(write(tmp_path, b"a" + wrong))


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
class TestArchives:
    def test_one_cut_short_anywhere_is_an_error(self, tmp_path: Path, suffix: str) -> None:
        content = "".join(f"line {number}\n" for number in range(50)).encode()
        path = write(tmp_path, content, suffix)
        whole = path.read_bytes()
        for length in range(1, len(whole)):
            path.write_bytes(whole[:length])
            assert "the archive is truncated or corrupt" in fails(path)

    def test_what_is_no_archive_is_an_error(self, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"text{suffix}"
        path.write_bytes(b"plain text in disguise\n" * 20)
        assert f"not compressed as its suffix {suffix} says" in fails(path)

    def test_one_is_recognised_without_its_suffix_or_with_another(
        self, tmp_path: Path, suffix: str
    ) -> None:
        for name in ("text", "text.de", "text.gz", "text.zst"):
            path = tmp_path / name
            path.write_bytes(COMPRESS[suffix]("grün\n".encode()))
            assert list(read_lines(path)) == ["grün"]

    def test_on_a_stream_it_is_said_what_to_do(self, suffix: str) -> None:
        stream = io.BytesIO(COMPRESS[suffix](b"a\n"))
        with pytest.raises(DataError, match="stdin: compressed; decompress it on the way"):
            list(stream_lines(stream, "stdin"))

    def test_archives_one_after_another_are_one_text(self, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"text{suffix}"
        path.write_bytes(COMPRESS[suffix](b"a\nb") + COMPRESS[suffix](b"c\n"))
        assert list(read_lines(path)) == ["a", "bc"]

    def test_a_second_one_that_is_damaged_is_an_error(self, tmp_path: Path, suffix: str) -> None:
        first, second = (COMPRESS[suffix](line * 50) for line in (b"a\n", b"b\n"))
        path = tmp_path / f"text{suffix}"
        for rest in (b"x", b"rubbish" * 9, b"\xff" + second[1:], second[:9], second[:-1]):
            path.write_bytes(first + rest)
            assert "the archive is truncated or corrupt" in fails(path)


def test_xz_streams_may_have_zeros_between_and_behind(tmp_path: Path) -> None:
    one, path = lzma.compress(b"a\n"), tmp_path / "text.xz"
    for zeros in (b"\0" * 4, b"\0" * 5000):
        path.write_bytes(one + zeros + one + zeros)
        assert list(read_lines(path)) == ["a", "a"]


def test_a_zstandard_file_may_have_a_large_window(tmp_path: Path) -> None:
    wide = {
        int(zstd.CompressionParameter.window_log): 30,
        int(zstd.CompressionParameter.content_size_flag): 0,
    }
    compressor = zstd.ZstdCompressor(options=wide)
    path = tmp_path / "text.zst"
    path.write_bytes(
        compressor.compress(b"a\n", zstd.ZstdCompressor.FLUSH_BLOCK) + compressor.flush()
    )
    assert path.read_bytes()[5] >> 3 == 30 - 10  # the window descriptor of RFC 8878, 3.1.1.1.2
    assert list(read_lines(path)) == ["a"]


@pytest.mark.parametrize("name", ["bzip2", "ZIP"])
def test_other_compressed_files_are_named(tmp_path: Path, name: str) -> None:
    content = "grün\n".encode() * 50
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("text", content)
    packed = {"bzip2": bz2.compress(content), "ZIP": archive.getvalue()}[name]
    text = fails(write(tmp_path, packed))
    assert f"a {name} " in text
    assert "unpack it, or pack its text with gzip, xz or zstd" in text
    assert "iconv" not in text


@suffixes
def test_a_missing_file_and_a_directory(tmp_path: Path, suffix: str) -> None:
    assert "no such file" in fails(tmp_path / f"none{suffix}")
    (tmp_path / f"folder{suffix}").mkdir()
    assert "cannot be read: Is a directory" in fails(tmp_path / f"folder{suffix}")


def test_zstandard_text_that_expands_a_thousandfold_takes_no_longer(tmp_path: Path) -> None:
    path = write(tmp_path, b"0123456789\n" * 500_000, ".zst")
    assert sum(1 for _ in read_lines(path)) == 500_000


def test_a_small_zstandard_file_fills_no_memory(tmp_path: Path) -> None:
    line = b"0" * 2**19 + b"\n"
    path = write(tmp_path, line * 256, ".zst")
    assert path.stat().st_size < 2**15
    tracemalloc.start()
    assert sum(1 for _ in read_lines(path)) == 256
    highest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert highest < 2**26


def test_a_zstandard_file_may_begin_with_a_frame_to_skip(tmp_path: Path) -> None:
    path = tmp_path / "text.zst"
    path.write_bytes(b"\x50\x2a\x4d\x18\x03\0\0\0abc" + COMPRESS[".zst"](b"a\n"))
    assert list(read_lines(path)) == ["a"]


def test_a_line_without_end_is_refused_before_memory_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.text.lines._LONGEST_LINE", 10)
    assert list(read_lines(write(tmp_path, b"123456789\n12345678\n"))) == ["123456789", "12345678"]
    assert ":2: a line of over 10 bytes" in fails(write(tmp_path, b"1\n12345678901"))


def test_a_stream_that_cannot_be_read_is_named() -> None:
    with (
        open(os.open(os.devnull, os.O_WRONLY), "rb") as closed,
        pytest.raises(DataError, match="standard input: cannot be read: Bad file descriptor"),
    ):
        list(stream_lines(closed, "standard input"))


def test_lines_of_a_stream_come_as_they_are_written() -> None:
    class Terminal(io.BytesIO):
        """Fails when asked for more than the first line."""

        def readline(self, size: int | None = -1) -> bytes:
            assert self.tell() == 0, "read ahead"
            return super().readline(size)

    assert next(decode_lines(Terminal(b"a\nb\n"), "stdin")) == "a"


def test_reading_is_lazy(tmp_path: Path) -> None:
    lines = read_lines(write(tmp_path, b"fine\n\xff\n"))
    assert next(lines) == "fine"
    with pytest.raises(DataError):
        next(lines)


@pytest.mark.parametrize(
    ("name", "language"),
    [("train.en", "en"), ("a/val.zh-Hans.xz", "zh-Hans"), ("train", None), ("text.gz", None)],
)
def test_suffixes(name: str, language: str | None) -> None:
    assert language_of_file(Path(name)) == language
