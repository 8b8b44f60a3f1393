"""The command ``python -m studies.gallery``."""

from __future__ import annotations

from pathlib import Path

import click

from dragoman.cli.option_types import PATH
from dragoman.core.constituency import read_tree
from dragoman.core.errors import SavedError
from dragoman.core.files import atomic_write, make_directory
from dragoman.workflows.progress import quiet_option, tell
from dragoman.workflows.reports.tree_picture import tree_picture
from studies.command import StudyCommand
from studies.gallery.screens import draw_page, draw_report, running_browser, served

_TEXT = """\
three hundred and seven euros
eight days, twenty-three hours, and twenty minutes
the nine hundred and sixty-seventh hour"""
# Written by hand, since the gallery should need no treebank.
_TREE = """\
(S (NP (DT Every) (NN parser)) (VP (VBZ draws) (NP (NP (DT a) (NN tree))
(PP (IN over) (NP (DT the) (NNS words))))) (. .))"""


@click.command(
    cls=StudyCommand,
    params=[quiet_option],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.argument("run", type=PATH)
@click.option("--output", metavar="DIRECTORY", type=PATH, required=True)
@click.option("--text", default=_TEXT, help="What the page translates, two lines or more.")
@click.option("--port", default=5099, help="Port of the server that shows the page.")
def gallery(run: Path, output: Path, text: str, port: int) -> None:
    """Draw the pictures of docs/gallery.md: the web page, the report of RUN, and a tree.

    Needs playwright, Pillow and a Chromium on the PATH.  `dragoman show` draws the others.

    \b
    Example:
      python -m studies.gallery demo/run --output docs/images/gallery
    """
    report = run / "report.html"
    if not report.is_file():
        raise SavedError(f"{run}: no finished run, which has a report.html")
    make_directory(output)
    with atomic_write(output / "tree.svg") as stream:
        stream.write(tree_picture([read_tree(_TREE)]))
    with running_browser() as browser, served(run, port) as address:
        draw_page(browser, address, text, output)
        draw_report(browser, report, output)
    tell(f"written: {output}")


if __name__ == "__main__":
    gallery()
