"""The web page on a server of its own, whose answers are known, and a browser to open it in."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit

import pytest
from echo_service import EchoService
from running_server import running

from dragoman.saved.system import TranslationSystem
from dragoman.server.app import assemble
from dragoman.server.database.server_store import ServerStore
from dragoman.server.server_config import LimitsConfig, ServerConfig

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    FilePayload,
    Page,
    expect,
    sync_playwright,
)

WIDE, PHONE = (1280, 800), (320, 640)
expect.set_options(timeout=60_000)  # milliseconds, of which a machine at work may need some
Scheme = Literal["light", "dark"]


@dataclass(frozen=True)
class Site:
    """A server with the page."""

    address: str
    service: EchoService
    store: ServerStore


@contextmanager
def running_site(
    folder: Path, limits: LimitsConfig | None = None, *, require_key: bool = False
) -> Iterator[Site]:
    """Serve the page and all else, keeping what is sent in a database of this folder."""
    service = EchoService(("en", "de"), ("de", "en"), ("en", "fr"), ("en", "ar"), ("ar", "en"))
    config = ServerConfig(
        systems=(TranslationSystem(models=("model",)),),
        limits=limits or LimitsConfig(),
        require_key=require_key,
    )
    with (
        ServerStore(f"sqlite:///{folder / 'store.db'}") as store,
        running(assemble(config, service, store)) as address,
    ):
        yield Site(address, service, store)


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Chromium of the distribution, without a window; skips the test where there is none.

    Its build that never has a window takes a third less of the processor.
    """
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip("there is no chromium on the PATH")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox"] if root else []
        )
        try:
            yield browser
        finally:
            browser.close()


class Watch:
    """Notices what must not happen in a page.

    That is an error of a script, a violation of the policy, or a request to somebody else.
    """

    def __init__(self, page: Page) -> None:
        self._wrong: list[str] = []
        self._hosts: set[str] = set()
        page.on("pageerror", lambda error: self._wrong.append(str(error)))
        page.on("request", lambda request: self._hosts.add(urlsplit(request.url).netloc))
        page.on("console", self._read)

    def _read(self, message: ConsoleMessage) -> None:
        # The browser says so of every answer that is an error.
        if message.type in {"error", "warning"} and "Failed to load resource" not in message.text:
            self._wrong.append(message.text)

    def check(self, site: Site) -> None:
        """Look at what has happened since the last time.

        Raises:
            AssertionError: something must not have happened.
        """
        wrong, hosts = list(self._wrong), self._hosts - {"", urlsplit(site.address).netloc}
        self._wrong.clear()
        self._hosts.clear()
        assert wrong == []
        assert hosts == set()


def new_page(browser: Browser, size: tuple[int, int] = WIDE, scheme: Scheme = "light") -> Page:
    """A page of a visitor from Germany, who has never been here."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=scheme,
        locale="de-DE",
        reduced_motion="reduce",
        permissions=["clipboard-read", "clipboard-write"],
    )
    return context.new_page()


@contextmanager
def opened(
    browser: Browser, site: Site, size: tuple[int, int] = WIDE, scheme: Scheme = "light"
) -> Iterator[Page]:
    """A page for one test, in which nothing may go wrong."""
    page = new_page(browser, size, scheme)
    watch = Watch(page)
    try:
        yield page
        watch.check(site)
    finally:
        page.context.close()


_VISITS = itertools.count()


def arrive(page: Page, site: Site, fragment: str = "") -> None:
    """Load the page again, whatever it shows.

    The number makes it another address; a blank page between would take another process.
    """
    page.goto(f"{site.address}/?{next(_VISITS)}#{fragment}")


def visit(page: Page, site: Site, text: str = "", source: str = "en", target: str = "de") -> None:
    """Open the page at an address with languages and text, and wait for its translation."""
    arrive(page, site, urlencode({"source": source, "target": target, "text": text}))
    expect(page.locator("#target-language")).to_have_attribute("value", target)
    if text:
        expect(page.locator("#output .word").first).to_be_visible()


def choose(page: Page, menu: str, name: str) -> None:
    """Choose a language by its name in `#source-language` or `#target-language`."""
    page.locator(menu).click()
    page.get_by_role("option", name=name).click()


def files(page: Page) -> None:
    """Show the files."""
    page.get_by_role("tab", name="Files").click()


def upload(page: Page, name: str, content: bytes = b"Hello you.\n") -> None:
    """Choose a file."""
    file = FilePayload(name=name, mimeType="application/octet-stream", buffer=content)
    page.set_input_files("#file", files=[file])


def refuse(
    page: Page, path: str, status: int, kind: str = "", *, times: int | None = None, **answer: Any
) -> None:
    """Let requests for a path be refused, by the server or, without a kind, by a proxy."""
    error = {"kind": kind, "message": answer.pop("message", "no")}
    body = json.dumps({"error": error}) if kind else "<h1>No</h1>"
    given = {"body": body, "content_type": "application/json" if kind else "text/html", **answer}
    page.route(f"**{path}", lambda route: route.fulfill(status=status, **given), times=times)


def barriers(page: Page) -> list[str]:
    """What axe-core calls serious or critical."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{one['id']}: {[node['target'] for node in one['nodes']]}"
        for one in found
        if one["impact"] in {"serious", "critical"}
    ]


_CUT_OFF = """() => [...document.querySelectorAll("body *")].filter((one) => {
    if (!one.checkVisibility() || one.closest(".unseen, .mirror")) return false;
    const { left, right } = one.getBoundingClientRect();
    const isWide = one.scrollWidth > one.clientWidth + 1;
    const hides = isWide && getComputedStyle(one).overflowX !== "visible";
    return hides || left < -1 || right > innerWidth + 1;
}).map((one) => one.outerHTML.slice(0, 120))"""


def cut_off(page: Page) -> list[str]:
    """Elements that are wider than the window, or than what shows them."""
    found = page.evaluate(_CUT_OFF)
    assert isinstance(found, list)
    return found
