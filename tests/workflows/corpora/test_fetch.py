"""Corpora by the names of mtdata's index, from a server on the loopback address."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import Outcome, call, one_error
from corpora_web import Web, sha256
from listed_corpora import ENGLISH, KOREAN, index, lines_of, moses, write_index, zip_of  # noqa: F401

from dragoman.core.errors import ConfigError, DataError, DownloadError, StorageError
from dragoman.recipe.reading import read_experiment
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.fetched_corpus import fetched_corpus
from dragoman.text.lines import read_lines

pytestmark = pytest.mark.usefixtures("index")

SMALL = "mtdata:OPUS-small-v2-eng-kor"
ARCHIVE = "OPUS-Small/v2/moses/en-ko.txt.zip"
Index = dict[str, dict[str, Any]]


def get(*arguments: object, code: int = 0) -> Outcome:
    outcome = call("corpora", "get", *arguments)
    assert outcome.code == code, outcome.err
    return outcome


def error_of(*arguments: object, code: int) -> str:
    return one_error(call("corpora", "get", *arguments), code)


def place(folder: Path, name: str = SMALL) -> Path:
    return folder / name.replace(":", "/")


def both(place: Path, source: str = "en", target: str = "ko") -> list[list[str]]:
    return [list(read_lines(place / f"text.{side}.gz")) for side in (source, target)]


def test_moses_files_in_a_zip_archive(folder: Path, web: Web) -> None:
    said = get(SMALL).err
    assert both(place(folder)) == [ENGLISH, KOREAN]
    size = len(web.files[ARCHIVE]) / 1e6
    assert f"{SMALL}: en, ko; {size:.1f} MB to download; licence: not stated in the list" in said
    assert "Cite: Tiedemann: Parallel Data, Tools and Interfaces in OPUS (2012)" in said
    assert said.index("Cite") < said.index("text: 50 pairs")
    assert (place(folder) / "LICENSE").read_text() == "CC-BY\n"
    record = fetched_corpus(place(folder))
    assert record is not None
    assert record.downloads[0].sha256 == sha256(web.files[ARCHIVE])
    assert record.home == "https://opus.nlpl.eu/Small"
    assert record.citations[0].startswith("@inproceedings")
    assert sorted(os.listdir(folder)) == [".mtdata-9.tsv.gz", "mtdata"]


@pytest.mark.parametrize(
    ("name", "korean"),
    [("mtdata:Facebook-table-1-eng-kor", "ko"), ("mtdata:ELRC-memory-1-eng-kor_KR", "ko-KR")],
)
def test_tables_and_memories(name: str, korean: str, folder: Path) -> None:
    get(name)
    assert both(place(folder, name), target=korean) == [ENGLISH, KOREAN]


@pytest.mark.parametrize("packed", ["w", "w:gz", "w:xz"])
def test_tar_archives_with_other_members(
    packed: str,
    folder: Path,
    web: Web,
    index: Index,  # noqa: F811
) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=packed) as tar:  # type: ignore[call-overload]
        for name, content in {
            "../../outside.en": b"x\n",
            "all/dev/x.en-ko.ko": lines_of(KOREAN),
            "all/dev/x.en-ko.en": lines_of(ENGLISH),
        }.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    web.files[ARCHIVE] = made.getvalue()
    index[SMALL[7:]]["members"] = ["all/*/x.en-ko.en", "all/*/x.en-ko.ko"]
    write_index(folder, index)
    get(SMALL)
    assert both(place(folder)) == [ENGLISH, KOREAN]
    assert not list(folder.parent.rglob("outside*"))


def test_a_table_with_commas_and_quotation_marks(
    folder: Path,
    web: Web,
    index: Index,  # noqa: F811
) -> None:
    web.files["x.csv"] = 'en,ko\n"One, two",하나\n"a ""b""",나\n'.encode()
    facts = index[SMALL[7:]]
    facts |= {"urls": [f"{web.address}/x.csv"], "kind": "csvwithheader", "members": []}
    write_index(folder, index)
    get(SMALL)
    assert both(place(folder)) == [["One, two", 'a "b"'], ["하나", "나"]]


def test_two_addresses_are_two_sides(folder: Path, web: Web, index: Index) -> None:  # noqa: F811
    web.files |= {"a.en.gz": gzip.compress(lines_of(ENGLISH)), "a.ko": lines_of(KOREAN)}
    urls = [f"{web.address}/a.en.gz", f"{web.address}/a.ko"]
    index[SMALL[7:]] |= {"urls": urls, "kind": "txt.gz", "members": []}
    write_index(folder, index)
    get(SMALL)
    assert both(place(folder)) == [ENGLISH, KOREAN]


