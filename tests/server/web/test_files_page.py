"""Files on the web page, and what everybody can use, in a real browser."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, Route, expect
from web_site import (
    PHONE,
    WIDE,
    Site,
    barriers,
    choose,
    cut_off,
    files,
    opened,
    refuse,
    running_site,
    upload,
    visit,
)

from dragoman.server.server_config import LimitsConfig

SCREENSHOTS = os.environ.get("DRAGOMAN_SCREENSHOTS")
"""Folder that pictures of the states below are written to, such as ``build/screenshots``."""


def test_a_file_is_translated_and_fetched(page: Page, site: Site, tmp_path: Path) -> None:
    visit(page, site)
    files(page)
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
    expect(row).to_have_text("Brief an dich.txt is removedUndo")


def test_progress_of_a_file_is_shown(page: Page, site: Site) -> None:
    state = '{"id": "1", "state": "queued", "progress": null}'
    page.route("**/v1/documents/*", lambda route: route.fulfill(body=state))
    visit(page, site)
    files(page)
    upload(page, "letter.txt")
    row = page.get_by_role("listitem")
    expect(row).to_contain_text("Waiting…")
    state = '{"id": "1", "state": "translating", "progress": 0.25}'
    expect(row.get_by_role("progressbar")).to_have_js_property("value", 0.25)
    expect(row).to_contain_text("Translating…")
    state = '{"id": "1", "state": "error", "message": "the text is in no known language"}'
    expect(row).to_contain_text("The text is in no known language.")
    expect(row.get_by_role("progressbar")).to_have_count(0)


def test_a_file_waits_for_a_busy_server(page: Page, site: Site) -> None:
    page.clock.install()
    body = '{"error": {"kind": "busy", "message": "too many files wait"}}'
    answer = {"status": 503, "headers": {"Retry-After": "3600"}, "body": body}
    page.route("**/v1/documents", lambda route: route.fulfill(**answer), times=1)
    visit(page, site)
    files(page)
    upload(page, "letter.txt")
    expect(page.get_by_role("listitem")).to_contain_text("The server is busy. Waiting…")
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
    files(page)
    upload(page, "letter.txt")
    expect(page.get_by_role("listitem")).to_contain_text(
        "The server did not answer in time. It may have the file"
    )
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
    files(page)
    upload(page, "letter.txt")
    expect(page.get_by_role("listitem")).to_contain_text("The server cannot be reached.")
    page.clock.fast_forward(60_000)
    assert sent == ["POST"]


def test_a_file_for_which_no_characters_are_left_is_given_up(page: Page, site: Site) -> None:
    body = '{"error": {"kind": "quota_exceeded", "message": "no characters are left"}}'
    page.route("**/v1/documents", lambda route: route.fulfill(status=429, body=body))
    visit(page, site)
    files(page)
    upload(page, "letter.txt")
    expect(page.get_by_role("listitem")).to_contain_text("used up its characters")


def test_terms_go_with_a_file_whose_language_is_chosen(page: Page, site: Site) -> None:
    visit(page, site)
    page.get_by_role("button", name="Glossary").click()
    page.fill("#term-source", "house")
    page.fill("#term-target", "Haus")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    files(page)
    for source, terms in (("English", {"house": ("Haus",)}), ("Detect language", None)):
        choose(page, "#source-language", source)
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


def test_files_outlast_the_page(page: Page, site: Site) -> None:
    state = '{"id": "1", "state": "translating", "progress": 0.25}'
    page.route("**/v1/documents/*", lambda route: route.fulfill(body=state))
    visit(page, site)
    files(page)
    upload(page, "letter.txt")
    expect(page.get_by_role("listitem")).to_contain_text("Translating…")
    page.reload()
    files(page)
    row = page.get_by_role("listitem")
    expect(row).to_contain_text("letter.txt")
    expect(row.get_by_role("progressbar")).to_have_js_property("value", 0.25)
    page.unroute_all()
    with page.expect_download() as fetched:
        row.get_by_role("button", name="Download").click()
    assert fetched.value.suggested_filename == "letter.de.txt"
    row.get_by_role("button", name="Remove letter.txt").click()
    page.reload()
    expect(page.locator("#target-language")).to_have_attribute("value", "de")
    expect(page.locator("#jobs li")).to_have_count(0)


def test_a_file_that_the_server_has_deleted_is_told_once(page: Page, site: Site) -> None:
    visit(page, site)
    kept = [{"id": "gone", "secret": "x", "name": "letter.txt"}]
    page.evaluate("jobs => localStorage.setItem('dragoman.jobs', JSON.stringify(jobs))", kept)
    page.reload()
    files(page)
    row = page.get_by_role("listitem")
    expect(row).to_contain_text("deleted this file, since it keeps files for 24 hours")
    expect(row.get_by_role("button", name="Try again")).to_have_count(0)
    page.reload()
    files(page)
    expect(page.locator("#jobs li")).to_have_count(0)


def test_removing_a_file_can_be_undone(page: Page, site: Site) -> None:
    visit(page, site)
    files(page)
    upload(page, "letter.txt")
    row = page.get_by_role("listitem")
    expect(row.get_by_role("button", name="Download")).to_be_visible()
    row.get_by_role("button", name="Remove letter.txt").click()
    row.get_by_role("button", name="Undo").click()
    expect(row.get_by_role("button", name="Download")).to_be_visible()
    page.reload()
    files(page)
    expect(row.get_by_role("button", name="Download")).to_be_visible()


def test_the_page_of_a_proxy_is_not_saved_as_a_translation(page: Page, site: Site) -> None:
    visit(page, site)
    files(page)
    upload(page, "letter.txt")
    refuse(page, "/result", 200)
    page.get_by_role("button", name="Download").click()
    expect(page.get_by_role("listitem")).to_contain_text("does not come from the server")


def test_asking_for_a_file_outlasts_faults_of_the_server(page: Page, site: Site) -> None:
    page.clock.install()
    visit(page, site)
    files(page)
    page.route("**/v1/documents/*", lambda route: route.fulfill(status=500), times=1)
    upload(page, "letter.txt")
    expect(page.get_by_role("listitem")).to_contain_text("The server failed. Waiting…")
    page.clock.fast_forward(6_000)
    expect(page.get_by_role("button", name="Download")).to_be_visible()


def test_formats_are_named_by_kind(page: Page, site: Site) -> None:
    visit(page, site)
    files(page)
    help_text = page.locator("#file-help").inner_text()
    assert help_text.startswith("Plain text, HTML, Word, ")
    assert "; subtitles: SubRip, WebVTT, SubStation Alpha; translation files: PO, " in help_text
    assert help_text.endswith("; up to 10 MB each.")
    assert ".docx" not in help_text


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
    """Files, translated, refused and removed."""
    files(page)
    upload(page, "letter.txt")
    upload(page, "picture.png")
    expect(page.get_by_role("button", name="Download")).to_be_visible()
    upload(page, "other.png")
    page.get_by_role("button", name="Remove other.png").click()


def search(page: Page) -> None:
    """The menu of languages."""
    page.locator("#target-language").click()
    expect(page.get_by_role("listbox")).to_be_visible()


def clear(page: Page) -> None:
    """A text that can be brought back."""
    write(page)
    page.locator("#clear").click()


def give_key(page: Page) -> None:
    """The dialog for a key, which is wrong."""
    refuse(page, "/v1/languages", 403, "forbidden")
    page.evaluate("document.querySelector('#key-button').hidden = false")
    page.locator("#key-button").click()
    page.fill("#key-text", "wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#key-problem")).not_to_be_empty()
    page.unroute_all()


STATES: list[tuple[Callable[[Page], None], str]] = [
    (write, "de"),
    (point, "ar"),
    (suggest, "de"),
    (add_term, "de"),
    (ask_for_keys, "de"),
    (fail, "de"),
    (send, "de"),
    (search, "de"),
    (clear, "ar"),
    (give_key, "de"),
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
        assert cut_off(page) == [], state


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
