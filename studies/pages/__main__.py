"""The command ``python -m studies.pages``."""

from __future__ import annotations

import click

from dragoman.core.files import atomic_write, make_directory
from dragoman.workflows.progress import quiet_option, tell
from studies.command import StudyCommand
from studies.pages.all_pages import DOCS, made


@click.command(
    cls=StudyCommand,
    params=[quiet_option],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
def pages() -> None:
    """Make the pages of results, and the boxes of techniques, from data.

    Writes docs/choose.md, the boxes below the titles of technique pages, docs/results.md,
    docs/results/NAME.md for each docs/results/data/NAME.yaml, and their pictures; files that are as
    they should be are left alone.

    \b
    Example:
      python -m studies.pages
    """
    for path, text in made(DOCS).items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            make_directory(path.parent)
            with atomic_write(path) as stream:
                stream.write(text)
            tell(f"written: {path.relative_to(DOCS.parent)}")


if __name__ == "__main__":
    pages()
