"""Glossaries of DeepL's API as clients of several languages send them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from api_server import deepl_server
from echo_service import EchoService

KEY = {"Authorization": "DeepL-Auth-Key any"}
ORDER = (("fr", "de", "chien\tHund"), ("de", "en", "a=b&c\td e\nö\t'"), ("en", "fr", "dog\tchien"))
DICTIONARIES = [
    {"source_lang": source, "target_lang": target, "entries": entries, "entries_format": "tsv"}
    for source, target, entries in ORDER
]


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    service = EchoService(*((source, target) for source, target, _ in ORDER))
    with (
        deepl_server(tmp_path_factory.mktemp("deepl"), service) as server,
        httpx.Client(base_url=server.address, headers=KEY, trust_env=False) as client,
    ):
        yield client


def dotted(numbers: tuple[int, ...] = (0, 1, 2)) -> dict[str, str]:
    """As DeepL's clients for Node, Java and .NET write it."""
    return {
        f"dictionaries[{number}].{name}": value
        for number, one in zip(numbers, DICTIONARIES, strict=False)
        for name, value in one.items()
    }


def bracketed() -> dict[str, str]:
    """As PHP's ``http_build_query`` and JavaScript's ``qs`` write it."""
    return {
        f"dictionaries[{number}][{name}]": value
        for number, one in enumerate(DICTIONARIES)
        for name, value in one.items()
    }


@pytest.mark.parametrize(
    "body",
    [
        {"json": {"name": "Mine", "dictionaries": DICTIONARIES}},
        {"data": {"name": "Mine", **dotted()}},
        {"data": {"name": "Mine", **dotted((2, 11, 100))}},
        {"data": {**dict(reversed(dotted().items())), "name": "Mine"}},
        {"data": {"name": "Mine", **bracketed()}},
        {"files": {name: (None, value) for name, value in {"name": "Mine", **dotted()}.items()}},
        {"params": {"name": "Mine", **dotted()}},
    ],
    ids=["JSON", "form", "gaps", "reversed fields", "brackets", "multipart", "address"],
)
def test_dictionaries_come_as_json_and_as_forms(http: httpx.Client, body: dict[str, Any]) -> None:
    made = http.post("/v3/glossaries", **body)
    assert made.status_code == 201, made.text
    place = f"/v3/glossaries/{made.json()['glossary_id']}"
    listed = [
        {"source_lang": source, "target_lang": target, "entry_count": entries.count("\n") + 1}
        for source, target, entries in ORDER
    ]
    assert made.json()["name"] == "Mine"
    assert made.json()["dictionaries"] == listed
    assert http.get(place).json() == made.json()
    for one in DICTIONARIES:
        codes = {name: one[name] for name in ("source_lang", "target_lang")}
        assert http.get(f"{place}/entries", params=codes).json() == {"dictionaries": [one]}


@pytest.mark.parametrize(
    "body", [{"json": {"name": "N", "dictionaries": []}}, {"data": {"name": "N"}}]
)
def test_a_glossary_may_begin_without_dictionaries(
    http: httpx.Client, body: dict[str, Any]
) -> None:
    made = http.post("/v3/glossaries", **body)
    assert (made.status_code, made.json()["dictionaries"]) == (201, [])
    place = f"/v3/glossaries/{made.json()['glossary_id']}"
    assert made.json() in http.get("/v3/glossaries").json()["glossaries"]
    first = {f"dictionaries[0].{name}": value for name, value in DICTIONARIES[0].items()}
    assert http.patch(place, data=first).json()["dictionaries"][0]["entry_count"] == 1


def test_dictionaries_are_changed_by_forms(http: httpx.Client) -> None:
    place = (
        "/v3/glossaries/"
        + http.post("/v3/glossaries", data={"name": "A", **dotted()}).json()["glossary_id"]
    )
    codes = {"source_lang": "fr", "target_lang": "de"}
    new = {**codes, "entries": "chat,Katze\nchien,Köter", "entries_format": "csv"}
    changed = http.patch(
        place, data={"name": "B", **{f"dictionaries[0].{n}": v for n, v in new.items()}}
    )
    assert changed.status_code == 200, changed.text
    assert changed.json()["name"] == "B"
    counts = [(one["source_lang"], one["entry_count"]) for one in changed.json()["dictionaries"]]
    assert counts == [("fr", 2), ("de", 2), ("en", 1)]
    (entries,) = http.get(f"{place}/entries", params=codes).json()["dictionaries"]
    assert entries["entries"] == "chien\tKöter\nchat\tKatze"
    put = http.put(
        f"{place}/dictionaries", data={**codes, "entries": "x\ty", "entries_format": "tsv"}
    )
    assert put.json() == {**codes, "entry_count": 1}
    assert http.patch(place, data={"name": "C"}).json()["name"] == "C"
    two = {
        f"dictionaries[{number}].{name}": value for number in (0, 1) for name, value in new.items()
    }
    assert "At most one dictionary" in http.patch(place, data=two).json()["message"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"dictionaries[0]": "x"}, "'dictionaries' not supported. A field of a form is called"),
        ({"dictionaries[].entries": "x"}, "A field of a form is called"),
        ({"dictionaries[a].entries": "x"}, "A field of a form is called"),
        ({"dictionaries[0].entries": "a\tb"}, "Parameter 'source_lang' not specified."),
        ({f"dictionaries[{n}].a": "x" for n in range(101)}, "send at most 100"),
        ({**dotted((0, 0)), **dotted((3,)), **dotted((4,))}, "Two dictionaries are for fr to de."),
    ],
)
def test_forms_that_make_no_sense(http: httpx.Client, fields: dict[str, str], said: str) -> None:
    body = urlencode({"name": "Mine", **fields})
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    response = http.post("/v3/glossaries", content=body, headers=kind)
    assert response.status_code == 400
    assert said in response.json()["message"]