def test_the_second_time_is_verified_and_not_downloaded(folder: Path, web: Web) -> None:
    first = get(SMALL)
    web.asked.clear()
    again = get(SMALL)
    assert again.err == f"dragoman: {place(folder)}: complete and verified\n"
    assert again.out == first.out
    assert not web.asked
    (place(folder) / "text.ko.gz").write_bytes(gzip.compress(lines_of(KOREAN[::-1])))
    error = error_of(SMALL, code=DataError.exit_code)
    assert "its text is not that of text.ko.gz: its SHA-256 is" in error
    assert error.endswith("move it away and repeat the command")


def test_what_has_changed_is_refused(folder: Path, web: Web) -> None:
    get(SMALL)
    (place(folder) / "text.ko.gz").unlink()
    web.files[ARCHIVE] = moses(ENGLISH, KOREAN[::-1])
    error = error_of(SMALL, code=DownloadError.exit_code)
    assert "it changed there or in transit" in error
    assert "remove the folder of the corpus" in error
    assert not (place(folder) / "text.ko.gz").exists()
    (place(folder) / "origin.json").unlink()
    web.asked.clear()
    error = error_of(SMALL, code=StorageError.exit_code)
    assert "holds LICENSE, which Dragoman did not put there" in error
    assert len(web.asked) == 1  # for the size
    shutil.rmtree(place(folder))
    get(SMALL)
    assert both(place(folder)) == [ENGLISH, KOREAN[::-1]]


def test_a_lost_file_is_made_again(folder: Path) -> None:
    get(SMALL)
    before = (place(folder) / "text.ko.gz").read_bytes()
    (place(folder) / "text.ko.gz").unlink()
    get(SMALL)
    assert (place(folder) / "text.ko.gz").read_bytes() == before


def test_a_broken_download_is_resumed(folder: Path, web: Web) -> None:
    web.headers["ETag"] = '"1"'
    whole = len(web.files[ARCHIVE])
    web.cuts[ARCHIVE] = [whole, 300, 0, 0, 0, 0]  # the first is asked for its size
    error = error_of(SMALL, code=DownloadError.exit_code)
    assert "repeat the command to resume" in error
    assert not place(folder).exists()
    web.cuts.clear()
    web.asked.clear()
    get(SMALL)
    assert web.asked[1] == (ARCHIVE, "bytes=300-")
    assert both(place(folder)) == [ENGLISH, KOREAN]


def test_several_at_once_without_duplicates(folder: Path) -> None:
    other = "mtdata:OPUS-other-v1-eng-kor"
    said = get(SMALL, other).err
    assert "text: 1 pairs, 0.0 MB of text; left out: 10 duplicate" in said
    assert both(place(folder, other)) == [["New."], ["새."]]
    record = fetched_corpus(place(folder, other))
    assert record is not None and record.without == (SMALL,)


def test_pairs_of_what_is_there_are_duplicates(folder: Path) -> None:
    get(SMALL)
    other = "mtdata:OPUS-other-v1-eng-kor"
    get(SMALL, other)
    assert both(place(folder, other)) == [["New."], ["새."]]


def test_duplicates_are_kept_on_request(folder: Path) -> None:
    other = "mtdata:OPUS-other-v1-eng-kor"
    get(SMALL, other, "--keep-duplicates")
    assert both(place(folder, other))[0] == [*ENGLISH[:10], "New."]
    record = fetched_corpus(place(folder, other))
    assert record is not None and record.without == ()


def test_the_printed_part_is_read_by_a_recipe(folder: Path, tmp_path: Path, web: Web) -> None:
    printed = get(SMALL, "mtdata:ELRC-memory-1-eng-kor_KR", "--keep-duplicates").out
    assert f"# {SMALL}: 50 pairs, " in printed
    assert f"# {web.address}/{ARCHIVE} SHA-256 {sha256(web.files[ARCHIVE])}" in printed
    values = yaml.safe_load(printed)
    values["data"]["dev"] = values["data"]["train"][0]
    values["model"] = {"family": "transformer"}
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(yaml.safe_dump(values), encoding="utf-8")
    config = read_experiment(recipe)
    assert (config.source_language, config.target_language) == ("en", "ko")
    for part in config.data.train:
        assert [pair.target for pair in read_pairs(part)] == KOREAN
    assert [part.licence for part in config.data.train] == [None, "CC-BY-4.0"]


