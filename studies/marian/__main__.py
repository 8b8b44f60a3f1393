"""The command ``python -m studies.marian``."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import click
import yaml

from dragoman.apps.cli.options import PATH
from dragoman.apps.progress import quiet_option
from dragoman.core.errors import DataError
from dragoman.exchange.exporting import export_model
from dragoman.translation.translator import Translator
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
    texts = lines.read_text(encoding="utf-8").splitlines()
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
        found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    theirs = found.splitlines()
    with Translator.load(model, device="cpu") as translator:
        ours = translator.translate(texts, beam=1, degenerate="keep")
    pairs = list(zip(ours, theirs, strict=True))
    for line, (mine, other) in zip(texts, pairs, strict=True):
        if mine != other:
            click.echo(f"{line}\n  Dragoman: {mine}\n  Marian:   {other}")
    click.echo(f"{sum(mine == other for mine, other in pairs)} of {len(pairs)} equal")


if __name__ == "__main__":
    compare()
