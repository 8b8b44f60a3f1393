"""Zip files that nobody has to trust."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile

import pytest
from office_files import zipped

from dragoman.core.errors import DataError
from dragoman.documents.office import zip_package
from dragoman.documents.office.zip_package import ZipPackage


def test_parts_that_are_not_replaced_keep_everything() -> None:
    content = zipped(
        {"mimetype": "x", "b/": "", "b/ä.xml": "<b/>", "a.png": bytes(99)}, stored=("mimetype",)
    )
    package = ZipPackage(content)
    assert package.names == ["mimetype", "b/", "b/ä.xml", "a.png"]
    written = package.written({"b/ä.xml": b"<c/>"})
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(io.BytesIO(written)) as new:
        for one, other in zip(old.infolist(), new.infolist(), strict=True):
            for what in ("filename", "date_time", "compress_type", "external_attr"):
                assert getattr(one, what) == getattr(other, what)
            assert new.read(other) == (b"<c/>" if "ä" in one.filename else old.read(one))
    assert written.startswith(b"PK") and written[30:38] == b"mimetype"


def _with_names(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that occur twice
        for name in names:
            archive.writestr(name, b"x")
    return buffer.getvalue()


@pytest.mark.parametrize(
    "name", ["../a", "a/../../b", "/etc/passwd", "C:/a", "a//b", "./a", "..", "a\nb"]
)
def test_names_that_lead_out_of_the_file_are_refused(name: str) -> None:
    with pytest.raises(DataError, match="leads out of the file"):
        ZipPackage(_with_names("ok", name))


def test_names_with_backslashes_are_refused() -> None:
    content = _with_names("a/b").replace(b"a/b", b"a\\b")
    with pytest.raises(DataError, match="leads out of the file"):
        ZipPackage(content)


@pytest.mark.parametrize("names", [("a", "a"), ("a.xml", "A.xml")])
def test_names_that_occur_twice_are_refused(names: tuple[str, str]) -> None:
    with pytest.raises(DataError, match=r"two parts of the name 'a(\.xml)?'"):
        ZipPackage(_with_names(*names))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a zip file"),
        (b"plain text", "not a zip file"),
        (b"%PDF-1.7", "not a zip file"),
        (b"MZ" + zipped({"a": "b"}), "not a zip file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "encrypted, or of an old format"),
        (b"PK\x03\x04" + bytes(99), "damaged or cut off"),
        (zipped({"a": "b" * 999})[:-30], "damaged or cut off"),
        (b"PK\x03\x04" + bytes(26) + zipped({}), "has no parts"),
    ],
)
def test_what_is_no_zip_file_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        ZipPackage(content)


def test_damaged_parts_are_refused() -> None:
    content = bytearray(zipped({"a": bytes(range(256)) * 9}, stored=("a",)))
    content[100] ^= 1
    with pytest.raises(DataError, match="part 'a' is damaged"):
        ZipPackage(bytes(content)).read("a")
    with pytest.raises(DataError, match="no part 'b'"):
        ZipPackage(bytes(content)).read("b")


def _patched(content: bytes, offset: int, value: int, form: str) -> bytes:
    """A zip file with one number changed in the first entry of its directory."""
    changed = bytearray(content)
    struct.pack_into(form, changed, content.index(b"PK\x01\x02") + offset, value)
    return bytes(changed)


@pytest.mark.parametrize(
    ("offset", "value", "form", "message"),
    [
        (8, 1, "<H", "encrypted"),
        (10, 12, "<H", "compressed in a way"),
        (20, 10**6, "<I", "overlap"),
        (24, 2**30, "<I", "holds 1,073,741,824 bytes when it is unpacked"),
        (24, 2**27, "<I", "times its size"),
    ],
)
def test_what_a_directory_must_not_say_is_refused(
    offset: int, value: int, form: str, message: str
) -> None:
    content = _patched(zipped({"a": "b" * 99}), offset, value, form)
    with pytest.raises(DataError, match=message):
        ZipPackage(content)


def test_a_part_is_never_longer_than_the_directory_says() -> None:
    content = _patched(zipped({"a": bytes(10**6)}), 24, 10, "<I")
    with pytest.raises(DataError, match="part 'a' is damaged"):
        ZipPackage(content).read("a")


def test_too_many_parts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_package, "_MOST_PARTS", 2)
    with pytest.raises(DataError, match="has 3 parts; at most 2"):
        ZipPackage(_with_names("a", "b", "c"))