def test_languages_choose_the_direction(folder: Path) -> None:
    printed = get(SMALL, "--languages", "ko,en").out
    values = yaml.safe_load(printed)
    assert values["source_language"] == "ko"
    assert values["data"]["train"][0]["source"].endswith("text.ko.gz")
    assert both(place(folder)) == [ENGLISH, KOREAN]
    assert yaml.safe_load(get(SMALL).out)["source_language"] == "ko"  # as it was fetched
    swapped = yaml.safe_load(get(SMALL, "--languages", "en,ko").out)
    assert swapped["data"]["train"][0]["source"].endswith("text.en.gz")


def test_broken_lines_are_left_out_and_counted(folder: Path, web: Web) -> None:
    korean = [line.encode() for line in KOREAN]
    korean[3], korean[4], korean[5] = b"\xff\xfe", b"", b"  \t"
    archive = {"a.en": lines_of(ENGLISH), "a.ko": b"".join(line + b"\r\n" for line in korean)}
    web.files[ARCHIVE] = zip_of(archive)
    said = get(SMALL).err
    assert "text: 47 pairs, 0.0 MB of text; left out: 2 empty, 1 not UTF-8" in said
    assert both(place(folder))[0] == [*ENGLISH[:3], *ENGLISH[6:]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (moses(ENGLISH, KOREAN[:-1]), "has 50 lines and .*has 49"),
        (zip_of({"a.en": lines_of(ENGLISH)}), r"contains no \*.ko; files there: a.en"),
        (zip_of({"a.en": b"", "b.en": b"", "a.ko": b""}), r"\*.en may be a.en, b.en; its archive"),
        (zip_of({"a.en": b"a\n" * 9, "a.ko": b"\xff\n" * 9}), "9 of 9 pairs cannot be read"),
        (zip_of({"a.en": b"\n" * 9, "a.ko": b"\n" * 9}), r"no pair is left of 9 \(9 empty\)"),
        (moses(ENGLISH, KOREAN)[:-40], "archive"),
        (b"<html>not found</html>", "archive"),
    ],
)
def test_a_bad_archive_leaves_nothing(content: bytes, message: str, folder: Path, web: Web) -> None:
    web.files[ARCHIVE] = content
    error = error_of(SMALL, code=DataError.exit_code)
    assert re.search(message, error), error
    assert not place(folder).exists()
    assert not [path for path in (folder / "mtdata").rglob("*") if path.is_file()]


def test_a_name_that_is_not_there(web: Web) -> None:
    error = error_of("mtdata:OPUS-smal-v2-eng-kor", code=ConfigError.exit_code)
    assert "mtdata 9 has no corpus 'OPUS-smal-v2-eng-kor'; did you mean" in error
    assert "mtdata:OPUS-small-v2-eng-kor" in error
    error = error_of(SMALL, "mtdata:nothing", code=ConfigError.exit_code)
    assert "no name of mtdata" in error
    assert not web.asked  # nothing is downloaded before all names are known


@pytest.mark.parametrize(
    "name", ["OPUS-small-v2-en-ko", "opus-Small-v2-ko-en", "OPUS-small-v2-kor-eng"]
)
def test_spellings_of_a_name(name: str, folder: Path) -> None:
    get(f"mtdata:{name}")
    assert both(place(folder)) == [ENGLISH, KOREAN]


def test_other_errors_are_one_line(folder: Path, web: Web, index: Index) -> None:  # noqa: F811
    error = error_of(SMALL, "--languages", "en,de", code=ConfigError.exit_code)
    assert "has no text in de; its languages are en" in error
    error = error_of(SMALL, "--languages", "english", code=ConfigError.exit_code)
    assert "name two languages by their codes" in error
    error = error_of("multi30k", "--languages", "en,de", code=ConfigError.exit_code)
    assert "need a corpus of another list" in error
    error = error_of("mtdata:Google-wmt24pp-1-eng-kor", code=ConfigError.exit_code)
    assert error.endswith("get it as hf:datasets/google/wmt24pp#en-ko")
    error = error_of("mtdata:Motorola-sheet-1-eng-kor", code=ConfigError.exit_code)
    assert "files of the kind xlsx are not read" in error
    error = error_of("mtdata:OPUS-small-v1-eng-kor", code=DownloadError.exit_code)
    assert "404 Not Found" in error
    index[SMALL[7:]]["urls"] = ["http://127.0.0.1:9/x.zip"]
    write_index(folder, index)
    error = error_of(SMALL, code=DownloadError.exit_code)
    assert "no connection to 127.0.0.1" in error
    assert not (folder / "mtdata").exists()


