"""What clients of one protocol keep serves those of another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
from door_server import deepl_server, own_server
from echo_service import EchoService


def ok(response: httpx.Response, status: int = 200) -> Any:
    assert response.status_code == status, response.text
    return response.json()


def test_a_dictionary_of_a_region_is_found_under_the_codes_that_it_is_listed_with(
    tmp_path: Path,
) -> None:
    service, key = EchoService(("en", "pt-BR")), {"Authorization": "DeepL-Auth-Key anything"}
    with own_server(tmp_path, service) as own, deepl_server(tmp_path, service) as deepl:
        body = {"name": "Houses", "source": "en", "target": "pt-BR", "entries": {"house": "casa"}}
        made = ok(httpx.post(f"{own.address}/v1/glossaries", json=body), 201)["id"]
        with httpx.Client(base_url=f"{deepl.address}/v3/glossaries/{made}/", headers=key) as http:
            (listed,) = ok(http.get("."))["dictionaries"]
            codes = {name: listed[name] for name in ("source_lang", "target_lang")}
            assert codes == {"source_lang": "en", "target_lang": "pt-br"}
            (kept,) = ok(http.get("entries", params=codes))["dictionaries"]
            assert kept == {**codes, "entries": "house\tcasa", "entries_format": "tsv"}
            new = {**codes, "entries": "house\tlar\ndoor\tporta", "entries_format": "tsv"}
            assert ok(http.put("dictionaries", json=new)) == {**codes, "entry_count": 2}
            new["entries"] = "roof\ttelhado"
            (changed,) = ok(http.patch(".", json={"dictionaries": [new]}))["dictionaries"]
            assert changed == {**codes, "entry_count": 3}
            assert http.delete("dictionaries", params=codes).status_code == 204
            assert ok(http.get("."))["dictionaries"] == []


def test_a_glossary_of_either_door_serves_both(tmp_path: Path) -> None:
    service, entries = EchoService(("en", "pt-BR")), {"house": "casa"}
    with own_server(tmp_path, service) as own, deepl_server(tmp_path, service) as deepl:
        body = {"name": "Houses", "source": "en", "target": "pt-BR", "entries": entries}
        made = ok(httpx.post(f"{own.address}/v1/glossaries", json=body), 201)["id"]
        key = {"Authorization": "DeepL-Auth-Key anything"}
        given = {"name": "Houses", "source_lang": "en", "target_lang": "pt"}
        content = {**given, "entries": "house\tcasa", "entries_format": "tsv"}
        theirs = ok(httpx.post(f"{deepl.address}/v2/glossaries", json=content, headers=key), 201)
        for identifier in (made, theirs["glossary_id"]):
            wanted = {"text": "house", "source": "en", "target": "pt-BR", "glossary": identifier}
            ok(httpx.post(f"{own.address}/v1/translate", json=wanted))
            asked = {"text": ["house"], "source_lang": "EN", "target_lang": "PT-BR"}
            asked["glossary_id"] = identifier
            ok(httpx.post(f"{deepl.address}/v2/translate", json=asked, headers=key))
    asked_of = [call[0].glossary for call in service.calls]
    assert [one and one.terms[0].targets for one in asked_of] == [("casa",)] * 4
