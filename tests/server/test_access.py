from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.server import access as module
from dragoman.server.access import AccessControl, RequestRates, monthly_quota, network_of
from dragoman.server.database.server_store import ServerStore
from dragoman.server.server_config import LimitsConfig
from dragoman.translation.service.interface import RefusalKind, RefusedError

HERE = "192.0.2.7"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ServerStore]:
    with ServerStore(str(tmp_path / "server.sqlite")) as opened:
        yield opened


async def refusal(access: AccessControl, *arguments: object) -> tuple[RefusalKind, str] | None:
    try:
        await access.admit(*arguments)  # type: ignore[arg-type]
    except RefusedError as error:
        return error.kind, str(error)
    return None


def test_keys_are_demanded_only_if_configured(store: ServerStore) -> None:
    key, secret = store.create_key("office")

    async def ask() -> None:
        for required in (False, True):
            access = AccessControl(store, LimitsConfig(), require_key=required)
            assert await access.admit(secret, HERE) == key
            kinds = [await refusal(access, given, HERE) for given in ("wrong", "x" * 5000)]
            assert [found and found[0] for found in kinds] == ["forbidden", "forbidden"]
            for missing in (None, ""):
                found = await refusal(access, missing, HERE)
                assert (found is None) == (not required)
            await access.close()

    asyncio.run(ask())


def test_the_quota_of_a_key_goes_before_that_of_all(store: ServerStore) -> None:
    large, _ = store.create_key("large", characters_per_month=1000)
    other, _ = store.create_key("other")
    limits = LimitsConfig(characters_per_month=5)
    assert monthly_quota(large, limits) == 1000
    assert monthly_quota(other, limits) == 5
    assert monthly_quota(other, LimitsConfig()) is None
    assert monthly_quota(None, limits) is None  # as documented: whoever brings no key has none


def test_a_server_without_keys_ignores_those_that_clients_insist_on(store: ServerStore) -> None:
    async def ask() -> None:
        access = AccessControl(store, LimitsConfig())
        assert await access.admit("whatever", HERE) is None
        demanding = AccessControl(store, LimitsConfig(), require_key=True)
        found = await refusal(demanding, "whatever", HERE)
        assert found is not None
        assert found[0] == "forbidden"

    asyncio.run(ask())


def test_a_revoked_key_is_refused_after_some_seconds(store: ServerStore) -> None:
    now = [0.0]
    key, secret = store.create_key("office")

    async def ask() -> None:
        access = AccessControl(store, LimitsConfig(), clock=lambda: now[0])
        await access.admit(secret, HERE)
        store.revoke_key(key.id)
        await access.admit(secret, HERE)
        now[0] += module.KNOWN_SECONDS
        assert (await refusal(access, secret, HERE) or ("", ""))[0] == "forbidden"

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (["a"] * 4, "4 texts in one request; send at most 3"),
        (["a" * 6, "b" * 5], "11 characters in one request; send at most 10"),
        (["a" * 5, "ü" * 5], None),
        ([], None),
    ],
)
def test_requests_are_bounded(store: ServerStore, texts: list[str], problem: str | None) -> None:
    async def ask() -> None:
        access = AccessControl(store, LimitsConfig(items=3, characters=10))
        expected = None if problem is None else ("too_large", problem)
        assert await refusal(access, None, HERE, texts) == expected
        await access.close()

    asyncio.run(ask())
    assert store.used(None) == (0 if problem else sum(map(len, texts)))


def test_a_request_above_the_rate_waits_or_learns_when_to_come_back(store: ServerStore) -> None:
    now = [0.0]

    async def ask() -> None:
        limits = LimitsConfig(requests_per_minute=2, patience_seconds=0.05)
        access = AccessControl(store, limits, clock=lambda: now[0])
        for address in (HERE, "2001:db8:1:2::1"):
            await access.admit(None, address)
        await access.admit(None, HERE)
        with pytest.raises(RefusedError, match="more than 2 requests per minute") as caught:
            await access.admit(None, HERE)
        assert (caught.value.kind, caught.value.retry_after) == ("too_many_requests", 60)
        await access.admit(None, "2001:db8:1:2::ffff")
        assert (await refusal(access, None, "2001:db8:1:2:3::") or ("",))[0] == "too_many_requests"
        now[0] = 59.96
        begin = time.perf_counter()
        await access.admit(None, HERE)
        assert time.perf_counter() - begin >= 0.03

    asyncio.run(ask())


