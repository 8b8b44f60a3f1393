"""Downloads: resumed with Range, bounded, verified, and whole or not at all."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from corpora_web import Web, send_on, sha256
from flushes import watch_flushes

from dragoman.core.errors import DownloadError, SavedError, StorageError
from dragoman.core.locks import lock
from dragoman.workflows.download import download

CONTENT = bytes(range(256)) * 1200  # five reads


@pytest.fixture
def served(web: Web) -> Web:
    web.files["x"] = CONTENT
    return web


def fetch(web: Web, target: Path, **options: Any) -> int:
    """Download and return how many bytes were told."""
    told: list[int] = []
    known = {"limit": len(CONTENT), "size": len(CONTENT), "sha256": sha256(CONTENT)}
    download(f"{web.address}/x", target, told.append, **(known | options))  # type: ignore[arg-type]
    return sum(told)


def test_a_file_arrives(served: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed = watch_flushes(monkeypatch)
    assert fetch(served, tmp_path / "deep/x") == len(CONTENT)
    assert flushed == [tmp_path, tmp_path / "deep/x.part", tmp_path / "deep"]
    assert (tmp_path / "deep/x").read_bytes() == CONTENT
    assert os.listdir(tmp_path / "deep") == ["x"]
    assert served.asked == [("x", None)]


def test_a_cut_is_gone_on_with_where_it_was(served: Web, tmp_path: Path) -> None:
    served.cuts["x"] = [100_000, 50_000]
    assert fetch(served, tmp_path / "x") == len(CONTENT)
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert served.asked == [("x", None), ("x", "bytes=100000-"), ("x", "bytes=150000-")]


def test_as_many_cuts_as_it_takes_while_something_arrives(served: Web, tmp_path: Path) -> None:
    served.cuts["x"] = [20_000] * 9
    fetch(served, tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert len(served.asked) == 10


def test_the_next_call_goes_on_with_what_one_left(served: Web, tmp_path: Path) -> None:
    (tmp_path / "x.part").write_bytes(CONTENT[:7])
    assert fetch(served, tmp_path / "x") == len(CONTENT)
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert served.asked == [("x", "bytes=7-")]


@pytest.mark.parametrize("known", [True, False])
def test_what_had_all_arrived_is_not_fetched_again(
    known: bool, served: Web, tmp_path: Path
) -> None:
    (tmp_path / "x.part").write_bytes(CONTENT)
    fetch(served, tmp_path / "x", **({} if known else {"size": None, "limit": 10**6}))
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert len(served.asked) == (0 if known else 1)


def test_what_is_left_of_a_longer_file_is_not_gone_on_with(served: Web, tmp_path: Path) -> None:
    """Nobody would know which file to remove."""
    (tmp_path / "x.part").write_bytes(b"?" * (len(CONTENT) + 1))
    assert fetch(served, tmp_path / "x", size=None, sha256="", limit=10**6) == len(CONTENT)
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert served.asked == [("x", f"bytes={len(CONTENT) + 1}-"), ("x", None)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"ETag": '"one"'}, {"ETag": '"two"'}),
        (
            {"ETag": 'W/"one"', "Last-Modified": "Sat, 28 Nov 2026 10:00:00 GMT"},
            {"ETag": 'W/"one"', "Last-Modified": "Sat, 28 Nov 2026 11:00:00 GMT"},
        ),
    ],
    ids=["tag", "date"],
)
def test_a_file_that_has_changed_meanwhile_is_fetched_from_its_start(
    before: dict[str, str], after: dict[str, str], served: Web, tmp_path: Path
) -> None:
    """Without a digest, nobody would notice that two files were joined."""
    unknown = {"size": None, "sha256": "", "limit": 10**6}
    served.headers, served.cuts["x"] = before, [1000] + [0] * 10
    with pytest.raises(DownloadError, match="the connection broke"):
        fetch(served, tmp_path / "x", **unknown)
    served.headers, served.files["x"] = after, CONTENT[::-1]
    del served.cuts["x"]
    assert fetch(served, tmp_path / "x", **unknown) == len(CONTENT)
    assert (tmp_path / "x").read_bytes() == CONTENT[::-1]
    assert os.listdir(tmp_path) == ["x"]


def test_a_file_that_is_the_same_goes_on(served: Web, tmp_path: Path) -> None:
    served.headers = {"ETag": '"one"'}
    served.cuts["x"] = [1000]
    fetch(served, tmp_path / "x", size=None, sha256="", limit=10**6)
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert served.asked == [("x", None), ("x", "bytes=1000-")]


def test_a_server_without_ranges_gives_all_of_it_once_more(served: Web, tmp_path: Path) -> None:
    served.knows_ranges = False
    served.cuts["x"] = [1000]
    assert fetch(served, tmp_path / "x") == len(CONTENT)
    assert (tmp_path / "x").read_bytes() == CONTENT


def test_a_connection_that_keeps_breaking_is_given_up_and_its_bytes_kept(
    served: Web, tmp_path: Path
) -> None:
    served.cuts["x"] = [1000] + [0] * 10
    with pytest.raises(DownloadError, match=r"the connection broke .* is kept; repeat the command"):
        fetch(served, tmp_path / "x")
    assert (tmp_path / "x.part").read_bytes() == CONTENT[:1000]
    assert not (tmp_path / "x").exists()
    del served.cuts["x"]
    fetch(served, tmp_path / "x")
    assert served.asked[-1] == ("x", "bytes=1000-")


def test_another_digest_is_refused_and_nothing_kept(served: Web, tmp_path: Path) -> None:
    served.files["x"] = CONTENT[:-1] + b"?"
    with pytest.raises(DownloadError, match=f"its SHA-256 is .*, not {sha256(CONTENT)}"):
        fetch(served, tmp_path / "x")
    assert not os.listdir(tmp_path)


def test_another_size_is_refused(served: Web, tmp_path: Path) -> None:
    served.files["x"] = CONTENT[:-1]
    with pytest.raises(DownloadError, match=r"it has 307,199 bytes, not 307,200"):
        fetch(served, tmp_path / "x")


def test_more_than_the_limit_is_refused_before_it_is_read(served: Web, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"has 307,200 bytes; at most 1,000 were expected"):
        fetch(served, tmp_path / "x", size=None, limit=1000)
    assert not (tmp_path / "x.part").stat().st_size


def test_a_file_that_is_not_there_is_told(web: Web, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"the server answers 404 Not Found; .* use --from"):
        fetch(web, tmp_path / "x")


def test_no_connection_is_told(web: Web, tmp_path: Path) -> None:
    with socket.socket() as free:  # bound, and nobody listens
        free.bind(("127.0.0.1", 0))
        web.address = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(DownloadError, match=r"no connection to 127\.0\.0\.1 .*check the net"):
            fetch(web, tmp_path / "x")


def test_a_full_disk_is_told(served: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageError, match="the disk is full"):
        fetch(served, tmp_path / "x")


def test_two_processes_do_not_write_the_same_file(served: Web, tmp_path: Path) -> None:
    with (tmp_path / "x.part").open("ab") as other:
        if not lock(other.fileno()):
            pytest.skip("the file system has no locks")
        with pytest.raises(SavedError, match="another process is downloading it"):
            fetch(served, tmp_path / "x")


@pytest.mark.parametrize("address", ["http://localhost:1/a b", "http://localhost/ü", "http://[x/"])
def test_what_is_no_address_is_told_at_once(address: str, tmp_path: Path) -> None:
    """It used to be tried again and again, as a connection that broke, or to be a traceback."""
    with pytest.raises(DownloadError, match="no address that can be asked for"):
        download(address, tmp_path / "x", lambda count: None, limit=1)


@pytest.mark.parametrize("place", ["http://localhost/x", "ftp://localhost/x"])
def test_https_does_not_lead_to_http_where_nothing_verifies_what_comes(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_on(monkeypatch, place)
    told = f"https://localhost/x: leads to {place}, where anyone on the way can change"
    with pytest.raises(DownloadError, match=told):
        download(
            "https://localhost/x", tmp_path / "x", lambda count: None, limit=9, stays_secure=True
        )


def test_a_known_file_may_come_from_anywhere(
    served: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_on(monkeypatch, f"{served.address}/x")
    known = {"limit": len(CONTENT), "sha256": sha256(CONTENT)}
    download("https://localhost/x", tmp_path / "x", lambda count: None, **known)  # type: ignore[arg-type]
    assert (tmp_path / "x").read_bytes() == CONTENT
