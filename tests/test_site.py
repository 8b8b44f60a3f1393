"""The site that ``make site`` builds: pages have a place, links lead on, nothing is fetched."""

from __future__ import annotations

import json
import posixpath
import re
import string
import subprocess
import warnings
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from mkdocs.exceptions import PluginError
from playwright._impl._driver import compute_driver_executable
from test_docs import ROOT

import dragoman
from dragoman import client
from website.publish import publish
from website.search_worker import corrected

_DOCS = ROOT / "docs"
_SECTIONS = [
    "Start",
    "Your text",
    "Your domain",
    "Little or no text",
    "Many languages",
    "Translate documents",
    "Serve",
    "The papers",
    "Reference",
    "Measured",
    "Join",
]
_ANSWERS = {
    "how to install": "faq.html",
    "how much text do I need": "faq.html",
    "hardware requirements": "faq.html",
    "out of memory": "faq.html",
    "early stopping": "faq.html",
    "add a language": "adaptation.html",
    "repeats itself": "faq.html",
    "export to onnx": "import-export.html",
    "sacrebleu signature": "evaluation.html",
    "label smoothing": "objectives.html",
    "bleu is lower than the paper's": "faq.html",
    "translate docx": "faq.html",
    "missing strings": "translating-a-project.html",
    "api key": "server.html",
    "docker": "server.html",
    "backup": "server-database.html",
    "upgrade without downtime": "availability.html",
    "exit code 3": "exit-codes.html",
    "튜토리얼": "tutorial.ko.html",
    "역번역": "glossary-of-terms.html",
}
"""What users type into the search, and a page that must be among the first five."""
_OUTSIDE = "../latest/index.html"  # from the pages of an older version
_FETCHING = {"script": "src", "img": "src", "iframe": "src", "source": "srcset", "object": "data"}
_FETCHED_LINKS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch"}


def navigation() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
    return found


def places(entry: Any) -> Iterator[str]:
    """The pages of an entry of the navigation, in its order."""
    if isinstance(entry, str):
        yield entry
    else:
        for one in entry.values() if isinstance(entry, dict) else entry:
            yield from places(one)


def test_sections_go_by_what_readers_want() -> None:
    assert [name for entry in navigation() for name in entry][1:] == _SECTIONS


def test_every_page_has_one_place() -> None:
    pages = {page.relative_to(_DOCS).as_posix() for page in _DOCS.rglob("*.md")}
    pages = {page for page in pages if not re.match(r"decisions/\d", page)}
    found = Counter(places(navigation()))
    placed = {page for page in found if not page.startswith("repository/")}
    assert not pages - placed, (
        f"{sorted(pages - placed)}: give each a line `Title: path.md` in one section of `nav` in "
        "mkdocs.yml, the section of those who want to do what the page is about"
    )
    assert not placed - pages, f"mkdocs.yml: nav names {sorted(placed - pages)}, not in docs/"
    twice = [page for page, times in found.items() if times > 1]
    assert not twice, f"mkdocs.yml: nav names {twice} more than once"


def test_korean_pages_stand_beside_the_english_ones() -> None:
    order = list(places(navigation()))
    for page in order:
        english = page.replace(".ko.md", ".md")
        if page not in {english, "index.ko.md"}:
            assert order[order.index(page) - 1] == english, f"mkdocs.yml: {page} after {english}"


def test_the_reference_of_python_has_every_public_name() -> None:
    text = (_DOCS / "api.md").read_text(encoding="utf-8")
    names = re.findall(r"^::: dragoman\.(\S+)$", text, re.MULTILINE)
    assert len(names) == len(set(names))
    assert {name for name in names if "." not in name} == {*dragoman.__all__} - {"__version__"}
    errors = {name for name in client.__all__ if name.endswith("Error")}
    assert {name.removeprefix("client.") for name in names if "." in name} == {
        *client.__all__
    } - errors - {"__version__", *dragoman.__all__}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strict: a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as changes:
        warnings.simplefilter("ignore")  # of MkDocs and its theme, about themselves
        changes.setenv("NO_MKDOCS_2_WARNING", "1")
        changes.syspath_prepend(str(ROOT))
        from mkdocs.commands.build import build
        from mkdocs.config import load_config

        build(load_config(str(ROOT / "mkdocs.yml"), strict=True, site_dir=str(folder)))
    return folder


