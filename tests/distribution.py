"""What is published: exported from the last commit, looked into and tried (``make dist``).

python tests/distribution.py export FOLDER [--pages URL]
python tests/distribution.py check dist
python tests/distribution.py use ENVIRONMENT
"""

from __future__ import annotations

import email
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import click

ROOT = Path(__file__).parents[1]
VERSION = re.compile(r'^(?:__)?version(?:__)? = "(.+)"$', re.MULTILINE)
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
INSTALLED = {"src/dragoman/": "dragoman/", "recipes/": "dragoman/recipes/"}
"""Folders of the repository, and where the wheel has them."""
CLIENT = "dragoman_client"
"""The package of the client alone."""
UNPUBLISHED = {".gitignore"}  # of the repository, and of no use without it
MADE = {"PKG-INFO", "setup.cfg", "MANIFEST.in"}
TINY = """
source_language: en
target_language: de
data:
  train: [{path: text/train.tsv, source: en, target: de}]
  dev: {path: text/dev.tsv, source: en, target: de}
vocabulary: {size: 150}
model: {encoder_layers: 1, decoder_layers: 1, d_model: 16, d_ff: 32, heads: 2}
training: {max_steps: 20, validation_steps: 20, checkpoint_steps: 20, step_tokens: 500}
search: {beam: 2, extra_length: 5}
"""


class Wrong(click.ClickException):
    """What must not be published."""


@click.group()
def distribution() -> None:
    """Export, check and try out what is published."""


@distribution.command("export")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--pages", default="", help="Where the files of README's links can be read.")
def export_command(folder: Path, pages: str) -> None:
    """Write the files of the last commit into FOLDER, with a README for readers elsewhere."""
    if changed := git("status", "--porcelain").splitlines():
        raise Wrong(
            f"{len(changed)} changed or new files ({changed[0][3:]} ...): commit them first"
        )
    folder.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True)
    subprocess.run(["tar", "-x"], cwd=folder, input=archive.stdout, check=True)
    readme = folder / "README.md"
    readme.write_text(for_elsewhere(readme.read_text("utf-8"), pages), encoding="utf-8")
    if not pages:
        click.echo("note: README.md has lost its links to files; PAGES=URL says where they lead")


def for_elsewhere(text: str, pages: str) -> str:
    """README where the files beside it are not: its links lead to ``pages``, or are plain text.

    Pictures are raw files there, which hosts have under ``raw`` instead of ``blob``.
    """

    def moved(link: re.Match[str]) -> str:
        picture, label, target = link.groups()
        if not pages:
            return "" if picture else label
        where = pages.rstrip("/").replace("/blob/", "/raw/") if picture else pages.rstrip("/")
        return f"{picture}[{label}]({where}/{target})"

    parts = FENCE.split(text)
    parts[::2] = [LINK.sub(moved, part) for part in parts[::2]]
    return "".join(parts)


@distribution.command("check")
@click.argument("folder", type=click.Path(path_type=Path))
def check_command(folder: Path) -> None:
    """See to it that FOLDER has wheels and source distributions with all that belongs there."""
    committed = {name: (ROOT / name).read_bytes() for name in git("ls-files").splitlines() if name}
    wheel, source = only(folder, "dragoman-*.whl"), only(folder, "dragoman-*.tar.gz")
    check_wheel(contents_of_wheel(wheel), committed)
    check_source(contents_of_source(source), committed)
    client, client_source = only(folder, f"{CLIENT}-*.whl"), only(folder, f"{CLIENT}-*.tar.gz")
    check_client(contents_of_wheel(client), contents_of_source(client_source), committed)
    for path in (wheel, source, client, client_source):
        click.echo(f"{path.name}: {path.stat().st_size:,} bytes, all files there")


def check_wheel(found: Mapping[str, bytes], committed: Mapping[str, bytes]) -> None:
    """The wheel is the package and the recipes as committed, the licence, and what describes them.

    Raises:
        Wrong: a file is missing, another or too many, or versions differ.
    """
    expected = {
        place + name.removeprefix(folder): content
        for folder, place in INSTALLED.items()
        for name, content in committed.items()
        if name.startswith(folder)
    }
    compare("wheel", {n: c for n, c in found.items() if ".dist-info/" not in n}, expected)
    version = "".join(VERSION.findall(committed["pyproject.toml"].decode()))
    info = f"dragoman-{version}.dist-info"
    about = {n.removeprefix(f"{info}/"): c for n, c in found.items() if n.startswith(f"{info}/")}
    if about.get("licenses/LICENSE") != committed["LICENSE"]:
        raise Wrong("wheel: it has no LICENSE")
    if b"dragoman = dragoman.cli.main:main" not in about.get("entry_points.txt", b""):
        raise Wrong("wheel: it has no command dragoman")
    metadata = email.message_from_bytes(about["METADATA"])
    code = "".join(VERSION.findall(committed["src/dragoman/core/version.py"].decode()))
    if not metadata["Version"] == version == code:
        raise Wrong(f"versions differ: {metadata['Version']} and {version}, {code} in the code")
    if f"## [{version}]" not in committed["CHANGELOG.md"].decode():
        raise Wrong(f"CHANGELOG.md has no section [{version}]")
    if dead := LINK.findall(FENCE.sub("", str(metadata.get_payload()))):
        raise Wrong(f"the description links to files that are not there: {dead[0][2]}")


