"""What the web page asks of its server, and what it says when that fails, in a real browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Request, Route, expect
from web_site import Site, arrive, files, opened, refuse, running_site, upload, visit

_SCRIPTED = """() => {
    const { fetch } = window;
    window.sent = [];
    window.fetch = async (path, options) => {
        if (path !== "v1/stream") return fetch(path, options);
        const { readable, writable } = new TransformStream();
        const writer = writable.getWriter();
        sent.push({ ...JSON.parse(options.body), writer });
        document.documentElement.dataset.sent = sent.length;
        return new Response(readable.pipeThrough(new TextEncoderStream()));
    };
}"""


class Script:
    """Lets a test play the server of streams: the page waits for each line."""

    def __init__(self, page: Page) -> None:
        self._page = page
        page.evaluate(_SCRIPTED)

    def text(self, count: int = 1) -> str:
        """The text of the last request, once there are that many."""
        expect(self._page.locator("html")).to_have_attribute("data-sent", str(count))
        found = self._page.evaluate("sent.at(-1).text")
        assert isinstance(found, str)
        return found

    def tell(self, *events: dict[str, Any]) -> None:
        """Send lines to the page."""
        lines = "".join(json.dumps(event) + "\n" for event in events)
        self._page.evaluate("async lines => await sent.at(-1).writer.write(lines)", lines)

    def end(self) -> None:
        """End the last answer, whatever it lacks."""
        self._page.evaluate("async () => await sent.at(-1).writer.close()")


def start(source: str = "en") -> dict[str, Any]:
    """The first event of a stream."""
    return {"kind": "start", "source": source, "target": "de", "detection": None}


def sentence(source: str, text: str, start: int = 0, target_start: int = 0) -> dict[str, Any]:
    """The event of a translated sentence."""
    rendering = {"text": text, "score": -1.0, "confidence": None, "links": [], "from_memory": False}
    found = {"source": source, "start": start, "target_start": target_start}
    return {"kind": "sentence", "sentence": {**found, "renderings": [rendering]}}


def streams(page: Page) -> list[str]:
    """The requests for streams from now on."""
    sent: list[str] = []

    def note(request: Request) -> None:
        if request.url.endswith("/v1/stream"):
            sent.append(request.method)

    page.on("request", note)
    return sent


END: dict[str, Any] = {"kind": "end"}
LATE = {"kind": "error", "error": {"kind": "timed_out", "message": "late", "retry_after": 5}}


def test_sentences_appear_while_the_rest_is_translated(page: Page, site: Site) -> None:
    visit(page, site)
    script = Script(page)
    page.fill("#source", "Hello you.\n😀 It rains. ")
    script.text()
    script.tell(start(), sentence("Hello you.", "Hallo."))
    output = page.locator("#output")
    expect(output).to_have_text("Hallo.")
    expect(page.locator("#state")).to_have_text("Translating…")
    copy = page.get_by_role("button", name="Copy the translation")
    expect(copy).to_be_disabled()
    script.tell(sentence("😀 It rains.", "😀 Es regnet.", 11, 7), END)
    expect(copy).to_be_enabled()
    assert output.evaluate("element => element.textContent") == "Hallo.\n😀 Es regnet. "


def test_alternatives_close_with_the_word_that_they_are_for(page: Page, site: Site) -> None:
    visit(page, site, "Hello you. It rains.")
    script = Script(page)
    page.fill("#source", "Hello you. It snows.")
    script.text()
    script.tell(start(), sentence("Hello you.", "HELLO YOU.de"))
    expect(page.locator("#output .old")).to_have_text("IT RAINS.de")
    page.get_by_role("button", name="RAINS").click()
    expect(page.locator("#alternatives")).to_be_visible()
    script.tell(sentence("It snows.", "Es schneit.", 11, 13), END)
    expect(page.locator("#alternatives")).to_be_hidden()


def test_a_translation_gives_way_sentence_by_sentence(page: Page, site: Site) -> None:
    """So that a long one does not vanish with each letter that is typed at its end."""
    visit(page, site, "Hello you. It rains. Bye.")
    script = Script(page)
    page.fill("#source", "Hello you. It snows.")
    script.text()
    script.tell(start(), sentence("Hello you.", "HELLO YOU.de"))
    old = page.locator("#output .old")
    expect(old).to_have_text(["IT RAINS.de", "BYE.de"])
    script.tell(sentence("It snows.", "Es schneit.", 11, 13), END)
    expect(page.locator("#output")).to_have_text("HELLO YOU.de Es schneit.")
    expect(old).to_have_count(0)


def test_languages_without_spaces_get_those_of_the_server(page: Page, site: Site) -> None:
    visit(page, site)
    script = Script(page)
    page.fill("#source", "你好。下雨了。")
    script.text()
    script.tell(
        start("zh"), sentence("你好。", "Hallo."), sentence("下雨了。", "Es regnet.", 3, 7), END
    )
    expect(page.locator("#output")).to_have_text("Hallo. Es regnet.")


def test_an_empty_translation_is_told(page: Page, site: Site) -> None:
    visit(page, site)
    script = Script(page)
    page.fill("#source", "It rains.")
    script.text()
    script.tell(start(), sentence("It rains.", ""), END)
    expect(page.locator("#state")).to_have_text("The model gives no translation of this text")


def test_a_text_without_sentences_leaves_nothing_of_the_one_before(page: Page, site: Site) -> None:
    visit(page, site, "It rains.")
    script = Script(page)
    page.fill("#source", "\u200b")
    script.text()
    script.tell(start(), END)
    expect(page.locator("#output")).to_have_text("\u200b")


def test_what_took_too_long_is_not_asked_for_again(own_page: Page, site: Site) -> None:
    """It would take as long again, and be charged again."""
    page = own_page
    page.clock.install()
    sent = streams(page)
    for status, kind in ((503, "timed_out"), (504, ""), (408, "")):
        visit(page, site)
        sent.clear()
        refuse(page, "/v1/stream", status, kind, headers={"Retry-After": "5"})
        page.fill("#source", "It rains.")
        page.clock.run_for(1_000)
        notice = page.get_by_role("alert")
        expect(notice).to_contain_text("The translation took too long. A shorter text may work.")
        page.clock.fast_forward(600_000)
        page.unroute_all()
        assert len(sent) == 1, status
        notice.get_by_role("button", name="Try again").click()
        expect(page.locator("#output")).to_have_text("IT RAINS.de")


def test_after_its_time_a_text_goes_on_where_it_stopped(page: Page, site: Site) -> None:
    visit(page, site)
    script = Script(page)
    page.fill("#source", "Hello you. It rains.")
    script.text()
    script.tell(start(), sentence("Hello you.", "Hallo."), LATE)
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("took too long")
    expect(page.locator("#state")).to_have_text("Incomplete")
    expect(page.locator("#output")).to_have_text("Hallo.")
    notice.get_by_role("button", name="Go on").click()
    assert script.text(2) == " It rains."
    script.tell(start(), sentence("It rains.", "Es regnet.", 1, 1), END)
    expect(page.locator("#output")).to_have_text("Hallo. Es regnet.")
    expect(notice).to_be_hidden()


def test_a_stream_that_breaks_off_goes_on_where_it_stopped(page: Page, site: Site) -> None:
    visit(page, site)
    script = Script(page)
    page.fill("#source", "Hello you. It rains.")
    script.text()
    script.tell(start(), sentence("Hello you.", "Hallo."))
    script.end()
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("The connection broke off. Trying again in 5 seconds.")
    notice.get_by_role("button", name="Try now").click()
    assert script.text(2) == " It rains."


def test_a_server_that_stays_busy_is_asked_a_few_times(own_page: Page, site: Site) -> None:
    """Each request may be charged."""
    page = own_page
    page.clock.install()
    visit(page, site)
    sent = streams(page)
    refuse(page, "/v1/stream", 502)
    page.fill("#source", "It rains.")
    notice = page.locator("#notice-text")
    page.clock.run_for(1_000)
    for wait in (5, 10, 20, 40, 60):
        expect(notice).to_have_text(f"The server is busy. Trying again in {wait} seconds.")
        page.clock.fast_forward(wait * 1_000)
    expect(notice).to_have_text("The server is busy.")
    page.clock.fast_forward(600_000)
    assert len(sent) == 6
    expect(page.get_by_role("button", name="Try again")).to_be_visible()


REFUSALS = [
    (401, "", "Access needs a sign-in: open this page in another tab, sign in, and try again."),
    (403, "", "Something between this page and the server refuses the request."),
    (403, "forbidden", "This server requires an API key."),
    (404, "", "The server does not know this request; load the page again."),
    (413, "", "This is longer than the server allows."),
    (429, "quota_exceeded", "Your API key has used up its characters for this month."),
    (429, "", "There were too many requests in a short time. Trying again in 7 seconds."),
    (
        500,
        "internal",
        "The server failed. If this goes on, give its number to whoever runs the server: 7f3.",
    ),
    (503, "busy", "The server is busy. Trying again in 7 seconds."),
    (400, "invalid", "The text is odd."),
]


def test_every_refusal_is_told_in_words(page: Page, site: Site) -> None:
    visit(page, site)
    notice = page.locator("#notice-text")
    for status, kind, words in REFUSALS:
        wait = {"Retry-After": "7"} if status in (429, 503) else {}
        headers = {**wait, "X-Request-ID": "7f3"}
        refuse(page, "/v1/stream", status, kind, headers=headers, message="the text is odd")
        page.fill("#source", f"It rains {status} {kind}.")
        expect(notice).to_have_text(words)
        page.unroute_all()


def test_a_complete_translation_is_not_asked_for_again(page: Page, site: Site) -> None:
    """As after a train has passed a tunnel."""
    visit(page, site, "It rains.")
    calls = len(site.service.calls)
    page.evaluate("dispatchEvent(new Event('offline')), dispatchEvent(new Event('online'))")
    page.evaluate("new Promise(done => setTimeout(done, 100))")
    assert len(site.service.calls) == calls
    expect(page.locator("#notice")).to_be_hidden()


def test_a_start_that_fails_is_repeated_at_growing_intervals(own_page: Page, site: Site) -> None:
    page = own_page
    page.clock.install()
    answers = [
        (502, {}),
        (500, {"error": {"kind": "internal", "message": "no"}}),
        (200, {"languages": []}),
    ]

    def answer(route: Route) -> None:
        status, body = answers.pop(0)
        route.fulfill(status=status, body=json.dumps(body), content_type="application/json")

    page.route("**/v1/languages", answer, times=3)
    arrive(page, site)
    page.clock.run_for(10)
    notice = page.locator("#notice-text")
    for words, wait in (("server is busy", 5), ("server failed", 10), ("has no model yet", 20)):
        expect(notice).to_contain_text(words)
        expect(notice).to_contain_text(f"Trying again in {wait} seconds.")
        page.clock.fast_forward(wait * 1_000)
    expect(page.locator("#target-language")).to_have_attribute("value", "de")
    expect(page.locator("#notice")).to_be_hidden()


def test_a_page_that_does_not_load_completely_says_so(page: Page, site: Site) -> None:
    page.route("**/messages.js", lambda route: route.abort())
    arrive(page, site)
    expect(page.get_by_text("The page did not load completely.")).to_be_visible()
    page.unroute_all()
    arrive(page, site)
    expect(page.locator("#target-language")).to_have_attribute("value", "de")
    expect(page.get_by_text("The page did not load completely.")).to_be_hidden()


def test_a_server_asks_for_its_key(browser: Browser, tmp_path: Path) -> None:
    with running_site(tmp_path, require_key=True) as strict, opened(browser, strict) as page:
        _, key = strict.store.create_key("visitor")
        page.goto(strict.address)
        dialog = page.get_by_role("dialog", name="API key")
        field = dialog.get_by_label("Key", exact=True)
        expect(field).to_be_focused()
        field.fill("wrong")
        page.keyboard.press("Enter")
        expect(dialog.get_by_role("alert")).to_contain_text("does not accept this key")
        field.fill(f" {key} ")
        page.keyboard.press("Enter")
        expect(dialog).to_be_hidden()
        expect(page.locator("#target-language")).to_have_attribute("value", "de")
        page.reload()
        expect(page.locator("#target-language")).to_have_attribute("value", "de")
        assert page.evaluate("localStorage.getItem('dragoman.key')") is None

        files(page)
        upload(page, "letter.txt")
        row = page.get_by_role("listitem")
        expect(row.get_by_role("button", name="Download")).to_be_visible()
        page.evaluate("sessionStorage.clear()")
        page.reload()
        expect(page.locator("#jobs")).to_contain_text("This server requires an API key.")
        field.fill(key)
        page.keyboard.press("Enter")
        expect(dialog).to_be_hidden()
        files(page)
        expect(row.get_by_role("button", name="Download")).to_be_visible()

        other = page.context.new_page()
        other.goto(strict.address)
        other.get_by_label("Key", exact=True).fill(key)
        other.get_by_label("Remember it").check()
        other.get_by_role("button", name="Save").click()
        expect(other.locator("#target-language")).to_have_attribute("value", "de")
        third = page.context.new_page()
        third.goto(strict.address)
        expect(third.locator("#target-language")).to_have_attribute("value", "de")
        third.get_by_role("button", name="API key").click()
        third.get_by_role("button", name="Forget the key").click()
        expect(third.get_by_role("dialog", name="API key")).to_be_visible()
        assert third.evaluate("localStorage.getItem('dragoman.key')") is None
