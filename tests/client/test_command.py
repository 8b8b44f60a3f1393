"""The program ``dragoman-client``, over real sockets."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from api_server import ApiServer

from dragoman.client.command import main
from dragoman.client.progress_line import ProgressLine

TO = ("--to", "de", "--from", "en")


@pytest.fixture(autouse=True)
def at_the_server(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_SERVER", server.address)


def translated(
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    given: bytes,
    *options: str,
) -> tuple[int, list[str], str]:
    """Exit code, lines of standard output, and standard error of ``translate``."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
    code = main(["translate", *TO, *options])
    out, err = capfdbinary.readouterr()
    return code, out.decode().splitlines(), err.decode()


def test_each_line_gives_one_in_order(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    lines = ["\ufefffirst", "", *(f"line {number}\u2028é" for number in range(300)), "last"]
    given = "\r\n".join(lines).encode()
    code, found, err = translated(monkeypatch, capfdbinary, given, "--split", "none")
    assert (code, err) == (0, "")
    text = "\n".join(found)
    expected = ["FIRSTde", "", *(f"LINE {number}\u2028Éde" for number in range(300)), "LASTde"]
    assert text == "\n".join("\n".join(expected).splitlines())


def test_a_line_that_is_refused_is_named_and_the_others_before_it_are_kept(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    given = b"one\ntwo\n" + b"x" * 2_000_000 + b"\nfour\n"
    code, found, err = translated(monkeypatch, capfdbinary, given)
    assert (code, found) == (12, ["ONEde", "TWOde"])
    hint, error = err.splitlines()
    assert hint == "2 lines are done; go on with --skip 2"
    assert error.startswith("dragoman-client: error: line 3: ")


def test_work_goes_on_after_lines_that_are_done(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    code, found, _ = translated(monkeypatch, capfdbinary, b"one\ntwo\nthree", "--skip", "2")
    assert (code, found) == (0, ["THREEde"])
    code, _, err = translated(monkeypatch, capfdbinary, b"one", "--skip", "-1")
    assert (code, err) == (
        2,
        "dragoman-client: error: --skip: expected a number of lines, found -1\n",
    )


def test_a_line_that_is_not_utf_8_is_named(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    code, found, err = translated(monkeypatch, capfdbinary, b"one\ncaf\xe9\n")
    assert (code, found) == (3, ["ONEde"])
    assert "standard input:2: not UTF-8 at byte 4" in err


def test_terms_of_a_file_and_tags_reach_the_server(
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    tmp_path: Path,
    server: ApiServer,
) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("house\tHaus\n\n", encoding="utf-8")
    options = ("--glossary", str(terms), "--tag", "<formal>", "--format", "text")
    assert translated(monkeypatch, capfdbinary, b"a house", *options)[0] == 0
    (asked,) = server.service.calls[-1]
    assert asked.tags == ("<formal>",)
    assert asked.glossary is not None
    assert asked.glossary.terms[0].targets == ("Haus",)
    terms.write_text("house Haus\n", encoding="utf-8")
    code, _, err = translated(monkeypatch, capfdbinary, b"a house", *options)
    assert code == 3
    assert "terms.tsv:1: expected a term, a tab" in err


def test_it_is_a_filter_that_answers_at_once_and_ends_with_its_reader(server: ApiServer) -> None:
    command = [sys.executable, "-m", "dragoman.client", "translate", *TO]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdin and process.stdout
        for line in (b"one\n", b"two\n"):  # each is answered before the next is written
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline() == line.strip().upper() + b"de\n"
        process.stdout.close()
        process.stdin.write(b"three\n")
        process.stdin.close()
        assert process.wait(30) == 141
        assert process.stderr and process.stderr.read() == b""


def test_documents_appear_beside_their_sources(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.srt"
    one.write_text("Hello.\n")
    two.write_text("1\n00:00:01,000 --> 00:00:02,000\nHello.\n")
    assert main(["document", str(one), str(two), *TO]) == 0
    assert (tmp_path / "one.de.txt").read_text() == "HELLO.de\n"
    assert "HELLO.de" in (tmp_path / "two.de.srt").read_text()
    assert capsys.readouterr().out.splitlines() == [
        str(tmp_path / "one.de.txt"),
        str(tmp_path / "two.de.srt"),
    ]
    assert main(["document", str(one), *TO]) == 2
    assert "one.de.txt: exists already; --force replaces it" in capsys.readouterr().err
    assert main(["document", str(one), *TO, "--force"]) == 0
    assert main(["document", str(one), *TO, "--output", f"{tmp_path}/new/"]) == 0
    assert (tmp_path / "new" / "one.de.txt").read_text() == "HELLO.de\n"
    assert main(["document", str(one), str(two), *TO, "--output", f"{tmp_path}/all"]) == 2


def test_a_document_that_is_refused_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, none, good = tmp_path / "a.xyz", tmp_path / "none.txt", tmp_path / "b.txt"
    bad.write_bytes(b"\0")
    good.write_text("Hello.\n")
    assert main(["document", str(bad), str(none), str(good), *TO]) == 12
    assert (tmp_path / "b.de.txt").exists()
    err = capsys.readouterr().err
    assert f"{none}: cannot be read: No such file" in err


def test_languages_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["languages"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert main(["languages", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [row[0] for row in rows] == [one["code"] for one in listed]
    assert ["en", "English"] in [row[:2] for row in rows]


def test_what_is_wrong_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["languages", "--server", "localhost"]) == 2
    assert main(["languages", "--server", "http://127.0.0.1:9", "--timeout", "0.2"]) == 12
    assert main(["languages", "--key-file", str(tmp_path / "none")]) == 3
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 3
    assert "expected an address such as" in errors[0]
    assert "check the address, and that the server runs" in errors[1]
    assert "none: cannot be read" in errors[2]
    with pytest.raises(SystemExit) as wrong:
        main(["translate"])
    assert wrong.value.code == 2


def test_a_full_disk_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    done = subprocess.run(
        f"echo one | '{sys.executable}' -m dragoman.client translate --to de > /dev/full",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 6
    assert "standard output: cannot be written: No space left" in done.stderr


def test_progress_says_share_rate_and_time_left() -> None:
    assert ProgressLine("lines", 1200).wording(300, 60) == "25%, 300 lines, 5.0 lines/s, 3:00 left"
    assert ProgressLine("lines", None).wording(300, 60) == "300 lines, 5.0 lines/s"
    assert ProgressLine("", 1.0).wording(0.5, 61) == "50%, 1:01 left"
    assert ProgressLine("", 1.0).wording(0.0, 5) == ""
