"""The command ``python -m studies.marian``."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import click
import yaml

from dragoman.cli.option_types import PATH
from dragoman.core.errors import DataError
from dragoman.exchange.exporting import export_model
from dragoman.text.lines import read_lines
from dragoman.translation.translator import Translator
from dragoman.workflows.progress import quiet_option
from studies.command import StudyCommand
from studies.marian.binary import to_binary


@click.command("marian", cls=StudyCommand, params=[quiet_option])
@click.argument("model", type=PATH)
@click.argument("lines", type=PATH)
@click.option("--package", type=PATH, required=True, help="Its folder in node_modules.")
def compare(model: Path, lines: Path, package: Path) -> None:
    """Export MODEL, translate LINES with Marian and with Dragoman, and count equal outputs.

    Marian is the WebAssembly build of Bergamot, which runs in Node.js: the package
    @browsermt/bergamot-translator of npm.
    """
    for path in (lines, package / "worker"):
        if not path.exists():
            raise DataError(f"{path}: no such file or folder")
    texts = list(read_lines(lines))
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "export"
        export_model(model, "marian", output)
        names = yaml.safe_load((output / "decoder.yml").read_text("utf-8"))["vocabs"]
        (output / "model.bin").write_bytes(to_binary(output / "model.npz"))
        worker = Path(folder) / "worker"
        worker.mkdir()
        for file in (package / "worker").iterdir():  # beside no package.json, so as CommonJS
            (worker / file.name).write_bytes(file.read_bytes())
        script = Path(__file__).with_name("translate.cjs")
        command: list[str | Path] = ["node", script, worker, output / "model.bin", lines]
        command += [output / name for name in names]
        theirs = _printed(command)
    if len(theirs) != len(texts):
        raise DataError(f"Marian: {len(theirs)} translations of {len(texts)} lines")
    with Translator.load(model, device="cpu") as translator:
        ours = translator.translate(texts, beam=1, degenerate="keep")
    pairs = list(zip(ours, theirs, strict=True))
    for line, (mine, other) in zip(texts, pairs, strict=True):
        if mine != other:
            click.echo(f"{line}\n  Dragoman: {mine}\n  Marian:   {other}")
    click.echo(f"{sum(mine == other for mine, other in pairs)} of {len(pairs)} equal")


def _printed(command: list[str | Path]) -> list[str]:
    """The lines that a program of Node.js prints."""
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, encoding="utf-8", errors="replace"
        )
    except FileNotFoundError:
        raise DataError("node: no such program; install Node.js") from None
    if done.returncode:
        told = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        # Below the error is where it was thrown.
        named = next((line for line in told if "Error" in line), told[-1] if told else "")
        raise DataError(f"Marian: {named or f'exit code {done.returncode}'}")
    return done.stdout.removesuffix("\n").split("\n")


if __name__ == "__main__":
    compare()
