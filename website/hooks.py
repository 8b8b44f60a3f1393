"""What MkDocs calls while it builds the site: links, languages, and lists as GitHub reads them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from dragoman.core.text_tables import anchor
from dragoman.core.version import __version__
from website.line_breaks import whole
from website.outside_files import HOME, outside_files, rewritten
from website.search_worker import correct_search

ROOT = Path(__file__).parents[1]
_KOREAN = ".ko.md"
_KOREAN_FRONT = "index.ko.md"
_FRONTS = ("index.md", _KOREAN_FRONT)
_FENCE = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
_NESTED = re.compile(r"^((?:  )+)(?=(?:[-*]|\d+\.) )", re.MULTILINE)
_BOOSTS = {
    "faq.md": 2.0,
    "glossary-of-terms.md": 2.0,
    "results/": 0.6,
    "api.md": 0.5,
    "decisions/": 0.05,
    f"{HOME}/": 0.1,
}
"""How much a hit on these pages counts in the search, where one on others counts 1."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Headings have GitHub's anchors, and every page says which version it is of."""
    config.mdx_configs["toc"]["slugify"] = lambda title, _separator: anchor(title)
    config.copyright = f"Dragoman {__version__}"
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what pages link to outside of docs/, and the style of the site."""
    style = (ROOT / "website" / "style.css").read_text(encoding="utf-8")
    pages = sorted(Path(config.docs_dir).rglob("*.md"))
    for name, text in {**outside_files(pages, ROOT), "site/style.css": style}.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_post_build(config: MkDocsConfig) -> None:
    """Correct the theme's search."""
    correct_search(Path(config.site_dir))


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Write for Python-Markdown what GitHub reads: nested lists, text within ``<details>``."""
    source = page.file.src_uri
    for beginning, boost in _BOOSTS.items():
        if source.startswith(beginning):
            page.meta["search"] = {"boost": boost}
    if not source.startswith(f"{HOME}/"):
        markdown = rewritten(markdown, f"docs/{source}", ROOT)
    parts, end = [], 0
    for fence in _FENCE.finditer(markdown):
        parts += [_for_python_markdown(markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, _for_python_markdown(markdown[end:])])


def _for_python_markdown(text: str) -> str:
    text = _NESTED.sub(lambda found: found[1] * 2, text)
    return re.sub(r"^<(details|summary)>", r'<\1 markdown="1">', text, flags=re.MULTILINE)


def on_page_content(html: str, **_: Any) -> str:
    """Keep options and figures on one line."""
    return whole(html)


def on_page_context(context: Any, page: Page, config: MkDocsConfig, **_: Any) -> Any:
    """Lead to the same page in the other language, or from an English one to the Korean front."""
    source = page.file.src_uri
    english = source.replace(_KOREAN, ".md")
    korean = english.removesuffix(".md") + _KOREAN
    urls = {file.src_uri: file.url for file in context["pages"]}
    config.extra["alternate"] = [
        {"name": "English", "lang": "en", "link": urls.get(english, urls["index.md"])},
        {"name": "한국어", "lang": "ko", "link": urls.get(korean, urls[_KOREAN_FRONT])},
    ]
    config.theme["language"] = "ko" if source.endswith(_KOREAN) else "en"
    if source in _FRONTS:
        page.meta["hide"] = ["navigation", "toc"]
    return context
