"""The store beside a few dictionaries that say what it should answer."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dragoman.server.database import StoreLimits
from dragoman.server.database.records import ApiKey, CorrectionState
from dragoman.server.database.server_store import ServerStore
from dragoman.translation.service.interface import RefusedError

STATES: tuple[CorrectionState, ...] = ("pending", "accepted", "rejected")
TEXTS = st.sampled_from(["a", "A", " a ", "a  b", "a b", "é", "e\N{COMBINING ACUTE ACCENT}", "\0a"])
LANGUAGES = st.sampled_from([("en", "de"), ("EN", "de"), ("de", "en")])
LIMIT = 4


def same(text: str) -> str:
    """What all texts that are the same share."""
    composed = text.replace("e\N{COMBINING ACUTE ACCENT}", "é").replace("\0", "")
    return " ".join(composed.split())


class StoreModel(RuleBasedStateMachine):
    """Everything that is kept, twice."""

    empty: Path

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        path = shutil.copy(self.empty, self.folder.name)
        limits = StoreLimits(pending_corrections=LIMIT, glossaries=LIMIT)
        self.store = ServerStore(str(path), limits)
        self.secrets: dict[str, ApiKey] = {}
        self.used: dict[int | None, int] = {}
        # Source, target, languages and state of each correction; and those reviewed, in order.
        self.sent: dict[int, tuple[str, str, tuple[str, str]]] = {}
        self.states: dict[int, CorrectionState] = {}
        self.accepted: list[int] = []
        self.glossaries: dict[str, tuple[int | None, dict[tuple[str, str], dict[str, str]]]] = {}

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()

    def owners(self) -> list[int | None]:
        found = self.store.keys()
        return [None, *(key.id for key in found)]

    @rule()
    def make_key(self) -> None:
        key, secret = self.store.create_key(f"key {len(self.owners())}")
        self.secrets[secret] = key

    @precondition(lambda self: self.secrets)
    @rule(data=st.data())
    def revoke_key(self, data: st.DataObject) -> None:
        secret = data.draw(st.sampled_from(list(self.secrets)))
        self.store.revoke_key(self.secrets.pop(secret).id)
        assert self.store.find_key(secret) is None

    @rule(data=st.data(), characters=st.integers(0, 9), limit=st.none() | st.integers(0, 20))
    def charge(self, data: st.DataObject, characters: int, limit: int | None) -> None:
        owner = data.draw(st.sampled_from(self.owners()))
        total = self.used.get(owner, 0) + characters
        fits = limit is None or total <= limit
        assert self.store.charge(owner, characters, limit=limit) == fits
        if fits:
            self.used[owner] = total

    @rule(source=TEXTS, better=TEXTS, languages=LANGUAGES)
    def correct(self, source: str, better: str, languages: tuple[str, str]) -> None:
        languages = (languages[0].lower(), languages[1])
        this = (same(source), better.replace("\0", "").strip(), languages)
        answering = self.memory().get((this[0], languages))
        known = [
            number
            for number, sent in self.sent.items()
            if sent == this and (self.states[number] != "accepted" or number == answering)
        ]
        try:
            number = self.store.add_correction(source, better, *languages).id
        except RefusedError:
            assert not known and list(self.states.values()).count("pending") >= LIMIT
            return
        if known:
            assert number in known
        else:
            assert number not in self.sent
            self.sent[number], self.states[number] = this, "pending"

    @precondition(lambda self: self.sent)
    @rule(data=st.data(), state=st.sampled_from(STATES))
    def review(self, data: st.DataObject, state: CorrectionState) -> None:
        numbers = data.draw(st.lists(st.sampled_from(list(self.sent)), unique=True, max_size=3))
        self.store.review_corrections(numbers, state)
        self.accepted = [number for number in self.accepted if number not in numbers]
        if state == "accepted":
            self.accepted += sorted(numbers)  # at one moment, the newest counts
        self.states.update(dict.fromkeys(numbers, state))

    def memory(self) -> dict[tuple[str, tuple[str, str]], int]:
        return {(self.sent[number][0], self.sent[number][2]): number for number in self.accepted}

    @rule(data=st.data(), entries=st.dictionaries(TEXTS.map(same), TEXTS.map(same), min_size=1))
    def make_glossary(self, data: st.DataObject, entries: dict[str, str]) -> None:
        owner = data.draw(st.sampled_from(self.owners()))
        try:
            made = self.store.create_glossary("g", {("en", "de"): list(entries.items())}, owner)
        except RefusedError:
            assert [key for key, _ in self.glossaries.values()].count(owner) >= LIMIT
            return
        self.glossaries[made.id] = owner, {("en", "de"): entries}

    @precondition(lambda self: self.glossaries)
    @rule(
        data=st.data(),
        entries=st.dictionaries(TEXTS.map(same), TEXTS.map(same), min_size=1),
        languages=LANGUAGES,
        merge=st.booleans(),
    )
    def put_dictionary(
        self,
        data: st.DataObject,
        entries: dict[str, str],
        languages: tuple[str, str],
        merge: bool,
    ) -> None:
        languages = (languages[0].lower(), languages[1])
        identifier = data.draw(st.sampled_from(list(self.glossaries)))
        owner, kept = self.glossaries[identifier]
        self.store.put_dictionary(identifier, *languages, list(entries.items()), owner, merge=merge)
        old = kept.get(languages, {}) if merge else {}
        kept[languages] = {**old, **entries}

    @precondition(lambda self: self.glossaries)
    @rule(data=st.data(), languages=LANGUAGES, whole=st.booleans())
    def delete(self, data: st.DataObject, languages: tuple[str, str], whole: bool) -> None:
        identifier = data.draw(st.sampled_from(list(self.glossaries)))
        owner, kept = self.glossaries[identifier]
        if whole:
            assert self.store.delete_glossary(identifier, owner)
            del self.glossaries[identifier]
        else:
            found = kept.pop((languages[0].lower(), languages[1]), None)
            assert self.store.delete_dictionary(identifier, *languages, owner) == (
                found is not None
            )

    @invariant()
    def answers_agree(self) -> None:
        if not hasattr(self, "store"):
            return
        for secret, key in self.secrets.items():
            assert self.store.find_key(secret) == key
        usage = self.store.usage()
        assert {owner: one.characters for owner, one in usage.items()} == self.used
        assert {one.id: one.state for one in self.store.corrections()} == self.states
        memory = self.memory()
        assert {one.id for one in self.store.memory()} == {*memory.values()}
        for (source, languages), number in memory.items():
            answer = {source: self.sent[number][1]}
            assert self.store.remembered([source, "none"], *languages) == answer
        for owner in self.owners():
            mine = {key: kept for key, (whose, kept) in self.glossaries.items() if whose == owner}
            assert {one.id for one in self.store.glossaries(owner)} == mine.keys()
            for identifier, kept in mine.items():
                for languages, entries in kept.items():
                    found = self.store.glossary_entries(identifier, *languages, owner)
                    assert found == tuple(entries.items())


def test_the_store_is_what_a_few_dictionaries_are(tmp_path: Path) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    StoreModel.empty = tmp_path / "server.sqlite"
    ServerStore(str(StoreModel.empty)).close()
    run_state_machine_as_test(StoreModel, settings=settings(max_examples=3, stateful_step_count=12))
