"""Models that are packed, and installed from archives, directories and addresses."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from command_line import CommandLine, one_error
from corpora_web import Web, send_on, sha256
from tiny_model import save_tiny_model

import dragoman as package
from dragoman.core.errors import ConfigError, DownloadError, SavedError
from dragoman.saved import archive_members
from dragoman.saved.installed_models import found_model
from dragoman.workflows.installing.install import install
from dragoman.workflows.installing.model_archives import pack

FILES = ["README.md", "config.yaml", "model.safetensors", "vocabulary.model"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of installed models, which does not exist yet."""
    monkeypatch.setenv("DRAGOMAN_MODELS", str(tmp_path / "installed"))
    return tmp_path / "installed"


@pytest.fixture
def archive(model: Path, tmp_path: Path) -> Path:
    pack(model, tmp_path / "en-de.tar.gz", lambda count: None)
    return tmp_path / "en-de.tar.gz"


def quiet(line: str) -> None:
    """Nobody listens."""


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def tar_of_model(model: Path, top: str = "", more: Mapping[str, bytes] | None = None) -> bytes:
    """An archive as others make it: with a folder, and further files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in {**contents(model), **(more or {})}.items():
            info = tarfile.TarInfo(f"{top}{name}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return packed.getvalue()


@pytest.mark.parametrize("suffix", [".tar.gz", ".tar.zst", ".tar"])
def test_a_packed_model_is_installed_as_it_was(
    dragoman: CommandLine, model: Path, folder: Path, tmp_path: Path, suffix: str
) -> None:
    archive = tmp_path / f"en-de{suffix}"
    packed = dragoman("pack", model, archive)
    assert packed.out == f"{sha256(archive.read_bytes())}  {archive}\n"
    beside = archive.with_name(f"{archive.name}.sha256").read_text(encoding="utf-8")
    assert beside == f"{sha256(archive.read_bytes())}  {archive.name}\n"
    done = dragoman("install", archive)
    assert (done.code, done.out) == (0, f"{folder / 'en-de'}\n")
    assert contents(folder / "en-de") == contents(model)
    assert os.listdir(folder) == ["en-de"]
    listed = dragoman("install", "--list")
    assert listed.out == "en-de  0 MB  source-target\n"


def test_a_shortlist_comes_along(
    dragoman: CommandLine, model: Path, folder: Path, tmp_path: Path
) -> None:
    listed = Path(shutil.copytree(model, tmp_path / "listed"))
    (listed / "shortlist.safetensors").write_bytes(b"a list")
    dragoman("pack", listed, tmp_path / "packed.tar")
    for origin in (tmp_path / "packed.tar", listed):
        assert dragoman("install", origin).code == 0
        assert contents(folder / origin.name.removesuffix(".tar")) == contents(listed)


def test_the_same_model_gives_the_same_archive(model: Path, archive: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    for name, content in contents(model).items():
        (tmp_path / "copy" / name).write_bytes(content)
        os.utime(tmp_path / "copy" / name, (7, 7))
    (tmp_path / "copy" / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "again").mkdir()
    pack(tmp_path / "copy", tmp_path / "again" / "en-de.tar.gz", lambda count: None)
    assert (tmp_path / "again" / "en-de.tar.gz").read_bytes() == archive.read_bytes()
    with tarfile.open(archive) as tar:
        assert tar.getnames() == [f"en-de/{name}" for name in FILES]


def test_an_archive_never_has_the_digest_of_an_earlier_one(
    archive: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that was killed when it had replaced the archive left one that looked damaged."""
    other = save_tiny_model(tmp_path / "other", seed=5)

    def killed(_: Path) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("dragoman.workflows.installing.model_archives.content_digest", killed)
        with pytest.raises(KeyboardInterrupt):
            pack(other, archive, lambda count: None)
    install(str(archive), quiet)
    assert contents(folder / "en-de") == contents(other)


def test_an_archive_replaces_none_but_that_of_a_model(
    dragoman: CommandLine, model: Path, archive: Path, tmp_path: Path
) -> None:
    before = archive.read_bytes()
    assert dragoman("pack", model, archive).code == 0
    assert archive.read_bytes() == before
    for name in ("photos.tar.gz", "notes.tar.gz.sha256"):
        (tmp_path / name).write_bytes(b"precious")
        output = tmp_path / name.removesuffix(".sha256")
        line = one_error(dragoman("pack", model, output), 2)
        assert f"{tmp_path / name}: this file is no " in line and "name another" in line
        assert (tmp_path / name).read_bytes() == b"precious"
    assert not (tmp_path / "notes.tar.gz").exists()