def check_source(found: Mapping[str, bytes], committed: Mapping[str, bytes]) -> None:
    """The source distribution has all files as committed; README but for its links.

    Raises:
        Wrong: a file is missing, another or too many.
    """
    expected = {name: text for name, text in committed.items() if name not in UNPUBLISHED}
    compare(
        "source distribution",
        {
            name: text
            for name, text in found.items()
            if name not in MADE and ".egg-info/" not in name
        },
        {name: text for name, text in expected.items() if name not in MADE},
    )


def check_client(
    wheel: Mapping[str, bytes], source: Mapping[str, bytes], committed: Mapping[str, bytes]
) -> None:
    """The client's wheel is its package alone, at the version of Dragoman, as is its source.

    Raises:
        Wrong: a file is too many or differs, there is no licence or command, or versions differ.
    """
    version = "".join(VERSION.findall(committed["pyproject.toml"].decode()))
    info = f"{CLIENT}-{version}.dist-info/"
    if foreign := [name for name in wheel if not name.startswith((f"{CLIENT}/", info))]:
        raise Wrong(f"wheel of the client: {foreign[0]} does not belong there")
    if wheel.get(f"{info}licenses/LICENSE") != committed["LICENSE"]:
        raise Wrong("wheel of the client: it has no LICENSE")
    command = f"dragoman-client = {CLIENT}.command:main".encode()
    if command not in wheel.get(f"{info}entry_points.txt", b""):
        raise Wrong("wheel of the client: it has no command dragoman-client")
    package = {name: text for name, text in wheel.items() if name.startswith(f"{CLIENT}/")}
    sources = {n.removeprefix("src/"): text for n, text in source.items()}
    compare("source of the client", {n: t for n, t in sources.items() if n in package}, package)


def compare(kind: str, found: Mapping[str, bytes], expected: Mapping[str, bytes]) -> None:
    """Names and contents; README.md may differ.

    Raises:
        Wrong: they are not the same.
    """
    for problem, names in (
        ("lacks", expected.keys() - found.keys()),
        ("has, though it is not committed,", found.keys() - expected.keys()),
        (
            "has in another version than the working tree",
            {n for n in found.keys() & expected.keys() if found[n] != expected[n]} - {"README.md"},
        ),
    ):
        if names:
            listed = ", ".join(sorted(names)[:9])
            raise Wrong(f"{kind} {problem} {len(names)} files: {listed}")


@distribution.command("use")
@click.argument("environment", type=click.Path(path_type=Path))
def use_command(environment: Path) -> None:
    """Train, translate and draw with what is installed in ENVIRONMENT, far from the repository."""
    binaries = environment.resolve() / "bin"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with tempfile.TemporaryDirectory() as folder:

        def call(*arguments: str, stdin: str = "") -> str:
            done = subprocess.run(
                [binaries / arguments[0], *arguments[1:]],
                cwd=folder,
                env=clean,
                input=stdin,
                capture_output=True,
                text=True,
                encoding="utf-8",
                check=False,
            )
            if done.returncode:
                raise Wrong(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
            return done.stdout

        where = call("python", "-c", "import dragoman; print(dragoman.__file__)").strip()
        if not Path(where).resolve().is_relative_to(environment.resolve()):
            raise Wrong(f"{where} is used, not what is installed in {environment}")
        (Path(folder) / "tiny.yaml").write_text(TINY)
        write = "write(pathlib.Path('text'), 400, dev=20, test=20)"
        call("python", "-c", f"import pathlib; from dragoman.text.synthetic import write; {write}")
        call("python", "-c", f"import {CLIENT}; {CLIENT}.Client()")  # beside dragoman's own
        call("dragoman-client", "--help")
        call("dragoman", "train", "tiny.yaml")
        if not (Path(folder) / "runs/tiny/report.html").is_file():
            raise Wrong("no report was written")
        translated = call("dragoman", "translate", "runs/tiny", stdin="one euro\ntwo euros\n")
        if len(translated.splitlines()) != 2:
            raise Wrong("two lines give other than two translations")
        drawn = ("show", "attention", "runs/tiny", "one euro", "--output", "a.html", "--json")
        json.loads(call("dragoman", *drawn))
    click.echo(f"{call_version(binaries, clean)}: trains, translates and draws from {environment}")


def call_version(binaries: Path, environment: dict[str, str]) -> str:
    """What ``dragoman --version`` says."""
    command: list[str | Path] = [binaries / "dragoman", "--version"]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def contents_of_wheel(path: Path) -> dict[str, bytes]:
    """Its files by name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def contents_of_source(path: Path) -> dict[str, bytes]:
    """Its files by name, without the folder that all are in."""
    with tarfile.open(path) as archive:
        files = {member.name: archive.extractfile(member) for member in archive if member.isfile()}
        return {name.partition("/")[2]: file.read() for name, file in files.items() if file}


def only(folder: Path, pattern: str) -> Path:
    """The one file of that kind.

    Raises:
        Wrong: there is none, or several.
    """
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise Wrong(f"{folder}: {len(found)} files {pattern}, expected one")
    return found[0]


def git(*arguments: str) -> str:
    """What a command of git says."""
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(distribution())
