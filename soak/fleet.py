"""Three servers behind ``deploy/haproxy.cfg``: a rollout, restarts, kills, a hanging database."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dragoman.server.database.records import DocumentJob
from dragoman.server.database.server_store import ServerStore
from soak.part import Allowance, Tried
from soak.postgresql import NoPostgresqlError, PostgresqlServer, postgresql_server
from soak.served import (
    LANGUAGES,
    Load,
    Outcome,
    ServerProcess,
    Taught,
    free_port,
    get,
    post,
    serving,
    teach,
    until,
)

_CONFIGURATION = Path(__file__).parents[1] / "deploy" / "haproxy.cfg"
_SECONDS = 10.0  # that a request may take
_SETTINGS = {
    "drain_seconds": 4,
    "shutdown_seconds": 20,
    "reload_seconds": 1,
    "web": False,
    "limits": {"seconds": _SECONDS},
}
_MOST_RATE = 60.0  # requests per second; beyond, the load generator takes the processor
_QUOTA = 2_000  # characters
_FILES = 6  # as many as three servers translate at once
_FILES_OF_ONE = 2
_COPIES = 3  # of all lines in each


class Fleet:
    """The part; see :class:`soak.part.Part`."""

    about = "three servers behind a balancer: a rollout, restarts, kills, a hanging database"
    share = 1.5

    def run(self, allowance: Allowance) -> list[Tried]:
        """Try until the time is over, and tell."""
        if shutil.which("haproxy") is None:
            return [Tried("fleet", 0, skipped="HAProxy is not installed")]
        with ExitStack() as stack:
            try:
                database = stack.enter_context(postgresql_server())
            except NoPostgresqlError as error:
                return [Tried("fleet", 0, skipped=str(error))]
            taught = teach(allowance.folder / "models")
            trial = stack.enter_context(_trial(allowance, taught, database))
            return [
                trial.rollout(),
                trial.restarts(),
                trial.kills(),
                trial.quota(),
                trial.files(),
                trial.hanging(),
            ]


@contextmanager
def _trial(allowance: Allowance, taught: Taught, database: PostgresqlServer) -> Iterator[_Trial]:
    """Servers that run behind a balancer."""
    model = allowance.folder / "served"
    shutil.copytree(taught.first, model)
    url = database.new_database()
    servers = [
        ServerProcess(allowance.folder / name, model, url, **_SETTINGS)
        for name in ("first", "second", "third")
    ]
    with serving(*servers), _balanced(servers, allowance.folder / "haproxy.log") as address:
        yield _Trial(allowance, taught, database, url, model, servers, address)


@contextmanager
def _balanced(servers: Sequence[ServerProcess], log: Path) -> Iterator[str]:
    """The address of a balancer in front of servers."""
    port = free_port()
    names = ("DRAGOMAN_FIRST", "DRAGOMAN_SECOND", "DRAGOMAN_THIRD")
    places = {name: f"127.0.0.1:{server.port}" for name, server in zip(names, servers, strict=True)}
    with log.open("wb") as stream:
        process = subprocess.Popen(
            ["haproxy", "-db", "-f", _CONFIGURATION],
            env={**os.environ, **places, "DRAGOMAN_BIND": f"127.0.0.1:{port}"},
            stdout=stream,
            stderr=stream,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        until(lambda: _answers(f"{address}/health"), "the balancer does not answer", 30)
        yield address
    finally:
        process.kill()
        process.wait()


def _answers(url: str) -> bool:
    try:
        return get(url).status == 200
    except OSError:
        return False


class _Trial:
    """What is tried with a fleet, one after the other."""

    def __init__(
        self,
        allowance: Allowance,
        taught: Taught,
        database: PostgresqlServer,
        url: str,
        model: Path,
        servers: Sequence[ServerProcess],
        address: str,
    ) -> None:
        self._allowance, self._taught = allowance, taught
        self._database, self._url = database, url
        self._model, self._servers, self._address = model, servers, address
        self._chance = random.Random(allowance.seed)
        with Load(allowance.folder, address, taught.lines, taught.answers, 300, clients=8) as load:
            self._rate = min(0.4 * load.outcome().rate, _MOST_RATE)

    def rollout(self) -> Tried:
        """Replace the model under load, several times; each answer is of one of the two models."""
        taught, spare = self._taught, self._model.with_name("spare")
        either = list(zip(taught.answers, taught.later, strict=True))
        seconds: list[float] = []
        current, other = (taught.first, taught.answers), (taught.second, taught.later)

        def roll() -> None:
            nonlocal current, other
            current, other = other, current
            shutil.copytree(current[0], spare)
            begun = time.monotonic()
            self._model.rename(self._model.with_name("before"))
            spare.rename(self._model)
            answers = current[1]
            until(lambda: self._all_answer(answers), "a server has the old model")
            seconds.append(time.monotonic() - begun)
            shutil.rmtree(self._model.with_name("before"))

        outcome = self._under_load(0.2, either, roll, least=2)
        if current[0] != taught.first:
            roll()
        return _row(
            "a model rolled out under load",
            outcome,
            {"rollouts": len(seconds), "until the last server s": round(max(seconds), 1)},
        )

    def restarts(self) -> Tried:
        """Restart one server after the other under load."""
        turn = iter(range(1000))
        codes: set[int] = set()

        def restart() -> None:
            server = self._servers[next(turn) % len(self._servers)]
            codes.add(server.end())
            server.start()
            server.wait_until_ready()
            self._wait_for_balancer()

        outcome = self._under_load(0.3, self._taught.answers, restart, least=3)
        others = [f"exit code {code}" for code in codes if code]
        return _row("servers restarted under load", outcome, {"restarts": next(turn)}, others)

    def kills(self) -> Tried:
        """Kill one server at random moments under load, and start it again."""
        kills = 0

        def kill() -> None:
            nonlocal kills
            server = self._chance.choice(self._servers)
            time.sleep(self._chance.random())
            server.kill()
            kills += 1
            server.start()
            server.wait_until_ready()
            self._wait_for_balancer()

        outcome = self._under_load(0.3, self._taught.answers, kill, least=3)
        return _row("a server killed under load", outcome, {"kills": kills})

    def quota(self) -> Tried:
        """A key whose month ends in the middle of requests to all servers at once."""
        with ServerStore(self._url) as store:
            key, secret = store.create_key("soak", characters_per_month=_QUOTA)
            line = self._taught.lines[0]
            body = {"text": line, "source": LANGUAGES[0], "target": LANGUAGES[1]}
            bearer = {"Authorization": f"Bearer {secret}"}

            def ask(number: int) -> int:
                server = self._servers[number % len(self._servers)]
                return post(f"{server.address}/v1/translate", body, bearer).status

            fitting = _QUOTA // len(line)
            with ThreadPoolExecutor(6) as threads:
                statuses = list(threads.map(ask, range(fitting + 30)))
            used = store.used(key.id)
        failures = []
        if statuses.count(200) != fitting or statuses.count(429) != 30:
            failures.append(f"{fitting} requests fit into the quota, and got {_counted(statuses)}")
        if used != fitting * len(line):
            failures.append(f"{used} characters are counted, and not {fitting * len(line)}")
        figures = {"statuses": _counted(statuses), "characters": f"{used} of {_QUOTA}"}
        return Tried("a quota over all servers", len(statuses), figures, tuple(failures))

    def files(self) -> Tried:
        """Files whose servers are killed: each comes back, from the one that is left."""
        text = "".join(f"{line}\n" for line in _COPIES * self._taught.lines)
        killed = self._servers[:2]
        with ServerStore(self._url) as store:
            # As a door does, which then has the servers look for them.
            jobs = [
                store.create_job(f"{number}.txt", text.encode(), *LANGUAGES)
                for number in range(_FILES)
            ]

            def now() -> list[DocumentJob]:
                return [found for job in jobs if (found := store.job(job.id)) is not None]

            def at_work() -> int:
                return sum(job.state == "translating" for job in now())

            until(lambda: at_work() > _FILES_OF_ONE, "no file is begun")
            begun = time.monotonic()
            for server in killed:
                server.kill()
            try:
                until(lambda: {job.state for job in now()} <= {"done", "error"}, "files wait")
                seconds = time.monotonic() - begun
            finally:
                for server in killed:
                    server.start()
                    server.wait_until_ready()
                self._wait_for_balancer()
            taken_over = sum(job.abandoned > 0 for job in now())
        failures = []
        for job in jobs:
            url = f"{self._address}/v1/documents/{job.id}/result"
            found = get(url, {"Document-Secret": job.secret})
            if found.body.decode().splitlines() != _COPIES * self._taught.answers:
                failures.append(f"{job.file_name}: {found.status} {found.body[:200]!r}")
        figures = {"taken over": taken_over, "until the last s": round(seconds)}
        return Tried("files, two of three servers killed", len(jobs), figures, tuple(failures))

    def hanging(self) -> Tried:
        """PostgreSQL hangs: requests get 503 in their time, and 200 once it goes on."""
        line = self._taught.lines[0]
        body = {"text": line, "source": LANGUAGES[0], "target": LANGUAGES[1]}
        url = f"{self._address}/v1/translate"
        with self._database.hanging(), ThreadPoolExecutor(12) as threads:
            answers = list(threads.map(lambda _: post(url, body), range(24)))
        begun = time.monotonic()
        until(lambda: post(url, body).status == 200, "nothing is translated", 60)
        back = time.monotonic() - begun
        slowest = max(one.seconds for one in answers)
        failures = []
        if {one.status for one in answers} != {503}:
            failures.append(f"statuses {_counted([one.status for one in answers])}, and not 503")
        if slowest > _SECONDS + 5:
            failures.append(f"an answer took {slowest:.1f} s of {_SECONDS:g}")
        figures = {"slowest s": round(slowest, 1), "until 200 s": round(back, 1)}
        return Tried("a database that hangs", len(answers), figures, tuple(failures))

    def _under_load(
        self,
        share: float,
        answers: Sequence[str | Sequence[str]],
        disturb: Callable[[], None],
        least: int,
    ) -> Outcome:
        """What came back while something was done again and again.

        Args:
            share: of the time of the part.
            answers: right ones.
            disturb: is done while requests come.
            least: how often at least, whatever the time.
        """
        end = time.monotonic() + share * self._allowance.left
        total, times = [], 0
        while times < least or time.monotonic() < end:
            # Enough for one disturbance on a busy machine; what is left over is waited for.
            with Load(
                self._allowance.folder,
                self._address,
                self._taught.lines,
                answers,
                round(30 * self._rate),
                rate=self._rate,
            ) as load:
                time.sleep(1)
                while not load.is_over:
                    disturb()
                    times += 1
                total.append(load.outcome())
        return _together(total)

    def _all_answer(self, answers: Sequence[str]) -> bool:
        body = {"q": self._taught.lines[0], "source": LANGUAGES[0], "target": LANGUAGES[1]}
        found = [post(f"{one.address}/translate", body).body for one in self._servers]
        return all(json.loads(one).get("translatedText") == answers[0] for one in found)

    def _wait_for_balancer(self) -> None:
        time.sleep(2.5)  # it looks once a second


def _together(outcomes: Sequence[Outcome]) -> Outcome:
    """All requests of several loads."""
    statuses: dict[int, int] = {}
    for one in outcomes:
        for status, times in one.statuses.items():
            statuses[status] = statuses.get(status, 0) + times
    return Outcome(
        sum(one.requests for one in outcomes),
        sum(one.seconds for one in outcomes),
        sorted(seconds for one in outcomes for seconds in one.latencies),
        statuses,
        sum(one.wrong for one in outcomes),
        sum(one.without_retry_after for one in outcomes),
    )


def _row(
    what: str, outcome: Outcome, figures: dict[str, float], failures: Sequence[str] = ()
) -> Tried:
    """A row of requests of which none may fail."""
    found = list(failures)
    if set(outcome.statuses) != {200}:
        found.append(f"{what}: statuses {outcome.figures()['statuses']}, and not 200 alone")
    if outcome.wrong:
        found.append(f"{what}: {outcome.wrong} wrong translations")
    return Tried(what, outcome.requests, {**figures, **outcome.figures()}, tuple(found))


def _counted(statuses: Sequence[int]) -> str:
    return " ".join(f"{one}:{statuses.count(one)}" for one in sorted(set(statuses)))


PART = Fleet()