def test_commands_and_python_take_the_name_of_an_installed_model(
    dragoman: CommandLine, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(str(archive), quiet)
    monkeypatch.chdir(tmp_path)
    done = dragoman("translate", "en-de", "--device", "cpu", stdin=b"a b\n")
    assert (done.code, len(done.out.splitlines())) == (0, 1)
    with package.load("en-de", device="cpu") as translator:
        assert len(translator.translate(["a b"])) == 1
    Path("en-de").mkdir()  # what is there comes first
    assert found_model(Path("en-de")) == Path("en-de")
    assert "neither a model" in one_error(dragoman("translate", "en-de"), 4)
    assert found_model(Path("other")) == Path("other")
    assert found_model(Path("../en-de")) == Path("../en-de")


def test_a_directory_and_a_zip_with_a_run_are_installed(
    model: Path, folder: Path, tmp_path: Path
) -> None:
    install(str(model), quiet, name="one")
    with zipfile.ZipFile(tmp_path / "run.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("my/", b"")
        packed.writestr("my/config.yaml", b"seed: 1\n")
        packed.writestr("my/checkpoints/step-7/model.safetensors", b"x")
        for name, content in contents(model).items():
            packed.writestr(f"my/model/{name}", content)
    said: list[str] = []
    install(str(tmp_path / "run.zip"), said.append)
    assert contents(folder / "one") == contents(folder / "run") == contents(model)
    assert "left out, as they are no files of a model: my/config.yaml, my/check" in "".join(said)


def test_an_installed_model_is_replaced_only_if_told(archive: Path, folder: Path) -> None:
    install(str(archive), quiet)
    with pytest.raises(ConfigError, match=r"en-de: exists already.* --force, or .* --name"):
        install(str(archive), quiet)
    (folder / "en-de" / "README.md").write_text("old", encoding="utf-8")
    install(str(archive), quiet, force=True)
    assert (folder / "en-de" / "README.md").read_text(encoding="utf-8") != "old"
    (folder / "en-de" / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(package.errors.StorageError, match=r"holds mine\.txt"):
        install(str(archive), quiet, force=True)


def test_a_digest_is_checked(archive: Path, folder: Path) -> None:
    right = sha256(archive.read_bytes())
    install(str(archive), quiet, sha256=right.upper())
    wrong = "0" * 64
    with pytest.raises(SavedError, match=f"its SHA-256 is {right}, not {wrong}"):
        install(str(archive), quiet, sha256=wrong, name="two")
    beside = archive.with_name(f"{archive.name}.sha256")
    beside.write_text(f"{wrong}  en-de.tar.gz\n", encoding="utf-8")
    with pytest.raises(SavedError, match=f"not {wrong}"):
        install(str(archive), quiet, name="two")
    beside.write_text("<html>", encoding="utf-8")
    with pytest.raises(SavedError, match=r"en-de\.tar\.gz\.sha256: expected a SHA-256"):
        install(str(archive), quiet, name="two")
    with pytest.raises(ConfigError, match="expected a SHA-256 of 64 hexadecimal digits"):
        install(str(archive), quiet, sha256="12", name="two")
    assert os.listdir(folder) == ["en-de"]


def test_a_model_is_downloaded_on_where_it_was(
    web: Web, archive: Path, folder: Path, model: Path
) -> None:
    content = archive.read_bytes()
    web.files["models/en-de.tar.gz"] = content
    web.cuts["models/en-de.tar.gz"] = [1000]
    install(f"{web.address}/models/en-de.tar.gz#sha256={sha256(content)}", quiet)
    assert contents(folder / "en-de") == contents(model)
    assert [one for _, one in web.asked] == [None, "bytes=1000-"]
    assert os.listdir(folder) == ["en-de"]
    with pytest.raises(DownloadError, match=r"its SHA-256 is .*, or get it .* name the file"):
        install(f"{web.address}/models/en-de.tar.gz#sha256={'0' * 64}", quiet, name="two")
    with pytest.raises(DownloadError, match=r"404 Not Found.* name the file instead"):
        install(f"{web.address}/none.tar.gz", quiet)


@pytest.mark.parametrize("known", [False, True])
def test_only_a_known_archive_may_come_over_http(
    known: bool, web: Web, model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.files["en-de.tar"] = tar_of_model(model)
    send_on(monkeypatch, f"{web.address}/en-de.tar")
    digest = sha256(web.files["en-de.tar"]) if known else ""
    if known:
        install("https://localhost/en-de.tar", quiet, sha256=digest)
        assert contents(folder / "en-de") == contents(model)
    else:
        with pytest.raises(DownloadError, match=r"leads to http://.* give the digest"):
            install("https://localhost/en-de.tar", quiet)
        assert web.asked == []


def test_an_archive_does_not_resume_another_of_its_name(
    web: Web, model: Path, folder: Path, tmp_path: Path
) -> None:
    other = save_tiny_model(tmp_path / "other", seed=5)
    web.files["old/en-de.tar"] = tar_of_model(other)
    half = len(web.files["old/en-de.tar"]) // 2
    web.files["new/en-de.tar"] = tar_of_model(model)
    web.cuts["old/en-de.tar"] = [half, 0, 0, 0, 0]
    with pytest.raises(DownloadError, match="downloaded data is kept"):
        install(f"{web.address}/old/en-de.tar", quiet)
    install(f"{web.address}/new/en-de.tar", quiet)
    assert contents(folder / "en-de") == contents(model)
    install(f"{web.address}/old/en-de.tar", quiet, name="old")
    assert contents(folder / "old") == contents(other)
    assert web.asked[-1] == ("old/en-de.tar", f"bytes={half}-")


@pytest.mark.parametrize(
    ("place", "error", "message"),
    [
        ("http://example.org/x.tar.gz", ConfigError, "anyone on the way can change what comes"),
        ("https://example.org/x.tar.gz#md5=7", ConfigError, "expected #sha256=DIGEST"),
        ("https://example.org/x.tar.gz#sha256=", ConfigError, "expected #sha256=DIGEST"),
        ("https://example.org/x.exe", SavedError, "expected an archive that ends in .tar.gz"),
        ("https://example.org/", ConfigError, "cannot be the name of a model"),
        ("https://[abc/x.tar.gz", ConfigError, "no address; expected one such as https://"),
        ("https://localhost:abc/x.tar.gz", ConfigError, "no address; expected one such as"),
        ("https://localhost:99999/x.tar.gz", ConfigError, "no address; expected one such as"),
        ("https://local host/x.tar.gz", ConfigError, "no address; expected one such as https://"),
        ("https:///x.tar.gz", ConfigError, "no address; expected one such as https://"),
        ("HTTP://example.org/x.tar.gz", ConfigError, "anyone on the way can change what comes"),
        ("none.tar.gz", SavedError, "no such file or directory"),
        ("ftp://example.org/x.tar.gz", SavedError, "no such file or directory"),
    ],
)
def test_what_cannot_be_fetched_is_told(
    place: str, error: type[Exception], message: str, folder: Path
) -> None:
    with pytest.raises(error, match=message):
        install(place, quiet)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("a b/modèle.tar", "a%20b/mod%C3%A8le.tar"),
        ("a%20b/x%00.tar", "a%20b/x%00.tar"),
        (f"{'x' * 300}.tar", f"{'x' * 300}.tar"),
        ("x.tar?name=ü&b=%26", "x.tar?name=%C3%BC&b=%26"),
    ],
)
def test_an_address_is_asked_for_as_browsers_do(
    given: str, asked: str, web: Web, model: Path, folder: Path
) -> None:
    web.files[asked] = tar_of_model(model)
    install(f"{web.address}/{given}", quiet, name="en-de")
    assert [path for path, _ in web.asked] == [asked]
    assert contents(folder / "en-de") == contents(model)
    assert os.listdir(folder) == ["en-de"]


@pytest.mark.parametrize("name", ["..", ".hidden", "a/b", "a\\b", "-x", "ü", "a" * 101])
def test_a_name_is_one_part_of_a_path(archive: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be the name of a model"):
        install(str(archive), quiet, name=name)


def linked(kind: bytes) -> Callable[[Path], bytes]:
    """An archive with a link or device beside a model."""

    def packed(model: Path) -> bytes:
        whole = io.BytesIO(tar_of_model(model))
        with tarfile.open(fileobj=whole, mode="a") as tar:
            info = tarfile.TarInfo("confidence.json")
            info.type, info.linkname = kind, "/etc/passwd"
            tar.addfile(info)
        return whole.getvalue()

    return packed


def zip_with_a_link(model: Path) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        info = zipfile.ZipInfo("README.md")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    return packed.getvalue()


def damaged_zip(method: int) -> Callable[[Path], bytes]:
    """A model whose weights are compressed, and not what was compressed."""

    def packed(model: Path) -> bytes:
        whole = io.BytesIO()
        with zipfile.ZipFile(whole, "w", method) as archive:
            for name, content in contents(model).items():
                archive.writestr(name, content)
            info = archive.getinfo("model.safetensors")
        damaged = bytearray(whole.getvalue())
        middle = info.header_offset + info.compress_size // 2
        damaged[middle : middle + 200] = bytes(200)
        return bytes(damaged)

    return packed


def zip_with_a_damaged_name(model: Path) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in contents(model).items():
            archive.writestr(f"modèle/{name}", content)
    return packed.getvalue().replace("è".encode(), b"\xc3\xc3")


def zip_that_begins_elsewhere(model: Path) -> bytes:
    """A zip file whose directory is said to begin so late that its files begin before it does."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in contents(model).items():
            archive.writestr(name, content)
    whole = bytearray(packed.getvalue())
    end = whole.rindex(b"PK\x05\x06")
    start = int.from_bytes(whole[end + 16 : end + 20], "little")
    whole[end + 16 : end + 20] = (start + 1000).to_bytes(4, "little")
    return bytes(whole)


def tar_that_promises(model: Path) -> bytes:
    """A file of 30 GB that has one block: tarfile would go on reading for a quarter of a minute."""
    info = tarfile.TarInfo("README.md")
    info.size = 30 * 2**30
    return info.tobuf() + bytes(1024)


def zip_without_a_name(model: Path) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("x", b"")
    whole = packed.getvalue()
    directory = whole.index(b"PK\x01\x02")
    header = bytearray(whole[directory : directory + 46])
    header[28:30] = bytes(2)
    end = bytearray(whole[-22:])
    end[12:16] = len(header).to_bytes(4, "little")
    return whole[:directory] + bytes(header) + bytes(end)


BAD_ARCHIVES: list[tuple[str, Callable[[Path], bytes], str]] = [
    (".tar", lambda model: tar_of_model(model, "../"), r"'\.\./README\.md' leads out"),
    (".tar", lambda model: tar_of_model(model, "/tmp/"), r"'/tmp/README\.md' leads out"),
    (".tar", lambda model: tar_of_model(model, "a/../"), "leads out of the archive"),
    (".tar", lambda model: tar_of_model(model, "a\\"), "leads out of the archive"),
    (".tar", linked(tarfile.SYMTYPE), "'confidence.json' is a link or a device"),
    (".tar", linked(tarfile.LNKTYPE), "'confidence.json' is a link or a device"),
    (".tar", linked(tarfile.CHRTYPE), "'confidence.json' is a link or a device"),
    (".tar", linked(tarfile.FIFOTYPE), "'confidence.json' is a link or a device"),
    (".zip", zip_with_a_link, r"'README\.md' is a link or a device"),
    (".tar", lambda model: tar_of_model(model)[:5000], "truncated or corrupt"),
    (".tar.gz", lambda model: gzip.compress(tar_of_model(model))[:3000], "truncated or corrupt"),
    (".tar.gz", lambda model: b"<html>", "not|corrupt"),
    (".tar.zst", lambda model: b"<html>", "not|corrupt"),
    (".tar", tar_that_promises, "truncated or corrupt; copy or compress it again"),
    (".zip", zip_that_begins_elsewhere, "is outside of the archive"),
    (".zip", zip_without_a_name, "truncated or corrupt: a file in it has no name"),
    (".zip", lambda model: b"PK\x03\x04<html>", "no archive, or truncated or corrupt"),
    (".zip", damaged_zip(zipfile.ZIP_DEFLATED), "truncated or corrupt"),
    (".zip", damaged_zip(zipfile.ZIP_BZIP2), "truncated or corrupt"),
    (".zip", damaged_zip(zipfile.ZIP_LZMA), "truncated or corrupt"),
    (".zip", zip_with_a_damaged_name, "truncated or corrupt"),
    (".tar", lambda model: b"", "no archive|has no model|empty"),
    (
        ".tar",
        lambda model: tar_of_model(model, "", {"b/config.yaml": b"", "b/model.safetensors": b""}),
        r"has 2 models \(\., b\)",
    ),
]


@pytest.mark.parametrize(("suffix", "content", "message"), BAD_ARCHIVES)
def test_a_bad_archive_leaves_nothing(
    model: Path,
    folder: Path,
    tmp_path: Path,
    suffix: str,
    content: Callable[[Path], bytes],
    message: str,
) -> None:
    archive = tmp_path / f"bad{suffix}"
    archive.write_bytes(content(model))
    with pytest.raises(SavedError, match=message):
        install(str(archive), quiet)
    assert not folder.exists() or not os.listdir(folder)
    assert sorted(os.listdir(tmp_path)) in ([archive.name], [archive.name, "installed"])


def test_a_file_called_as_the_folder_of_the_model_is_left_out(
    model: Path, folder: Path, tmp_path: Path
) -> None:
    archive = tmp_path / "odd.tar"
    files = io.BytesIO(tar_of_model(model, "odd/"))
    with tarfile.open(fileobj=files, mode="a") as tar:
        tar.addfile(tarfile.TarInfo("odd"))
    archive.write_bytes(files.getvalue())
    said: list[str] = []
    install(str(archive), said.append)
    assert contents(folder / "odd") == contents(model)
    assert "left out, as they are no files of a model: odd" in said


def test_an_archive_that_is_too_large_is_refused_before_it_is_unpacked(
    archive: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_members, "LARGEST", 5000)
    with pytest.raises(SavedError, match="more than 10,000 files or"):
        install(str(archive), quiet)
    monkeypatch.undo()
    monkeypatch.setattr(archive_members, "_MOST_MEMBERS", 3)
    with pytest.raises(SavedError, match="more than 3 files"):
        install(str(archive), quiet, name="other")


@pytest.mark.parametrize("name", ["config.yaml", "vocabulary.model", "model.safetensors"])
def test_a_model_that_does_not_open_is_not_installed(
    model: Path, folder: Path, tmp_path: Path, name: str
) -> None:
    files = contents(model)
    broken = tmp_path / "broken.tar"
    broken.write_bytes(tar_of_model(model, "top/", {name: files[name][:-9] + b"broken!!\n"}))
    with pytest.raises(SavedError, match="the model does not open, and is not installed"):
        install(str(broken), quiet)
    assert not folder.exists()


def test_what_is_listed_says_what_is_wrong(
    dragoman: CommandLine, archive: Path, folder: Path
) -> None:
    assert dragoman("install", "--list").out == ""
    install(str(archive), quiet)
    (folder / "empty").mkdir()
    listed = dragoman("install", "--list").out.splitlines()
    assert listed[0].endswith("empty/config.yaml: no such configuration file")
    assert listed[1].endswith("source-target")
    assert dragoman("install", "--list", "--json").out.count('"name"') == 2


def test_commands_are_used_as_they_are_meant(
    dragoman: CommandLine, archive: Path, tmp_path: Path, model: Path
) -> None:
    assert "name what to install" in one_error(dragoman("install"), 2)
    assert "name what to install" in one_error(dragoman("install", archive, "--list"), 2)
    assert "--list alone" in one_error(dragoman("install", "--list", "--name", "x"), 2)
    assert "--sha256 is empty" in one_error(dragoman("install", archive, "--sha256", ""), 2)
    assert "must not be empty" in one_error(dragoman("install", ""), 2)
    wrong = dragoman("pack", model, tmp_path / "x.zip")
    assert "name an archive that ends in .tar.gz, .tar.zst, .tar" in one_error(wrong, 2)
    assert "no such model or run" in one_error(dragoman("pack", "none", tmp_path / "x.tar"), 4)
