"""The web page on a server of its own, whose answers are known, and a browser to open it in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from echo_service import EchoService
from running_server import running

from dragoman.apps.server.app import create_app
from dragoman.apps.server.config import LimitsConfig, ServerConfig
from dragoman.apps.server.doors.own import own_door
from dragoman.apps.server.premises import Premises
from dragoman.apps.server.store.records import ApiKey
from dragoman.apps.server.store.store import Store
from dragoman.apps.web.web import web_door
from dragoman.saved.system import TranslationSystem
from dragoman.translation.service.interface import RefusedError

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Page, sync_playwright  # noqa: E402

KEY = "open-sesame"
WIDE, PHONE = (1280, 800), (320, 640)


class OpenGuard:
    """Admits everybody; with ``secret``, only who brings it."""

    def __init__(self, secret: str | None = None) -> None:
        self._secret = secret

    async def admit(
        self, secret: str | None, address: str, texts: Sequence[str] = ()
    ) -> ApiKey | None:
        if self._secret and secret != self._secret:
            raise RefusedError("forbidden", "this server needs a key")
        return None


@dataclass(frozen=True)
class Site:
    """A server with the page."""

    address: str
    service: EchoService
    store: Store


def site_premises(
    store: Store, secret: str | None = None, limits: LimitsConfig | None = None, **given: Any
) -> Premises:
    """What stands behind the page, with languages in three scripts' directions."""
    service = EchoService(("en", "de"), ("de", "en"), ("en", "fr"), ("en", "ar"), ("ar", "en"))
    config = ServerConfig(
        systems=(TranslationSystem(models=("model",)),),
        limits=limits or LimitsConfig(),
        require_key=secret is not None,
        **given,
    )
    return Premises(service, store, OpenGuard(secret), config)


@contextmanager
def running_site(
    folder: Path, secret: str | None = None, limits: LimitsConfig | None = None
) -> Iterator[Site]:
    """Serve the page and ``/v1``, keeping what is sent in a database of this folder."""
    with Store(f"sqlite:///{folder / 'store.db'}") as store:
        premises = site_premises(store, secret, limits)
        app = create_app([own_door(premises), web_door(premises)])
        with running(app) as address:
            assert isinstance(premises.service, EchoService)
            yield Site(address, premises.service, store)


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Chromium of the distribution, without a window; skips the test where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
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


@contextmanager
def opened(browser: Browser, size: tuple[int, int] = WIDE, scheme: Any = "light") -> Iterator[Page]:
    """A page of a visitor from Germany; at the end, nothing may have gone wrong in it.

    What must not happen is an error of a script, a violation of the policy, or a request to
    somebody else.
    """
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=scheme,
        locale="de-DE",
        reduced_motion="reduce",
        permissions=["clipboard-read", "clipboard-write"],
    )
    page = context.new_page()
    page.set_default_timeout(15_000)
    wrong: list[str] = []
    hosts: set[str] = set()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: hosts.add("/".join(request.url.split("/")[:3])))
    page.on(
        "console",
        lambda message: (
            wrong.append(message.text)
            if message.type in {"error", "warning"}
            and not message.text.startswith("Failed to load resource")
            else None
        ),
    )
    try:
        yield page
        assert wrong == []
        assert len({host for host in hosts if host.startswith("http")}) <= 1
    finally:
        context.close()
