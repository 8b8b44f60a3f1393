"""Calls that wait for their results, over real sockets."""

from __future__ import annotations

import asyncio
import gc
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from api_server import ApiServer

import dragoman
from dragoman.client import AsyncClient, Client
from dragoman.core.errors import ServiceError, StorageError, UsageError


def threads() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name == "dragoman"]


def test_calls_wait_for_their_results(server: ApiServer) -> None:
    with Client(server.address) as client:
        assert client.translate("Hello. You?", target="de") == "HELLO.de YOU?de"
        assert client.translate(["One.", ""], target="fr", source="en") == ["ONE.fr", ""]
        details = client.translate_details("Hello.", target="de", nbest=2)
        assert details.alternatives == ["HELLO.de 2"]
        assert [one.source for one in client.stream("One. Two.", target="de")] == ["One.", "Two."]
        assert client.detect("a text")[0].language == "en"
        assert client.detect(["a", "b"])[1][0].language == "en"
        assert {one.code for one in client.languages()} >= {"en"}
        kept = client.create_glossary("Houses", {"house": "Haus"}, source="en", target="de")
        again = client.replace_glossary(
            kept.id, "Homes", {"home": "Heim"}, source="en", target="de"
        )
        assert client.glossary(again.id).entries["en", "de"] == {"home": "Heim"}
        assert [one.id for one in client.glossaries()] == [kept.id]
        client.delete_glossary(kept.id)
        assert client.correct("a", "b", source="en", target="de") > 0
        assert client.usage().characters_per_month is None
    assert not threads()


def test_both_clients_have_the_same_calls() -> None:
    names = {name for name, _ in inspect.getmembers(AsyncClient, inspect.isfunction)}
    for name in {name for name in names if not name.startswith("_")}:
        waiting, asynchronous = (
            [
                (one.name, one.kind, one.default)
                for one in inspect.signature(call).parameters.values()
            ]
            for call in (getattr(Client, name), getattr(AsyncClient, name))
        )
        assert waiting == asynchronous, name


def test_it_works_while_the_thread_runs_an_event_loop_as_in_a_notebook(server: ApiServer) -> None:
    async def cell() -> str:
        with Client(server.address) as client:
            return client.translate("Hello.", target="de")

    assert asyncio.run(cell()) == "HELLO.de"


def test_several_threads_share_one(server: ApiServer) -> None:
    with Client(server.address) as client, ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda text: client.translate(text, target="de"), ["a", "b", "c", "d"])
        assert list(found) == ["Ade", "Bde", "Cde", "Dde"]


def test_asynchronous_blocks_get_the_asynchronous_client(server: ApiServer) -> None:
    async def call() -> str:
        async with dragoman.Client(server.address) as client:
            return await client.translate("Hello.", target="de")

    assert asyncio.run(call()) == "HELLO.de"


def test_a_stream_that_is_left_is_closed(server: ApiServer) -> None:
    with Client(server.address) as client:
        for sentence in client.stream("One. Two. Three.", target="de"):
            assert sentence.source == "One."
            break
        left = client.stream("One. Two.", target="de")
        next(left)
    with pytest.raises(UsageError, match="this client is closed"):
        next(left)


def test_errors_are_those_of_the_call(server: ApiServer, tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text("Hello.")
    with Client(server.address) as client:
        with pytest.raises(ServiceError, match="xx") as refused:
            client.translate("a", target="xx")
        assert refused.value.kind == "unsupported"
        with pytest.raises(StorageError, match="cannot write"):
            client.translate_file(text, tmp_path, target="de")
    client.close()  # once more does nothing
    with pytest.raises(UsageError, match="this client is closed"):
        client.translate("a", target="de")


def test_a_forgotten_client_ends_its_thread(server: ApiServer) -> None:
    client = Client(server.address)
    client.translate("Hello.", target="de")
    assert threads()
    del client
    gc.collect()
    assert not threads()


def test_a_file_is_written_whole_and_its_progress_told(server: ApiServer, tmp_path: Path) -> None:
    text, output = tmp_path / "a.txt", tmp_path / "new" / "a.de.txt"
    text.write_text("Hello.\n")
    shares: list[float] = []
    with Client(server.address) as client:
        client.translate_file(text, output, target="de", source="en", progress=shares.append)
    assert output.read_text() == "HELLO.de\n"
    assert shares[-1] == 1.0
    assert [path.name for path in output.parent.iterdir()] == ["a.de.txt"]