class Reader(HTMLParser):
    """What a page fetches, and where its links lead."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.language = ""
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "html":
            self.language = values["lang"]
        elif tag == "a":
            self.links += [values["href"]] if "href" in values else []
        elif tag == "link" and _FETCHED_LINKS & {*values["rel"].split()}:
            self.fetched.append(values["href"])
        elif _FETCHING.get(tag, "") in values:
            self.fetched.append(values[_FETCHING[tag]])


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Reader]:
    return {page.relative_to(site).as_posix(): Reader(page) for page in site.rglob("*.html")}


def test_nothing_is_fetched_from_another_host(site: Path, pages: dict[str, Reader]) -> None:
    for page, reader in pages.items():
        elsewhere = [one for one in reader.fetched if re.match(r"(https?:)?//", one)]
        assert not elsewhere, f"{page}: {elsewhere}"
    for style in site.rglob("*.css"):
        addresses = re.findall(r"(?:url\(|@import )[\"']?(https?:|//)", style.read_text("utf-8"))
        assert not addresses, style.name


def test_links_lead_to_files_of_the_site(site: Path, pages: dict[str, Reader]) -> None:
    """Also those to files outside of docs/, which MkDocs knows nothing of."""
    there = {file.relative_to(site).as_posix() for file in site.rglob("*") if file.is_file()}
    for page, reader in pages.items():
        if page == "404.html":  # whose links begin at the root of the host
            continue
        names = {link.partition("#")[0] for link in reader.links if ":" not in link} - {""}
        folder = posixpath.dirname(page)
        paths = {name: posixpath.normpath(posixpath.join(folder, name)) for name in names}
        lost = {name for name, path in paths.items() if path not in {*there, _OUTSIDE}}
        assert not lost, f"{page}: {lost}"


def test_no_table_is_left_as_text(site: Path) -> None:
    """As happens within HTML that is not marked as holding Markdown."""
    for page in site.rglob("*.html"):
        text = re.sub(r"<(pre|code)\b.*?</\1>", "", page.read_text("utf-8"), flags=re.DOTALL)
        assert not re.search(r"\|:?---", text), page.name


def test_the_language_switch_leads_to_the_counterpart(pages: dict[str, Reader]) -> None:
    assert "tutorial.ko.html" in pages["tutorial.html"].links
    assert "tutorial.html" in pages["tutorial.ko.html"].links
    assert "index.ko.html" in pages["adaptation.html"].links
    assert pages["tutorial.ko.html"].language == "ko"
    assert pages["tutorial.html"].language == "en"


def test_the_api_is_taken_from_the_code(site: Path) -> None:
    text = (site / "api.html").read_text(encoding="utf-8")
    for name in {*dragoman.__all__} - {"__version__", "errors"}:
        assert f'id="dragoman.{name}"' in text
    assert "translate_nbest" in text
    assert ":::" not in text


def test_search_finds_pages_in_both_languages(site: Path) -> None:
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    assert {"en", "ko"} <= {*index["config"]["lang"]}
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert {"tutorial.html", "tutorial.ko.html", "api.html"} <= found


def found_by_search(site: Path, queries: list[str]) -> list[list[str] | None]:
    """The pages that the site's search finds, best first; None for an error."""
    node, _ = compute_driver_executable()
    program = [node, str(Path(__file__).with_name("site_search.js")), str(site)]
    done = subprocess.run(
        program, input="\n".join(queries), check=True, capture_output=True, encoding="utf-8"
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_users_find_their_page(site: Path) -> None:
    found = found_by_search(site, [*_ANSWERS])
    firsts = {query: (pages or [])[:5] for query, pages in zip(_ANSWERS, found, strict=True)}
    wrong = {query: pages for query, pages in firsts.items() if _ANSWERS[query] not in pages}
    assert not wrong, f"{wrong}: words of headings count most; boosts are in website/hooks.py"


def test_the_search_knows_every_word(site: Path) -> None:
    """Each letter finds the words that begin with it; an invented one among them is an error."""
    queries = [*string.ascii_lowercase, *string.digits]
    assert None not in found_by_search(site, queries)


def test_another_search_is_refused() -> None:
    with pytest.raises(PluginError, match=r"search_worker.py: the theme's search has no"):
        corrected("search(e){}")


def test_pages_have_the_switch_between_versions(site: Path) -> None:
    for page, words in {"index.html": "an older version", "index.ko.html": "이전 버전"}.items():
        text = (site / page).read_text(encoding="utf-8")
        (settings,) = re.findall(r'<script id="__config"[^>]*>(.*?)</script>', text)
        assert json.loads(settings)["version"]["provider"] == "mike"
        assert words in text.partition("<header")[0]


def test_versions_go_into_a_branch_and_change_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    (tmp_path / "repository").mkdir()
    monkeypatch.chdir(tmp_path / "repository")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Somebody")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "somebody@example.org")
    git("init", "--initial-branch", "main")
    git("commit", "--allow-empty", "--message", "first")
    before = git("rev-parse", "HEAD")
    for version in ("1.9.0", "1.10.0", "1.9.1"):
        site = tmp_path / version
        site.mkdir()
        (site / "index.html").write_text(version, encoding="utf-8")
        publish(site, version, "pages")
    assert git("show", "pages:1.9/index.html") == "1.9.1"
    assert git("show", "pages:1.10/index.html") == "1.10.0"
    assert git("show", "pages:latest") == "1.10", "a link to the newest, not to the last"
    assert "latest/" in git("show", "pages:index.html")
    listed = json.loads(git("show", "pages:versions.json"))
    assert [one["title"] for one in listed] == ["1.10.0", "1.9.1"]
    assert git("status", "--porcelain") == ""
    assert git("rev-parse", "HEAD", "main") == f"{before}\n{before}"
