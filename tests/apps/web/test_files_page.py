"""Files on the web page, and what everybody can use, in a real browser."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, FilePayload, Page, Route, expect
from web_site import PHONE, WIDE, Site, opened, running_site, visit

from dragoman.apps.server.server_config import LimitsConfig

SCREENSHOTS = os.environ.get("DRAGOMAN_SCREENSHOTS")
"""Folder that pictures of the states below are written to, such as ``build/screenshots``."""


def upload(page: Page, name: str, content: bytes = b"Hello you.\n") -> None:
    """Choose a file."""
    file = FilePayload(name=name, mimeType="application/octet-stream", buffer=content)
    page.set_input_files("#file", files=[file])


def test_a_file_is_translated_and_fetched(page: Page, site: Site, tmp_path: Path) -> None:
    visit(page, site)
    page.get_by_role("tab", name="Files").click()
    upload(page, "Brief an dich.txt", b"Hello you.\n\nIt rains.\n")
    row = page.get_by_role("listitem")
    expect(row).to_contain_text("Brief an dich.txt")
    button = row.get_by_role("button", name="Download")
    with page.expect_download() as fetched:
        button.click()
    assert fetched.value.suggested_filename == "Brief an dich.de.txt"
    fetched.value.save_as(tmp_path / "found")
    assert (tmp_path / "found").read_text("utf-8") == "HELLO YOU.de\n\nIT RAINS.de\n"
    expect(row.get_by_role("progressbar")).to_have_count(0)
    row.get_by_role("button", name="Remove Brief an dich.txt").click()
    expect(row).to_have_count(0)


def test_progress_of_a_file_is_shown(page: Page, site: Site) -> None:
    state = '{"id": "1", "state": "queued", "progress": null}'
    page.route("**/v1/documents/*", lambda route: route.fulfill(body=state))
    visit(page, site)
    page.get_by_role("tab", name="Files").click()
    upload(page, "letter.txt")
    row = page.get_by_role("listitem")
    expect(row).to_contain_text("Waiting…")
    state = '{"id": "1", "state": "translating", "progress": 0.25}'
    expect(row.get_by_role("progressbar")).to_have_js_property("value", 0.25)
    expect(row).to_contain_text("Translating…")
    state = '{"id": "1", "state": "error", "message": "the text is in no known language"}'
    expect(row).to_contain_text("the text is in no known language")
    expect(row.get_by_role("progressbar")).to_have_count(0)


def test_a_file_waits_for_a_busy_server(own_page: Page, site: Site) -> None:
    page = own_page
    page.clock.install()
    body = '{"error": {"kind": "busy", "message": "too many files wait"}}'
    answer = {"status": 503, "headers": {"Retry-After": "3600"}, "body": body}
    page.route("**/v1/documents", lambda route: route.fulfill(**answer), times=1)
    visit(page, site)
    page.get_by_role("tab", name="Files").click()
    upload(page, "letter.txt")
    expect(page.get_by_role("listitem")).to_contain_text("The server is busy; waiting…")
    page.clock.fast_forward(3_600_000)
    expect(page.get_by_role("button", name="Download")).to_be_visible()


def test_a_file_that_a_server_may_have_taken_is_not_sent_twice(page: Page, site: Site) -> None:
    sent: list[str] = []
    body = '{"error": {"kind": "timed_out", "message": "there was no answer in time"}}'

    def late(route: Route) -> None:
        sent.append(route.request.method)
        route.fulfill(status=503, headers={"Retry-After": "1"}, body=body)

    page.route("**/v1/documents", late)
    visit(page, site)
    page.get_by_role("tab", name="Files").click()
    upload(page, "letter.txt")
    expect(page.get_by_role("listitem")).to_contain_text("there was no answer in time")
    page.wait_for_timeout(1500)
    assert sent == ["POST"]


def test_a_file_whose_connection_broke_is_not_sent_twice(page: Page, site: Site) -> None:
    """It may have arrived."""
    sent: list[str] = []

    def broken(route: Route) -> None:
        sent.append(route.request.method)
        route.abort("connectionreset")

    page.clock.install()
    page.route("**/v1/documents", broken)
    visit(page, site)
    page.get_by_role("tab", name="Files").click()
    upload(page, "letter.txt")
    expect(page.get_by_role("listitem")).to_contain_text("The server cannot be reached.")
    page.clock.fast_forward(60_000)
    assert sent == ["POST"]


def test_a_file_for_which_no_characters_are_left_is_given_up(page: Page, site: Site) -> None:
    body = '{"error": {"kind": "quota_exceeded", "message": "no characters are left"}}'
    page.route("**/v1/documents", lambda route: route.fulfill(status=429, body=body))
    visit(page, site)
    page.get_by_role("tab", name="Files").click()
    upload(page, "letter.txt")
    expect(page.get_by_role("listitem")).to_contain_text("no characters are left")


def test_terms_go_with_a_file_whose_language_is_chosen(page: Page, site: Site) -> None:
    visit(page, site)
    page.get_by_role("button", name="Glossary").click()
    page.fill("#term-source", "house")
    page.fill("#term-target", "Haus")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Files").click()
    for source, terms in (("en", {"house": ("Haus",)}), ("", None)):
        page.select_option("#source-language", source)
        upload(page, "letter.txt")
        expect(page.get_by_role("button", name="Download")).to_be_visible()
        given = site.service.calls[-1][0].glossary
        assert (given and {term.source: term.targets for term in given.terms}) == terms
        page.get_by_role("button", name="Remove letter.txt").click()


def test_files_that_cannot_be_translated(browser: Browser, tmp_path: Path) -> None:
    limits = LimitsConfig(body_bytes=2000)
    with running_site(tmp_path, limits) as small, opened(browser, small) as page:
        page.goto(small.address)
        page.get_by_role("tab", name="Text").press("ArrowRight")
        expect(page.locator("#file-help")).to_contain_text("up to 2 kB each")
        sent: list[str] = []
        page.on("request", lambda request: sent.append(request.method))
        for name, content in (("a.png", b"x"), ("b.txt", b"x" * 2001), ("c.txt", b"")):
            upload(page, name, content)
        rows = page.get_by_role("listitem")
        expect(rows.nth(2)).to_contain_text("Files of this kind are not translated")
        expect(rows.nth(1)).to_contain_text("The file is larger than 2 kB.")
        expect(rows.nth(0)).to_contain_text("The file is empty.")
        assert "POST" not in sent
        upload(page, "d.txt", b"\xff\xfe\xfd")
        expect(rows.nth(0)).to_have_class("error")


def write(page: Page) -> None:
    """A text and its translation."""
    page.fill("#source", "Hello you. The rain has stopped.\n\nLet us walk to the harbour.")
    expect(page.locator("#output .word").first).to_be_visible()


def point(page: Page) -> None:
    """Other translations of a word."""
    write(page)
    page.get_by_role("button", name="RAIN").click()
    expect(page.locator(".option").first).to_be_visible()
    expect(page.locator("#alternatives .help:visible")).to_have_count(0)


def suggest(page: Page) -> None:
    """The dialog for a correction."""
    point(page)
    page.get_by_role("button", name="Suggest a correction").click()


def add_term(page: Page) -> None:
    """The dialog for terms."""
    write(page)
    page.locator("#glossary-button").click()
    page.fill("#term-source", "rain")
    page.fill("#term-target", "Regen")
    page.keyboard.press("Enter")


def ask_for_keys(page: Page) -> None:
    """The list of shortcuts."""
    page.locator("#keyboard-button").click()


def fail(page: Page) -> None:
    """A server that is busy."""
    write(page)
    page.fill("#source", "busy")
    expect(page.get_by_role("alert")).to_be_visible()


def send(page: Page) -> None:
    """Files, translated and refused."""
    page.get_by_role("tab", name="Files").click()
    upload(page, "letter.txt")
    upload(page, "picture.png")
    expect(page.get_by_role("button", name="Download")).to_be_visible()


STATES: list[tuple[Callable[[Page], None], str]] = [
    (write, "de"),
    (point, "ar"),
    (suggest, "de"),
    (add_term, "de"),
    (ask_for_keys, "de"),
    (fail, "de"),
    (send, "de"),
]


def barriers(page: Page) -> list[str]:
    """What axe-core calls serious or critical."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{one['id']}: {[node['target'] for node in one['nodes']]}"
        for one in found
        if one["impact"] in {"serious", "critical"}
    ]


def keep_picture(page: Page, name: str) -> None:
    """Write what the page looks like, if somebody wants to see it."""
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png")


def test_no_state_has_barriers(page: Page, site: Site) -> None:
    for act, target in STATES:
        state = f"{act.__name__}-{target}"
        page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
        page.emulate_media(color_scheme="light")
        visit(page, site, target=target)
        act(page)
        keep_picture(page, f"light-{state}")
        assert barriers(page) == [], state
        page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        page.emulate_media(color_scheme="dark")
        keep_picture(page, f"phone-{state}")
        assert barriers(page) == [], f"{state} on a phone in the dark"


def test_the_manual_fits_a_phone(page: Page, site: Site) -> None:
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    page.goto(f"{site.address}/v1/docs")
    keep_picture(page, "phone-manual")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE[0]
    assert barriers(page) == []


def test_barriers_would_be_found(page: Page, site: Site) -> None:
    visit(page, site)
    page.evaluate("document.querySelector('#hint').style.color = '#ddd'")
    page.evaluate("document.querySelector('#swap').ariaLabel = ''")
    page.evaluate("document.querySelector('#swap').title = ''")
    assert sorted(one.split(":")[0] for one in barriers(page)) == ["button-name", "color-contrast"]
