from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from dragoman.core.errors import DataError
from dragoman.server.database import corrections_store as corrections_shelf
from dragoman.server.database.database_engine import Database
from dragoman.server.database.server_store import ServerStore
from dragoman.translation.service.interface import RefusedError


def propose(store: ServerStore, source: str, target: str, **given: Any) -> int:
    return store.add_correction(source, target, "en", "de", **given).id


def test_a_correction_waits_for_its_review(store: ServerStore) -> None:
    key, _ = store.create_key("one")
    sent = store.add_correction("Hello\n you", " Hallo\ndu ", "EN", "pt_BR", key.id)
    assert (sent.source, sent.target) == ("Hello\n you", "Hallo\ndu")
    assert (sent.source_language, sent.target_language) == ("en", "pt-br")
    assert (sent.state, sent.key, sent.reviewed) == ("pending", key.id, None)
    assert store.corrections() == store.corrections("pending") == [sent]
    assert store.remembered(["Hello you"], "en", "pt-BR") == {}
    accepted = store.review_correction(sent.id, "accepted")
    assert accepted.reviewed is not None
    assert store.corrections("accepted") == [accepted]
    assert store.corrections("pending") == []
    assert store.remembered(["Hello you"], "en", "pt-BR") == {"Hello you": "Hallo\ndu"}


def test_memory_looks_past_white_space_and_composition_but_not_case(store: ServerStore) -> None:
    store.review_correction(propose(store, "Le café\n est bon", "x"), "accepted")
    same = ["Le café est bon", "  Le\tcafé est  bon ", "Le cafe\N{COMBINING ACUTE ACCENT} est bon"]
    others = ["le café est bon", "Le cafe est bon", "Le café est bon.", "", "\ud800"]
    assert store.remembered([*same, *others], "en", "de") == dict.fromkeys(same, "x")
    assert store.remembered(same, "de", "en") == {}
    assert store.remembered(same, "en", "fr") == {}


