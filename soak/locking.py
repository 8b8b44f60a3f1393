"""A list of all packages that an installation takes, with digests for ``--require-hashes``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import click

PIP = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


def write_lock(root: Path, path: Path, extras: Iterable[str]) -> int:
    """Write what pip would install for Dragoman here, each package with the digest of its wheel.

    The lock holds for this system and this version of Python, and for the index that pip asks.

    Args:
        root: of the repository, whose ``constraints.txt`` says which versions.
        path: of the lock.
        extras: of Dragoman that it shall cover.

    Returns:
        How many packages it names.

    Raises:
        subprocess.CalledProcessError: pip finds no such set of packages.
    """
    listed = ",".join(extras)
    what = f"{root}[{listed}]" if listed else str(root)
    asked = ["--dry-run", "--ignore-installed", "--only-binary", ":all:", "--no-build-isolation"]
    asked += ["--constraint", str(root / "constraints.txt"), "--report", "-", what]
    done = subprocess.run([*PIP, *asked], check=True, capture_output=True, text=True)
    lines = sorted(
        f"{item['metadata']['name']}=={item['metadata']['version']}"
        f" --hash=sha256:{item['download_info']['archive_info']['hashes']['sha256']}\n"
        for item in json.loads(done.stdout)["install"]
        if item["metadata"]["name"] != "dragoman"
    )
    path.write_text("".join(lines), encoding="utf-8")
    return len(lines)


def install_from_lock(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Let pip fetch all that the lock names and compare the digests; installs nothing."""
    command = [*PIP, "--dry-run", "--ignore-installed", "--require-hashes", "--no-deps"]
    return subprocess.run(
        [*command, *options, "--requirement", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )


@click.command()
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--extra", "extras", multiple=True, help="Of Dragoman, to be covered; repeatable.")
def locking(path: Path, extras: tuple[str, ...]) -> None:
    """Write what this system would install for Dragoman to PATH, with digests.

    \b
    Example:
      python -m soak.locking dist/requirements.lock --extra server --extra postgresql
    """
    packages = write_lock(Path(__file__).parents[1], path, extras)
    click.echo(f"{path}: {packages} packages")


if __name__ == "__main__":
    locking()
