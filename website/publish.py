"""Put a built site into a branch, in a folder of its version (``make site-version``).

python -m website.publish build/site gh-pages

Only the branch changes: no file of the working tree, and no other host.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click
from mike import commands, git_utils
from mike.versions import VersionInfo

from dragoman.core.version import __version__

LATEST = "latest"
"""The folder that always shows the newest version; the root of the site leads to it."""


def is_newest(folder: str, published: Iterable[VersionInfo]) -> bool:
    """False for a correction of an older version, which ``latest`` must not go back to."""
    return all(other.version <= VersionInfo(folder).version for other in published)


def publish(site: Path, version: str, branch: str, remote: str = "origin") -> str:
    """Commit the site to a branch of the repository of the current directory.

    Args:
        site: the folder with the built pages.
        version: 1.2.3 goes into the folder 1.2, in place of the pages of 1.2.2.
        branch: created if it does not exist, and first brought to the state of the remote's.
        remote: whose branch was fetched last.

    Returns:
        The folder within the branch.
    """
    git_utils.update_from_upstream(remote, branch)
    folder = ".".join(version.split(".")[:2])
    newest = is_newest(folder, commands.list_versions(branch))
    built = {"site_dir": str(site), "use_directory_urls": False}
    aliases = [LATEST] if newest else []
    with commands.deploy(
        built, folder, version, aliases, update_aliases=True, branch=branch, allow_empty=True
    ):
        pass  # where mike would build
    commands.set_default(LATEST, branch=branch, allow_empty=True)
    return folder


@click.command()
@click.argument("site", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("branch")
def main(site: Path, branch: str) -> None:
    """Commit the built pages in SITE to BRANCH, in a folder of this version."""
    try:
        folder = publish(site, __version__, branch)
    except (git_utils.GitError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{site} is in the branch {branch}, folder {folder}; nothing was sent anywhere")


if __name__ == "__main__":
    main()