def test_a_direction_without_accepted_corrections_is_known_for_a_second(
    store: ServerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(corrections_shelf, "monotonic", lambda: clock[0])

    def worth_asking() -> list[bool]:
        return [store.may_remember(*pair) for pair in (("en", "de"), ("EN", "pt_BR"))]

    numbers = [propose(store, "a", "b"), store.add_correction("a", "b", "en", "pt-BR").id]
    assert worth_asking() == [True, True]  # nobody has looked
    assert store.remembered(["a"], "en", "de") == {}
    assert worth_asking() == [False, False]
    store.review_correction(numbers[1], "accepted")
    assert worth_asking() == [True, True]
    store.remembered(["a"], "en", "de")
    assert worth_asking() == [False, True]
    with store._database.writing() as session:  # as another process does
        session.execute(text("UPDATE corrections SET state = 'accepted'"))
    assert worth_asking() == [False, True]
    assert store.remembered(["a"], "en", "de") == {"a": "b"}
    clock[0] += 1
    assert worth_asking() == [True, True]


def test_of_very_many_accepted_corrections_not_all_are_looked_at(
    store: ServerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corrections_shelf, "_MOST_LOOKED_AT", 2)
    numbers = [propose(store, one, "x") for one in "ab"]
    store.review_corrections(numbers, "accepted")
    store.remembered(["a"], "en", "de")
    assert store.may_remember("en", "fr")


def test_what_is_looked_up_during_a_review_is_not_kept(
    store: ServerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be from before the review."""
    number = propose(store, "a", "b")
    reading = store._database.reading

    @contextmanager
    def reviewed_afterwards() -> Iterator[Session]:
        with reading() as session:
            yield session
        monkeypatch.setattr(store._database, "reading", reading)
        store.review_correction(number, "accepted")

    monkeypatch.setattr(store._database, "reading", reviewed_afterwards)
    store.remembered(["a"], "en", "de")
    assert store.may_remember("en", "de")


def test_many_sentences_are_remembered_at_once(store: ServerStore) -> None:
    numbers = [propose(store, f"source {one}", f"target {one}") for one in range(3)]
    store.review_corrections(numbers, "accepted")
    asked = [f"source {one}" for one in range(1200)]
    assert store.remembered(asked, "en", "de") == {
        f"source {one}": f"target {one}" for one in range(3)
    }


def test_what_was_accepted_last_wins(store: ServerStore) -> None:
    first, second = propose(store, "a", "first"), propose(store, "a", "second")
    store.review_corrections([first, second], "accepted")
    assert store.remembered(["a"], "en", "de") == {"a": "second"}
    store.review_correction(first, "accepted")
    assert store.remembered(["a"], "en", "de") == {"a": "first"}
    assert [one.target for one in store.memory()] == ["first"]
    store.review_correction(first, "rejected")
    assert store.remembered(["a"], "en", "de") == {"a": "second"}
    store.review_correction(second, "pending")
    assert store.remembered(["a"], "en", "de") == {}
    assert store.memory() == []


def test_the_same_correction_waits_once(store: ServerStore) -> None:
    first = propose(store, "a b", "x")
    assert propose(store, " a  b", "x ") == first
    assert len({first, propose(store, "a b", "y"), propose(store, "A b", "x")}) == 3
    store.review_correction(first, "rejected")
    assert propose(store, "a b", "x") == first  # nobody has to reject it twice
    assert store.add_correction("a b", "x", "en", "fr").id != first


def test_what_the_memory_answers_need_not_be_reviewed(store: ServerStore) -> None:
    first, second = propose(store, "a", "first"), propose(store, "a", "second")
    store.review_corrections([first, second], "accepted")
    assert propose(store, "a", "second") == second
    again = propose(store, "a", "first")  # which another one has replaced
    assert again not in {first, second}
    assert propose(store, "a", "first") == again


def test_the_same_correction_waits_once_under_threads(store: ServerStore) -> None:
    with ThreadPoolExecutor(6) as threads:
        numbers = list(threads.map(lambda _: propose(store, "a", "b"), range(12)))
    assert len({*numbers}) == len(store.corrections()) == 1


def test_as_many_wait_as_are_allowed(open_store: Callable[..., ServerStore]) -> None:
    store = open_store(pending_corrections=5, pending_corrections_per_client=2)
    one, _ = store.create_key("one")
    for client in ({"key": one.id}, {"address": "10.0.0.1"}):
        numbers = [propose(store, f"{client} {number}", "x", **client) for number in range(2)]
        with pytest.raises(RefusedError, match="2 corrections of yours") as refused:
            propose(store, f"{client} 2", "x", **client)
        assert refused.value.kind == "too_many_requests" and refused.value.retry_after
        assert propose(store, f"{client} 1", "x", **client) == numbers[1]  # known already
    propose(store, "e", "x", address="10.0.0.2")
    with pytest.raises(RefusedError, match="5 corrections wait"):
        propose(store, "f", "x", address="10.0.0.2")
    store.review_correction(numbers[0], "rejected")
    propose(store, "f", "x", address="10.0.0.1")


def test_bounds_hold_under_threads(open_store: Callable[..., ServerStore]) -> None:
    store = open_store(pending_corrections_per_client=3)

    def attempt(number: int) -> bool:
        try:
            return bool(propose(store, f"source {number}", "x"))
        except RefusedError:
            return False

    with ThreadPoolExecutor(6) as threads:
        assert sum(threads.map(attempt, range(12))) == 3
    assert len(store.corrections()) == 3


def test_addresses_are_forgotten_with_the_review(store: ServerStore, database: str) -> None:
    number = propose(store, "a", "b", address="10.0.0.1")
    opened = Database(database)

    def address() -> object:
        with opened.reading() as session:
            return session.execute(text("SELECT address FROM corrections")).scalar()

    assert address() == "10.0.0.1"
    store.review_correction(number, "accepted")
    assert address() is None
    opened.close()


def test_bad_corrections_are_refused(open_store: Callable[..., ServerStore]) -> None:
    store = open_store(correction_characters=10)
    for source, target, kind in (
        ("", "x", "invalid"),
        (" \0\n", "x", "invalid"),
        ("x", "", "invalid"),
        ("x", "\ud800", "invalid"),
        ("x" * 11, "x", "too_large"),
        ("x", "x" * 11, "too_large"),
    ):
        with pytest.raises(RefusedError) as refused:
            propose(store, source, target)
        assert refused.value.kind == kind
    for language in ("", "x" * 36, "en\0", "e n", "\ud800", "é"):
        with pytest.raises(RefusedError, match="language code"):
            store.add_correction("x", "x", language, "de")
    assert store.corrections() == []


def test_characters_that_databases_cannot_hold_are_left_out(store: ServerStore) -> None:
    sent = store.add_correction("a\0b\ud800c", "x\0\x1b[2Jy", "en", "de")
    assert (sent.source, sent.target) == ("abc", "x[2Jy")  # and no terminal obeys it
    store.review_correction(sent.id, "accepted")
    assert store.remembered(["a\0b\ud800c"], "en", "de") == {"a\0b\ud800c": "x[2Jy"}


def test_reviews_are_all_or_nothing(store: ServerStore) -> None:
    numbers = [propose(store, source, "x") for source in "abc"]
    assert [one.id for one in store.review_corrections(numbers[::-1], "accepted")] == numbers[::-1]
    with pytest.raises(DataError, match="no correction 98, 99; nothing was changed"):
        store.review_corrections([numbers[0], 98, 99], "rejected")
    assert len(store.corrections("accepted")) == 3
    assert store.review_corrections([], "accepted") == []


def test_corrections_are_listed_by_language(store: ServerStore) -> None:
    store.add_correction("a", "b", "en", "de")
    store.add_correction("a", "b", "en", "fr")
    store.add_correction("a", "b", "de", "fr")
    assert len(store.corrections(source_language="EN")) == 2
    assert len(store.corrections(target_language="fr")) == 2
    assert len(store.corrections("pending", "en", "fr")) == 1
    assert store.corrections("accepted", "en", "fr") == []
