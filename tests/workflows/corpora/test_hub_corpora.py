"""Data sets of the Hub as corpora, from a Hub on this machine and from its cache."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import call, one_error
from hub_server import HubServer, hub_server
from listed_corpora import ENGLISH, KOREAN

from dragoman.core.errors import ConfigError, DataError, DownloadError
from dragoman.exchange.hub_datasets import fetch_files, file_kind, languages_of, look_up
from dragoman.text.corpora.fetched_corpus import fetched_corpus
from dragoman.text.lines import read_lines

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
constants = pytest.importorskip("huggingface_hub.constants")

NAME = "hf:datasets/org/pairs"
CITED = "```\n@article{a,\n  title = {Pairs},\n}\n```\n"


def parquet_of(columns: dict[str, Any], row_group_size: int = 7) -> bytes:
    made = io.BytesIO()
    parquet.write_table(arrow.table(columns), made, row_group_size=row_group_size)
    return made.getvalue()


def translations(english: list[str], korean: list[str]) -> bytes:
    rows = [{"en": one, "ko": other} for one, other in zip(english, korean, strict=True)]
    return parquet_of({"translation": rows})


def card(**fields: Any) -> bytes:
    return f"---\n{yaml.safe_dump(fields)}---\n# Pairs\n{CITED}".encode()


CONFIGS = [
    {
        "config_name": name,
        "data_files": [
            {"split": "train", "path": f"{name}/train-*"},
            {"split": "validation", "path": [f"{name}/validation-*"]},
            {"split": "test", "path": f"{name}/test-*"},
            {"split": "extra", "path": f"{name}/extra-*"},
        ],
    }
    for name in ("en-ko", "de-en")
]
FILES = {
    "README.md": card(license="cc-by-4.0", configs=CONFIGS),
    "en-ko/train-00000-of-00002.parquet": translations(ENGLISH[:20], KOREAN[:20]),
    "en-ko/train-00001-of-00002.parquet": translations(ENGLISH[20:40], KOREAN[20:40]),
    "en-ko/validation-00000-of-00001.parquet": translations(ENGLISH[40:45], KOREAN[40:45]),
    "en-ko/test-00000-of-00001.parquet": translations(ENGLISH[45:], KOREAN[45:]),
    "en-ko/extra-00000-of-00001.parquet": b"never read",
    "de-en/train-00000-of-00001.parquet": b"never read",
    "script.py": b"never fetched",
}


@pytest.fixture(scope="module")
def running_hub() -> Iterator[HubServer]:
    with hub_server() as server:
        yield server


@pytest.fixture
def server(
    running_hub: HubServer, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> HubServer:
    running_hub.repositories = {"datasets/org/pairs": dict(FILES)}
    running_hub.gated, running_hub.sent = set(), []
    monkeypatch.setenv("HF_ENDPOINT", running_hub.address)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    return running_hub


def only(server: HubServer, files: dict[str, bytes], **fields: Any) -> None:
    """Let the data set have these files."""
    server.repositories["datasets/org/pairs"] = {"README.md": card(**fields), **files}


def get(*arguments: object) -> tuple[dict[str, Any], str]:
    """The printed part of a recipe, and what was said."""
    outcome = call("corpora", "get", *arguments)
    assert outcome.code == 0, outcome.err
    return yaml.safe_load(outcome.out), outcome.err


def error_of(*arguments: object, code: int) -> str:
    return one_error(call("corpora", "get", *arguments), code)


def place(folder: Path, server: HubServer, subset: str = "en-ko") -> Path:
    return folder / f"hf/org/pairs@{server.commit('datasets/org/pairs')}#{subset}"


def both(place: Path, split: str = "train") -> list[list[str]]:
    return [list(read_lines(place / f"{split}.{side}.gz")) for side in ("en", "ko")]


def test_parquet_by_subset_at_its_revision(server: HubServer, folder: Path) -> None:
    values, said = get(f"{NAME}#en-ko")
    found = place(folder, server)
    assert both(found) == [ENGLISH[:40], KOREAN[:40]]
    assert both(found, "dev") == [ENGLISH[40:45], KOREAN[40:45]]
    assert both(found, "test") == [ENGLISH[45:], KOREAN[45:]]
    name = f"{NAME}@{server.commit('datasets/org/pairs')}#en-ko"
    assert f"{name}: en, ko; 0.0 MB to download; licence: cc-by-4.0" in said
    assert "Cite: @article{a, title = {Pairs}, }" in said
    assert "train: 40 pairs, dev: 5 pairs, test: 5 pairs" in said
    assert sorted(set(server.sent)) == sorted(
        ["README.md", *(one for one in FILES if re.match("en-ko/(train|val|test)", one))]
    )
    record = fetched_corpus(found)
    assert record is not None and record.citations == ("@article{a,\n  title = {Pairs},\n}",)
    assert values["data"]["dev"]["dev1"]["source"].endswith("#en-ko/dev.en.gz")
    assert values["data"]["train"][0]["licence"] == "cc-by-4.0"
    server.sent.clear()
    assert get(f"{NAME}@main#en-ko")[1] == get(name)[1]
    assert get(name)[1] == f"dragoman: {found}: complete and verified\n"
    assert not server.sent


def test_the_cache_answers_offline(
    server: HubServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = get(NAME, "--languages", "en,ko")[0]
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    found = place(folder, server)
    for path in found.iterdir():
        path.unlink()
    found.rmdir()
    server.repositories.clear()
    assert get(NAME, "--languages", "en,ko")[0] == first
    assert both(found, "dev") == [ENGLISH[40:45], KOREAN[40:45]]
    error = error_of("hf:datasets/org/other", code=DownloadError.exit_code)
    assert "hf:datasets/org/other: not in the cache" in error


def test_a_change_between_the_look_and_the_download_is_told(server: HubServer) -> None:
    seen = look_up(NAME)
    server.repositories["datasets/org/pairs"]["more.txt"] = b"x"
    with pytest.raises(DownloadError, match="was changed just now; repeat the command"):
        fetch_files(seen, ["en-ko/test-00000-of-00001.parquet"])


KINDS = {
    "data/train.jsonl": "".join(
        json.dumps({"translation": {"en": one, "ko": other}}) + "\n"
        for one, other in zip(ENGLISH, KOREAN, strict=True)
    ).encode(),
    "train.json": "".join(
        json.dumps({"id": 1, "ko": other, "en": one}) + "\n"
        for one, other in zip(ENGLISH, KOREAN, strict=True)
    ).encode(),
    "pairs.tsv": "".join(
        f"{one}\t{other}\n" for one, other in zip(["ko", *KOREAN], ["en", *ENGLISH], strict=True)
    ).encode(),
    "pairs.csv.gz": gzip.compress(
        "".join(
            f'"{one}",{other}\n'
            for one, other in zip(["eng_Latn", *ENGLISH], ["kor_Hang", *KOREAN], strict=True)
        ).encode()
    ),
    "columns.parquet": parquet_of({"score": [0.5] * 50, "en": ENGLISH, "ko": KOREAN}),
    "named.parquet": parquet_of({"source": ENGLISH, "target": KOREAN}),
}


@pytest.mark.parametrize("file", KINDS)
def test_kinds_of_files(file: str, server: HubServer, folder: Path) -> None:
    only(server, {file: KINDS[file]}, language=["en", "ko"])
    get(NAME)
    assert both(place(folder, server, "default")) == [ENGLISH, KOREAN]


def test_unnamed_columns_follow_the_subset(server: HubServer, folder: Path) -> None:
    files = {"ko-en/train.parquet": parquet_of({"source": KOREAN, "target": ENGLISH})}
    only(server, files | {"de-en/train.parquet": b""})
    get(NAME, "--languages", "en,ko")
    assert both(place(folder, server, "ko-en")) == [ENGLISH, KOREAN]


def test_rows_without_text_are_counted(server: HubServer, folder: Path) -> None:
    columns = {"en": [*ENGLISH, None, "", "two\nlines"], "ko": [*KOREAN, "가", "나", "두\r\n줄"]}
    only(server, {"train.parquet": parquet_of(columns)}, language=["en", "ko"])
    said = get(NAME)[1]
    assert "train: 51 pairs" in said
    assert "left out: 1 without both columns, 1 empty" in said or "1 empty, 1 without" in said
    assert both(place(folder, server, "default"))[1][-1] == "두  줄"


def test_broken_json_is_counted(server: HubServer, folder: Path) -> None:
    lines = [
        *KINDS["train.json"].splitlines(),
        b"{",
        b'{"en": "x"}',
        b"\xff",
        b'{"en": 1, "ko": 2}',
    ]
    only(server, {"train.jsonl": b"\n".join(lines)}, language=["en", "ko"])
    assert "left out: 2 without both columns, 1 not JSON, 1 not UTF-8" in get(NAME)[1]
    assert both(place(folder, server, "default")) == [ENGLISH, KOREAN]


def test_errors_are_one_line(
    server: HubServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = error_of(NAME, code=ConfigError.exit_code)
    assert (
        "has several subsets; add #SUBSET to its name, or give --languages: en-ko, de-en" in error
    )
    error = error_of(f"{NAME}#en-kr", code=ConfigError.exit_code)
    assert "no subset 'en-kr'; did you mean 'en-ko'?" in error
    error = error_of("hf:datasets/org/none", code=DownloadError.exit_code)
    assert "no such data set, or a private one" in error
    error = error_of(f"{NAME}@v9", code=DownloadError.exit_code)
    assert "no such revision" in error
    error = error_of("hf:datasets/pairs", code=ConfigError.exit_code)
    assert "no name of a data set" in error
    server.gated.add("datasets/org/pairs")
    error = error_of(NAME, code=DownloadError.exit_code)
    assert "accept it on the data set's page" in error
    server.gated.clear()
    only(server, {"a.txt": b"x"})
    error = error_of(NAME, code=ConfigError.exit_code)
    assert "has no files in Parquet, JSON lines, TSV or CSV" in error
    only(server, {"train.parquet": KINDS["columns.parquet"]})
    error = error_of(NAME, code=ConfigError.exit_code)
    assert "name its two languages with --languages" in error
    error = error_of(NAME, "--languages", "en,de", code=DataError.exit_code)
    assert "org/pairs/train.parquet: no column in 'de'; columns there: score, en" in error
    only(server, {"train.parquet": b"PAR1 it is not"})
    error = error_of(NAME, "--languages", "en,ko", code=DataError.exit_code)
    assert "org/pairs/train.parquet: not a Parquet file" in error
    only(server, {"train.json": b'[{"en": "a"}]'})
    error = error_of(NAME, "--languages", "en,ko", code=DataError.exit_code)
    assert "no JSON object on any line" in error
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    error = error_of(NAME, code=DownloadError.exit_code)
    assert "no connection" in error
    assert not [path for path in folder.rglob("*") if path.is_file()]


def test_damaged_rows_leave_nothing(server: HubServer, folder: Path) -> None:
    content = bytearray(KINDS["columns.parquet"])
    content[40:140] = b"\xff" * 100
    only(server, {"train.parquet": bytes(content)}, language=["en", "ko"])
    error = error_of(NAME, code=DataError.exit_code)
    assert "org/pairs/train.parquet: damaged" in error
    assert not place(folder, server, "default").exists()


def test_memory_does_not_grow_with_the_file(server: HubServer, folder: Path) -> None:
    from dragoman.workflows.corpora import hub_corpus

    rows = 50_000
    text = {"en": [f"{n} {'x' * 200}" for n in range(rows)], "ko": ["가"] * rows}
    only(server, {"train.parquet": parquet_of(text, 5000)}, language=["en", "ko"])
    held = []
    read = hub_corpus._parquet_pairs

    def watched(*arguments: Any) -> Iterator[tuple[str, str]]:
        for number, pair in enumerate(read(*arguments)):
            if number % 1000 == 0:
                held.append(arrow.total_allocated_bytes())
            yield pair

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hub_corpus, "_parquet_pairs", watched)
        get(NAME)
    assert max(held) < 5e6  # of 10 MB


@pytest.mark.parametrize(
    ("subset", "languages"),
    [
        ("en-ko", ("en", "ko")),
        ("wmt_ko_en", ("ko", "en")),
        ("eng_Latn-kor_Hang", ("eng_Latn", "kor_Hang")),
        ("default", None),
        ("en-en_GB", None),
    ],
)
def test_languages_of_subsets(subset: str, languages: tuple[str, str] | None) -> None:
    assert languages_of(subset) == languages


def test_files_of_data() -> None:
    assert file_kind("a/b.jsonl.zst") == ".jsonl"
    assert file_kind("dataset_infos.json") is None
    assert file_kind(".x.json") is None
    assert file_kind("a.txt") is None
