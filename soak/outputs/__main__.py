"""The commands ``python -m soak.outputs record`` and ``compare``."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click

from soak.outputs import command_line, material, server, trainings, translations
from soak.outputs.comparison import differences
from soak.outputs.workplace import Workplace, package

_PARTS: dict[str, Callable[[Workplace], None]] = {
    "trainings": trainings.record,
    "translations": translations.record,
    "command-line": command_line.record,
    "server": server.record,
}
_MODELS = ["plain", "back", "two-tasks", "language-model", "classifier", "recurrent", "convs2s"]
"""Those that parts other than the trainings use."""


@click.group()
def main() -> None:
    """Record the outputs of the code on PYTHONPATH, and compare two records."""


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--only", "only", multiple=True, type=click.Choice(list(_PARTS)), help="This part.")
def record(folder: Path, only: tuple[str, ...]) -> None:
    """Record outputs in FOLDER, which must not exist."""
    folder.mkdir(parents=True)
    chosen = only or tuple(_PARTS)
    print(f"recording {package()}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        place = Workplace(Path(temporary) / "work", folder)
        begun = time.monotonic()
        material.train(place, None if "trainings" in chosen else _MODELS)
        for part, recorded in _PARTS.items():
            if part in chosen:
                print(f"{time.monotonic() - begun:4.0f} s: {part}", flush=True)
                recorded(place)
        print(f"{time.monotonic() - begun:4.0f} s: all")


@main.command()
@click.argument("old", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("new", type=click.Path(path_type=Path, exists=True, file_okay=False))
def compare(old: Path, new: Path) -> None:
    """Print in what the records OLD and NEW differ; the exit code is 1 if they do."""
    paragraphs = list(differences(old, new))
    for paragraph in paragraphs:
        print(paragraph)
    print(f"{len(paragraphs)} files differ" if paragraphs else "the records are equal")
    sys.exit(bool(paragraphs))


if __name__ == "__main__":
    main()
