"""The door to the web page, without a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources

import httpx
import pytest
from web_site import running_site

from dragoman.server.server_config import LimitsConfig

STATIC = resources.files("dragoman.server.web") / "static"
LARGEST = 43_000  # bytes of all files, compressed


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with (
        running_site(tmp_path_factory.mktemp("site"), LimitsConfig(characters=1234)) as site,
        httpx.Client(base_url=site.address) as found,
    ):
        yield found


def assets(client: httpx.Client) -> list[str]:
    """Addresses that the page names."""
    return re.findall(r'(?:href|src)="([^"#]+)', client.get("/").text)


def policy(response: httpx.Response) -> dict[str, str]:
    """The directives of the content security policy."""
    parts = response.headers["Content-Security-Policy"].split("; ")
    return {name: value for name, _, value in (part.partition(" ") for part in parts)}


def test_the_page_names_files_that_are_there(client: httpx.Client) -> None:
    found = assets(client)
    assert len(set(found)) == 5
    for address in found:
        assert re.match("(web|v1)/", address)  # relative, for a proxy with a prefix
        assert client.get(f"/{address}").status_code == 200


def test_browsers_keep_files_and_ask_again_for_the_page(client: httpx.Client) -> None:
    page = client.get("/")
    assert page.headers["Cache-Control"] == "no-cache"
    again = client.get("/", headers={"If-None-Match": page.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    file = client.get(f"/{assets(client)[0]}")
    assert file.headers["Cache-Control"] == "public, max-age=31536000, immutable"


def test_all_files_are_small(client: httpx.Client) -> None:
    folder = assets(client)[0].rpartition("/")[0]
    names = [file.name for file in STATIC.iterdir() if file.name != "index.html"]
    size = 0
    for address in ["/", *(f"/{folder}/{name}" for name in names)]:
        response = client.get(address)
        assert response.headers["Content-Encoding"] == "gzip"
        size += int(response.headers["Content-Length"])
        plain = client.get(address, headers={"Accept-Encoding": "identity"})
        assert "Content-Encoding" not in plain.headers
        assert plain.content == response.content
    assert size < LARGEST


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [
        ("gzip", True),
        ("br, GZip;q=0.5", True),
        ("gzip;q=0", False),
        ("identity, gzip; q=0.000", False),
        ("x-gzip2", False),
        ("", False),
    ],
)
def test_only_whoever_takes_it_gets_it_compressed(
    client: httpx.Client, accepted: str, packed: bool
) -> None:
    response = client.get("/", headers={"Accept-Encoding": accepted})
    assert ("Content-Encoding" in response.headers) == packed
    assert "<html" in response.text


def test_the_policy_allows_nothing_from_elsewhere(client: httpx.Client) -> None:
    for address in ("/", f"/{assets(client)[0]}"):
        response = client.get(address)
        found = policy(response)
        assert found["default-src"] == "'none'"
        assert found["require-trusted-types-for"] == "'script'"
        assert set(found.values()) <= {"'none'", "'self'", "'script'"}
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Referrer-Policy"] == "no-referrer"


def test_the_page_tells_the_bounds_of_its_server(client: httpx.Client) -> None:
    text = client.get("/").text
    assert 'data-characters="1234"' in text
    assert 'data-key="optional"' in text
    assert "$" not in text


def test_only_its_own_files_of_this_version_are_served(client: httpx.Client) -> None:
    folder = assets(client)[0].rpartition("/")[0]
    wrong = (
        "/web/0000000000000000/style.css",
        f"/{folder}/index.html",
        f"/{folder}/missing.js",
        f"/{folder}/..%2fweb.py",
        f"/{folder}/%2e%2e/%2e%2e/web.py",
        "/web/",
    )
    for address in wrong:
        response = client.get(address)
        assert response.status_code == 404, address
        assert "immutable" not in response.headers.get("Cache-Control", "")
    assert client.post("/").status_code == 405
    assert client.head("/").status_code == 200


def test_files_need_no_build_and_name_nobody_else() -> None:
    contents = {file.name: file.read_text("utf-8") for file in STATIC.iterdir()}
    for name, text in contents.items():
        foreign = set(re.findall(r"https?://[^\s\"')]+", text)) - {"http://www.w3.org/2000/svg"}
        assert foreign == set(), name
        assert "innerHTML" not in text
    for name in re.findall(r'from "\./([a-z]+\.js)"', "".join(contents.values())):
        assert name in contents
    symbols = set(re.findall(r'symbol id="(\w+)"', contents["icons.svg"]))
    used = set(re.findall(r'data-icon="(\w+)|icon(?:Button)?\("(\w+)"', "".join(contents.values())))
    assert {one or other for one, other in used} == symbols
