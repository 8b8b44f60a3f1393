"""Text from archives: joined, unpacked, taken out of SGML; damage is told."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from corpora_web import segments, tar_of
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core.errors import DataError
from dragoman.text.corpora.corpus_manifest import Part
from dragoman.workflows.corpora import storage
from dragoman.workflows.corpora.storage import Joined

lines = st.lists(st.sampled_from([b"a", b"", b"b c", "é".encode()]), max_size=5)


@settings(max_examples=15)
@given(
    parts=st.lists(lines, min_size=1, max_size=3),
    ended=st.booleans(),
    mode=st.sampled_from(["w", "w:gz"]),
)
def test_parts_are_joined_line_by_line(
    parts: list[list[bytes]], ended: bool, mode: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    texts = [b"\n".join(part) + (b"\n" if ended and part else b"") for part in parts]
    path = tmp_path_factory.mktemp("archive") / "a.tar"
    path.write_bytes(tar_of({f"{i}.en": text for i, text in enumerate(texts)}, mode))
    joined = Joined([Part(archive="a", member=f"{i}.en") for i in range(len(texts))], {"a": path})
    whole = b"".join(joined)
    assert whole == b"".join(
        text + (b"" if text.endswith(b"\n") or not text else b"\n") for text in texts
    )
    assert sum(joined.lines) == whole.count(b"\n")


def text_of(path: Path, member: str) -> bytes:
    return b"".join(Joined([Part(archive="a", member=member)], {"a": path}))


def test_packed_members_and_segments_are_read(tmp_path: Path) -> None:
    test = segments("R&amp;D\n costs", "&quot;x&quot;")
    (tmp_path / "a").write_bytes(tar_of({"x.gz": gzip.compress(b"1\n"), "./d/t.sgm": test}))
    assert text_of(tmp_path / "a", "x.gz") == b"1\n"
    assert text_of(tmp_path / "a", "d/t.sgm") == b'R&D costs\n"x"\n'


def test_a_missing_member_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(tar_of({"x.en": b"1\n"}))
    with pytest.raises(DataError, match=r"contains no x\.de; is it another archive"):
        text_of(tmp_path / "a", "x.de")


def test_a_member_that_claims_to_be_huge_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(tar_of({"x.en": b"1\n", "x.sgm": segments("1")}))
    monkeypatch.setattr(storage, "_LARGEST_MEMBER", 1)
    monkeypatch.setattr(storage, "_LARGEST_TEST_SET", 1)
    for member in ("x.en", "x.sgm"):
        with pytest.raises(DataError, match=f"{member} claims"):
            text_of(tmp_path / "a", member)


@pytest.mark.parametrize("keep", [0, 10, 200])
def test_a_damaged_archive_is_told(keep: int, tmp_path: Path) -> None:
    content = b"".join(number.to_bytes(4, "big") for number in range(50_000))
    (tmp_path / "a").write_bytes(tar_of({"x.en": content})[:keep])
    with pytest.raises(DataError, match="truncated or corrupt"):
        text_of(tmp_path / "a", "x.en")


def test_a_damaged_packed_member_is_told(tmp_path: Path) -> None:
    packed = gzip.compress(b"".join(number.to_bytes(4, "big") for number in range(50_000)))
    (tmp_path / "a").write_bytes(tar_of({"x.gz": packed[:1000]}))
    with pytest.raises(DataError, match="truncated or corrupt"):
        text_of(tmp_path / "a", "x.gz")