def test_a_key_may_have_limits_of_its_own(store: ServerStore) -> None:
    _, fast = store.create_key("fast", requests_per_minute=3, characters_per_month=100)
    _, usual = store.create_key("usual")

    async def ask() -> None:
        limits = LimitsConfig(requests_per_minute=2, patience_seconds=0, characters_per_month=50)
        access = AccessControl(store, limits)
        for secret, rate in ((fast, 3), (usual, 2)):
            for _ in range(rate):
                await access.admit(secret, HERE)
            assert (await refusal(access, secret, HERE) or ("",))[0] == "too_many_requests"

    asyncio.run(ask())


def test_a_quota_holds_across_restarts_and_simultaneous_requests(store: ServerStore) -> None:
    key, secret = store.create_key("office", characters_per_month=100)

    async def ask() -> list[tuple[RefusalKind, str] | None]:
        access = AccessControl(store, LimitsConfig())
        found = await asyncio.gather(*(refusal(access, secret, HERE, ["x" * 7]) for _ in range(10)))
        await access.close()
        return found

    first = asyncio.run(ask())
    assert first == [None] * 10
    assert store.used(key.id) == 70
    second = asyncio.run(ask())
    assert second.count(None) == 4
    refused = next(found for found in second if found)
    assert refused[0] == "quota_exceeded"
    assert refused[1].startswith("this key may use 100 characters per month, and 7 more")
    assert store.used(key.id) == 98


def test_a_file_is_admitted_while_any_of_the_quota_is_left(store: ServerStore) -> None:
    key, secret = store.create_key("office", characters_per_month=10)

    async def ask() -> None:
        access = AccessControl(store, LimitsConfig())
        await access.admit(secret, HERE, ["x" * 9])
        await access.admit(secret, HERE, files=True)
        store.charge(key.id, 500)
        with pytest.raises(RefusedError, match="10 characters per month, and none is left"):
            await access.admit(secret, HERE, files=True)
        await access.admit(secret, HERE)  # what translates nothing costs nothing
        await access.admit(None, HERE, files=True)

    asyncio.run(ask())
    assert store.used(key.id) == 509


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("/run/dragoman.sock", "/run/dragoman.sock"),
        ("", ""),
    ],
)
def test_clients_without_a_key_are_told_apart_by_their_network(address: str, network: str) -> None:
    assert network_of(address) == network


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@given(
    st.integers(1, 5),
    st.floats(0, 30),
    st.lists(st.floats(0, 40), min_size=1, max_size=40),
)
def test_no_window_has_more_turns_than_the_limit(
    limit: int, patience: float, pauses: list[float]
) -> None:
    clock, turns = Clock(), []
    rate = RequestRates(clock=clock)
    for pause in pauses:
        clock.now += pause
        wait = rate.take_turn("somebody", limit, patience)
        if wait <= patience:
            turns.append(clock.now + wait)
        else:
            in_window = [turn for turn in turns if turn > clock.now - 60]
            assert len(in_window) >= limit  # nobody is refused without need
    assert turns == sorted(turns)
    for first, later in zip(turns, turns[limit:], strict=False):
        assert later - first >= 60 - 1e-6


def test_a_refused_request_takes_no_turn_and_learns_when_the_next_one_is() -> None:
    clock = Clock()
    rate = RequestRates(clock=clock)
    assert rate.take_turn("one", 2, 0) == 0
    clock.now += 10
    assert rate.take_turn("one", 2, 0) == 0
    assert [rate.take_turn("one", 2, 0) for _ in range(5)] == [50] * 5
    clock.now += 50
    assert rate.take_turn("one", 2, 0) == 0


def test_clients_do_not_share_their_turns() -> None:
    rate = RequestRates(clock=Clock())
    assert [rate.take_turn(client, 1, 0) for client in ("one", "two", 3)] == [0, 0, 0]
    assert rate.take_turn("one", 1, 0) == 60


def test_a_lowered_limit_counts_the_turns_before_it() -> None:
    clock = Clock()
    rate = RequestRates(clock=clock)
    for _ in range(3):
        rate.take_turn("one", 3, 0)
        clock.now += 1
    assert rate.take_turn("one", 1, 0) == 59


def test_clients_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CLIENTS", 3)
    clock = Clock()
    rate = RequestRates(clock=clock)
    for client in range(10):
        rate.take_turn(client, 1, 0)
    assert rate.take_turn(9, 1, 0) == 60
    assert rate.take_turn(0, 1, 0) == 0  # forgotten, since there were too many
    clock.now += 61
    rate.take_turn("new", 1, 0)
    assert len(rate._turns) == 1