def test_a_full_disk_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 1000

    with monkeypatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda _: Usage)
        error = error_of(SMALL, code=StorageError.exit_code)
        assert "MB are free and" in error

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("dragoman.workflows.corpora.aligned_writing._Side.add", full)
    error = error_of(SMALL, code=StorageError.exit_code)
    assert "the disk is full" in error
    assert not place(folder).exists()


def test_a_dry_run_shows_and_downloads_nothing(folder: Path, web: Web) -> None:
    outcome = get(SMALL, "--dry-run")
    assert "MB to download; licence: not stated in the list; see https://opus" in outcome.err
    assert outcome.out == ""
    assert not (folder / "mtdata").exists()
    assert len(web.asked) == 1
    assert "Terms:" in get("multi30k", "--dry-run").err


@pytest.mark.parametrize("below", ["", "OPUS-small-v2-eng-kor"])
def test_a_copy_replaces_the_web(below: str, folder: Path, tmp_path: Path, web: Web) -> None:
    copy = tmp_path / "copy" / below
    copy.mkdir(parents=True)
    (copy / "en-ko.txt.zip").write_bytes(web.files[ARCHIVE])
    get(SMALL, "--from", tmp_path / "copy")
    assert both(place(folder)) == [ENGLISH, KOREAN]
    assert not web.asked
    (place(folder) / "text.ko.gz").unlink()
    (copy / "en-ko.txt.zip").write_bytes(moses(ENGLISH, KOREAN[::-1]))
    error = error_of(SMALL, "--from", tmp_path / "copy", code=DataError.exit_code)
    assert "its SHA-256 is" in error
    error = error_of(SMALL, "--from", tmp_path, code=DataError.exit_code)
    assert "has no OPUS-small-v2-eng-kor/en-ko.txt.zip, nor en-ko.txt.zip" in error


def test_a_damaged_record_is_told(folder: Path) -> None:
    get(SMALL)
    (place(folder) / "origin.json").write_text("{}")
    outcome = call("corpora", "get", SMALL)
    assert "origin.json: cannot be read" in one_error(outcome, 4)


def test_a_missing_file_names_its_corpus(folder: Path) -> None:
    with pytest.raises(DataError, match=f"get it with 'dragoman corpora get {SMALL}'"):
        list(read_lines(place(folder) / "text.en.gz"))


def test_where_and_list(folder: Path) -> None:
    assert call("corpora", "where", SMALL).out == f"{place(folder)}\n"
    get(SMALL)
    listed = json.loads(call("corpora", "list", "--json").out)
    assert listed[-1]["name"] == SMALL and listed[-1]["present"]
    assert listed[-1]["about"].startswith("50 pairs, fetched on 2")


def test_search(folder: Path) -> None:
    get(SMALL)
    outcome = call("corpora", "search", "ko", "en", "--match", "mtdata", "--json")
    found = {one["name"]: one for one in json.loads(outcome.out)}
    assert list(found) == [
        "mtdata:OPUS-small-v2-eng-kor",
        "mtdata:OPUS-other-v1-eng-kor",
        "mtdata:Facebook-table-1-eng-kor",
        "mtdata:ELRC-memory-1-eng-kor_KR",
        "mtdata:Google-wmt24pp-1-eng-kor",
        "mtdata:Motorola-sheet-1-eng-kor",
    ]
    assert [one["name"] for one in found.values() if one["present"]] == [SMALL]
    assert found["mtdata:ELRC-memory-1-eng-kor_KR"]["licence"] == "CC-BY-4.0"
    text = call("corpora", "search", "en", "ko")
    assert text.err == "1 older versions are left out; --all shows them\n"
    assert "homeassistant" in text.out and "mtdata:OPUS-small-v1" not in text.out
    assert "mtdata:OPUS-small-v1" in call("corpora", "search", "en", "ko", "--all").out
    assert "zho_Hant" in call("corpora", "search", "de", "zh").out
    assert "zho_Hant" in call("corpora", "search", "de", "zh-Hant").out
    assert "zho_Hant" not in call("corpora", "search", "de", "zh-Hans").out
    assert "two languages" in one_error(call("corpora", "search", "en", "eng"), 2)
    assert "two languages" in one_error(call("corpora", "search", "english", "ko"), 2)
