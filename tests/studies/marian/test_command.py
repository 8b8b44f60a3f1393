"""What keeps Marian from translating is told in one line."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from studies.marian import __main__ as command

SCRIPTS = {
    "": "node: no such program; install Node.js",
    "echo 'no memory' >&2; echo >&2; exit 1": "Marian: no memory",
    "echo 'Error: no model' >&2; echo '  at main' >&2; exit 1": "Marian: Error: no model",
    "exit 3": "Marian: exit code 3",
    "echo eins": "Marian: 1 translations of 2 lines",
    "echo eins; echo zwei\u2028drei": "",
}


class Translator:
    def __enter__(self) -> Translator:
        return self

    def __exit__(self, *_: object) -> None: ...

    def translate(self, lines: list[str], **_: object) -> list[str]:
        assert lines == ["one", "two\u2028three"]
        return ["eins", "zwei\u2028drei"]


@pytest.mark.parametrize("script", SCRIPTS)
def test_errors_are_one_line(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "package/worker").mkdir(parents=True)
    (tmp_path / "lines").write_text("one\ntwo\u2028three\n", encoding="utf-8")

    def export(_: Path, __: str, output: Path) -> None:
        output.mkdir()
        (output / "decoder.yml").write_text("vocabs: [a.spm]\n")

    monkeypatch.setattr(command, "export_model", export)
    monkeypatch.setattr(command, "to_binary", lambda _: b"")
    opened = SimpleNamespace(load=lambda *_, **__: Translator())
    monkeypatch.setattr(command, "Translator", opened)
    monkeypatch.setenv("PATH", str(tmp_path))
    if script:
        program = tmp_path / "node"
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
    given = [str(tmp_path / "model"), str(tmp_path / "lines"), "--package"]
    found = CliRunner().invoke(command.compare, [*given, str(tmp_path / "package")])
    if SCRIPTS[script]:
        assert found.exit_code == 3, found.output
        assert found.output == f"Error: {SCRIPTS[script]}\n"
    else:
        assert found.output == "2 of 2 equal\n"
