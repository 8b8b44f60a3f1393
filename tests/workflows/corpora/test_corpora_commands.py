"""dragoman corpora: list, get and where, against a server on the loopback address."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from command_line import call, one_error
from corpora_web import ENGLISH, GERMAN, Web, tar_of, text_facts

from dragoman.core.errors import ConfigError, DataError, DownloadError, StorageError
from dragoman.text.corpora import corpus_manifest as manifest

pytestmark = pytest.mark.usefixtures("corpora")


def read(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def get(*arguments: object, code: int = 0) -> str:
    outcome = call("corpora", "get", *arguments)
    assert (outcome.code, outcome.out) == (code, ""), outcome.err
    return outcome.err if code == 0 else one_error(outcome, code)


def test_files_are_downloaded_verified_and_packed_alike(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = get("tiny")
    assert read(folder / "tiny/train.en.gz") == ENGLISH
    assert read(folder / "tiny/tok/train.de.gz") == GERMAN
    assert "Terms: Numbers are free. See https://example.org" in said
    assert f"{folder / 'tiny'}: 2 files, 0.1 MB of text, verified" in said
    assert os.listdir(folder) == ["tiny"]
    first = (folder / "tiny/train.en.gz").read_bytes()
    monkeypatch.setattr("gzip.time.time", lambda: 1e9)  # at another time
    shutil.rmtree(folder)
    get("tiny")
    assert (folder / "tiny/train.en.gz").read_bytes() == first


def test_what_is_there_is_verified_and_not_downloaded(folder: Path, web: Web) -> None:
    get("tiny")
    (folder / "tiny/tok/train.de.gz").unlink()
    web.asked.clear()
    get("tiny")
    assert [path for path, _ in web.asked] == ["train.de"]
    web.asked.clear()
    assert get("tiny") == f"dragoman: {folder / 'tiny'}: complete and verified\n"
    assert not web.asked


def test_a_file_of_another_content_is_never_replaced(folder: Path) -> None:
    get("tiny")
    mine = gzip.compress(b"mine\n")
    (folder / "tiny/train.en.gz").write_bytes(mine)
    error = get("tiny", code=DataError.exit_code)
    assert f"{folder / 'tiny/train.en.gz'}: its text is not that of train.en.gz" in error
    assert error.endswith("move it away and repeat the command")
    assert (folder / "tiny/train.en.gz").read_bytes() == mine


def test_another_content_on_the_web_is_refused(folder: Path, web: Web) -> None:
    web.files["train.de"] = b"z" + GERMAN[1:]
    error = get("tiny", code=DownloadError.exit_code)
    assert f"{web.address}/train.de: its text is not that of tok/train.de.gz" in error
    assert not (folder / "tiny/tok/train.de.gz").exists()
    assert read(folder / "tiny/train.en.gz") == ENGLISH  # which the next call has no need to fetch
    web.files["train.de"] = GERMAN
    web.asked.clear()
    get("tiny")
    assert web.asked == [("train.de", None)]


def test_more_than_the_text_can_be_is_not_even_downloaded(web: Web) -> None:
    web.files["train.de"] = GERMAN * 100
    assert "bytes; at most" in get("tiny", code=DownloadError.exit_code)


def test_a_missing_file_is_told(folder: Path, web: Web) -> None:
    del web.files["raw/train.en.gz"]
    error = get("tiny", code=DownloadError.exit_code)
    assert f"{web.address}/raw/train.en.gz: the server answers 404 Not Found" in error
    assert "--from" in error
    assert not (folder / "tiny").exists()


def test_text_is_joined_from_an_archive(folder: Path) -> None:
    get("joined")
    found = {path.name: read(path) for path in (folder / "joined").glob("*.gz")}
    assert found == {
        "train.en.gz": b"a\nb\nc\nd\n",
        "train.de.gz": b"A\nB\nC\nD\n",
        "test.en.gz": b"It's <b>\ntwo\n",
        "test.de.gz": b"Es ist\nzwei\n",
    }
    assert os.listdir(folder) == ["joined"]
    assert not list(folder.parent.rglob("outside"))
    assert get("joined") == f"dragoman: {folder / 'joined'}: complete and verified\n"


def test_text_that_was_not_known_before_is_held_to_what_it_was(folder: Path) -> None:
    get("joined")
    (folder / "joined/test.de.gz").write_bytes(gzip.compress(b"Es ist\nvier\n"))
    error = get("joined", code=DataError.exit_code)
    assert "its text changed since it was written, see found.json" in error


def test_parts_of_an_archive_must_be_aligned(
    folder: Path, tmp_path: Path, web: Web, corpora: Any
) -> None:
    names = ("part-1.en", "part-1.de", "part-2.en.gz", "part-2.de.gz")
    texts = (b"a\n", b"A\nB\n", gzip.compress(b"c\nd\n"), gzip.compress(b"C\n"))
    archive = tar_of(dict(zip(names, texts, strict=True)))
    web.files["x.tgz"] = archive
    values, write = corpora
    values["joined"]["archives"][0] |= text_facts(archive)
    values["joined"]["files"] = values["joined"]["files"][:2]
    write()
    error = get("joined", code=DataError.exit_code)
    assert "train.de.gz is joined from [2, 1] lines and train.en.gz from [1, 2]" in error
    assert not list(folder.glob("joined/*"))


def test_several_corpora_share_an_archive(web: Web, corpora: Any) -> None:
    values, write = corpora
    values["again"] = values["joined"]
    write()
    get("joined", "again")
    assert [path for path, _ in web.asked] == ["x.tgz"]


@pytest.mark.parametrize("packed", [True, False])
def test_a_copy_is_taken_and_verified(packed: bool, folder: Path, tmp_path: Path, web: Web) -> None:
    copy = tmp_path / "copy"
    (copy / "tok").mkdir(parents=True)
    for name, text in (("train.en", ENGLISH), ("tok/train.de", GERMAN)):
        path = copy / (f"{name}.gz" if packed else name)
        path.write_bytes(gzip.compress(text, 1) if packed else text)
    get("tiny", "--from", copy)
    assert read(folder / "tiny/tok/train.de.gz") == GERMAN
    assert not web.asked
    path.write_bytes(b"anything else\n")
    shutil.rmtree(folder / "tiny")
    assert str(path) in get("tiny", "--from", copy, code=DataError.exit_code)
    path.unlink()
    shutil.rmtree(folder / "tiny", ignore_errors=True)
    error = get("tiny", "--from", copy, code=DataError.exit_code)
    assert f"{copy}: has no tok/train.de.gz, compressed or not" in error
    assert not (folder / "tiny").exists()


def test_what_no_address_has_can_only_be_copied(
    folder: Path, tmp_path: Path, web: Web, corpora: Any
) -> None:
    values, write = corpora
    file = {"path": "train.tsv.gz", **text_facts(ENGLISH)}
    kept = ("about", "languages", "licence", "terms", "home")
    told = {key: values["tiny"][key] for key in kept}
    values["made"] = {**told, "made_from": "the package numbers", "files": [file]}
    write()
    error = get("made", code=DownloadError.exit_code)
    assert "made from the package numbers" in error
    assert "--from" in error
    assert not (folder / "made").exists()
    assert "from copy" in call("corpora", "list").out.splitlines()[4]
    (tmp_path / "train.tsv").write_bytes(ENGLISH)
    get("made", "--from", tmp_path)
    assert read(folder / "made/train.tsv.gz") == ENGLISH
    assert not web.asked


def test_a_corpus_is_complete_without_a_file_that_can_only_be_copied(
    folder: Path, tmp_path: Path, corpora: Any
) -> None:
    values, write = corpora
    made = {"path": "mono/train.de.gz", "made_from": "the captions", **text_facts(GERMAN)}
    values["tiny"]["files"].append(made)
    write()
    found = get("tiny")
    assert "mono/train.de.gz: left out; it was made from the captions" in found
    assert not (folder / "tiny/mono").exists()
    assert "complete and verified" in get("tiny")
    assert call("corpora", "list", "--json").out.count('"present": true') == 1
    (tmp_path / "mono").mkdir()
    (tmp_path / "mono/train.de").write_bytes(GERMAN)
    get("tiny", "--from", tmp_path)  # the other files are there already
    assert read(folder / "tiny/mono/train.de.gz") == GERMAN
    assert "left out" not in get("tiny")


def test_copies_of_several_corpora_lie_in_folders_of_their_names(
    folder: Path, tmp_path: Path, web: Web
) -> None:
    copies = tmp_path / "copies"
    (copies / "tiny/tok").mkdir(parents=True)
    (copies / "tiny/train.en").write_bytes(ENGLISH)
    (copies / "tiny/tok/train.de").write_bytes(GERMAN)
    (copies / "joined").mkdir()
    (copies / "joined/x.tgz").write_bytes(web.files["x.tgz"])
    (copies / "train.en").write_bytes(b"of another corpus\n")
    get("tiny", "joined", "--from", copies)
    assert read(folder / "tiny/train.en.gz") == ENGLISH
    assert read(folder / "joined/train.en.gz") == b"a\nb\nc\nd\n"
    assert not web.asked


def test_a_copy_may_lack_an_optional_file(
    folder: Path, tmp_path: Path, web: Web, corpora: Any
) -> None:
    values, write = corpora
    values["tiny"]["files"][1]["optional"] = True
    write()
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "train.en").write_bytes(ENGLISH)
    assert f"tok/train.de.gz: left out; {copy} has no copy of it" in get("tiny", "--from", copy)
    assert read(folder / "tiny/train.en.gz") == ENGLISH
    assert json.loads(call("corpora", "list", "--json").out)[0]["present"]
    assert not web.asked
    get("tiny")  # from the web, which has it
    assert read(folder / "tiny/tok/train.de.gz") == GERMAN
    (copy / "train.en").unlink()
    shutil.rmtree(folder / "tiny")
    error = get("tiny", "--from", copy, code=DataError.exit_code)
    assert f"{copy}: has no train.en.gz, compressed or not" in error


def test_text_without_translations_is_not_aligned(
    folder: Path, tmp_path: Path, corpora: Any
) -> None:
    values, write = corpora
    texts = {"en": ENGLISH, "de": GERMAN + b"vier\n"}
    for side, text in texts.items():
        path = f"mono/train.{side}.gz"
        made = {"path": path, "made_from": "the captions", **text_facts(text)}
        values["tiny"]["files"].append(made)
        (tmp_path / "mono").mkdir(exist_ok=True)
        (tmp_path / f"mono/train.{side}").write_bytes(text)
    write()
    get("tiny")
    error = get("tiny", "--from", tmp_path, code=DataError.exit_code)
    assert "they must be aligned line by line" in error
    for file in values["tiny"]["files"][2:]:
        file["monolingual"] = True
    write()
    get("tiny", "--from", tmp_path)
    assert read(folder / "tiny/mono/train.de.gz") == texts["de"]
    assert "complete and verified" in get("tiny")


def test_the_monolingual_captions_of_multi30k_are_no_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shipped = Path(manifest.__file__).with_name("corpus_manifest.yaml")
    monkeypatch.setattr(manifest, "_MANIFEST", shipped)
    manifest.corpora.cache_clear()
    one = manifest.corpus("multi30k")
    captions = [file for file in one.files if file.path.startswith("mono/")]
    assert len(captions) == 2
    assert all(file.monolingual and file.made_from for file in captions)
    assert all(file.optional for file in one.files if file.path.startswith("tok/"))
    assert not any(file.optional for file in one.files if "/" not in file.path)


def test_archives_may_be_the_copy(folder: Path, tmp_path: Path, web: Web) -> None:
    (tmp_path / "x.tgz").write_bytes(web.files["x.tgz"])
    get("joined", "--from", tmp_path)
    assert read(folder / "joined/train.en.gz") == b"a\nb\nc\nd\n"
    assert (tmp_path / "x.tgz").exists()
    shutil.rmtree(folder / "joined")
    (tmp_path / "x.tgz").write_bytes(web.files["x.tgz"][:-1])
    error = get("joined", "--from", tmp_path, code=DataError.exit_code)
    assert f"{tmp_path / 'x.tgz'}: not the archive of joined" in error


def test_too_little_room_is_told_before_anything_is_downloaded(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    error = get("tiny", code=StorageError.exit_code)
    assert "0.0 MB are free and 0.1 MB needed" in error
    assert not web.asked


def test_an_unknown_name_is_told_before_anything_is_done(web: Web) -> None:
    assert "did you mean 'joined'?" in get("tiny", "jonied", code=ConfigError.exit_code)
    assert not web.asked


def test_the_list_says_what_is_there(folder: Path) -> None:
    get("tiny")
    lines = call("corpora", "list").out.splitlines()
    assert lines[0].split() == ["tiny", "present", "0", "MB", "free"]
    assert lines[2].split()[:2] == ["joined", "missing"]
    tiny, joined = json.loads(call("corpora", "list", "--json").out)
    assert (tiny["present"], joined["present"]) == (True, False)
    assert tiny["folder"] == str(folder / "tiny")
    assert tiny["languages"] == ["en", "de"]
    (folder / "tiny/train.en.gz").unlink()
    assert not json.loads(call("corpora", "list", "--json").out)[0]["present"]


def test_where_prints_folders(folder: Path) -> None:
    assert call("corpora", "where").out == f"{folder}\n"
    assert call("corpora", "where", "tiny").out == f"{folder / 'tiny'}\n"
    assert "did you mean 'tiny'" in one_error(call("corpora", "where", "tinny"), 2)
